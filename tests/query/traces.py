# SPDX-License-Identifier: Apache-2.0
"""traces.py: what the tests of iket-query share: running it, reading a trace.json as plain rows, and writing one trace
in many shapes. Nothing here is taken from the code under test: a row is read straight off the JSON."""
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

FIXTURES = pathlib.Path(os.environ.get("IKET_FIXTURES", pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "golden"))
NAMES = {0: None, 1: "i8", 2: "u8", 3: "i16", 4: "u16", 5: "i32", 6: "u32", 7: "i64", 13: "f32", 14: "f64", 15: "pointer", 16: "u64"}
BITS = {1: 8, 2: 8, 3: 16, 4: 16, 5: 32, 6: 32, 7: 64, 13: 32, 14: 64, 15: 64, 16: 64}


def query(*arguments, stdin=None, status=0, env=None):
    """Runs iket-query; gives its stdout as text. Any other exit status than `status` fails the test."""
    done = subprocess.run(["iket-query", *map(str, arguments)], input=stdin, capture_output=True, timeout=120,
                          env={**os.environ, "LC_ALL": "C", **(env or {})})
    if done.returncode != status:
        raise SystemExit(f"iket-query {' '.join(map(str, arguments))}: exit {done.returncode}, expected {status}\n"
                         f"{done.stdout.decode(errors='replace')[:2000]}{done.stderr.decode(errors='replace')[:2000]}")
    query.stderr = done.stderr.decode()
    return done.stdout.decode()


def rows(*arguments, **options):
    return json.loads(query(*arguments, "--format", "json", **options))["rows"]


def load(path):
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def collector_traces():
    """NVIDIA's own files."""
    return sorted(FIXTURES.glob("collector/*/expected.trace.json.gz"))


