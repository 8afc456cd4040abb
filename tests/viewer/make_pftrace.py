#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_pftrace.py: writes .pftrace files of the layout that the page reads (doc/pftrace.md), with no library.

    make_pftrace.py TRACE_JSON[.gz] OUT.pftrace         encodes a trace.json of IKET's shape
    make_pftrace.py --synthetic RANGES OUT.pftrace      a large trace: a GEMM-like pipeline on 132 SMs

It is test material of the page: an encoder independent of the decoder's, small enough to see what each byte is for, and
the maker of traces too large to keep.
"""

import argparse
import gzip
import json
import struct
import sys


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def blob(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def packet(body):
    return b"\x0a" + varint(len(body)) + body


BEGIN, END, INSTANT = 1, 2, 3
SEQUENCE = number(10, 1) + number(13, 2)


class Writer:
    """Interns names, describes tracks, writes events in the order of their times."""

    def __init__(self):
        self.names, self.categories, self.annotations = {}, {}, {}
        self.tracks, self.events, self.last_uuid = [], [], 1

    @staticmethod
    def intern(table, text):
        return table.setdefault(text, len(table) + 1)

    def process(self, pid, name):
        self.tracks.append(number(1, 1) + blob(3, number(1, pid) + blob(6, name)))

    def track(self, parent, name, rank, explicit=True):
        self.last_uuid += 1
        body = number(1, self.last_uuid) + blob(2, name) + (number(5, parent) if parent else b"")
        if explicit:
            body += number(11, 3)
        self.tracks.append(body + number(12, rank) + number(15, 2))
        return self.last_uuid

    def annotation(self, name, field, value):
        data = number(1, self.intern(self.annotations, name))
        if field == 5:
            data += varint(5 << 3 | 1) + struct.pack("<d", value)
        elif field == 6:
            data += blob(6, value)
        else:
            data += number(field, value)
        return blob(4, data)

    def event(self, time, kind, track, name=None, category=None, annotations=b""):
        body = b""
        if category is not None:
            body += number(3, self.intern(self.categories, category))
        body += annotations + number(9, kind)
        if name is not None:
            body += number(10, self.intern(self.names, name))
        self.events.append((time, body + number(11, track)))

    def write(self, out):
        self.events.sort(key=lambda e: e[0])  # stable: at one time the order of the records stands
        start = self.events[0][0]
        clocks = blob(1, number(1, 64) + number(2, start) + number(3, 1)) + blob(1, number(1, 6) + number(2, start))
        interned = b"".join(
            blob(field, number(1, iid) + blob(2, text))
            for field, table in ((1, self.categories), (2, self.names), (3, self.annotations))
            for text, iid in table.items()
        )
        out.write(
            packet(number(10, 1) + number(13, 3) + blob(59, number(58, 64)) + blob(6, clocks) + blob(12, interned))
        )
        for body in self.tracks:
            out.write(packet(SEQUENCE + blob(60, body)))
        last = start
        for time, body in self.events:
            out.write(packet(number(8, time - last) + SEQUENCE + blob(11, body)))
            last = time


def typed(event):
    """A payload as (annotation field, value) from its bits."""
    kind, bits = event["payloadType"], event["payloadVal"]
    signed = {1: 8, 3: 16, 5: 32, 7: 64}.get(kind)
    if signed:
        return 4, bits - (1 << signed) if bits >> (signed - 1) else bits
    if kind == 13:
        return 5, struct.unpack("<f", struct.pack("<I", bits))[0]
    if kind == 14:
        return 5, struct.unpack("<d", struct.pack("<Q", bits))[0]
    return (7 if kind == 15 else 3), bits


PLAIN = {
    "droppedEvents": "%d events were dropped because a buffer was full",
    "unmatchedPops": "%d ranges were closed that nobody had opened",
    "unclosedRanges": "%d ranges were still open when their warp ended",
}


def encode(trace, out):
    writer = Writer()
    strings, places = trace["stringTable"], trace["locationTable"]
    launches = [(launch, "", n) for n, launch in enumerate(trace["launches"])]
    for key, group in trace.get("graphLaunches", {}).items():
        launches += [(launch, key, n) for n, launch in enumerate(group)]
    launches.sort(key=lambda l: min(life["startTs"] for life in l[0]["warpLifetimes"]))
    writer.process(42, "IKET NVIDIA H200")
    group = writer.track(0, "Launches", 0)
    first = min(life["startTs"] for launch, _, _ in launches for life in launch["warpLifetimes"])
    counters = {k: v for k, v in trace.get("diagnostics", {}).items() if v}
    if counters:
        track = writer.track(group, "Diagnostics", 0)
        for counter, count in counters.items():
            text = PLAIN.get(counter, counter + ": %d") % count
            writer.event(
                first,
                INSTANT,
                track,
                text,
                "diagnostic",
                writer.annotation("counter", 6, counter) + writer.annotation("count", 3, count),
            )
    kernels = {}
    for launch, key, ordinal in launches:
        name = launch["kernelName"]
        if name not in kernels:
            kernels[name] = writer.track(group, name, len(kernels) + 1)
        row = writer.track(kernels[name], "%s #%d" % (key, ordinal) if key else "launch %d" % ordinal, ordinal)
        encode_launch(writer, launch, key, ordinal, row, strings, places)
    writer.write(out)


def encode_launch(writer, launch, key, ordinal, row, strings, places):
    lives = launch["warpLifetimes"]
    note = writer.annotation
    facts = (
        note("launch", 3, ordinal) + note("grid_id", 3, launch["gridId"]) + note("context_id", 3, launch["contextId"])
    )
    facts += note("grid", 6, " x ".join(str(launch["gridDim" + a]) for a in "XYZ"))
    facts += note("block", 6, " x ".join(str(launch["blockDim" + a]) for a in "XYZ"))
    if key:
        facts += note("graph_key", 6, key)
    facts += note("warps", 3, len(lives)) + note("sms", 3, len({places[l["locIdx"]]["smId"] for l in lives}))
    facts += note("markers", 3, len(launch["markers"])) + note("ranges", 3, len(launch["ranges"]))
    writer.event(min(l["startTs"] for l in lives), BEGIN, row, launch["kernelName"], "launch", facts)
    tracks, order = {}, sorted(
        lives,
        key=lambda l: (places[l["locIdx"]]["smId"], places[l["locIdx"]]["ctaId"][::-1], places[l["locIdx"]]["warpId"]),
    )

    def child(parent, name, rank, explicit=True):
        if (parent, name) not in tracks:
            tracks[parent, name] = writer.track(parent, name, rank, explicit)
        return tracks[parent, name]

    of_place = {}
    for kind in ("markers", "ranges"):
        for event in launch[kind]:
            index = event["locIdx"] if kind == "markers" else event["warpLocIdxs"][0]
            of_place.setdefault(index, ([], []))[kind == "ranges"].append(event)
    for life in order:
        place = places[life["locIdx"]]
        known = place["gpcId"] >= 0 and place["tpcId"] >= 0
        where = " (GPC %d, TPC %d)" % (place["gpcId"], place["tpcId"]) if known else ""
        sm = child(row, "SM %d%s" % (place["smId"], where), place["smId"])
        x, y, z = place["ctaId"]
        cta = child(sm, "CTA (%d, %d, %d)" % (x, y, z), z << 20 | y << 10 | x)
        warp = writer.track(cta, "warp %d" % place["warpId"], place["warpId"])
        markers, ranges = of_place.get(life["locIdx"], ([], []))
        encode_warp(writer, warp, life, markers, ranges, strings, child)
    writer.event(max(l["endTs"] for l in lives), END, row)


def payload_of(writer, event, name):
    return writer.annotation(name, *typed(event)) if "payloadType" in event else b""


def encode_warp(writer, warp, life, markers, ranges, strings, child):
    writer.event(life["startTs"], BEGIN, warp, "warp lifetime", "lifetime")
    stack = []

    def end(r, track):
        last = r["internalEvents"][-1] if len(r["internalEvents"]) > 1 else {}
        notes = payload_of(writer, last, "end_payload") + (
            writer.annotation("unclosed", 2, 1) if r.get("unclosed") else b""
        )
        writer.event(r["endTs"], END, track, annotations=notes)

    def begin(r, track, category):
        writer.event(
            r["startTs"],
            BEGIN,
            track,
            strings[r["rangeNameIdx"]],
            category,
            payload_of(writer, r["internalEvents"][0], "payload"),
        )

    for r in sorted((r for r in ranges if r["rangeType"] == 2), key=lambda r: (r["startTs"], -r["endTs"])):
        while stack and (
            stack[-1]["endTs"] < r["startTs"]
            or stack[-1]["endTs"] == r["startTs"] < r["endTs"]
            or stack[-1]["endTs"] == r["startTs"] == r["endTs"]
            and stack[-1]["startTs"] == r["startTs"]
        ):
            end(stack.pop(), warp)
        begin(r, warp, "range")
        stack.append(r)
    while stack:
        end(stack.pop(), warp)
    for r in sorted((r for r in ranges if r["rangeType"] == 1), key=lambda r: r["startTs"]):
        track = child(warp, "token " + strings[r["rangeNameIdx"]], r["rangeNameIdx"] + 2, False)
        begin(r, track, "token")
        end(r, track)
    for m in sorted(markers, key=lambda m: m["timestamp"]):
        writer.event(
            m["timestamp"],
            INSTANT,
            child(warp, "markers", 1, False),
            strings[m["markerNameIdx"]],
            "marker",
            payload_of(writer, m, "payload"),
        )
    writer.event(life["endTs"], END, warp)


def synthetic(ranges, out, sms=132):
    """A persistent pipeline on `sms` SMs, 8 warps each: a tile holds 8 steps of wait and work, and ends with a marker."""
    writer, warps = Writer(), []
    writer.process(42, "IKET synthetic")
    group = writer.track(0, "Launches", 0)
    row = writer.track(writer.track(group, "synthetic_gemm", 1), "launch 0", 0)
    for sm in range(sms):
        cta = writer.track(
            writer.track(row, "SM %d (GPC %d, TPC %d)" % (sm, sm % 8, sm // 16), sm), "CTA (%d, 0, 0)" % sm, sm
        )
        for warp in range(8):
            track = writer.track(cta, "warp %d" % warp, warp)
            warps.append((track, writer.track(track, "markers", 1, False), sm, warp))
    start = 1796112531294623904
    tiles = max(1, ranges // (len(warps) * 17))
    for text in (
        "synthetic_gemm",
        "warp lifetime",
        "tile",
        "wait_full",
        "mma",
        "load_acquire",
        "load_issue",
        "tile_done",
    ):
        writer.intern(writer.names, text)
    for text in ("launch", "lifetime", "range", "marker"):
        writer.intern(writer.categories, text)
    for text in ("payload", "warps", "sms", "ranges", "markers", "launch", "grid_id", "grid", "block"):
        writer.intern(writer.annotations, text)
    total = len(warps) * tiles * 17
    note = writer.annotation
    facts = (
        note("launch", 3, 0)
        + note("grid_id", 3, 7)
        + note("grid", 6, "%d x 1 x 1" % sms)
        + note("block", 6, "256 x 1 x 1")
        + note("warps", 3, len(warps))
        + note("sms", 3, sms)
        + note("markers", 3, len(warps) * tiles)
        + note("ranges", 3, total)
    )
    writer.event(start, BEGIN, row, "synthetic_gemm", "launch", facts)
    for track, _, sm, _ in warps:
        writer.event(start + 32 * (sm % 7), BEGIN, track, "warp lifetime", "lifetime")
    writer.write(out)
    last = start + 32 * 6
    ends = [packet_tail(END, track) for track, _, _, _ in warps]
    for tile in range(tiles):
        steps = []
        for w, (track, marks, sm, warp) in enumerate(warps):
            roles = ("load_acquire", "load_issue") if warp == 0 else ("wait_full", "mma")
            clock = 32 * (1 + (sm * 7 + warp) % 13)
            steps.append((clock, w, packet_tail(BEGIN, track, writer, "tile", "range", tile)))
            for k in range(8):
                wait = 32 * (1 + (sm * 31 + tile * 17 + k * 5 + warp) % (29 if sm % 11 == 3 else 9))
                work = 32 * (6 + (tile + k + warp) % 3)
                for name, length in zip(roles, (wait, work)):
                    steps.append((clock, w, packet_tail(BEGIN, track, writer, name, "range", k)))
                    clock += length
                    steps.append((clock, w, ends[w]))
            steps.append((clock + 32, w, packet_tail(INSTANT, marks, writer, "tile_done", "marker", tile)))
            steps.append((clock + 64, w, ends[w]))
        steps.sort(key=lambda s: s[0])
        base = start + 256 + tile * 32 * 420
        for clock, _, tail in steps:
            head = number(8, base + clock - last)
            last = base + clock
            out.write(b"\x0a" + varint(len(head) + len(tail)) + head + tail)
    for track, _, _, _ in warps:
        out.write(packet(number(8, 32) + packet_tail(END, track)))
    out.write(packet(number(8, 32) + packet_tail(END, row)))


def packet_tail(kind, track, writer=None, name=None, category=None, payload=None):
    """An event's packet after its timestamp."""
    body = b""
    if name is not None:
        body += number(3, writer.categories[category]) + writer.annotation("payload", 4, payload)
    body += number(9, kind)
    if name is not None:
        body += number(10, writer.names[name])
    return SEQUENCE + blob(11, body + number(11, track))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--synthetic", type=int, metavar="RANGES")
    parser.add_argument("paths", nargs="+")
    args = parser.parse_args()
    with open(args.paths[-1], "wb") as out:
        if args.synthetic:
            synthetic(args.synthetic, out)
        else:
            data = open(args.paths[0], "rb").read()
            encode(json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data), out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
