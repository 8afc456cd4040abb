#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""errors.py: inputs that iket-decode refuses: one line that names the file, the place and the cure, exit status 2, no output."""
import gzip
import os
import sys

from case import Case, case, main
from dump_builder import EVENTS, MARKER, T, chunk, done, dump, event, header, info, kern, kernel, launch, lnch, meta, meta_json, module, native, warps

GOOD = dump(chunk(native(T + 32, 4)))


def refused(files, *says, arguments=None):
    return Case(files, status=2, says=says, arguments=arguments)


def with_json(document, *says):
    return refused({"dump.bin": GOOD, "meta.json": document}, *says)


def with_symbols(symbols, *says):
    return refused(dump(chunk(native(T + 32, 4)), events=symbols), *says)


@case
def empty_file():
    "An empty file"
    return refused(b"", "^iket-decode: dump.bin: .*empty")


@case
def not_a_dump():
    "Bytes of another kind"
    return refused(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "^iket-decode: dump.bin: byte 0x0: .*not an IKET dump")


@case
def text():
    "Text"
    return refused(b"Tue Dec  1 10:00:00 UTC\n", "^iket-decode: dump.bin: .*not an IKET dump")


@case
def other_magic():
    "A magic that is almost ours"
    return refused(b"IKETDUMQ" + GOOD[8:], "^iket-decode: dump.bin: .*not an IKET dump")


@case
def wrong_version():
    "A version that this program does not know"
    return refused(header(version=2) + GOOD[64:], "^iket-decode: dump.bin: byte 0x8: .*version 2")


@case
def wrong_header_size():
    "A file header of another size"
    return refused(header(size=72) + GOOD[64:], "^iket-decode: dump.bin: byte 0xc: .*72 bytes")


@case
def cut_in_the_header():
    "A file that ends inside its header"
    return refused(GOOD[:40], "^iket-decode: dump.bin: .*(ends|cut off)")


@case
def nothing_but_a_header():
    "A file header alone: cut off before its schema"
    return refused(GOOD[:64], "^iket-decode: dump.bin: .*--meta")


@case
def no_schema():
    "A whole dump without META and without --meta"
    return refused(header() + warps(chunk(native(T + 32, 4))) + done(), "^iket-decode: dump.bin: .*--meta")


@case
def broken_schema():
    "META whose CRC fails, and no --meta"
    return refused(header() + meta(module([info()] + EVENTS), crc=1) + warps(chunk(native(T + 32, 4))) + done(), "^iket-decode: dump.bin: .*--meta")


@case
def gzip_that_is_cut():
    "A .trace.json.gz that is cut off"
    whole = gzip.compress(b'{"meta": {"version": 1}, "launches": [' + b" " * 10000, mtime=0)
    return refused({"t.json": whole[:-12]}, "^iket-decode: t.json: ")


@case
def trace_json_that_is_cut():
    "A trace.json that is cut off says where"
    return refused({"t.json": b'{"stringTable": ["a"], "locationTable": [], "launches": [{"contextId": 1'}, "^iket-decode: t.json: byte 0x")


@case
def json_of_another_kind():
    "JSON that is no trace"
    return refused({"t.json": b'{"name": "package", "version": "1.0"}'}, "^iket-decode: t.json: ")


@case
def json_array():
    "JSON that is no object"
    return refused({"t.json": b"[1, 2, 3]"}, "^iket-decode: t.json: ")


@case
def schema_as_input():
    "The meta.json given as the dump"
    return refused({"meta.json": meta_json([(1, "k")])}, "^iket-decode: meta.json: .*--meta", arguments=["meta.json"])


# ---- the schema -------------------------------------------------------------------------------------------------------

@case
def meta_that_is_not_json():
    "A meta.json that is not JSON says where"
    return with_json('{"events": [{"event_id": 1,,}]}', "^iket-decode: meta.json: byte 0x[0-9a-f]+: .*JSON")


@case
def meta_that_is_empty():
    "An empty meta.json"
    return with_json("", "^iket-decode: meta.json: ")


@case
def meta_that_is_binary():
    "The dump given as its own meta.json"
    return with_json(GOOD, "^iket-decode: meta.json: .*JSON")


@case
def meta_with_text_behind():
    "Something behind the JSON document"
    return with_json('{"events": []} {"events": []}', "^iket-decode: meta.json: byte 0x")


@case
def meta_that_is_deep():
    "A million brackets: an error, not a crash"
    return with_json("[" * 1000000, "^iket-decode: meta.json: ")


@case
def meta_missing():
    "A meta.json that is not there"
    return refused({"dump.bin": GOOD}, "^iket-decode: nowhere.json: .*No such file", arguments=["dump.bin", "--meta", "nowhere.json"])


@case
def meta_without_events():
    "A meta.json without events"
    document = meta_json([])
    del document["events"]
    return with_json(document, "^iket-decode: meta.json: .*events")