def typed(kind, bits):
    """A payload's value in its own type, as JSON has it."""
    if not kind:
        return None
    width = BITS[kind]
    bits &= (1 << width) - 1
    if kind in (13, 14):
        value = struct.unpack("<f" if kind == 13 else "<d", bits.to_bytes(width // 8, "little"))[0]
        return "NaN" if value != value else "Infinity" if value == float("inf") else "-Infinity" if value == float("-inf") else value
    if kind in (1, 3, 5, 7) and bits >> (width - 1):
        bits -= 1 << width
    return bits


def same_value(got, want):
    """Equal, where an f32 may be written in the fewest digits that give the same f32."""
    if isinstance(got, float) and isinstance(want, float) and got != want:
        return struct.pack("<f", got) == struct.pack("<f", want)
    return got == want


def launches(trace):
    for ordinal, launch in enumerate(trace["launches"]):
        yield None, ordinal, launch
    for key, group in (trace.get("graphLaunches") or {}).items():
        for ordinal, launch in enumerate(group):
            yield key, ordinal, launch


def events(trace):
    """All markers and ranges as the columns of `iket-query events`, in no order that matters."""
    names, places = trace["stringTable"], trace["locationTable"]
    for key, ordinal, launch in launches(trace):
        def row(kind, name, place, start, end, first, last=None):
            p = places[place]
            return {"kind": kind, "name": name, "kernel": launch["kernelName"], "launch": ordinal, "graph": key, "grid_id": launch["gridId"],
                    "context_id": launch["contextId"], "sm": p["smId"], "tpc": p["tpcId"] if p["tpcId"] >= 0 else None,
                    "gpc": p["gpcId"] if p["gpcId"] >= 0 else None, "cta_x": p["ctaId"][0], "cta_y": p["ctaId"][1], "cta_z": p["ctaId"][2],
                    "warp": p["warpId"], "ts_ns": start, "dur_ns": None if end is None else end - start,
                    "payload_type": NAMES[first.get("payloadType", 0)], "payload": typed(first.get("payloadType", 0), first.get("payloadVal", 0)),
                    "end_payload_type": NAMES[last.get("payloadType", 0)] if last else None,
                    "end_payload": typed(last.get("payloadType", 0), last.get("payloadVal", 0)) if last else None}

        for m in launch["markers"]:
            yield row("marker", names[m["markerNameIdx"]], m["locIdx"], m["timestamp"], None, m)
        for r in launch["ranges"]:
            inner = r["internalEvents"]
            yield row("token" if r["rangeType"] == 1 else "range", names[r["rangeNameIdx"]], r["warpLocIdxs"][0], r["startTs"], r["endTs"], inner[0],
                      inner[1] if len(inner) > 1 else None)


def key_of(row):
    return json.dumps({k: v for k, v in row.items() if k not in ("payload", "end_payload")}, sort_keys=True) + repr(row["payload"])[:6]


def same_events(got, want, what):
    """Compares rows of iket-query (with more columns) with those of events(), whatever the order."""
    want = list(want)
    columns = [k for k in want[0]] if want else []
    got = [{k: r[k] for k in columns} for r in got]
    if len(got) != len(want):
        raise SystemExit(f"{what}: {len(got)} rows, expected {len(want)}")
    for a, b in zip(sorted(got, key=key_of), sorted(want, key=key_of)):
        for k in columns:
            if not same_value(a[k], b[k]):
                raise SystemExit(f"{what}: {k} is {a[k]!r}, expected {b[k]!r} in\n{b}")


# ---- one trace in many shapes ---------------------------------------------------------------------------------------------

def shuffled(value, rng):
    """The same document with every object's keys in another order."""
    if isinstance(value, dict):
        items = [(k, shuffled(v, rng)) for k, v in value.items()]
        rng.shuffle(items)
        return dict(items)
    return [shuffled(v, rng) for v in value] if isinstance(value, list) else value


def with_unknown_keys(value, rng):
    """The same document with keys that nobody knows in every object but those of graphs and diagnostics."""
    extra = [("vendor", {"a": [1, "}]", {"b": None}]}), ("x-note", "br\\ace } \u00e9"), ("zero", 0.5e-3), ("flag", True)]
    if isinstance(value, dict):
        out = {}
        for k, v in value.items():
            if rng.random() < 0.3:
                out.update([rng.choice(extra)])
            out[k] = {g: with_unknown_keys(a, rng) for g, a in v.items()} if k == "graphLaunches" and v else v if k == "diagnostics" else with_unknown_keys(v, rng)
        return out
    return [with_unknown_keys(v, rng) for v in value] if isinstance(value, list) else value


def inlined(trace):
    """The older generation: names and places in the rows, no tables."""
    names, places = trace["stringTable"], trace["locationTable"]

    def launch(l):
        out = {k: v for k, v in l.items() if k not in ("markers", "ranges", "warpLifetimes")}
        out["markers"] = [{**{k: v for k, v in m.items() if k not in ("locIdx", "markerNameIdx")}, "markerName": names[m["markerNameIdx"]], "location": places[m["locIdx"]]}
                          for m in l["markers"]]
        out["ranges"] = [{**{k: v for k, v in r.items() if k not in ("warpLocIdxs", "rangeNameIdx")}, "rangeName": names[r["rangeNameIdx"]],
                          "warpLocs": [places[i] for i in dict.fromkeys(r["warpLocIdxs"])]} for r in l["ranges"]]
        out["warpLifetimes"] = [{"startTs": w["startTs"], "endTs": w["endTs"], "warpLocation": places[w["locIdx"]]} for w in l["warpLifetimes"]]
        return out

    return {"launches": [launch(l) for l in trace["launches"]], "graphLaunches": {k: [launch(l) for l in g] for k, g in (trace.get("graphLaunches") or {}).items()}}


def ordered(trace, first):
    """Top-level keys with these in front."""
    return {**{k: trace[k] for k in first}, **trace}


def shapes(trace, seed=1):
    """(name, bytes) of the same facts written in different ways."""
    rng = random.Random(seed)
    tables = ["stringTable", "locationTable"]
    yield "compact, tables first", json.dumps(ordered(trace, tables), separators=(",", ":")).encode()
    yield "sorted, as NVIDIA's", json.dumps(trace, sort_keys=True, separators=(",", ":")).encode()
    yield "indented", json.dumps(trace, indent=3).encode()
    yield "CRLF and tabs", json.dumps(trace, indent="\t").replace("\n", "\r\n").encode()
    yield "shuffled", json.dumps(shuffled(trace, rng)).encode()
    yield "unknown keys", json.dumps(with_unknown_keys(trace, rng)).encode()
    yield "byte order mark", b"\xef\xbb\xbf" + json.dumps(trace).encode()
    yield "escaped", json.dumps(trace).replace('"markers"', r'"m\u0061rkers"').replace('"payloadVal"', r'"\u0070ayloadVal"').encode()
    yield "inline", json.dumps(inlined(trace)).encode()
    yield "inline, shuffled", json.dumps(shuffled(inlined(trace), rng)).encode()


def fail(text):
    sys.exit(text)
