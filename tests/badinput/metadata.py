#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""metadata.py: declarations as they are met in the wild, in META sections and meta.json (doc/FORMAT.md section 1)."""
import struct
import sys

from case import Case, case, main, write  # noqa: F401 (write is for tests/perfetto)
from dump_builder import (EVENTS, EXTENDED, F32, F64, I8, I16, I32, I64, MARKER, NONE, POINTER, PUSH, T, TOKEN, U8, U16, U32, U64, chunk, done, dump, event,
                          extended, header, info, kern, kernel, meta, meta_json, module, native, range_, section, warps)
from facts import at, facts, launch as run_of, mark, span, warp


def n(time, id_, payload=None, size=4):
    return native(T + time, id_, payload, size)


def with_symbols(symbols, records, *events, says=(), **counters):
    return Case(dump(chunk(records), events=symbols), facts(run_of(warp(*events)), **counters), says=says)


def with_json(document, records, *events, kernel_name="kernel_0x0", says=(), more=b"", **fields):
    """The META section of this dump declares other names, which the meta.json must replace."""
    other = meta(module([info()] + [event(i, f"from_META_{i}") for i in range(1, 5)]))
    data = header() + other + more + warps(chunk(records, **fields)) + done()
    return Case({"dump.bin": data, "meta.json": document}, facts(run_of(warp(*events), kernel=kernel_name)), says=says)


# ---- META -------------------------------------------------------------------------------------------------------------

@case
def later_fields():
    "A field past the listed ones is reserved and kept: longer arrays are read"
    return Case(header() + meta(module([info(extra=b"\1" * 16), event(1, "outer", PUSH, range_id=11, extra=b"\2" * 8), range_(11, "outer", color=0x336699, extra=b"\3" * 12)]))
                + warps(chunk(n(32, 1) + n(64, 31))) + done(), facts(run_of(warp(span("outer", 11, at(1, 32), at(31, 64), color=0x336699)))))


@case
def version_minor_7():
    "version_minor is 5 or 7; max_event_name_size may be 0xFFFFFFFF"
    return Case(header() + meta(module([info(minor=7, name_size=0xFFFFFFFF), event(1, "k")])) + warps(chunk(n(32, 1))) + done(), facts(run_of(warp(mark("k", 32)))))


@case
def tilelang_meta():
    "TileLang fills __iket_meta_info otherwise: the number of declarations at 8, always 31 at 12, the highest id at 32"
    return Case(header() + meta(module([info(minor=2, max_event_id=31, features=2), event(1, "a"), event(2, "b", payload=I32)])) + warps(chunk(n(32, 1) + n(64, 2, 9))) + done(),
                facts(run_of(warp(mark("a", 32), mark("b", 64, I32, 9)))))


@case
def tilelang_past_30_names():
    "An id that NativeDump cannot hold is reported; its records read as other ids"
    return with_symbols([info(), event(30, "thirty"), event(32, "thirty_two"), event(33, "thirty_three"), event(1, "one")],
                        n(32, 30) + n(64, 33 & 31) + n(96, 32 & 31), mark("thirty", 32), mark("one", 64), says=[r"'?thirty_two"], reservedRecords=1)


@case
def no_meta_info():
    "Declarations alone will do"
    return with_symbols([event(1, "k")], n(32, 1), mark("k", 32))


@case
def name_of_32_bytes():
    "A name may fill all 32 bytes, without a NUL"
    name = "abcdefghijklmnopqrstuvwxyz_12345"
    return with_symbols([info(), event(1, name), event(2, "k")], n(32, 1) + n(64, 2), mark(name, 32), mark("k", 64))


LONG = "a_name_of_more_than_thirty_two_bytes: with blanks, (brackets) and a dot at its end."
HASH = "h0123456789abcdef"


def long_name(length, text=LONG.encode() + b"\0"):
    return [info(), event(1, HASH, PUSH, range_id=11, length=length), ("__iket_string_decl_evt_" + HASH + "_str", text), event(2, "k")]


