#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jobs.py: the files are the same for any number of threads, and a Perfetto trace is in the order of time where its warps
are of very different pace.

fixtures   every golden input, -j 1, 2 and 3: the same bytes of each kind of file
pace       200 slow warps, and three that wait for two seconds and then write thousands of events at once: the decoder
           takes a span of time for as many events as the warps' mean rates promise, so that it must end such a span early
           and keep what it has read too much; also with warps of many lanes, of which some run backwards in time
places     streams in any order, of few places and of such as no key of 64 bits holds: the model's order
long       streams that are divided among threads, with many ranges open where they are: as the reference decoder reads them
groups     launches of every size, so that what one thread encodes begins and ends anywhere: as the reference decoder reads them
"""
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(os.environ["IKET_FIXTURES"])
TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "badinput"), str(TESTS / "perfetto")]
import differential
import dump_builder as dump
import packets


def decode(path, kind, *arguments):
    run = subprocess.run(["iket-decode", "-q", "-o", "-", "--emit", kind, *arguments, str(path)], capture_output=True)
    if run.returncode != 0:
        sys.exit(f"{path}: exit status {run.returncode}: {run.stderr.decode()}")
    return run.stdout


def same_for_any_jobs(path, *arguments):
    """Returns the files of one thread."""
    alone = {kind: decode(path, kind, "-j1", *arguments) for kind in ("pftrace", "pftrace.gz", "json")}
    json.loads(alone["json"])
    for jobs in (2, 3):
        for kind, wanted in alone.items():
            if decode(path, kind, f"-j{jobs}", *arguments) != wanted:
                sys.exit(f"{path}: {kind} is another with -j {jobs}")
    return alone


def check_fixtures(_folder):
    inputs = sorted(FIXTURES.rglob("dump.bin")) + sorted(FIXTURES.rglob("iket.data.json")) + sorted(FIXTURES.rglob("*.trace.json*"))
    for path in inputs:
        same_for_any_jobs(path)
        same_for_any_jobs(path, "--time", "0..500")
    print(f"{len(inputs)} inputs")


def stream(records, room, **place):
    """A stream's chunks of [(time, id, payload)]."""
    parts = [records[i:i + room] for i in range(0, len(records), room)]
    for seq, part in enumerate(parts):
        data = b"".join(dump.native(*record) for record in part)
        yield dump.chunk(data, seq=seq, start=part[0][0], end=part[-1][0], last=seq == len(parts) - 1, size=128 + len(data) + -len(data) % 8, **place)


