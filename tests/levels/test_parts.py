#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_parts.py: a trace that is large enough for several threads, held against the page's tables of it (judge.js). Slices,
arrows and annotations reach over the places where a thread begins."""
import functools
import pathlib
import sys
import tempfile

from packets import CLOCK, annotation, begin, end, fixed64, names, packet, track
from traces import judge, make

LIFETIME, RANGE, TOKEN, MARKER, LAUNCH = range(1, 6)
PAYLOAD, END_PAYLOAD, UNCLOSED, RECORDED, GRID = range(1, 6)
WARPS, BYTES = 600, 18 << 20


def tracks():
    yield track(1, b"Launches") + track(2, b"gemm", 1, 7) + track(3, b"launch 0", 2) + begin(3, 5, LAUNCH, annotation(GRID, 6, b"1,2,3"))
    for warp in range(WARPS):
        sm, cta, uuid = 10 + warp // 60, 100 + warp // 4, 1000 + warp
        if warp % 60 == 0:
            yield track(sm, b"SM %d (GPC 0, TPC %d)" % (warp // 60, warp % 7), 3, warp // 60)
        if warp % 4 == 0:
            yield track(cta, b"CTA (%d, 0, 0)" % (cta - 100), sm, cta)
        yield track(uuid, b"warp %d" % (warp % 4), cta, warp % 4) + begin(uuid, 1, LIFETIME, time=3)
        yield track(5000 + warp, b"token t", uuid, 9) + begin(5000 + warp, 3, TOKEN, annotation(PAYLOAD, 7, warp << 40))
        yield begin(uuid, 2, RANGE) if warp % 3 else begin(uuid, 2, RANGE) + begin(uuid, 6, RANGE)


@functools.cache
def ranges(variant):
    """Of every warp: the end of what is open, a few ranges, and what stays open until the next block."""
    out = bytearray()
    for warp in range(WARPS):
        uuid = 1000 + warp
        out += end(uuid, annotation(RECORDED, 3, 10**18 + variant)) if warp % 5 == 0 else end(uuid, time=warp % 3)
        if warp % 3 == 0:
            out += end(uuid)
        out += begin(uuid, 6, RANGE, annotation(PAYLOAD, 4, (1 << 64) - warp - 1), time=1) + end(uuid, time=2 + variant)
        out += begin(uuid, 4, MARKER, annotation(PAYLOAD, 5, warp << 50), kind=3)
        out += begin(uuid, 2, RANGE) if warp % 3 else begin(uuid, 2, RANGE) + begin(uuid, 6, RANGE)
    return bytes(out)


def arrows(number):
    for warp in range(7, WARPS, 50):
        arrow = (number + 1) * WARPS + warp  # the first one comes from nowhere
        yield end(5000 + warp, annotation(END_PAYLOAD, 3, number)) + begin(5000 + warp, 3, TOKEN, fixed64(48, arrow - WARPS), fixed64(47, arrow))


def write(path):
    categories = [b"lifetime", b"range", b"token", b"marker", b"launch"]
    annotations = [b"payload", b"end_payload", b"unclosed", b"recorded_at", b"grid"]
    events = [b"warp lifetime", b"tile", b"t", b"stored", b"gemm", b"wait"]
    with open(path, "wb") as file:
        file.write(packet(CLOCK, names(categories, events, annotations)) + b"".join(tracks()))
        number = 0
        while file.tell() < BYTES:
            file.write(ranges(number % 5) + b"".join(arrows(number)))
            number += 1
        for warp in range(WARPS):
            if warp % 4:
                file.write(end(1000 + warp, annotation(UNCLOSED, 2, 1), time=1) * (3 if warp % 3 == 0 else 2))
        file.write(end(3))


with tempfile.TemporaryDirectory() as scratch:
    trace, levels = pathlib.Path(scratch) / "trace", pathlib.Path(scratch) / "levels"
    write(trace)
    status, message = make(trace, levels)
    sys.exit(message if status else judge([(trace, levels)]) or 0)