@case
def long_name_by_its_string():
    "A longer name stands there as its hash, and in full in its string symbol"
    return with_symbols(long_name(17), n(32, 1) + n(64, 31), span(LONG, 11, at(1, 32), at(31, 64)))


@case
def long_name_whose_length_counts_the_nul():
    "…its length counts the NUL"
    return with_symbols(long_name(18), n(32, 1) + n(64, 31), span(LONG, 11, at(1, 32), at(31, 64)))


@case
def long_name_whose_length_is_the_full_one():
    "…also where that is the length of the full name"
    return with_symbols(long_name(len(LONG) + 1), n(32, 1) + n(64, 31), span(LONG, 11, at(1, 32), at(31, 64)))


@case
def long_name_without_its_string():
    "…the hash itself where that symbol is missing"
    return with_symbols([info(), event(1, HASH)], n(32, 1), mark(HASH, 32))


@case
def long_name_without_a_nul():
    "…a string symbol that lacks its NUL ends where it ends"
    return with_symbols(long_name(17, LONG.encode()), n(32, 1) + n(64, 31), span(LONG, 11, at(1, 32), at(31, 64)))


@case
def name_that_is_not_utf8():
    "A byte that is not UTF-8 becomes U+FFFD"
    return with_symbols([info(), event(1, b"a\xffb"), event(2, "grün…".encode()), event(3, b"\xc0\x80")], n(32, 1) + n(64, 2) + n(96, 3),
                        mark("a\ufffdb", 32), mark("grün…", 64), mark("\ufffd\ufffd", 96))


@case
def name_with_quotes():
    "A name may hold what JSON must escape"
    return with_symbols([info(), event(1, 'say "\\"\n\t\x01'), event(2, "plain")], n(32, 1), mark('say "\\"\n\t\x01', 32))


@case
def symbols_of_cuda_oxide():
    "The name in the array is the truth, whatever the symbol is called; the number in the symbol need not be the id"
    return with_symbols([info(), event(3, "real", symbol="__iket_evt_decl_id_7_attrs"), event(4, "other", symbol="__iket_evt_decl_wrong_99_attrs")],
                        n(32, 3) + n(64, 4), mark("real", 32), mark("other", 64))


@case
def other_symbols():
    "Symbols of another prefix are passed over"
    return with_symbols([("__iket_something_new", b"\xff" * 20), info(), event(1, "k"), ("_Z3foo", b"")], n(32, 1), mark("k", 32))


@case
def declared_pop_and_sentinel():
    "Ids 0 and 31 may be declared"
    from dump_builder import POP
    return with_symbols([info(), event(0, "reserved_event_id_0"), event(1, "outer", PUSH, range_id=11), event(31, "pop_range", POP)], n(32, 1) + n(64, 0) + n(96, 31),
                        span("outer", 11, at(1, 32), at(31, 96)), reservedRecords=1)


@case
def ranges_and_their_facts():
    "A range's scope, color and type are its declaration's, found by range_id; without one: stack or token by event_pos, scope 0, no color"
    symbols = [info(), event(1, "a", PUSH, range_id=21), event(2, "b", PUSH, range_id=22), event(3, "c", TOKEN, range_id=23), event(4, "d", TOKEN, range_id=24),
               range_(21, "named_otherwise", color=0xFF0000, scope=1), range_(23, "c", type_=1, color=7), range_(99, "nobody")]
    return with_symbols(symbols, n(32, 1) + n(64, 2) + n(96, 31) + n(128, 31) + n(160, 3) + n(192, 4) + n(224, 3) + n(256, 4),
                        span("a", 21, at(1, 32), at(31, 128), scope=1, color=0xFF0000), span("b", 22, at(2, 64), at(31, 96)),
                        span("c", 23, at(3, 160), at(3, 224), type_=1, color=7), span("d", 24, at(4, 192), at(4, 256), type_=1))


