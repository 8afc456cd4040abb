# SPDX-License-Identifier: Apache-2.0
"""packets.py: a .pftrace read packet by packet, without Perfetto: does it keep to what doc/pftrace.md says of its bytes?

    packet 1   sequence 1, flags 3, default clock 64, clock snapshot at T0, interned names
    then       track descriptors: uuids unique, every parent described before, groups in explicit order, nothing merged
    then       events: the time is the distance to the packet before (never negative), their tracks and names known
"""
import sys

PACKET = 1
CLOCK_SNAPSHOT, TIMESTAMP, SEQUENCE, TRACK_EVENT, INTERNED, FLAGS, DEFAULTS, DESCRIPTOR, RENDER_STAGE = 6, 8, 10, 11, 12, 13, 59, 60, 53
BEGIN, END, INSTANT = 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(field number, int or bytes) of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value = data[at:at + size]
            need(len(value) == size, "a field is cut off")
            at += size
        yield key >> 3, value


def need(condition, what):
    if not condition:
        sys.exit(f"packets: {what}")


def one(message, number, default=None):
    found = [v for n, v in fields(message) if n == number]
    need(len(found) <= 1, f"field {number} {len(found)} times")
    return found[0] if found else default


def check_first(packet):
    need(one(packet, SEQUENCE) == 1 and one(packet, FLAGS) == 3, "the first packet's sequence or flags")
    need(one(one(packet, DEFAULTS), 58) == 64, "the default clock is not 64")
    clocks = [dict(fields(v)) for n, v in fields(one(packet, CLOCK_SNAPSHOT)) if n == 1]
    need({c[1] for c in clocks} == {64, 6} and len({c[2] for c in clocks}) == 1, f"clocks {clocks}")
    need([c.get(3) for c in clocks if c[1] == 64] == [1], "clock 64 is not incremental")


def intern(packet, names):
    for number, entry in fields(one(packet, INTERNED, b"")):
        if number > 3:  # the GPU's context and stages
            continue
        iid, text = one(entry, 1), one(entry, 2)
        need(iid and (number, iid) not in names, f"interned id {iid} twice or 0")
        need(b"\0" not in text, "a NUL in a name")
        names[number, iid] = text.decode("utf-8")


def describe(body, tracks):
    uuid, parent, process = one(body, 1), one(body, 5), one(body, 3)
    need(uuid and uuid not in tracks, f"track {uuid} twice or 0")
    if process is None:
        need(parent is None or parent in tracks, f"track {uuid}: parent {parent} is not described before it")
        need(one(body, 15) == 2, f"track {uuid} may be merged with others")
    one(body, 2, b"").decode("utf-8")
    tracks[uuid] = one(body, 11)


def check(raw):
    tracks, names, open_ = {}, {}, {}
    count = 0
    for number, packet in fields(raw):
        need(number == PACKET, f"field {number} between the packets")
        if count == 0:
            check_first(packet)
            need(not any(n in (TRACK_EVENT, DESCRIPTOR) for n, _ in fields(packet)), "the clock snapshot shares its packet")
        count += 1
        need(one(packet, SEQUENCE, 1) == 1, "a second sequence")
        need(count == 1 or not one(packet, FLAGS, 0) & 1, "the state is cleared again")
        intern(packet, names)
        delta = one(packet, TIMESTAMP)
        need(delta is None or delta < 1 << 63, "a negative distance of time")
        descriptor, event = one(packet, DESCRIPTOR), one(packet, TRACK_EVENT)
        if descriptor is not None:
            describe(descriptor, tracks)
        if event is None:
            continue
        need(delta is not None, "an event without time")
        kind, track = one(event, 9), one(event, 11)
        need(track in tracks, f"an event on track {track}, which is not described before it")
        need(kind in (BEGIN, END, INSTANT), f"event type {kind}")
        if kind != END:
            need(((2, one(event, 10)) in names or one(event, 23)) and (1, one(event, 3)) in names, "a name or category that was not interned")
        depth = open_.get(track, 0) + {BEGIN: 1, END: -1, INSTANT: 0}[kind]
        need(0 <= depth <= 512, f"track {track}: depth {depth}")
        open_[track] = depth
        for n, annotation in fields(event):
            need(n != 4 or (3, one(annotation, 1)) in names, "an annotation's name was not interned")
    need(not any(open_.values()), "a slice is never closed")
    with_groups = {p for p in tracks.values() if p is not None}
    need(with_groups <= {3}, f"child ordering {with_groups}")
