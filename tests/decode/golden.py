#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py WHAT CASE: iket-decode on the golden inputs of fixtures/golden.

dump       dump.bin with its meta.json gives the expected facts
dump-meta  so does dump.bin alone, by its own META section (kernel names stand in the meta.json only)
collector  iket.data.bin with iket.data.json gives what NVIDIA's post-processing found
form       what the format says of the text of a trace.json: keys, their order, exact numbers, UTF-8
again      a trace.json read and written again says the same; as gzip, and with every object's keys sorted too; then it stays
nvidia     NVIDIA's trace.json read and written by us says the same
script     the script that IKET's users have prints the same for NVIDIA's trace.json and ours
"""
import gzip
import importlib.util
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(os.environ["IKET_FIXTURES"])
HERE = pathlib.Path(__file__).resolve().parent


def module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


check = module(FIXTURES / "check.py", "check")
collector_check = module(FIXTURES / "collector" / "check.py", "collector_check")


def decode(folder, *arguments):
    """Runs iket-decode and returns the path of the trace.json it wrote."""
    command = ["iket-decode", "--emit", "json", "--output-dir", str(folder), "--name", "t", "--force", *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return pathlib.Path(folder) / "t.trace.json"


def inputs(case):
    folder = FIXTURES / case
    if case.startswith("collector/"):
        return [folder / "iket.data.bin", "--meta", folder / "iket.data.json"]
    return [folder / "dump.bin", "--meta", folder / "meta.json"]


def same(found):
    print(found or "same")
    return 1 if found else 0


def compare_expected(case, path, names=True):
    want = json.loads((FIXTURES / case / "expected.json").read_text())
    got = check.canonical(json.loads(path.read_text()))
    for launch in [] if names else want["launches"] + got["launches"]:
        launch["kernelName"] = "any"
    got["diagnostics"] = check.known(got["diagnostics"], want["diagnostics"])
    return same(check.difference(want, got))


def compare_collector(path, want):
    (ours, _), (theirs, _) = collector_check.facts(collector_check.load(path)), collector_check.facts(collector_check.load(want))
    lost = [(k, f) for k in theirs for f in (theirs[k] - ours.get(k, {}))]
    added = [(k, f) for k in ours for f in (ours[k] - theirs.get(k, {}))]
    for k, f in (lost + added)[:5]:
        print(f"launch {k[:4]}: {f}")
    print(f"{len(lost)} facts lost, {len(added)} added")
    return 1 if lost or added or set(ours) != set(theirs) else 0


def again(case, scratch):
    first = decode(scratch / "first", *inputs(case))
    want = check.canonical(json.loads(first.read_text()))
    packed, ordered = scratch / "packed", scratch / "ordered"
    packed.write_bytes(gzip.compress(first.read_bytes()))
    ordered.write_text(json.dumps(json.loads(first.read_text()), sort_keys=True, indent=1))
    for source in (first, packed, ordered):
        second = decode(scratch / "second", source)
        found = check.difference(want, check.canonical(json.loads(second.read_text())))
        if found:
            return same(f"{source.name}: {found}")
    stays = scratch / "stays.trace.json"
    stays.write_bytes(second.read_bytes())
    if decode(scratch / "second", stays).read_bytes() != stays.read_bytes():
        return same("the same facts, but other bytes each time")
    return 0


def script(case, scratch):
    run = lambda path: sorted(subprocess.run([sys.executable, HERE / "users_script.py", path], check=True, capture_output=True, text=True).stdout.splitlines())
    theirs = scratch / "theirs.trace.json"
    theirs.write_bytes(gzip.decompress((FIXTURES / "collector" / case / "expected.trace.json.gz").read_bytes()))
    ours = decode(scratch, *inputs("collector/" + case))
    a, b = run(ours), run(theirs)
    closed = [line for line in a if line in set(b)] if case == "open_push" else a  # what NVIDIA drops: ranges still open
    if not b or closed != b:
        print("\n".join(line for line in set(a) ^ set(b)))
        return 1
    print(f"{len(b)} lines")
    return 0


TOP = ["meta", "diagnostics", "stringTable", "locationTable", "launches", "graphLaunches"]
COUNTERS = ["droppedEvents", "unmatchedPops", "unclosedRanges", "undecodedBytes", "reservedRecords", "timeAmbiguousChunks", "missingChunks",
            "corruptChunks", "corruptSections", "overflowedWarps", "warpsWithoutChunk", "overwrittenEvents",
            "overwrittenBegins", "truncated"]
LAUNCH = {"contextId", "gridId", "kernelName", "gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "markers", "ranges", "warpLifetimes"}
PAYLOAD = {"payloadType", "payloadVal", "payload"}
WIDTH = {1: 8, 2: 8, 3: 16, 4: 16, 5: 32, 6: 32, 7: 64, 13: 32, 14: 64, 15: 64, 16: 64}


class Float(str):
    """A number with a point or an exponent, as it was written."""


def need(condition, what):
    if not condition:
        raise AssertionError(what)


def digits(text):
    return len(re.sub(r"[eE].*", "", text).replace(".", "").lstrip("-0").rstrip("0")) or 1


def packed(form, value):
    try:
        return struct.pack(form, value)
    except OverflowError:  # a shortened number past the largest f32
        return None


def check_float(text, bits, kind):
    form, unpack = ("<f", struct.unpack("<f", struct.pack("<I", bits))[0]) if kind == 13 else ("<d", struct.unpack("<d", struct.pack("<Q", bits))[0])
    need(struct.pack(form, float(text)) == struct.pack(form, unpack), f"{text} is not the float {unpack!r}")
    fewest = next(p for p in range(1, 18) if packed(form, float(f"%.{p}g" % unpack)) == struct.pack(form, unpack))
    need(digits(text) <= fewest, f"{text} has more than the {fewest} digits that it needs")


def check_payload(event):
    if not PAYLOAD & set(event):
        return
    need(PAYLOAD <= set(event), f"some payload keys are missing: {event}")
    kind, bits, value = event["payloadType"], event["payloadVal"], event["payload"]
    need(kind in WIDTH and type(bits) is int and 0 <= bits < 1 << WIDTH[kind], f"payloadVal: {event}")
    if kind in (1, 3, 5, 7):
        need(value == bits - (1 << WIDTH[kind] if bits >> (WIDTH[kind] - 1) else 0), f"payload: {event}")
    elif kind in (2, 4, 6, 15, 16):
        need(value == bits, f"payload: {event}")
    elif value in ("NaN", "Infinity", "-Infinity"):
        exponent = bits >> 23 & 0xFF == 0xFF if kind == 13 else bits >> 52 & 0x7FF == 0x7FF
        fraction = bits & (0x7FFFFF if kind == 13 else (1 << 52) - 1)
        need(exponent and (fraction != 0) == (value == "NaN") and (value[0] == "-") == (fraction == 0 and bits >> (WIDTH[kind] - 1) == 1), f"payload: {event}")
    else:
        check_float(str(value), bits, kind)


def form(case, scratch):
    text = decode(scratch, *inputs(case)).read_bytes().decode("utf-8")  # strict: fails on what is not UTF-8
    order = []
    trace = json.loads(text, parse_float=Float, object_pairs_hook=lambda pairs: order.append([k for k, _ in pairs]) or dict(pairs))
    need([k for k in order[-1] if k in TOP] == TOP and len(set(order[-1])) == len(order[-1]), f"top-level keys: {order[-1]}")
    need(trace["meta"]["version"] == 1, "meta.version")
    need([k for k in trace["diagnostics"] if k in COUNTERS] == COUNTERS, "diagnostics")
    strings, places = trace["stringTable"], trace["locationTable"]
    for place in places:
        need(set(place) == {"smId", "tpcId", "gpcId", "ctaId", "warpId"} and len(place["ctaId"]) == 3, f"location {place}")
        need(place["gpcId"] >= -1 and place["tpcId"] >= -1, f"location {place}")
    launches = trace["launches"] + [l for group in trace["graphLaunches"].values() for l in group]
    need(launches, "no launch")
    seen = []
    for launch in launches:
        need(LAUNCH <= set(launch), f"a launch lacks {LAUNCH - set(launch)}")
        lives = [w["locIdx"] for w in launch["warpLifetimes"]]
        need(len(set(lives)) == len(lives), "two lifetimes of one place")
        order = [(*places[i]["ctaId"][::-1], places[i]["warpId"]) for i in sorted(lives)]
        need(order == sorted(order), "places of a launch are not in the order of CTA (z, y, x) and warp")
        seen = [*seen, *sorted(lives)]
        for m in launch["markers"]:
            need(set(m) - PAYLOAD == {"locIdx", "markerNameIdx", "timestamp", "color"} and m["color"] == 4294967295, f"marker {m}")
            need(0 <= m["locIdx"] < len(places) and 0 <= m["markerNameIdx"] < len(strings) and type(m["timestamp"]) is int, f"marker {m}")
            check_payload(m)
        for r in launch["ranges"]:
            keys = {"rangeNameIdx", "startTs", "endTs", "warpLocIdxs", "internalEvents", "rangeId", "rangeType", "rangeScope", "rangeColor"}
            need(set(r) - {"unclosed"} == keys and r.get("unclosed", True) is True, f"range {r}")
            need(len(r["internalEvents"]) == (1 if r.get("unclosed") else 2) and len(set(r["warpLocIdxs"])) == 1 and len(r["warpLocIdxs"]) == 2, f"range {r}")
            need(r["startTs"] <= r["endTs"] and r["internalEvents"][0]["timestamp"] == r["startTs"], f"range {r}")
            for e in r["internalEvents"]:
                need(set(e) - PAYLOAD == {"eventId", "timestamp"}, f"event {e}")
                check_payload(e)
    need(seen == sorted(seen) == list(range(len(places))), "places are not in the order of launches")
    print(f"{len(text)} bytes")
    return 0


def main():
    what, case = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="iket-golden-") as name:
        scratch = pathlib.Path(name)
        for folder in ("first", "second"):
            (scratch / folder).mkdir()
        if what == "dump":
            return compare_expected(case, decode(scratch, *inputs(case)))
        if what == "dump-meta":
            return compare_expected(case, decode(scratch, FIXTURES / case / "dump.bin"), names=False)
        expected = FIXTURES / "collector" / case / "expected.trace.json.gz"
        if what == "collector":
            path = decode(scratch, *inputs("collector/" + case))
            return subprocess.run([sys.executable, FIXTURES / "collector" / "check.py", path, expected]).returncode
        if what == "nvidia":
            return compare_collector(decode(scratch, expected), expected)
        return {"form": form, "again": again, "script": script}[what](case, scratch)


if __name__ == "__main__":
    sys.exit(main())
