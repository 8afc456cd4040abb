#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fixtures.py FOLDER [IKET_DECODE]: every dump recorded on a GPU says what is kept beside it in expected.json.

Reads each with read_dump.py; with iket-decode, its trace.json must have the same launches, events and payloads.
"""
import collections
import json
import os
import subprocess
import sys

import read_dump

INTEGERS = {1, 2, 3, 4, 5, 6, 7, 16}


def events_of_trace(trace, kernel):
    """name -> number of records, markers and both ends of ranges, and payloads as read_dump.py prints them."""
    names, counts, payloads = trace["stringTable"], collections.Counter(), collections.defaultdict(collections.Counter)
    launches = list(trace["launches"]) + [one for group in trace["graphLaunches"].values() for one in group]
    mine = [launch for launch in launches if launch["kernelName"] == kernel]

    def note(name, event):
        counts[name] += 1
        if "payloadType" in event and event["payloadType"] != 15:
            value = event["payload"]
            if event["payloadType"] not in INTEGERS:
                value = float(value)
            payloads[name][read_dump.text_of(value, event["payloadType"])] += 1

    for launch in mine:
        for marker in launch["markers"]:
            note(names[marker["markerNameIdx"]], marker)
        for span in launch["ranges"]:
            name = names[span["rangeNameIdx"]]
            for place, event in enumerate(span["internalEvents"]):
                note("(pop)" if place == 1 and span["rangeType"] == 2 else name, event)
    return len(mine), counts, payloads


def check_decoder(decode, folder, expected):
    dump, meta = os.path.join(folder, "dump.bin"), os.path.join(folder, "meta.json")
    command = [decode, "--emit", "json", "-o", "-", dump]
    trace = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    again = json.loads(subprocess.run(command + ["--meta", meta], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    assert trace["launches"] == again["launches"] and trace["graphLaunches"] == again["graphLaunches"], "meta.json changes what is decoded"
    may_be = ("droppedEvents", "warpsWithoutChunk", "unclosedRanges", "overwrittenEvents", "overwrittenBegins")
    diagnostics = {k: v for k, v in trace["diagnostics"].items() if v and k not in may_be}
    assert not diagnostics, "the decoder finds %r" % diagnostics
    lost = expected["lost"]
    dropped = sum(k["dropped"] for k in expected["kernels"].values()) + lost["events"] + lost.get("leftOut", 0)
    assert trace["diagnostics"]["droppedEvents"] == dropped, "dropped events"
    overwritten = sum(k.get("overwritten", 0) for k in expected["kernels"].values())
    assert trace["diagnostics"]["overwrittenEvents"] == overwritten, "overwritten events"
    ends = 0
    for kernel, want in expected["kernels"].items():
        launches, counts, payloads = events_of_trace(trace, kernel)
        assert launches == want["launches"], "%s: %d launches, not %d" % (kernel, launches, want["launches"])
        for name, event in want["events"].items():
            # The end of a range whose beginning was overwritten is in the dump and not in the trace.
            without_begin = event["count"] - counts[name] if overwritten else 0
            ends += without_begin
            assert without_begin >= 0 and counts[name] + without_begin == event["count"], "%s: %d of %s, not %d" % (
                kernel, counts[name], name, event["count"])
            assert without_begin or payloads[name] == event["payloads"], "%s: payloads of %s" % (kernel, name)
    assert ends == trace["diagnostics"]["overwrittenBegins"], "ends of ranges that began before"


def check_collector(decode, root, name):
    """What NVIDIA's collector left of a source has the events and payloads that the recorder left of it."""
    command = [decode, "--emit", "json", "-o", "-", os.path.join(root, name)]
    trace = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    ours = json.load(open(os.path.join(root, name[len("collector_"):], "expected.json")))
    (kernel, want), = ours["kernels"].items()
    launches, counts, payloads = events_of_trace(trace, trace["launches"][0]["kernelName"])
    assert kernel in trace["launches"][0]["kernelName"] and launches == want["launches"], "launches"
    assert counts == {event: one["count"] for event, one in want["events"].items()}, "%s: %r" % (name, counts)
    for event, one in want["events"].items():
        assert payloads[event] == one["payloads"], "%s: payloads of %s" % (name, event)


def main():
    root, decode = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    folders = sorted(name for name in os.listdir(root) if os.path.exists(os.path.join(root, name, "dump.bin")))
    assert folders, "no fixtures in " + root
    for name in folders:
        folder = os.path.join(root, name)
        assert os.path.getsize(folder + "/dump.bin") < 1000000, name + " is too large"
        expected = json.load(open(folder + "/expected.json"))
        got = json.loads(json.dumps(read_dump.read(folder), sort_keys=True))
        assert got == expected, name + ": dump.bin says something else than expected.json"
        if decode:
            check_decoder(decode, folder, expected)
        print(name, "is right")
    for name in sorted(os.listdir(root)):
        if name.startswith("collector_") and decode:
            check_collector(decode, root, name)
            print(name, "has the events that the recorder has")


if __name__ == "__main__":
    main()
