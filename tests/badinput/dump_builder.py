# SPDX-License-Identifier: Apache-2.0
"""dump_builder.py: writes dump.bin files field by field, by doc/FORMAT.md sections 1 to 3 and nothing else.

A dump is bytes: header() + section(...) + … + done(). Every field that the format names can be given a wrong value, so
that a test says exactly what is wrong with its input. Knows nothing of the decoder.
"""
import json
import struct
import zlib

# A time of the kind that an H200 shows, its low 5 bits zero.
T = 1796096489335662304

MARKER, PUSH, POP, TOKEN = 0, 1, 2, 4
NONE, I8, U8, I16, U16, I32, U32, I64, F32, F64, POINTER, U64 = 0, 1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 16
NATIVE, EXTENDED = 3, 5
WIDTH = {NONE: 0, I8: 4, U8: 4, I16: 4, U16: 4, I32: 4, U32: 4, I64: 8, F32: 4, F64: 8, POINTER: 8, U64: 8}
JUNK = b"\xa5"  # what stands in bytes that the format calls undefined
CLOSED, LAST, DROPPED, WIDE, EVEN, KEPT_LAST = 1, 2, 4, 8, 16, 32


def pad(data, to):
    return data + b"\0" * (-len(data) % to)


# ---- section 1: declarations ------------------------------------------------------------------------------------------

def info(minor=5, max_event_id=31, name_size=32, features=3, magic=0xBABEF19D, extra=b"", major=0, attributes=60):
    """The symbol __iket_meta_info."""
    body = struct.pack("<7IQ", major, minor, max_event_id, name_size, attributes, magic, 0, features) + b"\0" * 8 + extra
    return "__iket_meta_info", struct.pack("<I", 4 + len(body)) + body


def event(id_, name, pos=MARKER, payload=NONE, range_id=0, method=NATIVE, length=None, symbol=None, extra=b""):
    """An __iket_evt_decl_… symbol. `name` may be bytes; `length` is what its length field says."""
    raw = name if isinstance(name, bytes) else name.encode()
    body = struct.pack("<6I", id_, method, payload, pos, range_id, len(raw) if length is None else length) + raw[:32].ljust(32, b"\0") + extra
    if symbol is None:
        clean = "".join(chr(c) if chr(c).isalnum() and c < 128 else "_" for c in raw)
        symbol = f"__iket_evt_decl_{clean}_{id_}_attrs"
    return symbol, struct.pack("<I", 4 + len(body)) + body


def range_(range_id, name, type_=2, color=0xFFFFFFFF, scope=0, pair=0, extra=b""):
    """An __iket_range_decl_… symbol."""
    raw = name.encode()
    body = struct.pack("<5I8xI", scope, range_id, color, type_, pair, len(raw)) + raw[:32].ljust(36, b"\0") + extra
    return f"__iket_range_decl_{name}_{range_id}_attrs", struct.pack("<I", 4 + len(body)) + body


# The events that most cases use.
EVENTS = [
    event(1, "outer", PUSH, range_id=11),
    event(2, "inner", PUSH, I32, range_id=12),
    event(3, "tok", TOKEN, range_id=13),
    event(4, "k"),
    event(5, "v", MARKER, I32),
    event(6, "w", MARKER, U64),
    event(7, "tokp", TOKEN, U32, range_id=14),
]
EXTENDED_EVENTS = [
    event(64, "outer", PUSH, range_id=11, method=EXTENDED),
    event(65, "k", method=EXTENDED),
    event(66, "v", MARKER, I32, method=EXTENDED),
    event(67, "w", MARKER, U64, method=EXTENDED),
]


# ---- section 2: records -----------------------------------------------------------------------------------------------

def native(time, id_, payload=None, size=4, wide=False):
    """A NativeDump record; `size` is the payload's: 4 or 8."""
    word = struct.pack("<I", time & 0xFFFFFFE0 | id_)
    if payload is None:
        return word + JUNK * 4 if wide else word
    if size == 8:
        return word + JUNK * 4 + struct.pack("<Q", payload & (1 << 64) - 1)
    return word + struct.pack("<I", payload & 0xFFFFFFFF)


def extended(time, id_, payload=None, size=4):
    word = struct.pack("<II", time & 0xFFFFFFFF, id_)
    if payload is None:
        return word
    if size == 8:
        return word + struct.pack("<Q", payload & (1 << 64) - 1)
    return word + struct.pack("<I", payload & 0xFFFFFFFF) + JUNK * 4


# ---- section 3: the file ----------------------------------------------------------------------------------------------

def header(magic=b"IKETDUMP", version=1, size=64, created=T, pid=4242, flags=0, context=1, chunk_bytes=1024):
    return (magic + struct.pack("<IIQIIQI", version, size, created, pid, flags, context, chunk_bytes)).ljust(64, b"\0")


