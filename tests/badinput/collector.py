#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""collector.py: what NVIDIA's collector leaves, and what may be wrong with it (doc/FORMAT.md section 6)."""
import sys

from case import Case, case, main, write  # noqa: F401 (write is for tests/perfetto)
from collector_builder import FILE, buffer, context, declared, document, run
from dump_builder import EXTENDED, I32, MARKER, NONE, PUSH, T, TOKEN, U32, U64, extended, native
from facts import at, facts, launch, mark, span, warp

EVENTS = [declared(1, "outer", PUSH, NONE, 11), declared(2, "v", MARKER, I32), declared(3, "tok", TOKEN, U32, 13), declared(4, "k"), declared(6, "w", MARKER, U64)]
WRAP = 1 << 32


def n(time, id_, payload=None, size=4, wide=False):
    return native(T + time, id_, payload, size, wide)


def files(data, launches, contexts=None, **more):
    return {FILE: data, "iket.data.json": document(launches, contexts or {"c0": context(EVENTS)}, **more)}


def of(*warps, **fields):
    return launch(*warps, kernel="f", **fields)


def one(data, *events, start=0, end=3200, sm=0, says=(), **counters):
    return Case(files(data, [run()]), facts(of(warp(*events, start=start, end=end, sm=sm)), **counters), says=says)


@case
def a_warp():
    "Entry, records, closing time: a lifetime, a range, markers, a token"
    return one(buffer(n(32, 1) + n(64, 2, -5) + n(96, 3, 1) + n(128, 3, 2) + n(160, 4) + n(192, 31), sm=5), span("outer", 11, at(1, 32), at(31, 192)),
               mark("v", 64, I32, (1 << 32) - 5), span("tok", 13, at(3, 96, U32, 1), at(3, 128, U32, 2), type_=1), mark("k", 160), sm=5)


@case
def nothing_but_a_lifetime():
    "A launch with nothing but entry and closing times gives lifetimes (beside one that has events)"
    data = buffer(n(32, 4)) + buffer(entry=T + 6400, closing=T + 6500)
    return Case(files(data, [run(), run(2, offset=256)]), facts(of(warp(mark("k", 32))), of(warp(start=6400, end=6500), grid=2)))


@case
def a_warp_that_left_nothing():
    "Used 0: the warp left nothing, and is not there"
    return Case(files(buffer(n(32, 4)) + b"\0" * 256 + buffer(n(64, 4)), [run(block=(96, 1, 1), size=768)]), facts(
        of(warp(mark("k", 32)), warp(mark("k", 64), warp=2), block=(96, 1, 1))))


