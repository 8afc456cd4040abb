#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_answers.py: the answers from level files against naive.py: on made ones with all that a file can hold.

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


# Parts of a made trace, each by its own selectors.
def scopes(file, r):
    span = file.span
    yield {}
    for text in ("launch=0", "launch=0-1", "launch=7", "launch=graph_exec_1:0", "launch=graph_exec_1:0#1", "kernel=gemm<a, 1>", "kernel=, 0>", "sm=7",
                 "sm=0,7-9", "sm=99", "cta=1,*,*", "cta=0,0,7", "cta=1", "warp=0-1", "role=0,2", "role=1", "under=3-60", "under=4-5,9-80,100-101",
                 "lanes=0-5", "lanes=3-4,10-60", "name=tile", "name=mma_wait", "class=3", "time=100..3us", "time=..%d" % (file.t0 + 2000), "time=2us.."):  # fmt: skip
        key, _, value = text.partition("=")
        yield {key: value}
    yield {"launch": "0", "sm": "0-3", "cta": "1,*,0", "warp": "1", "name": "tile", "from": "100", "to": "3000"}
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
        for cls in (3, 5, 12):
            if "class" not in scope and "name" not in scope:
                yield "points", {**scope, "class": str(cls)}
                yield "points", {**scope, "class": str(cls), "limit": "7"}
        yield from orders(file, scope, r)
        for pixel in ("1", "37.5", "900"):
            yield "window", {**scope, "ns_per_pixel": pixel}
    yield from single_events(file, r)
    nodes = len(file.node_kind)
    for bins in (1, 7, 300):
        for rows in ("0-%d" % nodes, "3-40,50-51", "4-9.30-70.100-160,5-6", "%d-%d" % (nodes - 1, nodes)):
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


def check_file(path, seed):
    file = lf.LevelFile(path)
    judge, count = naive.Naive(file), 0
    with asked(path) as tool:
        for what, arguments in questions(file, seed):
            compare(tool, judge, what, arguments)
            count += 1
    return count


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in (1, 2, 3):
        print(seed, check_file(made(folder, seed, sys.argv[2].encode()), seed), "answers")


if __name__ == "__main__":
    main()
