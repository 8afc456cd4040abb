#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""levels.py [--build FOLDER] [--megabytes N] [--runs N] [--folder DIR]: how fast a large trace's level file answers.

A .pftrace of N MB (by make_dump and iket-decode), its level file, and each question a page asks, --runs times by one
process that holds the file mapped; the median of the CPU time counts. Without HTTP: that is serve.sh's. Never part of
ctest; needs `cmake --build FOLDER --target make_dump level_answer levels_make`.
"""

import argparse
import json
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/levels"))

from level_file import FIXED  # noqa: E402


def questions(tables):
    """(what it is for, question, arguments) of a page 1,536 pixels wide, which asks for half as much again around its strips."""
    span, first = tables["span"], tables["launches"][0]
    length, lanes = first["end"] - first["start"], tables["nodes"]["laneFirst"]
    warps = tables["warps"]["node"]
    from_lane, to_lane = lanes[warps[0]], lanes[warps[min(64, len(warps) - 1)]]
    some = "lanes=%d-%d" % (from_lane, to_lane)

    def window(share):
        start, size = first["start"] + length // 3, max(1, int(length * share))
        return [some, "from=%d" % start, "to=%d" % (start + size), "ns_per_pixel=%r" % (size / 1536)]

    def activity(start, size, what):
        return what, "activity", ["sms=0-131", "from=%r" % start, "to=%r" % (start + size), "bins=2304"]

    yield "names of the whole trace", "statistics", []
    yield "names in half of a launch", "statistics", ["from=%d" % first["start"], "to=%d" % (first["start"] + length // 2)]
    yield "names on one SM", "statistics", ["sm=3"]
    yield activity(-span / 4, span * 1.5, "132 SMs, the whole trace in view")
    yield activity(first["start"] - length / 4, length * 1.5, "132 SMs, a launch in view")
    yield activity(first["start"], length, "132 SMs, two thirds of a launch in view (no bins are that fine)")
    yield activity(first["start"] + length / 3, length / 50, "132 SMs, a 75th of a launch in view")
    for share, name in ((1, "a launch"), (1 / 50, "a 50th of it"), (1 / 2000, "a 2,000th of it")):
        yield "64 warps (%d lanes), %s" % (to_lane - from_lane, name), "window", window(share)
    yield "an event with its neighbours", "events", ["ids=%d" % (tables["events"] // 2)]
    yield "the next of a name", "find", ["by=order", "after=%d" % (tables["events"] // 2), "classes=4"]
    yield "the eight longest of a name", "longest", ["class=4"]
    yield "20,000 payloads of a name", "points", ["class=4"]
    yield "one SM's rows as CSV", "rows.csv", ["sm=3"]


def ask(tool, levels, runs, what, arguments):
    """(median in ms, bytes)"""
    result = subprocess.run([tool, levels, "--repeat", str(runs + 1), what, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    told = re.findall(rb"([\d.]+) ms, (\d+) bytes", result.stderr)[1:]  # the first reads the pages in
    return statistics.median(float(ms) for ms, _ in told), int(told[0][1])


def make(build, folder, megabytes):
    dump, trace, levels = folder / "d.bin", folder / "t.pftrace", folder / "t.level"
    if not trace.exists():
        subprocess.run([build / "tests/bench/make_dump", dump, "--bytes", "%dM" % (megabytes * 10 // 35)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([build / "iket-decode", "-q", "-f", "--emit", "pftrace", "-o", folder, "--name", "t", dump], check=True, stderr=subprocess.DEVNULL)
        dump.unlink()
    started = time.perf_counter()
    subprocess.run([build / "tests/levels/levels_make", trace, levels], check=True, stdout=subprocess.DEVNULL)
    print("%d MB of .pftrace, %d MB of level file, made in %.1f s" % (trace.stat().st_size / 1e6, levels.stat().st_size / 1e6, time.perf_counter() - started))
    return levels


def tables_of(levels):
    """The answer "tables", which is the file's first section (levels/file.h)."""
    with open(levels, "rb") as file:
        offset, count = struct.unpack_from("<QQ", file.read(FIXED.size + 16), FIXED.size)
        file.seek(offset)
        return json.loads(file.read(count))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the files there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        levels = make(given.build, folder, given.megabytes)
        tables = tables_of(levels)
        print("%d events, %d warps\n\n| question | ms | KB |\n| --- | --- | --- |" % (tables["events"], len(tables["warps"]["node"])))
        for name, what, arguments in questions(tables):
            ms, size = ask(given.build / "tests/levels/level_answer", levels, given.runs, what, arguments)
            print("| %s: %s | %.2f | %d |" % (what, name, ms, round(size / 1000)), flush=True)


if __name__ == "__main__":
    main()