@case
def buffers_by_cta_and_warp():
    "CTAs in linear order, x fastest; in a CTA by warp; ceil(threads / 32) warps"
    data = b"".join(buffer(n(32, 2, i)) for i in range(2 * 3 * 2 * 2))
    place = lambda i: {"cta": (i // 2 % 2, i // 4 % 3, i // 12), "warp": i % 2}
    return Case(files(data, [run(dims=(2, 3, 2), block=(11, 3, 1), size=len(data))]), facts(
        of(*[warp(mark("v", 32, I32, i), **place(i)) for i in range(24)], dims=(2, 3, 2), block=(11, 3, 1))))


@case
def the_ctas_of_one_cluster():
    "singleClusterActive: only the CTAs of one cluster, the first at enabledCluster times clusterDim, 0 counting as 1"
    data = b"".join(buffer(n(32, 2, i)) for i in range(4))
    place = lambda i: {"cta": (2 + i % 2, 3 + 0, 2 * 1 + i // 2)}
    return Case(files(data, [run(dims=(8, 8, 8), size=len(data), cluster=(2, 0, 2), single=1, enabled=(1, 3, 1))]), facts(
        of(*[warp(mark("v", 32, I32, i), **place(i)) for i in range(4)], dims=(8, 8, 8))))


@case
def wide_by_the_kernel():
    "maxPayloadSize 8 makes all records of that kernel wide, the pop and id 0 too, with no 64-bit payload among them"
    records = n(32, 1, wide=True) + n(64, 0, wide=True) + n(96, 2, 7) + n(128, 31, wide=True)
    return Case(files(buffer(records), [run()], {"c0": context(EVENTS, widest=8)}), facts(
        of(warp(span("outer", 11, at(1, 32), at(31, 128)), mark("v", 96, I32, 7))), reservedRecords=1))


@case
def wide_by_nothing_else():
    "…another kernel's does not, nor a declared 64-bit payload"
    contexts = {"c0": context(EVENTS, kernel="g", widest=8), "c1": context(EVENTS, widest=8)}
    return Case(files(buffer(n(32, 1) + n(64, 31)), [run()], contexts), facts(of(warp(span("outer", 11, at(1, 32), at(31, 64))))))


@case
def extended_records():
    "Events with method 5: extended records; the closing time is 4 bytes still"
    x = lambda time, *more: extended(T + time, *more)
    events = [declared(64, "outer", PUSH, I32, 11, EXTENDED), declared(65, "w", MARKER, U64, 0, EXTENDED)]
    return Case(files(buffer(x(33, 64, 3) + x(47, 65, 1 << 63, 8) + x(50, 31), closing=T + 77), [run()], {"c0": context(events)}), facts(
        of(warp(span("outer", 11, at(64, 33, I32, 3), at(31, 50)), mark("w", 47, U64, 1 << 63), end=77))))


@case
def the_timer_turns_over():
    "The first reference is the time of entry, the closing time is resolved against the last record"
    turn = WRAP - T % WRAP
    return one(buffer(n(turn - 32, 4) + n(turn, 4), closing=T + turn + 64), mark("k", turn - 32), mark("k", turn), end=turn + 64)


@case
def a_little_backwards():
    "A closing time a little before the last record is earlier"
    return one(buffer(n(320, 4) + n(288, 4), closing=T + 256), mark("k", 320), mark("k", 288), end=256)


@case
def open_to_the_end():
    "An open range ends with the lifetime"
    return one(buffer(n(32, 1) + n(64, 3, 1)), span("outer", 11, at(1, 32), end=3200), span("tok", 13, at(3, 64, U32, 1), end=3200, type_=1), unclosedRanges=2)


@case
def pop_without_push():
    "A pop on an empty stack is counted and dropped"
    return one(buffer(n(32, 31) + n(64, 4)), mark("k", 64), unmatchedPops=1)


@case
def undecoded_records():
    "An undeclared id, and a record cut off by the closing time: undecoded bytes up to that"
    data = buffer(n(32, 4) + n(64, 9) + n(96, 4)) + buffer(n(32, 4) + n(64, 2))
    return Case(files(data, [run(block=(64, 1, 1), size=512)]), facts(of(warp(mark("k", 32)), warp(mark("k", 32), warp=1), block=(64, 1, 1)), undecodedBytes=8 + 4))


@case
def overflowed_warp():
    "Used bytes beyond the buffer: what lies inside is decoded, the lifetime ends at the last record; the neighbour that was written over is corrupt"
    full = buffer(n(32, 1) + n(64, 4) + n(96, 4) * 10, closing=None, size=64, used=96)
    over = b"\1\0\0\0" + b"\xff" * 60
    return Case(files(full + over + buffer(n(32, 4), size=64), [run(block=(96, 1, 1), size=192, warp_bytes=64)]), facts(
        of(warp(span("outer", 11, at(1, 32), end=96), mark("k", 64), *[mark("k", 96)] * 10, end=96), warp(mark("k", 32), warp=2), block=(96, 1, 1)),
        overflowedWarps=1, corruptChunks=1, unclosedRanges=1), says=["dry run|overflow|larger"])


@case
def overflowed_before_its_first_record():
    "…without a record it ends at its entry"
    return Case(
        files(buffer(n(32, 9), closing=None, size=64, used=68) + buffer(n(32, 4), size=64), [run(block=(64, 1, 1), size=128, warp_bytes=64)]),
        facts(of(warp(end=0), warp(mark("k", 32), warp=1), block=(64, 1, 1)), overflowedWarps=1, undecodedBytes=48))


@case
def used_below_a_header():
    "Used below 20 and not 0 cannot be: the warp is left out and counted"
    data = buffer(n(32, 4)) + buffer(used=19) + buffer(used=1) + buffer(used=20)
    return Case(files(data, [run(block=(128, 1, 1), size=1024)]), facts(of(warp(mark("k", 32)), warp(warp=3), block=(128, 1, 1)), corruptChunks=2))


@case
def sm_that_the_topology_lacks():
    "An SM that a topology lacks cannot be"
    return Case(files(buffer(n(32, 4)) + buffer(n(64, 4), sm=8), [run(block=(64, 1, 1), size=512)]), facts(of(warp(mark("k", 32)), block=(64, 1, 1)), corruptChunks=1))


@case
def no_topology():
    "Without a topology any SM can be, gpcId and tpcId are not known"
    return Case(files(buffer(n(32, 4), sm=4095), [run()], topology=[]), facts(of(warp(mark("k", 32), sm=4095))))


@case
def topology_of_another_context():
    "…a topology of another context is none"
    topology = [{"contextId": 2, "sms": [{"smId": 0, "gpcId": 0, "tpcId": 0}]}]
    return Case(files(buffer(n(32, 4), sm=77), [run()], topology=topology), facts(of(warp(mark("k", 32), sm=77))))


@case
def file_that_is_too_short():
    "Buffers that do not lie wholly in the file are counted and left out"
    return Case(files((buffer(n(32, 4)) + buffer(n(64, 4)))[:-1], [run(block=(96, 1, 1), size=768)]), facts(of(warp(mark("k", 32)), block=(96, 1, 1)), corruptChunks=2))


@case
def offset_outside_of_the_file():
    "A launch whose offset leads outside of the file has no buffer in it"
    return Case(files(buffer(n(32, 4)), [run(), run(2, offset=1 << 40), run(3, offset=(1 << 64) - 8)]), facts(of(warp(mark("k", 32))), corruptChunks=2), says=["0x"])


@case
def size_that_lies():
    "A size that holds fewer buffers than the grid has warps: the others are counted; a size past the file gives what the file has"
    return Case(files(buffer(n(32, 4)) + buffer(n(64, 4)), [run(block=(64, 1, 1), size=300), run(2, offset=256, size=1 << 50)]), facts(
        of(warp(mark("k", 32)), block=(64, 1, 1)), of(warp(mark("k", 64)), grid=2), corruptChunks=1))


@case
def grid_of_absurd_size():
    "A grid whose buffers could not be counted in 64 bits neither hangs nor overflows"
    big = 0xFFFFFFFF
    return Case(files(buffer(n(32, 4)), [run(), run(2, dims=(big, big, big), block=(big, big, big))]), status=0, says=["corrupt|wholly"])


@case
def grids_of_absurd_size():
    "Two of them are no less: the count of what is corrupt stops at its greatest instead of going through 0"
    big = 0xFFFFFFFF
    absurd = [run(i, dims=(big, big, big), block=(big, big, big), offset=1000) for i in (2, 3)]
    return Case(files(buffer(n(32, 4)), [run(), *absurd]), facts(of(warp(mark("k", 32))), corruptChunks=(1 << 64) - 1), says=["corrupt|wholly"])


@case
def buffers_of_absurd_size():
    "warpBufferSize 0, below a header, or past the file"
    return Case(files(buffer(n(32, 4)), [run(), run(2, warp_bytes=0), run(3, warp_bytes=12), run(4, warp_bytes=(1 << 64) - 1)]), facts(of(warp(mark("k", 32))), corruptChunks=3))


@case
def not_instrumented():
    "canDecode false: left out, also without a decode context and a dataRef"
    bare = run(1, kernel="vector_add", decodable=False, context_id="gone")
    del bare["dataRef"], bare["decodeContextId"]
    return Case(files(buffer(n(32, 4)), [bare, run(2)]), facts(of(warp(mark("k", 32)), grid=2)))


@case
def eager_and_in_graphs():
    "graphLaunches under their keys, in launch order; grid ids repeat there"
    data = b"".join(buffer(n(32, 2, i)) for i in range(4))
    graphs = {"graph_exec_2:0": [run(0, offset=256), run(1, offset=512)], "graph_exec_2:1": [run(0, offset=768)]}
    return Case(files(data, [run(7)], graphs=graphs), facts(
        of(warp(mark("v", 32, I32, 0)), grid=7), of(warp(mark("v", 32, I32, 1)), grid=0, key="graph_exec_2:0"),
        of(warp(mark("v", 32, I32, 2)), grid=1, key="graph_exec_2:0"), of(warp(mark("v", 32, I32, 3)), grid=0, key="graph_exec_2:1")))


@case
def two_decode_contexts():
    "A decode context's id is an opaque string"
    contexts = {"": context(EVENTS), "a/b\"c": context([declared(4, "other", MARKER, U32)])}
    return Case(files(buffer(n(32, 4)) + buffer(n(32, 4, 5)), [run(context_id=""), run(2, offset=256, context_id='a/b"c')], contexts), facts(
        of(warp(mark("k", 32))), of(warp(mark("other", 32, U32, 5)), grid=2)))


@case
def cluster_facts_are_copied():
    "enabledCluster and singleClusterActive are copied (see decode/ for the text)"
    return Case(files(buffer(n(32, 4)), [run(cluster=(1, 1, 1), single=1, enabled=(0, 0, 0))]), facts(of(warp(mark("k", 32)))))


# ---- refused ----------------------------------------------------------------------------------------------------------

def refused(launches=None, says=(), contexts=None, **more):
    return Case(files(buffer(n(32, 4)), launches or [run()], contexts, **more), status=2, says=says)


@case
def filename_that_leads_elsewhere():
    "dataRef.filename is beside the JSON and never leads elsewhere"
    return refused([run(filename="../iket.data.bin")], ["iket.data.json: .*beside"])


@case
def filename_that_is_absolute():
    "…nor to an absolute path"
    return refused([run(filename="/etc/passwd")], ["iket.data.json: .*beside"])


@case
def filename_in_a_folder():
    "…nor into a folder"
    return refused([run(filename="sub/iket.data.bin")], ["iket.data.json: .*beside"])


@case
def two_events_of_one_id():
    "Two events of one id in a decode context are an error"
    return refused(contexts={"c0": context(EVENTS + [declared(4, "twice")])}, says=["iket.data.json: .*same event_?[iI]d.* 4|twice"])


@case
def unknown_payload_type():
    "A payload type that the table lacks is an error"
    return refused(contexts={"c0": context([declared(4, "k", MARKER, 9)])}, says=["iket.data.json: .*payload.?[tT]ype.* 9"])


@case
def not_the_collectors_json():
    "Raw buffers with a JSON of another kind"
    return Case({FILE: buffer(n(32, 4)), "iket.data.json": {"launches": []}}, status=2, says=["iket.data.bin: .*not an IKET dump"])


@case
def no_decode_contexts():
    "decodeContexts of the wrong kind"
    return Case({FILE: buffer(n(32, 4)), "iket.data.json": {"decodeContexts": [], "launches": [run()]}}, status=2, says=["iket.data.json: .*decodeContexts"])


@case
def not_json():
    "An iket.data.json that is cut off"
    return Case({FILE: buffer(n(32, 4)), "iket.data.json": '{"decodeContexts": {"c0": '}, status=2, says=["iket.data.json: .*JSON"])


@case
def no_event_at_all():
    "A run without any event or warp is an error that names the kernels launched and the names declared"
    return Case(files(b"\0" * 256, [run(kernel="my_kernel")]), status=2, says=["my_kernel", "outer"])


if __name__ == "__main__":
    sys.exit(main())