@case
def meta_events_of_another_kind():
    "events that are no array"
    return with_json({"events": {"event_id": 1}}, "^iket-decode: meta.json: .*events")


@case
def meta_event_without_id():
    "An event without an id"
    document = meta_json([(1, "k"), (2, "no_id")])
    del document["events"][1]["event_id"]
    return with_json(document, "^iket-decode: meta.json: .*no_id.*event_id")


@case
def meta_event_without_name():
    "An event without a name"
    document = meta_json([(1, "k")])
    del document["events"][0]["event_name"]
    return with_json(document, r"^iket-decode: meta.json: .*event_name")


@case
def meta_event_id_of_another_kind():
    "An id that is no number"
    return with_json(meta_json([("one", "k")]), "^iket-decode: meta.json: .*event_id")


@case
def meta_event_id_negative():
    "A negative id"
    return with_json(meta_json([(-2, "k")]), "^iket-decode: meta.json: .*event_id")


@case
def meta_event_id_broken():
    "An id with a fraction"
    return with_json(meta_json([(1.5, "k")]), "^iket-decode: meta.json: .*event_id")


@case
def meta_event_id_too_large():
    "An id past 32 bits"
    return with_json(meta_json([("0x100000001", "k")]), "^iket-decode: meta.json: .*event_id")


@case
def meta_two_events_of_one_id():
    "Two events of one id name both"
    return with_json(meta_json([(4, "first"), (5, "v"), (4, "second")]), "^iket-decode: meta.json: .*first.*second.* 4|^iket-decode: meta.json: .* 4 .*first.*second")


@case
def meta_two_equal_events():
    "…also where both say the same"
    return with_json(meta_json([(4, "same"), (4, "same")]), "^iket-decode: meta.json: .*same")


@case
def meta_payload_type_unknown():
    "A payload type that the table lacks"
    return with_json(meta_json([(4, "k", MARKER, 8)]), "^iket-decode: meta.json: .*payload_type 8")


@case
def meta_payload_type_large():
    "…above it"
    return with_json(meta_json([(4, "k", MARKER, 17)]), "^iket-decode: meta.json: .*payload_type 17")


@case
def meta_other_magic():
    "__iket_meta_info of another magic"
    document = meta_json([(4, "k")])
    document["__iket_meta_info"]["magic_number"] = 1
    return with_json(document, "^iket-decode: meta.json: .*magic")


@case
def meta_two_modules_of_one_id():
    "Two modules of one id"
    return with_json({"modules": [{**meta_json([(4, "k")]), "module_id": "0x1"}, {**meta_json([(4, "j")]), "module_id": 1}]}, "^iket-decode: meta.json: .*module_id")


@case
def meta_of_the_collector():
    "An iket.data.json with a dump of the recorder"
    return with_json({"decodeContexts": {}, "launches": []}, "^iket-decode: meta.json: .*collector")


@case
def section_two_events_of_one_id():
    "META: two events of one id"
    return with_symbols([info(), event(4, "first"), event(4, "second")], "^iket-decode: dump.bin: .*first.*second|^iket-decode: dump.bin: .*second.*first")


@case
def section_payload_type_unknown():
    "META: a payload type that the table lacks"
    return with_symbols([info(), event(4, "k", MARKER, 12)], "^iket-decode: dump.bin: .*payload_type 12")


@case
def section_other_magic():
    "META: __iket_meta_info of another magic"
    return with_symbols([info(magic=0xBABEF19E), event(4, "k")], "^iket-decode: dump.bin: .*magic")


# ---- nothing to show --------------------------------------------------------------------------------------------------

@case
def no_event():
    "A dump without any event names the launches seen and the names declared"
    data = header() + meta(module([info(), event(1, "declared_name")])) + kern(kernel(0x10, "launched_kernel")) + lnch(launch(1, 0x10)) + warps() + done(0)
    return refused(data, "launched_kernel", "declared_name")


@case
def no_event_but_lost_ones():
    "…and says so when they were dropped for lack of a chunk"
    from dump_builder import loss
    data = (header() + meta(module([info(), event(1, "declared_name")])) + kern(kernel(0x10, "launched_kernel")) + lnch(launch(1, 0x10)) + loss((1, 500, 4)) + done(0, 500))
    return refused(data, "launched_kernel", "500")


@case
def no_chunk_that_holds():
    "…or when every chunk was corrupt"
    return refused(dump(chunk(native(T + 32, 4), crc=1)), "corrupt")


@case
def a_pipe_by_its_name():
    "A named pipe (what a shell makes of <(…)) cannot be read twice; the cure is standard input"
    return Case({}, status=2, says=["pipe: is a pipe.*standard input"], arguments=["pipe"], prepare=lambda folder: os.mkfifo(folder / "pipe"))


if __name__ == "__main__":
    sys.exit(main())
