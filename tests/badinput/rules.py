#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.py: the decoding rules of doc/FORMAT.md section 4, one dump a statement, with what must come of it worked out by
hand from the text. See case.py for how it is run."""
import gzip
import struct
import sys
import zlib

from case import Case, case, main, write  # noqa: F401 (write is for tests/perfetto)
from dump_builder import (CLOSED, EVENTS, EXTENDED_EVENTS, I32, T, U32, U64, chunk, device, done, dump, extended, header, info, kern, kernel, launch, lnch,
                          loss, meta, module, native, pad, section, warps)
from facts import at, facts, launch as run_of, mark, span, warp

WRAP = 1 << 32


def n(time, id_, payload=None, size=4, wide=False):
    return native(T + time, id_, payload, size, wide)


def x(time, id_, payload=None, size=4):
    return extended(T + time, id_, payload, size)


def one_warp(*events, start=0, end=3200, **counters):
    return facts(run_of(warp(*events, start=start, end=end)), **counters)


def one_chunk(records, *events, end=3200, counters=None, **fields):
    """The case of one closed chunk that ends at T + 3200 unless `fields` say else."""
    return Case(dump(chunk(records, **fields)), one_warp(*events, end=end, **(counters or {})))


# ---- 4.1 streams and launches -----------------------------------------------------------------------------------------

@case
def chunks_in_any_order():
    "The chunks of a stream count in the order of seq, wherever they stand; stack and tokens go on from one to the next"
    first = chunk(n(32, 1) + n(64, 3), end=T + 640)
    second = chunk(n(672, 3) + n(704, 31), seq=1, start=T + 640, end=T + 1280, last=True)
    return Case(dump(second, first), one_warp(
        span("outer", 11, at(1, 32), at(31, 704)), span("tok", 13, at(3, 64), at(3, 672), type_=1), end=1280))


@case
def missing_in_the_middle():
    "seq 0 and 2: chunk 1 is missing, the stack goes on"
    return Case(dump(chunk(n(32, 1), end=T + 640), chunk(n(1312, 31), seq=2, start=T + 1280, end=T + 1920)), one_warp(
        span("outer", 11, at(1, 32), at(31, 1312)), end=1920, missingChunks=1))


@case
def missing_several():
    "seq 0, 3 and 5: three are missing"
    return Case(dump(chunk(n(32, 4), end=T + 640), chunk(n(1312, 4), seq=3, start=T + 1280, end=T + 1920), chunk(seq=5, start=T + 1920, end=T + 2560)),
                one_warp(mark("k", 32), mark("k", 1312), end=2560, missingChunks=3))


@case
def missing_first():
    "A stream whose chunk 0 is lost keeps its others, in the launch that its grid id has"
    lost = chunk(n(32, 4), warp=1, end=T + 640, crc=1)
    kept = chunk(n(672, 4), warp=1, seq=1, start=T + 640, end=T + 1280)
    return Case(dump(chunk(n(32, 4)), lost, kept), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 672), warp=1, start=640, end=1280)), corruptChunks=1, missingChunks=1))


@case
def missing_first_of_all():
    "Nothing but a chunk with seq 1: everything that can be decoded is"
    return Case(dump(chunk(n(672, 4), seq=1, start=T + 640, end=T + 1280)), one_warp(mark("k", 672), start=640, end=1280, missingChunks=1))


@case
def same_seq_twice():
    "A second chunk of one stream and seq in a launch is corrupt"
    return Case(dump(chunk(n(32, 4), end=T + 640), chunk(n(672, 5, 1), seq=1, start=T + 640, end=T + 1280),
                     chunk(n(704, 5, 2), seq=1, start=T + 672, end=T + 1280)),
                one_warp(mark("k", 32), mark("v", 672, I32, 1), end=1280, corruptChunks=1))


REPLAY = 9600


def replay(k, cta, seq=0, after=0):
    """Of replay k of grid 7: a chunk of this CTA with one marker v."""
    begin = k * REPLAY + cta * 320 + after
    return chunk(n(begin + 32, 5, 100 * k + 10 * cta + seq), grid=7, cta=(cta, 0, 0), dims=(2, 1, 1), seq=seq, start=T + begin, end=T + begin + 640)


def replay_warp(k, cta, *later):
    begin = k * REPLAY + cta * 320
    marks = [mark("v", begin + 32, I32, 100 * k + 10 * cta)] + [mark("v", begin + after + 32, I32, 100 * k + 10 * cta + seq) for seq, after in later]
    return warp(*marks, cta=(cta, 0, 0), start=begin, end=begin + (later[-1][1] if later else 0) + 640)


@case
def replays_in_any_order():
    "Launches that share a grid id are replays: told apart by startTs of the chunks with seq 0, whatever their order in the file"
    chunks = [replay(2, 1), replay(0, 1), replay(2, 0), replay(1, 0), replay(0, 0), replay(1, 1)]
    return Case(dump(*chunks), facts(*[run_of(replay_warp(k, 0), replay_warp(k, 1), grid=7, dims=(2, 1, 1)) for k in range(3)]))


@case
def replays_of_some_warps():
    "The next replay begins where a stream comes that the current one has, not before"
    return Case(dump(replay(0, 0), replay(1, 1), replay(2, 0), replay(3, 1)), facts(
        run_of(replay_warp(0, 0), replay_warp(1, 1), grid=7, dims=(2, 1, 1)), run_of(replay_warp(2, 0), replay_warp(3, 1), grid=7, dims=(2, 1, 1))))


@case
def later_chunks_of_replays():
    "A chunk with another seq belongs to the last launch that has its stream and began before it"
    return Case(dump(replay(1, 0, 1, 640), replay(0, 0, 1, 640), replay(0, 0), replay(1, 0), replay(1, 0, 2, 1280)), facts(
        run_of(replay_warp(0, 0, (1, 640)), grid=7, dims=(2, 1, 1)), run_of(replay_warp(1, 0, (1, 640), (2, 1280)), grid=7, dims=(2, 1, 1))))


@case
def later_chunk_of_an_older_replay():
    "…also where a younger launch lacks the stream: CTA 1's second chunk is the first replay's"
    return Case(dump(replay(0, 0), replay(0, 1), replay(1, 0), replay(0, 1, 1, REPLAY + 640)), facts(
        run_of(replay_warp(0, 0), replay_warp(0, 1, (1, REPLAY + 640)), grid=7, dims=(2, 1, 1)), run_of(replay_warp(1, 0), grid=7, dims=(2, 1, 1))))


def _orphan(order):
    """Warp 1 lost its chunk 0; its chunk 1 began in replay 0, its chunk 2 in replay 1. The chunks stand in this order."""
    lost = [chunk(n(96, 5, 1), grid=7, warp=1, seq=1, start=T + 64, end=T + 128), chunk(n(9728, 5, 2), grid=7, warp=1, seq=2, start=T + 9696, end=T + 9760)]
    return Case(dump(chunk(n(32, 4), grid=7, end=T + 640), chunk(n(9632, 4), grid=7, start=T + 9600, end=T + 10240), *[lost[i] for i in order]), facts(
        run_of(warp(mark("k", 32), end=640), warp(mark("v", 96, I32, 1), warp=1, start=64, end=128), grid=7),
        run_of(warp(mark("k", 9632), start=9600, end=10240), warp(mark("v", 9728, I32, 2), warp=1, start=9696, end=9760), grid=7), missingChunks=3))


@case
def orphans_of_two_replays():
    "A chunk whose stream lost its first one belongs to the launch that it began in, whatever another such chunk did"
    return _orphan([0, 1])


@case
def orphans_of_two_replays_the_later_first():
    "…in any order of the file"
    return _orphan([1, 0])


@case
def order_by_the_chunks_that_are_kept():
    "A chunk that is left out has no say in the order of launches"
    return Case(dump(chunk(n(672, 4), grid=5, start=T + 640, end=T + 960), chunk(n(992, 4), grid=5, seq=1, start=T + 960),
                     chunk(grid=5, seq=1, start=T), chunk(n(352, 4), grid=9, start=T + 320)), facts(
        run_of(warp(mark("k", 352), start=320), grid=9), run_of(warp(mark("k", 672), mark("k", 992), start=640), grid=5), corruptChunks=1))


@case
def launches_of_their_own():
    "Other grid ids are other launches; they stand in the order of their earliest startTs, then of the grid id"
    return Case(dump(chunk(n(992, 4), grid=3, start=T + 960), chunk(n(32, 4), grid=9), chunk(n(32, 4), grid=8), chunk(n(352, 4), grid=1, start=T + 320)), facts(
        run_of(warp(mark("k", 32)), grid=8), run_of(warp(mark("k", 32)), grid=9), run_of(warp(mark("k", 352), start=320), grid=1),
        run_of(warp(mark("k", 992), start=960), grid=3)))


@case
def order_by_the_earliest_warp():
    "A launch is as early as its earliest warp, not its first chunk"
    return Case(dump(chunk(n(992, 4), grid=2, start=T + 960), chunk(n(352, 4), grid=1, start=T + 320), chunk(n(32, 4), grid=2, warp=1)), facts(
        run_of(warp(mark("k", 992), start=960), warp(mark("k", 32), warp=1), grid=2), run_of(warp(mark("k", 352), start=320), grid=1)))


@case
def one_warp_on_one_sm():
    "A stream's SM is that of its first chunk; a lifetime is the least start and the greatest end of the warp's streams"
    return Case(dump(chunk(n(32, 4), sm=3, end=T + 640), chunk(n(672, 4), seq=1, sm=4, start=T + 640, end=T + 1280),
                     chunk(n(352, 4), lane=5, sm=3, start=T + 320, end=T + 2560)),
                facts(run_of(warp(mark("k", 32), mark("k", 672), mark("k", 352), sm=3, end=2560))))


@case
def streams_have_their_own_stacks():
    "A pop closes a push of its own stream; a token id may be open in two streams"
    a = n(32, 1) + n(64, 3) + n(256, 31)
    b = n(96, 2, 7) + n(128, 3) + n(160, 31) + n(192, 3)
    return Case(dump(chunk(a), chunk(b, lane=16)), one_warp(
        span("outer", 11, at(1, 32), at(31, 256)), span("tok", 13, at(3, 64), end=3200, type_=1),
        span("inner", 12, at(2, 96, I32, 7), at(31, 160)), span("tok", 13, at(3, 128), at(3, 192), type_=1), unclosedRanges=1))


@case
def many_launches():
    "Six hundred launches of one kernel, twenty of another"
    name = lambda i: "often" if i % 31 else "seldom"
    data = (header() + meta(module([info()] + EVENTS)) + kern(kernel(0x10, "often"), kernel(0x20, "seldom"))
            + warps(*[chunk(n(320 * i + 32, 5, i), grid=i, start=T + 320 * i, end=T + 320 * i + 64, kernel_id=0x10 if i % 31 else 0x20) for i in range(620)]) + done(620))
    return Case(data, facts(*[run_of(warp(mark("v", 320 * i + 32, I32, i), start=320 * i, end=320 * i + 64), grid=i, kernel=name(i)) for i in range(620)]))


@case
def kernel_of_the_launch():
    "The kernel and the dimensions that LNCH gives win over the chunk's; a name that is not known is made of the id"
    data = (header() + meta(module([info()] + EVENTS)) + kern(kernel(0x10, "by_chunk"), kernel(0x20, "by_launch"))
            + lnch(launch(1, 0x20, (4, 2, 1), (64, 1, 1)), launch(2, 0x30, (1, 1, 1)))
            + warps(chunk(n(32, 4), kernel_id=0x10, dims=(9, 9, 9)), chunk(n(3232, 4), grid=2, kernel_id=0x10, start=T + 3200, end=T + 6400),
                    chunk(n(6432, 4), grid=3, kernel_id=0x10, start=T + 6400, end=T + 9600),
                    chunk(n(9632, 4), grid=4, kernel_id=0xABCDEF0123, start=T + 9600, end=T + 12800)) + done(4))
    return Case(data, facts(
        run_of(warp(mark("k", 32)), kernel="by_launch", dims=(4, 2, 1), block=(64, 1, 1)),
        run_of(warp(mark("k", 3232), start=3200, end=6400), grid=2, kernel="kernel_0x30"),
        run_of(warp(mark("k", 6432), start=6400, end=9600), grid=3, kernel="by_chunk"),
        run_of(warp(mark("k", 9632), start=9600, end=12800), grid=4, kernel="kernel_0xabcdef0123")))


@case
def dimensions_that_the_host_left_out():
    "A dimension or kernel that is 0 in LNCH is the chunk's"
    return Case(header() + meta(module([info()] + EVENTS)) + lnch(launch(1, 0, (0, 4, 0), (64, 0, 1)))
                + warps(chunk(n(32, 4), kernel_id=0x10, dims=(9, 8, 7), block=(96, 2, 3))) + done(),
                facts(run_of(warp(mark("k", 32)), kernel="kernel_0x10", dims=(9, 4, 7), block=(64, 2, 1))))


@case
def host_times_tell_replays():
    "More LNCH entries of a grid than launches: the host's times say which one left chunks"
    return Case(header() + meta(module([info()] + EVENTS)) + lnch(launch(1, 0x10, start=T - 900, end=T - 500), launch(1, 0x20, start=T - 64, end=T + 9600))
                + warps(chunk(n(32, 4))) + done(), facts(run_of(warp(mark("k", 32)), kernel="kernel_0x20")))


@case
def graph_launches():
    "A launch whose LNCH has a graph key goes under graphLaunches, under its key"
    data = (header() + meta(module([info()] + EVENTS)) + lnch(launch(2, 0, key="graph_exec_1:0"), launch(3, 0, key="graph_exec_1:1"))
            + warps(chunk(n(32, 4)), chunk(n(3232, 4), grid=2, start=T + 3200, end=T + 6400), chunk(n(6432, 4), grid=3, start=T + 6400, end=T + 9600),
                    chunk(n(9632, 4), grid=2, start=T + 9600, end=T + 12800)) + done(4))
    return Case(data, facts(
        run_of(warp(mark("k", 32))),
        run_of(warp(mark("k", 3232), start=3200, end=6400), grid=2, key="graph_exec_1:0"),
        run_of(warp(mark("k", 9632), start=9600, end=12800), grid=2, key="graph_exec_1:0"),
        run_of(warp(mark("k", 6432), start=6400, end=9600), grid=3, key="graph_exec_1:1")))


@case
def launch_without_a_chunk():
    "A launch that left no chunk is not in trace.json; the summary names its kernel"
    data = (header() + meta(module([info()] + EVENTS)) + kern(kernel(0x10, "seen"), kernel(0x20, "never_seen")) + lnch(launch(1, 0x10), launch(2, 0x20))
            + warps(chunk(n(32, 4))) + done())
    return Case(data, facts(run_of(warp(mark("k", 32)), kernel="seen")), says=["never_seen"])


@case
def many_modules():
    "A chunk is read by its module's declarations; one kernel of each"
    data = (header() + meta(module([info()] + EVENTS, 0xA0)) + meta(module([info()] + EXTENDED_EVENTS, 0xB0))
            + warps(chunk(n(32, 5, 1), module_id=0xA0), chunk(x(33, 66, 2), module_id=0xB0, warp=1)) + done(2))
    return Case(data, facts(run_of(warp(mark("v", 32, I32, 1)), warp(mark("v", 33, I32, 2), warp=1))))


@case
def unknown_module_of_one():
    "A module id that is not declared stands for the only module"
    return one_chunk(n(32, 4), mark("k", 32), module_id=0xDEAD)


@case
def unknown_module_of_many():
    "With several modules an unknown id, 0 among them, leaves all record bytes undecoded: to the last word that is not 0 where the chunk is open"
    data = (header() + meta(module([info()] + EVENTS, 0xA0), module([info()] + EVENTS, 0xB0))
            + warps(chunk(n(32, 4), module_id=0xA0), chunk(n(32, 4) + n(64, 5, 1), module_id=0xC0, warp=1), chunk(n(32, 4), module_id=0, warp=2),
                    chunk(n(32, 4) + n(64, 4) + n(64, 5, 0) + n(96, 4), module_id=0xC0, warp=3, closed=False, size=256)) + done(4))
    return Case(data, facts(run_of(warp(mark("k", 32)), warp(warp=1), warp(warp=2), warp(warp=3, end=0)), undecodedBytes=12 + 4 + 20))


# ---- 4.2 time ---------------------------------------------------------------------------------------------------------

@case
def equal_times():
    "Equal times stay equal, and nest by the order of the records"
    return one_chunk(n(32, 1) + n(32, 2, 1) + n(32, 4) + n(32, 31) + n(32, 31), span("outer", 11, at(1, 32), at(31, 32)),
                     span("inner", 12, at(2, 32, I32, 1), at(31, 32)), mark("k", 32))


@case
def a_little_backwards():
    "A time less than 2^20 before the reference is earlier, and becomes the reference"
    back = 320 - (1 << 20)
    return one_chunk(n(320, 5, 1) + n(64, 5, 2) + n(96, 5, 3) + n(320, 5, 4) + n(back, 5, 5) + n(352, 5, 6),
                     mark("v", 320, I32, 1), mark("v", 64, I32, 2), mark("v", 96, I32, 3), mark("v", 320, I32, 4), mark("v", back, I32, 5), mark("v", 352, I32, 6))


@case
def too_far_backwards():
    "One step more than 2^20 before the reference is almost 4.29 s later"
    later = 320 - (1 << 20) - 32 + WRAP
    return Case(
        dump(chunk(n(320, 5, 1) + n(320 - (1 << 20) - 32, 5, 2), end=T + 3 * WRAP // 2)),
        one_warp(mark("v", 320, I32, 1), mark("v", later, I32, 2), end=3 * WRAP // 2))


@case
def before_the_start():
    "The first reference is startTs without its low 5 bits"
    return Case(dump(chunk(n(0, 5, 1) + n(-32, 5, 2), start=T + 31)), one_warp(mark("v", 0, I32, 1), mark("v", -32, I32, 2), start=31))


@case
def before_the_start_extended():
    "…under the extended method too, whose times keep all their bits"
    return Case(dump(chunk(x(5, 66, 1) + x(3, 66, 2), start=T + 31), events=EXTENDED_EVENTS),
                one_warp(mark("v", 5, I32, 1), mark("v", 3, I32, 2), start=31))


@case
def the_timer_turns_over():
    "Each chunk starts from its own startTs; within one, the low 32 bits turn over"
    turn = WRAP - T % WRAP  # T + turn has 32 low bits of 0
    return Case(dump(chunk(n(32, 4) + n(turn - 32, 4) + n(turn, 4) + n(turn + 32, 4), end=T + turn + 320),
                     chunk(n(turn + 2 * WRAP + 32, 4), seq=1, start=T + turn + 2 * WRAP, end=T + turn + 2 * WRAP + 64)),
                one_warp(mark("k", 32), mark("k", turn - 32), mark("k", turn), mark("k", turn + 32), mark("k", turn + 2 * WRAP + 32), end=turn + 2 * WRAP + 64))


@case
def skipped_ids_do_not_move_the_time():
    "A record of the reserved id 0 is skipped, and its time with it"
    return one_chunk(n(320, 4) + n(320 + (1 << 31), 0) + n(352, 4), mark("k", 320), mark("k", 352), counters={"reservedRecords": 1})


@case
def ambiguous_past_the_end():
    "A closed chunk whose last time is past its endTs is time-ambiguous; one that ends just then is not"
    return Case(dump(chunk(n(3200, 4)), chunk(n(3232, 4), warp=1)), facts(
        run_of(warp(mark("k", 3200)), warp(mark("k", 3232), warp=1)), timeAmbiguousChunks=1))


@case
def ambiguous_long_before_the_end():
    "…and one whose last time lies 2^32 ns or more before its endTs"
    return Case(dump(chunk(n(32, 4), end=T + 32 + WRAP - 1), chunk(n(32, 4), warp=1, end=T + 32 + WRAP)), facts(
        run_of(warp(mark("k", 32), end=32 + WRAP - 1), warp(mark("k", 32), warp=1, end=32 + WRAP)), timeAmbiguousChunks=1))


@case
def not_ambiguous():
    "No records, no endTs, or not closed: nothing to compare"
    return Case(dump(chunk(end=T + 3 * WRAP), chunk(n(32, 4), warp=1, end=0), chunk(n(64, 4), warp=2, closed=False, end=T + 32)), facts(
        run_of(warp(end=3 * WRAP), warp(mark("k", 32), warp=1, end=32), warp(mark("k", 64), warp=2, end=64))))


# ---- 4.3 ranges -------------------------------------------------------------------------------------------------------

@case
def pop_without_push():
    "A pop on an empty stack is counted and dropped"
    return one_chunk(n(32, 31) + n(64, 1) + n(96, 31) + n(128, 31), span("outer", 11, at(1, 64), at(31, 96)), counters={"unmatchedPops": 2})


@case
def tokens_toggle():
    "A token's id opens and closes in turn, across the stack and other tokens, with the payload of each"
    return one_chunk(n(32, 7, 1) + n(64, 1) + n(96, 3) + n(128, 7, 2) + n(160, 31) + n(192, 7, 3) + n(224, 3) + n(256, 7, 4) + n(288, 7, 5),
                     span("tokp", 14, at(7, 32, U32, 1), at(7, 128, U32, 2), type_=1), span("outer", 11, at(1, 64), at(31, 160)),
                     span("tok", 13, at(3, 96), at(3, 224), type_=1), span("tokp", 14, at(7, 192, U32, 3), at(7, 256, U32, 4), type_=1),
                     span("tokp", 14, at(7, 288, U32, 5), end=3200, type_=1), counters={"unclosedRanges": 1})


@case
def unclosed_to_the_end_of_a_closed_chunk():
    "What is open ends at the endTs of the stream's last chunk"
    return Case(dump(chunk(n(32, 1) + n(64, 2, 5), end=T + 640), chunk(n(672, 3), seq=1, start=T + 640, end=T + 1280)), one_warp(
        span("outer", 11, at(1, 32), end=1280), span("inner", 12, at(2, 64, I32, 5), end=1280), span("tok", 13, at(3, 672), end=1280, type_=1), end=1280,
        unclosedRanges=3))


@case
def unclosed_in_an_open_chunk():
    "…at its last record where the last chunk was not closed"
    return Case(dump(chunk(n(32, 1) + n(64, 4), closed=False, size=256)), one_warp(span("outer", 11, at(1, 32), end=64), mark("k", 64), end=64, unclosedRanges=1))


@case
def unclosed_in_a_closed_chunk_without_end():
    "…or closed without an endTs"
    return Case(dump(chunk(n(32, 1) + n(64, 4), end=0)), one_warp(span("outer", 11, at(1, 32), end=64), mark("k", 64), end=64, unclosedRanges=1))


@case
def unclosed_in_an_open_chunk_with_end():
    "An endTs in a chunk that is not closed counts when it is greater than the last record's time"
    return Case(dump(chunk(n(32, 1), closed=False, end=T + 640, size=256), chunk(n(96, 1), warp=1, closed=False, end=T + 64, size=256)), facts(
        run_of(warp(span("outer", 11, at(1, 32), end=640), end=640), warp(span("outer", 11, at(1, 96), end=96), warp=1, end=96)), unclosedRanges=2))


@case
def nothing_to_end_with():
    "A stream without records and endTs ends at its start"
    return Case(dump(chunk(n(32, 4)), chunk(warp=1, closed=False, size=256)), facts(run_of(warp(mark("k", 32)), warp(warp=1, end=0))))


@case
def never_ends_before_it_starts():
    "A range that is open at an end before its start ends where it starts"
    return Case(
        dump(chunk(n(320, 1), end=T + 64)), one_warp(span("outer", 11, at(1, 320), end=320), end=64, unclosedRanges=1, timeAmbiguousChunks=1))


@case
def closed_before_it_started():
    "A pop or token end with a time before the start: the range ends where it starts, the record keeps its time"
    # Not read again: a range of a trace.json has one time for its end and its closing record in our model.
    return Case(dump(chunk(n(320, 1) + n(288, 31) + n(640, 7, 1) + n(608, 7, 2))), one_warp(
        span("outer", 11, at(1, 320), at(31, 288), end=320), span("tokp", 14, at(7, 640, U32, 1), at(7, 608, U32, 2), end=640, type_=1)), again=False)


# ---- 4.4 records that cannot be read ----------------------------------------------------------------------------------

@case
def unknown_id():
    "An id that is not declared ends its chunk: it and the rest are undecoded bytes; the stream's next chunk is read"
    return Case(dump(chunk(n(32, 1) + n(64, 30) + n(96, 31) + n(128, 4), end=T + 640), chunk(n(672, 31), seq=1, start=T + 640, end=T + 1280)),
                one_warp(span("outer", 11, at(1, 32), at(31, 672)), end=1280, undecodedBytes=12))


@case
def unknown_id_in_an_open_chunk():
    "…in an open chunk up to its last word that is not 0"
    return Case(dump(chunk(n(32, 4) + n(64, 30) + b"\0" * 8 + b"\0\1\0\0", closed=False, size=256)), one_warp(mark("k", 32), end=32, undecodedBytes=16))


@case
def unknown_id_extended():
    "…and under the extended method"
    return Case(dump(chunk(x(32, 65) + x(64, 99) + x(96, 65)), events=EXTENDED_EVENTS), one_warp(mark("k", 32), undecodedBytes=16))


@case
def reserved_ids():
    "Id 0 inside the used bytes is skipped: 4 bytes, with a time or all zero"
    return one_chunk(n(32, 4) + n(64, 0) + b"\0\0\0\0" + n(96, 4) + b"\0\0\0\0", mark("k", 32), mark("k", 96), counters={"reservedRecords": 3})


@case
def reserved_ids_of_8_bytes():
    "…8 in a wide or extended chunk"
    wide = n(32, 4, wide=True) + n(64, 0, wide=True) + b"\0" * 8 + n(96, 4, wide=True)
    return Case(dump(chunk(wide, wide=True)), one_warp(mark("k", 32), mark("k", 96), reservedRecords=2))


@case
def reserved_ids_extended():
    "…and 8 under the extended method, where a time of 0 is a time"
    return Case(dump(chunk(x(32, 65) + x(64, 0) + b"\0" * 8 + x(96, 65)), events=EXTENDED_EVENTS), one_warp(mark("k", 32), mark("k", 96), reservedRecords=2))


@case
def reserved_id_in_an_open_chunk():
    "A record of id 0 with a time does not end an open chunk; a word that is 0 does"
    return Case(dump(chunk(n(32, 4) + n(64, 0) + n(96, 4) + b"\0" * 4 + n(128, 4), closed=False, size=256)), one_warp(
        mark("k", 32), mark("k", 96), end=96, reservedRecords=1))


@case
def open_extended_chunk():
    "An open extended chunk ends where both words are 0: a record whose low 32 bits of time are 0 does not end it"
    turn = WRAP - T % WRAP
    return Case(dump(chunk(x(32, 65) + x(turn, 65) + x(turn + 7, 66, 0) + x(turn + 9, 65), closed=False, size=512), events=EXTENDED_EVENTS), one_warp(
        mark("k", 32), mark("k", turn), mark("v", turn + 7, I32, 0), mark("k", turn + 9), end=turn + 9))


@case
def open_chunk_with_zero_payloads():
    "A payload of 0 does not end an open chunk"
    return Case(dump(chunk(n(32, 5, 0) + n(64, 6, 0, 8) + n(96, 5, 0), closed=False, size=256)), one_warp(
        mark("v", 32, I32, 0), mark("w", 64, U64, 0), mark("v", 96, I32, 0), end=96))


@case
def open_wide_chunk():
    "A wide open chunk: every record 8 or 16 bytes"
    return Case(dump(chunk(n(32, 4, wide=True) + n(64, 5, 0) + n(96, 6, 1 << 63, 8) + n(128, 4, wide=True), closed=False, wide=True, size=256)), one_warp(
        mark("k", 32), mark("v", 64, I32, 0), mark("w", 96, U64, 1 << 63), mark("k", 128), end=128))


@case
def cut_off_record():
    "A record cut off by the end of the used bytes is undecoded bytes: 4 of 8, 12 of 16, 2 of 4"
    return Case(dump(chunk(n(32, 4) + n(64, 5, 1)[:4]), chunk(n(32, 4) + n(64, 6, 1, 8)[:12], warp=1), chunk(n(32, 4) + n(64, 4)[:2], warp=2)), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 32), warp=1), warp(mark("k", 32), warp=2)), undecodedBytes=4 + 12 + 2))


@case
def cut_off_extended_record():
    "…4 of 8 and 8 of 16 under the extended method"
    return Case(dump(chunk(x(32, 65) + x(64, 65)[:4]), chunk(x(32, 65) + x(64, 66, 1)[:8], warp=1), events=EXTENDED_EVENTS), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 32), warp=1)), undecodedBytes=4 + 8))


@case
def cut_off_wide_record():
    "…and 4 of 8 in a wide chunk, of a record without payload and of id 0"
    return Case(dump(chunk(n(32, 4, wide=True) + n(64, 4), wide=True), chunk(n(32, 4, wide=True) + n(64, 0), warp=1, wide=True)), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 32), warp=1)), undecodedBytes=4 + 4))


@case
def cut_off_by_the_end_of_an_open_chunk():
    "An open chunk that is full to its last byte: the record that does not fit is undecoded"
    return Case(dump(chunk(n(32, 4) * 31 + n(64, 5, 1)[:4], closed=False, size=256)), one_warp(*[mark("k", 32)] * 31, end=32, undecodedBytes=4))


@case
def used_bytes_end_the_records():
    "What stands behind the used bytes of a closed chunk is not read"
    return one_chunk(n(32, 4) + n(64, 4) + n(96, 30), mark("k", 32), used=4)


@case
def narrow_payloads_are_masked():
    "payloadVal of an 8- or 16-bit type has no more than its bits, whatever the upper ones hold"
    from dump_builder import I8, I16, U8, U16, event
    events = [event(1, "i8", payload=I8), event(2, "u8", payload=U8), event(3, "i16", payload=I16), event(4, "u16", payload=U16)]
    return Case(dump(chunk(n(32, 1, 0xFFFFFFF8) + n(64, 2, 0x1FF) + n(96, 3, 0xFFFF8000) + n(128, 4, 0x12345)), events=events), one_warp(
        mark("i8", 32, I8, 0xF8, -8), mark("u8", 64, U8, 0xFF), mark("i16", 96, I16, 0x8000, -32768), mark("u16", 128, U16, 0x2345)))


# ---- 4.5 damage -------------------------------------------------------------------------------------------------------

@case
def a_hole():
    "Where no chunk header is valid the next multiple of 8 with one is looked for; the hole is one corrupt chunk however long"
    return Case(dump(chunk(n(32, 4)), b"\xee" * 1048, chunk(n(64, 4), warp=1)), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1)), corruptChunks=1))


@case
def a_hole_at_the_end():
    "…also when none follows"
    return Case(dump(chunk(n(32, 4)), b"\xee" * 72), one_warp(mark("k", 32), corruptChunks=1))


@case
def two_holes():
    "Two holes with a chunk between them are two"
    return Case(dump(b"\xee" * 8, chunk(n(32, 4)), b"\xee" * 256, chunk(n(64, 4), warp=1)), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1)), corruptChunks=2))


def _invalid(**fields):
    """A chunk with a wrong header between two good ones. Its own records look like no header."""
    return Case(dump(chunk(n(32, 4)), chunk(n(32, 4), warp=1, **fields), chunk(n(64, 4), warp=2)), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=2)), corruptChunks=1))


@case
def chunk_header_of_another_size():
    "A chunk header must say 128 header bytes"
    return _invalid(header_bytes=96)


@case
def chunk_size_below_128():
    "…a size of at least 128"
    return _invalid(size_field=120)


@case
def chunk_size_not_a_multiple_of_8():
    "…a multiple of 8"
    return _invalid(size_field=132)


@case
def chunk_size_past_the_section():
    "…that lies within the section"
    return _invalid(size_field=0x10000)


@case
def chunk_size_near_2_to_32():
    "…also when adding it would overflow"
    return _invalid(size_field=0xFFFFFFF8)


@case
def chunk_used_past_its_size():
    "…and used bytes that fit, when it is closed"
    return _invalid(used=16)


@case
def chunk_used_of_an_open_chunk():
    "The used field of an open chunk is not final: it is not looked at"
    return Case(dump(chunk(n(32, 4), closed=False, used=99999, size=256)), one_warp(mark("k", 32), end=32))


@case
def chunk_of_the_default_size():
    "Size 0 is the file header's chunk bytes"
    return Case(dump(chunk(n(32, 4), size=512, size_field=0), chunk(n(64, 4), warp=1, size=512, size_field=0), chunk_bytes=512), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1))))


@case
def chunks_never_claimed():
    "A magic of 0: never claimed, no damage; the next stands where the file header's chunk bytes say"
    return Case(dump(b"\0" * 512, chunk(n(32, 4), size=512), b"\0" * 1024, chunk(n(64, 4), warp=1, size=512), b"\0" * 512, chunk_bytes=512), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1))))


@case
def unclaimed_chunk_that_is_not_zero():
    "…whatever else a chunk with a magic of 0 holds"
    return Case(dump(chunk(n(32, 4), magic=0, size=512), chunk(n(64, 4), warp=1, size=512), chunk_bytes=512), facts(run_of(warp(mark("k", 64), warp=1))))


@case
def chunk_crc():
    "A chunk whose own CRC fails is left out: corrupt, and missing from its stream"
    return Case(dump(chunk(n(32, 4), end=T + 640), chunk(n(672, 4), seq=1, start=T + 640, end=T + 1280, crc=12345),
                     chunk(n(1312, 4), seq=2, start=T + 1280, end=T + 1920)),
                one_warp(mark("k", 32), mark("k", 1312), end=1920, corruptChunks=1, missingChunks=1))


@case
def chunk_crc_of_nothing():
    "A CRC of 0 is none; an open chunk's is not written yet"
    return Case(dump(chunk(n(32, 4), crc=0), chunk(n(64, 4), warp=1, closed=False, crc=77, size=256)), facts(
        run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1, end=64))))


def with_sections(*more, kept=None, **counters):
    """A good dump with these sections before its WARP section."""
    return Case(header() + meta(module([info()] + EVENTS)) + b"".join(more) + warps(chunk(n(32, 4), kernel_id=0x10)) + done(),
                facts(run_of(warp(mark("k", 32)), kernel=kept or "kernel_0x10"), **counters))


@case
def unknown_sections():
    "A section of an unknown type is skipped"
    return with_sections(section("WHAT", b"anything" * 9, 3), section(b"\0\xff\0\xff", b"x"), kern(kernel(0x10, "f")), kept="f")


@case
def several_sections_of_a_kind():
    "META, KERN, LNCH, WARP and LOSS may come in any number"
    data = (header() + meta(module([info()] + EVENTS[:4], 1)) + kern(kernel(0x10, "f")) + warps(chunk(n(32, 4), module_id=1, kernel_id=0x10)) + loss((1, 2, 1))
            + meta(module([info()] + EVENTS, 2)) + kern(kernel(0x20, "g")) + lnch(launch(1, 0x10, (2, 1, 1)))
            + warps(chunk(n(64, 5, 1), module_id=2, kernel_id=0x10, warp=1)) + lnch(launch(2, 0x20))
            + warps(chunk(n(3232, 6, 5, 8), grid=2, module_id=2, start=T + 3200, end=T + 6400)) + loss((2, 3, 4)) + done(3))
    return Case(data, facts(run_of(warp(mark("k", 32)), warp(mark("v", 64, I32, 1), warp=1), kernel="f", dims=(2, 1, 1)),
                            run_of(warp(mark("w", 3232, U64, 5), start=3200, end=6400), kernel="g", grid=2), droppedEvents=5, warpsWithoutChunk=5))


@case
def names_after_the_chunks():
    "Sections may come in any order: what names the kernels and events may follow the chunks"
    return Case(header() + warps(chunk(n(32, 4), kernel_id=0x10)) + lnch(launch(1, 0x10, (5, 1, 1))) + kern(kernel(0x10, "f")) + meta(module([info()] + EVENTS)) + done(),
                facts(run_of(warp(mark("k", 32)), kernel="f", dims=(5, 1, 1))))


# ---- 3: a recorder that keeps the last events of a stream ---------------------------------------------------------------

def kept(records, *events, end, overwritten, reference=None, **counters):
    """The case of one closed chunk whose reference time is its end."""
    data = dump(chunk(records, end=T + end, overwritten=overwritten, reference=T + end if reference is None else reference))
    return Case(data, one_warp(*events, end=end, overwrittenEvents=overwritten, **counters))


def even(record):
    return record.ljust(16, b"\xA5")


@case
def kept_last():
    "Flag 32: what was overwritten is no drop; a pop on an empty stack ends a range that began before"
    return kept(n(320, 31) + n(352, 1) + n(384, 31) + n(416, 31) + n(448, 4), span("outer", 11, at(1, 352), at(31, 384)), mark("k", 448), end=480,
                overwritten=7, overwrittenBegins=2)


@case
def kept_last_nothing_overwritten():
    "…and a chunk of such a recorder that overwrote nothing is as any other"
    return kept(n(32, 31) + n(64, 4), mark("k", 64), end=3200, overwritten=0, unmatchedPops=1)


@case
def kept_last_long_after_the_start():
    "Times are counted back from the reference: the first kept record may lie any time after startTs"
    late = 5 * WRAP + 12 * 32
    times = late, late + WRAP // 2, late + WRAP + 64
    return kept(b"".join(n(t, 4) for t in times), *(mark("k", t) for t in times), end=late + WRAP + 96, overwritten=1)


@case
def kept_last_step_back():
    "A record a little before the one in front of it stays so"
    late = 3 * WRAP
    return kept(n(late + 64, 4) + n(late + 32, 5, 1), mark("k", late + 64), mark("v", late + 32, I32, 1), end=late + 96, overwritten=9)


@case
def kept_last_tokens():
    "In a closed chunk a token id with an odd number of records begins with the end of a range whose start was overwritten"
    return kept(n(32, 3) + n(64, 7, 1) + n(96, 3) + n(128, 3) + n(160, 7, 2), span("tok", 13, at(3, 96), at(3, 128), type_=1),
                span("tokp", 14, at(7, 64, U32, 1), at(7, 160, U32, 2), type_=1), end=3200, overwritten=3, overwrittenBegins=1)


@case
def kept_last_open():
    "In an open chunk the first record of a token is its start, and the reference is the time of the snapshot"
    late = 2 * WRAP
    return Case(dump(chunk(n(late + 32, 3) + n(late + 64, 3) + n(late + 96, 3), closed=False, size=256, overwritten=1, reference=T + late + 3200)), one_warp(
        span("tok", 13, at(3, late + 32), at(3, late + 64), type_=1), span("tok", 13, at(3, late + 96), end=late + 96, type_=1), end=late + 96,
        unclosedRanges=1, overwrittenEvents=1))


@case
def kept_last_without_reference():
    "Without a reference time endTs is taken; without that too, times count from startTs"
    return Case(dump(chunk(n(WRAP * 2 + 32, 4), end=T + WRAP * 2 + 64, overwritten=2), chunk(n(32, 4) + n(64, 31), warp=1, end=0, overwritten=4)), facts(
        run_of(warp(mark("k", WRAP * 2 + 32), end=WRAP * 2 + 64), warp(mark("k", 32), warp=1, end=64)), overwrittenEvents=6, overwrittenBegins=1))


@case
def kept_last_without_records():
    "…and one of which no record is left ends with its reference when it has no endTs"
    return Case(dump(chunk(n(32, 4)), chunk(b"", warp=1, end=0, overwritten=2, reference=T + 640)), facts(run_of(warp(mark("k", 32)), warp(warp=1, end=640)),
                                                                                                         overwrittenEvents=2))


@case
def even_records():
    "Flag 16: every record takes 16 bytes, id 0 too"
    records = even(n(32, 1)) + even(n(64, 5, 7)) + n(96, 6, 8, 8) + even(n(128, 0)) + even(n(160, 31))
    return one_chunk(records, span("outer", 11, at(1, 32), at(31, 160)), mark("v", 64, I32, 7), mark("w", 96, U64, 8), even=True, counters={"reservedRecords": 1})


@case
def even_record_cut():
    "…and one of fewer bytes is undecoded"
    return one_chunk(even(n(32, 4)) + n(64, 4) + b"\xA5" * 4, mark("k", 32), even=True, counters={"undecodedBytes": 8})


@case
def even_extended():
    "…in an extended module as well"
    return Case(dump(chunk(even(x(32, 64)) + even(x(64, 66, 7)) + x(96, 67, 8, 8) + even(x(128, 31)), even=True), events=EXTENDED_EVENTS), one_warp(
        span("outer", 11, at(64, 32), at(31, 128)), mark("v", 64, I32, 7), mark("w", 96, U64, 8)))


@case
def kernel_section_crc():
    "A section whose CRC fails is left out"
    return with_sections(kern(kernel(0x10, "f"), crc=1), corruptSections=1)


@case
def kernel_section_crc_zero():
    "A CRC of 0 is a CRC, except in WARP"
    return with_sections(kern(kernel(0x10, "f"), crc=0), corruptSections=1)


@case
def launch_section_crc():
    "…LNCH as well"
    return with_sections(kern(kernel(0x10, "f")), lnch(launch(1, 0x20, (7, 7, 7)), crc=1), kept="f", corruptSections=1)


@case
def loss_section_crc():
    "…and LOSS"
    return with_sections(kern(kernel(0x10, "f")), loss((1, 5, 5), crc=1), kept="f", corruptSections=1)


@case
def kernel_name_leads_outside():
    "KERN whose inner lengths lead outside is corrupt; what was read before that stands"
    return with_sections(kern(kernel(0x10, "f"), kernel(0x20, "g", length=100000)), kept="f", corruptSections=1)


@case
def launch_key_leads_outside():
    "…LNCH too"
    return Case(header() + meta(module([info()] + EVENTS)) + lnch(launch(1, 0x10, (3, 1, 1)), launch(2, 0x20, length=0xFFFFFFFF))
                + warps(chunk(n(32, 4))) + done(), facts(run_of(warp(mark("k", 32)), kernel="kernel_0x10", dims=(3, 1, 1)), corruptSections=1))


@case
def declarations_lead_outside():
    "…and META: the events declared before it stand"
    name, data = EVENTS[4]
    broken = struct.pack("<II", len(name), 0x7FFFFFFF) + pad(name.encode() + data, 4)
    good = module([info()] + EVENTS[:4])
    body = struct.unpack_from("<QII", good)
    symbols = good[16:16 + body[1]] + broken
    payload = pad(struct.pack("<QII", 0, len(symbols), body[2] + 1) + symbols, 8)
    return Case(header() + section("META", payload, 1) + warps(chunk(n(32, 4) + n(64, 5, 1))) + done(),
                one_warp(mark("k", 32), undecodedBytes=8, corruptSections=1))


@case
def declarations_with_a_rest():
    "…and a rest of META that is no module"
    payload = module([info()] + EVENTS) + b"\1" * 8
    return Case(header() + section("META", payload, 1) + warps(chunk(n(32, 4))) + done(), one_warp(mark("k", 32), corruptSections=1))


@case
def section_crc_of_warps():
    "A WARP section whose CRC fails is corrupt, but keeps the chunks whose own holds; every other one in it is corrupt"
    chunks = [chunk(n(32, 4)), chunk(n(64, 4), warp=1, crc=0), chunk(n(96, 4), warp=2, closed=False, size=256)]
    data = header() + meta(module([info()] + EVENTS)) + warps(*chunks, crc=1) + done(3)
    return Case(data, facts(run_of(warp(mark("k", 32))), corruptChunks=2, corruptSections=1))


@case
def section_crc_of_warps_not_computed():
    "A WARP section's CRC of 0 is none"
    data = header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4)), chunk(n(64, 4), warp=1, crc=0), crc=0) + done(2)
    return Case(data, facts(run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1))))


@case
def no_done():
    "Without DONE the file is cut off"
    return Case(header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4))), one_warp(mark("k", 32), truncated=1))


@case
def cut_inside_a_warp_section():
    "A file cut inside a WARP section gives its whole chunks; that is no corruption"
    chunks = [chunk(n(32, 4)), chunk(n(64, 4), warp=1), chunk(n(96, 4), warp=2)]
    whole = header() + meta(module([info()] + EVENTS)) + warps(*chunks)
    return Case(whole[:-40], facts(run_of(warp(mark("k", 32)), warp(mark("k", 64), warp=1)), truncated=1))


@case
def cut_inside_another_section():
    "A file cut inside another section gives the sections before it"
    whole = header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4), kernel_id=0x10)) + kern(kernel(0x10, "f"))
    return Case(whole[:-4], facts(run_of(warp(mark("k", 32)), kernel="kernel_0x10"), truncated=1))


@case
def section_longer_than_the_file():
    "A section size near 2^64 is a file that is cut off, not an overflow"
    return Case(header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4))) + section("KERN", b"", 0, size=(1 << 64) - 8), one_warp(mark("k", 32), truncated=1))


@case
def dropped_by_the_streams():
    "Dropped events: the sum over the streams of the greatest count, and LOSS, where that is more than DONE says"
    data = (header() + meta(module([info()] + EVENTS)) + warps(
        chunk(n(32, 4), end=T + 640, dropped=3), chunk(n(672, 4), seq=1, start=T + 640, end=T + 1280, dropped=7), chunk(n(64, 4), lane=3, dropped=4, end=T + 1280))
        + loss((1, 2, 5), (9, 1, 1)) + done(3, dropped=13))
    return Case(data, one_warp(mark("k", 32), mark("k", 672), mark("k", 64), end=1280, droppedEvents=7 + 4 + 3, warpsWithoutChunk=6))


@case
def dropped_more_than_fits():
    "The count of what LOSS says stops at its greatest instead of going through 0"
    data = header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4))) + loss((1, 1 << 63, 1), (2, 1 << 63, 1)) + done()
    return Case(data, one_warp(mark("k", 32), droppedEvents=(1 << 64) - 1, warpsWithoutChunk=2))


@case
def dropped_by_done():
    "…and DONE's total where that is more"
    data = header() + meta(module([info()] + EVENTS)) + warps(chunk(n(32, 4), dropped=3)) + loss((1, 2, 5)) + done(1, dropped=100)
    return Case(data, one_warp(mark("k", 32), droppedEvents=100, warpsWithoutChunk=5))


@case
def a_device():
    "DEVI is one JSON object, and harmless where it is not"
    return with_sections(device(name="NVIDIA H200", uuid="GPU-1", smCount=132), kern(kernel(0x10, "f")), kept="f")


@case
def crc_by_zlib():
    "The CRC is zlib's"
    records = n(32, 4) + n(64, 5, 123456)
    return one_chunk(records, mark("k", 32), mark("v", 64, I32, 123456), crc=zlib.crc32(records), flags=CLOSED)


@case
def compressed_dump():
    "Gzip is known by its magic, of a dump too"
    return Case(gzip.compress(dump(chunk(n(32, 4))), mtime=0), one_warp(mark("k", 32)))


if __name__ == "__main__":
    sys.exit(main())
