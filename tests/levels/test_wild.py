#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_wild.py: arguments of every kind, in any mixture, on level files whose events make no sense (the tables are checked
on opening, the events are not): each question is answered or refused in one line, and the program goes on.

    test_wild.py FOLDER VERSION [ROUNDS [SEED]]      level_answer on PATH
"""

import pathlib
import random
import sys

import level_file as lf
from test_answers import FAILED, OK, asked

TEXTS = """0 1 -1 0-5 5 1,2 0-99 3-4,6-9 1e300 -1e18 4e18 0.5 1e-7 nan 4611686018427387903 9223372036854775807 18446744073709551615 18446744073709551616 abc
regex:( tile x.. 1..2 ..5s *,*,* 1,*,0 1,,0 order warp node point 1.2.3 8192 300 graph_exec_1:0# k[ k[1] 0-2.3-4,5-6 0-4294967295 --""".split() + [""]
NAMES = """launch kernel sm cta warp name time role class under lanes from to ns_per_pixel rows sms bins by after direction classes node lane near limit
ids""".split()
COLUMNS = {"start": 64, "end": 64, "payload": 64, "cls": 16, "parent_cls": 16, "flags": 8, "payload_type": 8, "lane_active": 8}


def spoil(tables, r):
    tables = {name: list(values) for name, values in tables.items()}
    for _ in range(r.randrange(60)):
        name, bits = r.choice(list(COLUMNS.items()))
        tables[name][r.randrange(len(tables[name]))] = r.choice([0, 1, (1 << bits) - 1, 1 << bits - 1, r.getrandbits(bits), r.getrandbits(bits * 2 // 3)])
    return tables


def arguments_for(what, r):
    given = {name: r.choice(TEXTS) for name in r.sample(NAMES, r.choice([0, 1, 1, 2, 2, 3]))}
    if what == "activity" and r.random() < 0.8:
        given = {**given, "rows": "0-5.7-100,1-2"}
        given.pop("sms", None)
    if what == "find" and r.random() < 0.8:
        given["by"] = r.choice(["order", "warp", "node", "point"])
    return given


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2].encode()
    rounds, r = int(sys.argv[3]) if len(sys.argv) > 3 else 6, random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    folder.mkdir(parents=True, exist_ok=True)
    tables, path, answered = lf.make(3), folder / "wild.level", 0
    for _ in range(rounds):
        lf.write(path, spoil(tables, r), r.choice([0, 1796112531294625472, (1 << 64) - 1]), r.choice([0, 90000, (1 << 64) - 1]), program)
        with asked(path) as tool:
            for _ in range(300):
                what = r.choice(["window", "statistics", "activity", "events", "find", "longest", "points", "rows.csv"])
                given = arguments_for(what, r)
                status, body = tool.ask(what, given)
                assert status < FAILED and body and (status == OK or b"\n" not in body), "%s %s: %d %r" % (what, given, status, body[:200])
                answered += status == OK
    print(answered, "of", rounds * 300, "were answered")
    assert answered > rounds * 20


if __name__ == "__main__":
    main()