def section(kind, payload, items=0, crc=None, size=None):
    kind = kind.encode() if isinstance(kind, str) else kind
    return kind + struct.pack("<IQII", zlib.crc32(payload) if crc is None else crc, len(payload) if size is None else size, items, 0) + pad(payload, 8)


def module(symbols, id_=0, size=None, count=None):
    """One module of a META section."""
    body = b"".join(struct.pack("<II", len(n.encode()), len(d)) + pad(n.encode() + d, 4) for n, d in symbols)
    return pad(struct.pack("<QII", id_, len(body) if size is None else size, len(symbols) if count is None else count) + body, 8)


def meta(*modules, **more):
    return section("META", b"".join(modules), len(modules), **more)


def kernel(id_, name, module_id=0, length=None):
    raw = name if isinstance(name, bytes) else name.encode()
    return pad(struct.pack("<QQII", id_, module_id, len(raw) if length is None else length, 0) + raw, 8)


def kern(*kernels, **more):
    return section("KERN", b"".join(kernels), len(kernels), **more)


def launch(grid=1, kernel_id=0, dims=(1, 1, 1), block=(32, 1, 1), start=0, end=0, key="", length=None):
    raw = key.encode()
    return pad(struct.pack("<QQ6IQQII", grid, kernel_id, *dims, *block, start, end, len(raw) if length is None else length, 0) + raw, 8)


def lnch(*launches, **more):
    return section("LNCH", b"".join(launches), len(launches), **more)


def device(**facts):
    return section("DEVI", json.dumps(facts).encode(), 1)


def chunk(records=b"", grid=1, cta=(0, 0, 0), warp=0, lane=0, seq=0, start=T, end=None, closed=True, last=False, wide=False, dropped=0, module_id=0,
          kernel_id=0, sm=0, dims=(1, 1, 1), block=(32, 1, 1), rank=0, link=0xFFFFFFFF, size=None, size_field=None, used=None, crc=None, magic=0x42574B49,
          header_bytes=128, flags=None, even=False, overwritten=None, reference=0):
    """A chunk, as long as its records need unless `size` says more. `end`: T + 3200 when closed, else 0. `crc`: right when closed."""
    if end is None:
        end = T + 3200 if closed else 0
    if used is None:
        used = len(records) if closed else 0
    if crc is None:
        crc = zlib.crc32(records[:used]) if closed else 0
    if flags is None:
        flags = ((CLOSED if closed else 0) | (LAST if last else 0) | (WIDE if wide else 0) | (DROPPED if dropped else 0) | (EVEN if even else 0)
                 | (0 if overwritten is None else KEPT_LAST))
    if overwritten is not None:
        dropped = overwritten
    whole = size or 128 + len(pad(records, 8))
    head = struct.pack("<IHHQQQQQ3I3I3IIHHIIIIIII", magic, header_bytes, flags, module_id, kernel_id, grid, start, end, *cta, *dims, *block, rank, warp,
                       lane, sm, seq, used, dropped, link, whole if size_field is None else size_field, crc)
    return (head.ljust(120, b"\0") + struct.pack("<Q", reference) + records).ljust(whole, b"\0")


def warps(*chunks, items=None, **more):
    return section("WARP", b"".join(chunks), len(chunks) if items is None else items, **more)


def loss(*entries, **more):
    """Entries: (grid, events, warps)."""
    return section("LOSS", b"".join(struct.pack("<QQII", g, e, w, 0) for g, e, w in entries), len(entries), **more)


def done(chunks=1, dropped=0, **more):
    return section("DONE", struct.pack("<QQ", chunks, dropped), 1, **more)


def dump(*chunks, events=None, **fields):
    """The usual whole: one module with `events`, the chunks in one WARP section, DONE."""
    return header(**fields) + meta(module([info()] + (EVENTS if events is None else events))) + warps(*chunks) + done(len(chunks))


def meta_json(events, ranges=None, kernels=None, **more):
    """A meta.json's object; an event is (id, name, pos, payload, range_id, method)."""
    keys = ("event_id", "event_name", "event_pos", "payload_type", "range_id", "instrument_method")
    defaults = (None, None, MARKER, NONE, 0, NATIVE)
    out = {"__iket_meta_info": {"version_major": 0, "version_minor": 5, "max_event_id": 31, "max_event_name_size": 32, "event_attributes_size": 60,
                                "magic_number": 3133075869, "legacy_iket_cubin": 0, "supported_features": 3},
           "events": [dict(zip(keys, e + defaults[len(e):])) for e in events]}
    if ranges is not None:
        out["ranges"] = ranges
    if kernels is not None:
        out["kernels"] = kernels
    out.update(more)
    return out
