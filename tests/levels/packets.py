# SPDX-License-Identifier: Apache-2.0
"""packets.py: .pftrace files by hand, for the tests of this folder: protobuf fields, packets, a head, tracks and events."""
import struct


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, content):
    """A number, or bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def packet(*fields):
    return field(1, b"".join(fields))


def named(iid, text):
    return field(1, iid) + field(2, text)


def names(categories=(), events=(), annotations=()):
    tables = enumerate((categories, events, annotations), 1)
    return field(12, b"".join(field(number, named(iid, text)) for number, table in tables for iid, text in enumerate(table, 1)))


def track(uuid, name, parent=0, rank=0):
    return packet(field(60, field(1, uuid) + field(2, name) + (field(5, parent) if parent else b"") + field(12, rank)))


def event(*fields, time=0):
    return packet(field(8, time), field(11, b"".join(fields)))


def begin(track=2, name=1, category=1, *more, time=0, kind=1):
    return event(field(3, category), *more, field(9, kind), field(10, name), field(11, track), time=time)


def end(track=2, *more, time=0):
    return event(*more, field(9, 2), field(11, track), time=time)


def annotation(iid, number, value):
    return field(4, field(1, iid) + (fixed64(number, value) if number == 5 else field(number, value)))


CLOCK = field(6, field(1, field(1, 64) + field(2, 1796096489335662304)))
HEAD = packet(CLOCK, names([b"range"], [b"a"]))
ROOT = track(2, b"Launches")