@case
def pair_mode_plays_no_part():
    "evt_pair_mode 1 changes nothing"
    return with_symbols([info(), event(1, "a", PUSH, range_id=21), range_(21, "a", pair=1)], n(32, 1) + n(64, 1) + n(96, 31) + n(128, 31),
                        span("a", 21, at(1, 32), at(31, 128)), span("a", 21, at(1, 64), at(31, 96)))


@case
def extended_by_one_event():
    "A module is extended when an event with an id other than 0 has method 5: its pop is, too"
    symbols = [info(max_event_id=4095), event(4095, "last", PUSH, range_id=11, method=EXTENDED), event(64, "first", payload=U64, method=EXTENDED)]
    x = lambda time, *more: extended(T + time, *more)
    return Case(dump(chunk(x(1, 4095) + x(2, 64, 1 << 63, 8) + x(3, 31)), events=symbols), facts(run_of(warp(
        span("last", 11, at(4095, 1), at(31, 3)), mark("first", 2, U64, 1 << 63)))))


@case
def not_extended_by_id_0():
    "…the sentinel's method does not count"
    return with_symbols([info(), event(0, "zero", method=EXTENDED), event(1, "k")], n(32, 1), mark("k", 32))


@case
def every_type_native():
    "Each payload type: its bytes, its bits, its value"
    types = [I8, U8, I16, U16, I32, U32, I64, F32, F64, POINTER, U64]
    symbols = [info()] + [event(i + 1, f"t{kind}", payload=kind) for i, kind in enumerate(types)]
    f32, f64 = (struct.unpack(a, struct.pack(b, v))[0] for a, b, v in (("<I", "<f", -3.25), ("<Q", "<d", 1e300)))
    bits = [0x80, 0xFF, 0x8000, 0xFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, f32, f64, 0x7FFF_FFFF_FFFF_FFFF, (1 << 64) - 1]
    values = [-128, 255, -32768, 65535, -(1 << 31), 0xFFFFFFFF, -(1 << 63), -3.25, 1e300, 0x7FFF_FFFF_FFFF_FFFF, (1 << 64) - 1]
    records = b"".join(n(32 * (i + 1), i + 1, bits[i], 8 if kind in (I64, F64, POINTER, U64) else 4) for i, kind in enumerate(types))
    return with_symbols(symbols, records, *[mark(f"t{kind}", 32 * (i + 1), kind, bits[i], values[i]) for i, kind in enumerate(types)])


# ---- meta.json --------------------------------------------------------------------------------------------------------

@case
def json_replaces_the_section():
    "A meta.json that is given replaces META altogether; its kernels win over KERN"
    document = meta_json([(1, "from_json"), (2, "with_payload", MARKER, I32)], [], [{"kernel_id": "0x10", "kernel_name": "json_kernel"}])
    return with_json(document, n(32, 1) + n(64, 2, 5), mark("from_json", 32), mark("with_payload", 64, I32, 5), kernel_name="json_kernel",
                     more=kern(kernel(0x10, "section_kernel")), kernel_id=0x10)


@case
def json_without_ranges_and_kernels():
    "ranges and kernels may be missing: stack or token, scope 0, no color, and the kernel's number"
    return with_json(meta_json([(1, "s", PUSH, NONE, 5), (2, "t", TOKEN, U32, 6)]), n(32, 1) + n(64, 2, 1) + n(96, 2, 2) + n(128, 31),
                     span("s", 5, at(1, 32), at(31, 128)), span("t", 6, at(2, 64, U32, 1), at(2, 96, U32, 2), type_=1), kernel_name="kernel_0x1f", kernel_id=0x1F)


@case
def json_keeps_the_kernels_of_the_dump():
    "…KERN names those that the meta.json does not"
    return with_json(meta_json([(1, "k")], [], []), n(32, 1), mark("k", 32), kernel_name="section_kernel", more=kern(kernel(0x10, "section_kernel")), kernel_id=0x10)