def paced_dump():
    rng = random.Random(1)
    chunks = []
    for warp in range(200):
        chunks += stream([(dump.T + 10_000_000 * k + 320 * warp, 4, None) for k in range(300)], 800, cta=(warp, 0, 0))
    for warp in range(3):
        begin = dump.T + 64 * warp
        burst = dump.T + 2_000_000_000 + 100_000 * warp
        cycle = ((1, None), (2, -7), (4, None), (5, 3), (31, None), (3, None), (31, None), (3, None))
        events = [(begin, 4, None)] + [(burst + 32 * (k // 3), *cycle[k % len(cycle)]) for k in range(30_000)]
        chunks += stream(events, 1000, cta=(300 + warp, 0, 0))
    for lane in range(8):
        time = dump.T + 1_000_000_000
        events = []
        for k in range(3000):
            time += rng.choice((0, 32, 64, 96, -32, -640))
            events.append((time, *rng.choice(((1, None), (31, None), (4, None), (3, None)))))
        chunks += stream(events, 500, cta=(400, 0, 0), lane=lane)
    return dump.dump(*chunks)


def event_times(pftrace):
    """[(time, type)] of the track events in the file's order."""
    now, out = None, []
    for number, packet in packets.fields(pftrace):
        if number != packets.PACKET:
            sys.exit("not a packet")
        fields = dict(packets.fields(packet))
        if packets.CLOCK_SNAPSHOT in fields:
            now = dict(packets.fields(dict(packets.fields(fields[packets.CLOCK_SNAPSHOT]))[1]))[2]
        now += fields.get(packets.TIMESTAMP, 0)
        if packets.TRACK_EVENT in fields:
            out.append((now, dict(packets.fields(fields[packets.TRACK_EVENT]))[9]))
    return out


def check_pace(folder):
    path = pathlib.Path(folder, "paced.bin")
    path.write_bytes(paced_dump())
    files = same_for_any_jobs(path)
    launch = json.loads(files["json"])["launches"][0]
    got = event_times(files["pftrace"])
    if any(a[0] > b[0] for a, b in zip(got, got[1:])):
        sys.exit("times run backwards")
    markers = sum(kind == packets.INSTANT for _, kind in got)
    if markers - len(launch["markers"]) not in range(20):  # and an instant for each diagnostic
        sys.exit(f"{markers} instants for {len(launch['markers'])} markers")
    burst = collections.Counter(t for t, kind in got if kind == packets.INSTANT and t >= dump.T + 1_900_000_000)
    wanted = collections.Counter(m["timestamp"] for m in launch["markers"] if m["timestamp"] >= dump.T + 1_900_000_000)
    if burst != wanted:
        sys.exit("the markers of the burst are not those of the JSON")
    begins, ends = (sum(kind == k for _, kind in got) for k in (packets.BEGIN, packets.END))
    slices = len(launch["ranges"]) + len(launch["warpLifetimes"]) + 2  # of the launch: in its track and in the overview
    if not begins == ends == slices:
        sys.exit(f"{begins} begins and {ends} ends for {slices} ranges")
    print(f"{len(got)} events")


def check_places(folder):
    rng = random.Random(2)
    for what, most in (("narrow", (7, 3, 2, 31)), ("wide", (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF))):
        places = {tuple(rng.choice((0, 1, bound, bound // 2, rng.randint(0, bound))) for bound in most) for _ in range(300)}
        chunks = [c for *cta, warp in rng.sample(sorted(places), len(places))
                  for c in stream([(dump.T + 32 * rng.randrange(1000), 4, None)], 1, cta=cta, warp=warp, sm=cta[0] % 132)]
        path = pathlib.Path(folder, f"{what}.bin")
        path.write_bytes(dump.dump(*chunks))
        got = [(*place["ctaId"], place["warpId"]) for place in json.loads(same_for_any_jobs(path)["json"])["locationTable"]]
        if got != sorted(places, key=lambda place: (*place[2::-1], place[3])):
            sys.exit(f"{what}: the places are not those of the chunks, by z, y, x and warp")
        print(f"{what}: {len(got)} places")


TOKENS = range(8, 30)
LONG_EVENTS = dump.EVENTS + [dump.event(id_, f"t{id_}", dump.TOKEN, dump.U32 if id_ % 2 else dump.NONE, range_id=100 + id_) for id_ in TOKENS]


def long_records(rng, count, deep):
    """[(time, id, payload)]: markers, ranges and 22 kinds of tokens; `deep`: from a third to two thirds of them below 3000 ranges."""
    time, depth, out = dump.T + 64, 0, []
    below = []
    for k in range(count):
        time += rng.choice((0, 32, 32, 64, 960))
        if deep and k == count // 3:
            below = [1] * 3000
        if deep and k == 2 * count // 3:
            below = [31] * 3000
        if below:
            id_ = below.pop()
        else:
            id_ = rng.choice((1, 2, 31, 31, 31, 3, 4, 5, 5, 7, *rng.sample(TOKENS[:-1], 3)))
        depth += (id_ in (1, 2)) - (id_ == 31)
        out.append((time, id_, rng.getrandbits(32) if id_ in (2, 5, 7) or id_ in TOKENS and id_ % 2 else None))
    return out


def check_long(folder):
    rng = random.Random(3)
    several, deep, whole, last = (long_records(rng, 20_000, deep) for deep in (False, True, False, False))
    last.append((last[-1][0] + 32, TOKENS[-1], 7))  # the end of a range whose begin was overwritten
    regions = {warp: b"".join(dump.native(*record) for record in records) for warp, records in (("whole", whole), ("last", last))}
    chunks = [*stream(several, 700, cta=(0, 0, 0)), *stream(deep, 15_000, cta=(1, 0, 0)),
              dump.chunk(regions["whole"], cta=(2, 0, 0), start=whole[0][0], end=0, size=128 + (len(regions["whole"]) + 1024 & -8), closed=False),
              dump.chunk(regions["last"], cta=(3, 0, 0), start=dump.T, end=last[-1][0] + 32, overwritten=12345, reference=last[-1][0] + 32)]
    path = pathlib.Path(folder, "dump.bin")
    path.write_bytes(dump.dump(*chunks, events=LONG_EVENTS))
    files = same_for_any_jobs(path)
    same_for_any_jobs(path, "--time", "300000..900000")
    found = differential.difference([str(path)])
    if found:
        sys.exit(f"not as the reference decoder reads it: {found}")
    again = pathlib.Path(folder, "again.trace.json")
    again.write_bytes(files["json"])
    wanted, got = (differential.check.canonical(json.loads(text)) for text in (files["json"], same_for_any_jobs(again)["json"]))
    found = differential.check.difference(wanted, got)
    if found:
        sys.exit(f"of its own trace.json: {found}")
    print(f"{sum(map(len, (several, deep, whole, last)))} records")


def check_groups(folder):
    rng = random.Random(4)
    chunks, start = [], dump.T
    for grid in range(60):
        cycle = rng.choice((((4, None),), ((1, None), (31, None)), ((4, None), (1, None), (31, None), (31, None))))
        for warp in range(rng.choice((1, 2, 3, 40, 200))):
            count = rng.choice((1, 4, 64, 500)) if warp < 5 else rng.choice((1, 4))
            chunks += stream([(start + 32 * k, *cycle[k % len(cycle)]) for k in range(count)], 1000, grid=1000 + grid, cta=(warp, 0, 0))
        if rng.random() < 0.2:
            chunks += stream([(start + 32 * k, 4, None) for k in range(rng.randrange(4000, 4200))], 1000, grid=1000 + grid, cta=(300, 0, 0))
        start += 1_000_000
    path = pathlib.Path(folder, "dump.bin")
    path.write_bytes(dump.dump(*chunks))
    same_for_any_jobs(path)
    same_for_any_jobs(path, "--time", "1000000..20002000")
    found = differential.difference([str(path)])
    if found:
        sys.exit(f"not as the reference decoder reads it: {found}")
    print(f"{len(chunks)} chunks")


with tempfile.TemporaryDirectory() as scratch:
    {"fixtures": check_fixtures, "pace": check_pace, "places": check_places, "long": check_long, "groups": check_groups}[sys.argv[1]](scratch)
