#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_answers.py: the answers from level files against naive.py: on made ones with all that a file can hold, on many
durations of all sizes, and on what the builder makes of fixtures; and the arguments that are refused.

    test_answers.py FOLDER VERSION      level_answer on PATH; VERSION: of the program
"""

import contextlib
import json
import pathlib
import random
import subprocess
import sys

import level_file as lf
import naive
import traces

OK, BAD, UNKNOWN, TOO_MUCH, FAILED = range(5)


class Asked:
    """level_answer on one file, asked line by line."""

    def __init__(self, path):
        self.process = subprocess.Popen(["level_answer", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, what, arguments):
        line = "\t".join([what] + ["%s=%s" % a for a in arguments.items()]) if isinstance(arguments, dict) else "\t".join([what] + arguments)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        status, length = self.process.stdout.readline().split()
        return int(status), self.process.stdout.read(int(length))

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, "level_answer ended with %d" % self.process.returncode


@contextlib.contextmanager
def asked(path):
    tool = Asked(path)
    yield tool
    tool.close()


def first_difference(got, want):
    if isinstance(want, dict) and isinstance(got, dict):
        return next("%s: %s" % (k, first_difference(got.get(k), want.get(k))) for k in {**want, **got} if got.get(k) != want.get(k))
    if isinstance(want, list) and isinstance(got, list):
        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), None)
        return "%d of %d entries" % (len(got), len(want)) if at is None else "%d: %s" % (at, first_difference(got[at], want[at]))
    return "%.300r, expected %.300r" % (got, want)


def compare(tool, judge, what, arguments):
    status, body = tool.ask(what, arguments)
    assert status == OK, "%s %s: status %d, %s" % (what, arguments, status, body.decode())
    want = getattr(judge, what.replace(".", "_"))(plain_time(arguments))
    got = body if isinstance(want, bytes) else json.loads(body)
    if got != want:
        where = first_difference(list(got), list(want)) if isinstance(want, bytes) else first_difference(got, want)
        raise AssertionError("%s %s: %s" % (what, arguments, where))


# Parts of a trace, each by its own selectors.
def scopes(file, r):
    span, nodes, lanes = file.span, len(file.node_kind), len(file.lane_node)
    kernel = next(file.class_text(c) for c, kind in enumerate(file.class_kind) if kind == lf.LAUNCH)
    name, sm = file.class_text(len(file.class_kind) // 2), max(file.node_a[n] for n in range(nodes) if file.node_kind[n] == lf.SM)
    yield {}
    for text in ("launch=0", "launch=0-1", "launch=7", "launch=graph_exec_1:0", "launch=graph_exec_1:0#1", "kernel=" + kernel, "kernel=" + kernel[1:], "sm=%d" % sm,
                 "sm=0,7-9", "sm=999", "cta=1,*,*", "cta=0,0,0", "cta=1", "warp=0-1", "role=0", "role=%d" % (len(file.role_class) - 1), "role=0-%d" % (len(file.role_class) // 2),
                 "cta=,,0", "cta=0,,", "cta=1,,*",
                 "under=3-%d" % (nodes * 2 // 3), "under=4-5,6-%d" % nodes, "lanes=0-2", "lanes=1-2,%d-%d" % (lanes // 2, lanes), "name=" + name,
                 "class=3", "time=100..3us", "time=..%d" % (file.t0 + 2000), "time=2us.."):  # fmt: skip
        key, _, value = text.partition("=")
        yield {key: value}
    yield {"launch": "0", "sm": "0-3", "cta": "1,*,0", "warp": "1", "name": name, "from": "100", "to": "3000"}
    yield {"class": "4", "name": file.class_text(4), "role": "0"}
    for _ in range(6):
        a = r.uniform(-100, span)
        yield {"from": repr(a), "to": repr(a + r.uniform(0, 5000)), "sm": "0"}
        i = r.randrange(file.events)  # edges
        yield {"from": str(file.end[i]), "to": str(file.start[r.randrange(file.events)])}
        yield {"from": str(file.start[i])}
        yield {"to": str(file.start[i]), "lanes": "0-%d" % len(file.lane_node)}


def questions(file, seed):
    r = random.Random(seed)
    for scope in scopes(file, r):
        yield "statistics", scope
        yield "window", scope
        yield "longest", scope
        yield "longest", {**scope, "limit": "100"}
        yield "rows.csv", scope
        for cls in (0, 3, len(file.class_kind) - 1):
            if "class" not in scope and "name" not in scope:
                yield "points", {**scope, "class": str(cls)}
                yield "points", {**scope, "class": str(cls), "limit": "7"}
        yield from orders(file, scope, r)
        for pixel in ("1", "37.5", "900"):
            yield "window", {**scope, "ns_per_pixel": pixel}
    yield from single_events(file, r)
    nodes = len(file.node_kind)
    for bins in (1, 7, 300):
        for rows in ("0-%d" % nodes, "3-%d,2-3" % (nodes // 2), "1-2.3-5.6-%d,2-3" % (nodes - 1), "%d-%d" % (nodes - 1, nodes)):
            yield "activity", {"rows": rows, "bins": str(bins)}
            a = r.uniform(-1000, file.span)
            yield "activity", {"rows": rows, "bins": str(bins), "from": repr(a), "to": repr(a + r.uniform(1, 9000))}
        yield "activity", {"sms": "0-1,5-7", "bins": str(bins), "to": "20000"}


def orders(file, scope, r):
    for direction in ("1", "-1"):
        after = str(r.randrange(-1, file.events))
        classes = ".".join(str(r.randrange(len(file.class_kind))) for _ in range(3))
        yield "find", {**scope, "by": "order", "after": after, "direction": direction, "classes": classes}
        yield "find", {**scope, "by": "order", "direction": direction}
        if not set(scope) & {"time", "from", "to", "name", "class"}:
            yield "find", {**scope, "by": "warp", "after": str(r.randrange(file.events)), "direction": direction}


def single_events(file, r):
    everything = list(range(file.events))
    for at in range(0, file.events, 200):
        yield "events", {"ids": ",".join(map(str, everything[at : at + 200]))}
    for _ in range(30):
        yield "events", {"ids": str(r.randrange(file.events))}
        node, lane, i = r.randrange(len(file.node_kind)), r.randrange(len(file.lane_node)), r.randrange(file.events)
        yield "find", {"by": "node", "node": str(node)}
        yield "find", {"by": "node", "node": str(node), "from": repr(r.uniform(0, file.span)), "class": "4"}
        yield "find", {"by": "point", "lane": str(lane), "time": repr(r.uniform(0, file.span)), "near": "700"}
        yield "find", {"by": "point", "lane": str(lane), "time": str(file.start[i])}
        yield "find", {"by": "point", "lane": str(file.lane_node.index(0) if 0 in file.lane_node else lane), "time": str(file.end[i]), "near": "32"}


def plain_time(scope):
    """naive.py takes whole ns only."""
    text = scope.get("time")
    return {**scope, "time": text.replace("2us", "2000").replace("3us", "3000")} if text else scope


def made(folder, seed, program, warps=3, most=14):
    path = folder / ("made_%d.level" % seed)
    tables = lf.make(seed, warps, most)
    lf.write(path, tables, 1796112531294625472, max(tables["end"]), program)
    return path


def check_file(path, asks):
    file = lf.LevelFile(path)
    judge, count = naive.Naive(file), 0
    with asked(path) as tool:
        for what, arguments in asks(file):
            compare(tool, judge, what, arguments)
            count += 1
    print(path.name, count, "answers")


# Few questions, for the many events of a real run.
def some_questions(file):
    span, nodes = file.span, len(file.node_kind)
    warps = [n for n in range(nodes) if file.node_kind[n] == lf.WARP]
    for scope in ({}, {"sm": "0-20"}, {"from": str(span // 3), "to": str(span // 2)}, {"role": "0"}):
        yield "statistics", scope
        yield "longest", scope
        yield "find", {**scope, "by": "order", "after": "100"}
    yield "rows.csv", {"from": "0", "to": str(span // 50)}
    yield "window", {"from": str(span // 3), "to": str(span // 2), "ns_per_pixel": "100"}
    yield "window", {"lanes": "0-40"}
    yield "activity", {"rows": "0-%d" % nodes, "bins": "1"}
    yield "activity", {"rows": "%d-%d" % (warps[0], file.node_last[warps[0]]), "bins": "64"}
    yield "points", {"class": "0"}
    yield "events", {"ids": ",".join(str(file.events * k // 5) for k in range(5))}


# Durations of all sizes in classes of all sizes: constants, steps of 32 ns, powers and what is next to them, far outliers.
def crowd(folder, program):
    r, m = random.Random(7), lf.Maker(7)
    m.node(lf.ROOT, 0, "Launches")
    m.node(lf.KERNEL, 1, "kernel")
    m.node(lf.NODE_LAUNCH, 2, "launch 0", lanes=[[{"start": 0, "end": 1 << 50, "name": "k", "kind": lf.LAUNCH}]])
    m.node(lf.SM, 3, "SM 0", 0)
    m.node(lf.CTA, 4, "CTA (0, 0, 0)", 0, 0, 0)
    kinds = {  # name: (how many, their durations)
        "constant": (101000, lambda: 4096),
        "steps": (4096, lambda: 32 * r.randrange(2000)),
        "long steps": (9000, lambda: 32 * r.randrange(1 << 30)),
        "any": (12000, lambda: int(2 ** r.uniform(0, 45))),
        "powers": (12000, lambda: (1 << r.randrange(46)) + r.choice([-1, 0, 1])),
        "one outlier": (4097, lambda: 17_000_000_000 if r.random() < 0.0002 else r.randrange(100, 140)),
        "wide bucket": (12000, lambda: (1 << 40) + r.randrange(1 << 33)),
        "narrow in a wide bucket": (12000, lambda: (1 << 40) + 12345678 + r.randrange(3000)),
        "two values": (9001, lambda: (1 << 30) + 77 * r.randrange(2)),
        "zero": (3, lambda: 0),
    }
    for warp, (name, (count, duration)) in enumerate(kinds.items()):
        events, at = [], 0
        for _ in range(count):
            length = duration()
            events.append({"start": at, "end": at + length, "name": name, "kind": lf.RANGE})
            at += length
        m.node(lf.WARP, 5, "warp", warp, lanes=[[], events])
    t = m.finish()
    lf.complete(t)
    lf.write(folder / "crowd.level", t, 1796112531294625472, max(t["end"]), program)
    return folder / "crowd.level"


# More classes than are done at once.
def many_names(folder, program):
    r, m = random.Random(8), lf.Maker(8)
    m.node(lf.ROOT, 0, "Launches")
    for warp in range(3):
        names = ["name %d" % i for i in range(3000)] * (1 + warp)
        events = [{"start": 100 * i, "end": 100 * i + r.randrange(100), "name": n, "kind": lf.RANGE} for i, n in enumerate(names)]
        m.node(lf.KERNEL, 1, "k", lanes=[events])
    t = m.finish()
    lf.complete(t)
    lf.write(folder / "names.level", t, 1796112531294625472, max(t["end"]), program)
    return folder / "names.level"


def fixture(folder, name):
    source = next(file for case, file in traces.cases() if case == name)
    folder = folder / name.replace("/", "_")
    folder.mkdir(exist_ok=True)
    levels = folder / "t.level"
    status, error = traces.make(traces.decode(source, folder), levels)
    assert status == 0, error
    return levels


# With bins in the file: coarse pictures are made of them and nearly right, finer ones of the slices and exact.
def check_bins(folder, program):
    path, bins = folder / "bins.level", 64
    tables = lf.make(4)
    lf.add_bins(tables, bins)
    lf.write(path, tables, 1796112531294625472, max(tables["end"]), program)
    file, width = lf.LevelFile(path), 12000 / bins
    judge, nodes = naive.Naive(file), len(file.node_kind)
    launches = [n for n in range(nodes) if file.node_kind[n] == lf.NODE_LAUNCH]
    some = {"rows": "0-%d,3-%d,%d-%d" % (nodes, nodes // 2, nodes // 3, nodes)}
    cases = [({"sms": "0-1,7"}, 0, width * 7.3, 36), (some, -777, width * 20, 13), (some, 20000, width * 1.5, 255)]
    for launch in launches:  # pixels that are bins, or many of them: right but for rounding
        start, rows = file.start[judge.launch_slice(launch)], {"rows": "%d-%d,%d-%d" % (launch, file.node_last[launch], launch + 1, file.node_last[launch + 1])}
        cases += [(rows, start, width, 1), (rows, start - 8 * width, width * 8, 1)]
    with asked(path) as tool:
        for rows, start, pixel, wrong in cases:
            count = int(30000 / pixel)
            arguments = {**rows, "from": repr(start), "to": repr(start + pixel * count), "bins": str(count)}
            status, body = tool.ask("activity", arguments)
            want = judge.activity(arguments)
            assert status == OK and len(body) == len(want), "%s: status %d" % (arguments, status)
            head = 8 + 4 * int.from_bytes(want[:4], "little")
            assert body[:head] == want[:head], "%s: peaks" % arguments
            most = max(abs(a - b) for a, b in zip(body[head:], want[head:]))
            assert most <= wrong, "%s: a share is off by %d of 255" % (arguments, most)
        for pixel in (width * 0.9, 40):
            compare(tool, judge, "activity", {"sms": "0,7", "from": "100", "to": repr(100 + pixel * 50), "bins": "50"})


REFUSED = """
    nothing | tables | window x=1 | statistics from=0 from=1 | statistics kernel=regex:.* | statistics name=regex:.* | statistics name=nobody
    statistics kernel=nobody | statistics kernel= | statistics sm=x | statistics sm=-1 | statistics sm=3-1 | statistics sm=1,,2 | statistics sm=
    statistics cta=1,2,3,4 | statistics cta=a | statistics warp=99999999999999999999 | statistics launch= | statistics time=5 | statistics time=1..2 from=3
    statistics role=99 | statistics role=a | statistics role=0,0 | statistics role=0;1 | statistics role=0-99 | statistics role= | statistics cta= | statistics cta=,,, | statistics cta=%s | statistics class=-1 | statistics class=70000 | statistics class=1.5 | statistics under=5-5 | statistics under=0-99999
    statistics under=5-9,2-3 | statistics under=1 | statistics lanes=3-2 | statistics lanes=0-1;2 | statistics lanes=0-1 sm=1 | statistics lanes=0-99999999999
    statistics from=nan | statistics from=inf | statistics to=1e99 | statistics to=0x10 | statistics from= | statistics from=1,2 | statistics from=1e | statistics to=--1
    window ns_per_pixel=-1 | window ns_per_pixel=1e-9 | window ns_per_pixel=x
    activity | activity rows=0-5 sms=1 | activity rows= | activity rows=0-5, | activity rows=0-5. | activity rows=5-0 | activity rows=0-99999 | activity rows=0-5;1-2
    activity rows=0-5 bins=0 | activity rows=0-5 bins=8193 | activity rows=0-5 from=5 to=5 | activity rows=0-5 from=9 to=5 | activity sms=5-1 | activity sms=1,1
    activity sms=99999 | activity sms=a | activity sms=1-
    events | events ids= | events ids=99999999 | events ids=1,,2 | events ids=1.2 | events ids=-1 | events ids=18446744073709551616
    find | find by=magic | find by=order direction=2 | find by=order after=99999999 | find by=order classes=1,2 | find by=order classes=99999 | find by=order node=1
    find by=warp | find by=warp after=-1 | find by=warp after=1 from=2 | find by=node | find by=node node=99999 | find by=node node=1 sm=1
    find by=point lane=0 | find by=point time=1 | find by=point lane=99999 time=1 | find by=point lane=0 time=x | find by=point lane=0 time=1 near=x
    longest limit=0 | longest limit=1001 | points | points class=1 limit=20001 | rows.csv limit=3