@case
def json_color():
    "color -1 is 4294967295; another is a number"
    ranges = [{"range_id": 5, "range_name": "a", "range_type": 2, "range_scope": 0, "evt_pair_mode": 0, "color": -1},
              {"range_id": 6, "range_name": "b", "range_type": 2, "range_scope": 0, "evt_pair_mode": 0, "color": 65280}]
    return with_json(meta_json([(1, "a", PUSH, NONE, 5), (2, "b", PUSH, NONE, 6)], ranges), n(32, 1) + n(64, 2) + n(96, 31) + n(128, 31),
                     span("a", 5, at(1, 32), at(31, 128)), span("b", 6, at(2, 64), at(31, 96), color=65280))


@case
def json_ids_as_text_or_number():
    "Ids and 64-bit values may be hexadecimal text or plain integers, past 2^53 too"
    big = 0xFFFFFFFFFFFFFFF1
    document = {"modules": [{**meta_json([(1, "a")], [], [{"kernel_id": big, "kernel_name": "by_number"}]), "module_id": big},
                            {**meta_json([("0x2", "b", MARKER, I32, "0x0")], [], [{"kernel_id": "0xfffffffffffffff2", "kernel_name": "by_text"}]), "module_id": "0xFFFFFFFFFFFFFFF0"}]}
    data = header() + warps(chunk(n(32, 1), module_id=big, kernel_id=big), chunk(n(64, 2, 3), module_id=big - 1, kernel_id=big + 1, grid=2)) + done(2)
    return Case({"dump.bin": data, "meta.json": document}, facts(run_of(warp(mark("a", 32)), kernel="by_number"), run_of(warp(mark("b", 64, I32, 3)), kernel="by_text", grid=2)))


@case
def json_of_one_module_for_any():
    "One module without an id stands for the only one, whatever the chunk says"
    return with_json({"modules": [meta_json([(1, "k")])]}, n(32, 1), mark("k", 32), module_id=0xABC)


@case
def json_with_unknown_keys():
    "Unknown keys, any order, any white space, a byte-order mark"
    document = meta_json([(1, "k")], note="anything", nested={"events": [1, 2]})
    import json
    return with_json("\ufeff\n " + json.dumps(dict(reversed(list(document.items()))), indent=3), n(32, 1), mark("k", 32))


@case
def json_without_a_meta_section():
    "A dump without META needs the meta.json only"
    return Case({"dump.bin": header() + warps(chunk(n(32, 1))) + done(), "meta.json": meta_json([(1, "k")])}, facts(run_of(warp(mark("k", 32)))))


@case
def json_lacks_an_event():
    "An event that the meta.json lacks: its records and what follows are undecoded bytes, and that is said"
    data = header() + warps(chunk(n(32, 1) + n(64, 2) + n(96, 1))) + done()
    return Case({"dump.bin": data, "meta.json": meta_json([(1, "k")])}, facts(run_of(warp(mark("k", 32))), undecodedBytes=8), says=["8 bytes"])


@case
def json_contradicts_the_dump():
    "A meta.json that says another payload: what comes of it is counted, not crashed on"
    data = header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4) + n(64, 4) + n(96, 4))) + done()
    return Case(
        {"dump.bin": data, "meta.json": meta_json([(4, "k", MARKER, I32)])},
        facts(run_of(warp(mark("k", 32, I32, (T + 64) & 0xFFFFFFE0 | 4))), undecodedBytes=4), says=["4 bytes"])


@case
def more_modules_than_can_be():
    "Thousands of empty modules are damage, not a day's work"
    return Case(header() + section("META", b"".join(struct.pack("<QII", i, 0, 0) for i in range(5000)), 5000) + done(), status=2, says=["more than 4096 modules"])


@case
def more_events_than_ids():
    "So are more events than there are ids"
    return Case(dump(events=[event(i + 1, f"e{i}") for i in range(8193)]), status=2, says=["more than 8192 events"])


if __name__ == "__main__":
    sys.exit(main())
