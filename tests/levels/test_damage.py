#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_damage.py: traces that are cut off anywhere give what is whole before the cut, as the page does (judge.js); what is
no trace of ours is refused in one line that names the file and the byte; nothing is left behind. Level files of other
versions, or damaged, are not opened."""
import gzip
import pathlib
import subprocess
import sys
import tempfile

from packets import CLOCK, HEAD, ROOT, annotation, begin, end, event, field, named, names, packet, track, varint
from traces import FIXTURES, decode, judge, make


def check(condition, what):
    if not condition:
        sys.exit(what)


REFUSED = {
    "empty": (b"", "the file is empty"),
    "json": (b'{"traceEvents": []}', "byte 0x0: a packet should begin here"),
    "no_clock": (packet(names([b"range"])), "no clock snapshot"),
    "no_tracks": (HEAD, 'no track "Launches"'),
    "huge_packet": (HEAD + b"\x0a\xff\xff\xff\xff\xff\xff", "over 32 GB"),
    "long_number": (HEAD + packet(b"\x40" + b"\xff" * 10 + b"\x01"), "longer than ten bytes"),
    "past_its_end": (HEAD + packet(b"\x5a\x7f"), "a field reaches past the end"),
    "cut_number": (HEAD + packet(b"\x40\xff"), "ends in the middle of a field"),
    "wire_type": (HEAD + packet(b"\x0f"), "wire type 7"),
    "own_parent": (HEAD + track(5, b"", 5), "no number of its own"),
    "no_name": (HEAD + ROOT + begin(name=9), "event name 9 was never declared"),
    "too_deep": (HEAD + ROOT + b"".join(track(3 + i, b"", 2 + i) for i in range(40)), "more than 32 deep"),
}

STRICTER = {  # the page reads these: it need not read the file twice, and has no binary searches over unsorted times
    "large_packet": (HEAD + ROOT + b"\x0a" + varint((256 << 20) + 1), "over 256 MB"),
    "no_category": (HEAD + ROOT + begin(category=7), "category 7 was never declared"),
    "two_traces": (HEAD + ROOT + packet(field(12, field(2, named(1, b"b")))), "decode them apart"),
    "used_first": (HEAD + ROOT + begin(3, 1, 1, annotation(2, 3, 5)) + packet(field(12, field(3, named(2, b"payload")))), "after its first use"),
    "category_used_first": (HEAD + ROOT + begin(category=0) + packet(field(12, field(1, named(0, b"range")))), "after its first use"),
    "far_time": (HEAD + ROOT + end(time=1 << 60), "more than 104 days"),
}

READ = {  # odd, but read by both
    "a_root_alone": HEAD + ROOT,
    "an_end_too_many": HEAD + ROOT + track(3, b"k", 2) + track(4, b"launch 0", 3)
    + end(4) + begin(4) + end(4, time=5) + begin(77),
    "deep_ranges": HEAD + ROOT + track(3, b"k", 2) + track(4, b"launch -1 2 3", 3)
    + begin(4) * 600 + end(4, time=7) * 590,
    "no_utf8": HEAD + ROOT + track(3, b"k\xff", 2) + track(4, b"x", 3) + begin(4),
    "undeclared": HEAD + ROOT + track(3, b"k", 2) + track(4, b"launch 0", 3) + begin(4) + end(4, annotation(9, 3, 5), time=5),
    "large_uuids": HEAD + ROOT + track(1 << 40, b"k", 2)
    + b"".join(track((1 << 20) + i, b"launch %d" % i, 1 << 40, 5000 - i) for i in range(5000)) + begin((1 << 20) + 4999),
}


def odd_files(folder):
    pairs = []
    for name, (content, message) in {**REFUSED, **STRICTER}.items():
        trace = folder / name
        trace.write_bytes(content)
        status, text = make(trace, folder / "levels")
        check(status == 2 and text.count("\n") == 1 and text.startswith("levels_make: %s: " % trace) and message in text, "%s: %s" % (name, text))
        check(not (folder / "levels").exists() and not list(folder.glob("levels*")), "%s: a file is left behind" % name)
        if name in REFUSED:
            pairs.append((trace, "-"))
    for name, content in READ.items():
        trace = folder / name
        trace.write_bytes(content)
        pairs.append((trace, folder / (name + ".levels")))
        status, text = make(*pairs[-1])
        check(status == 0, "%s: %s" % (name, text))
    return pairs


def cut_files(folder, name, places):
    """The trace cut off at `places` lengths, dense at its begin; one file more is cut within its gzip data."""
    whole = decode(FIXTURES / name, folder / name.replace("/", "_"), "--emit", "pftrace").read_bytes()
    lengths = sorted({len(whole) * i // places for i in range(1, places)} | set(range(1, 20)))
    pairs = []
    for length in lengths:
        trace, levels = folder / ("cut_%d" % length), folder / ("cut_%d.levels" % length)
        trace.write_bytes(whole[:length])
        status, text = make(trace, levels)
        pairs.append((trace, "-" if status else levels))
        check(status == 0 or text.count("\n") == 1, "cut at %d: %s" % (length, text))
    packed = folder / "cut.gz"
    packed.write_bytes(gzip.compress(whole, mtime=0)[:-2000])
    status, text = make(packed, folder / "cut.gz.levels")
    check(status == 0 and b"the gzip data is cut off" in (folder / "cut.gz.levels").read_bytes(), "cut gzip data: %s" % text)
    return pairs


# (offset, bytes): what a level file of another program, or of a build that did not end, has there.
LEVELS_REFUSED = {
    "this is no level file": [(0, b"IKETLVL0")],
    "of another version": [(8, b"\1\2\3\4"), (12, b"\0\0"), (16, b"9.9.9"), (20, b"x")],
    "is not complete": [(64, b"\0")],
    "is damaged": [(72, b"\1"), (79, b"\x7f"), (87, b"\x7f"), (72 + 16 * 7 + 8, b"\0")],
}


def level_files(folder, whole):
    """Opening: by level_answer, which asks nothing."""
    for message, changes in [*LEVELS_REFUSED.items(), ("", [(0, b"")])]:
        for offset, content in changes:
            (folder / "changed").write_bytes(whole[:offset] + content + whole[offset + len(content) :])
            result = subprocess.run(["level_answer", str(folder / "changed")], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            check((result.returncode != 0) == (message != "") and message in result.stderr, "byte %d: %s" % (offset, result.stderr))
    for length in (0, 10, 80, len(whole) // 2, len(whole) - 1):
        (folder / "changed").write_bytes(whole[:length])
        result = subprocess.run(["level_answer", str(folder / "changed")], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        check(result.returncode != 0 and "level file" in result.stderr, "cut at %d: %s" % (length, result.stderr))


with tempfile.TemporaryDirectory() as scratch:
    where = pathlib.Path(scratch)
    made = odd_files(where) + cut_files(where, "collector/features/iket.data.bin", 80)
    level_files(where, max((levels.read_bytes() for _, levels in made if levels != "-"), key=len))
    sys.exit(judge(made) or 0)