"""

TOO_MUCH_ASKED = [
    ("activity", {"rows": ",".join(["0-2"] * 700), "bins": "8000"}),
    ("activity", {"rows": ",".join(["0-100"] * 700), "bins": "1"}),
    ("activity", {"sms": "0-65535", "bins": "300"}),
    ("statistics", {"sm": ",".join(["1"] * 3000)}),
    ("events", {"ids": ",".join(["1"] * 1001)}),
]


def check_refusals(path):
    with asked(path) as tool:
        for line in (part.strip() for line in REFUSED.splitlines() for part in (line % ("1" * 99) if "%" in line else line).split("|")):
            if line:
                what, *arguments = line.split(" ")
                status, body = tool.ask(what, arguments)
                want = UNKNOWN if what in ("nothing", "tables") else BAD
                assert status == want and body and b"\n" not in body, "%s: status %d, %r" % (line, status, body)
        for what, arguments in TOO_MUCH_ASKED:
            status, body = tool.ask(what, arguments)
            assert status == TOO_MUCH and body, "%s: status %d, %r" % (what, status, body)


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2].encode()
    folder.mkdir(parents=True, exist_ok=True)
    for seed in (1, 2):
        path = made(folder, seed, program)
        check_file(path, lambda file: questions(file, seed))  # noqa: B023
    check_refusals(path)
    check_bins(folder, program)
    # A scope, and a time that cuts the classes down to few events.
    check_file(crowd(folder, program), lambda file: [("statistics", {}), ("statistics", {"from": "3000", "to": "90000.5"}), ("statistics", {"lanes": "1-9"}),
                                                     ("longest", {"limit": "1000"})])  # fmt: skip
    with asked(folder / "crowd.level") as tool:
        assert tool.ask("window", {})[0] == TOO_MUCH and tool.ask("window", {"ns_per_pixel": "1000000"})[0] == OK
    check_file(many_names(folder, program), lambda file: [("statistics", {}), ("statistics", {"name": "name 7"})])
    for name in ("golden/all_features", "golden/divergent_streams", "golden/graph_replays", "golden/every_payload", "golden/broken_ranges"):
        check_file(fixture(folder, name), lambda file: questions(file, 5))
    check_file(fixture(folder, "collector/hopper_gemm"), some_questions)


if __name__ == "__main__":
    main()
