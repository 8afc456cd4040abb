#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_build.py: the level file of every fixture against the page's own tables of the same trace, exactly (judge.js)."""
import pathlib
import sys
import tempfile

from traces import cases, decode, judge, make

failed = 0
for name, source in cases():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        trace = decode(source, folder, "--emit", "pftrace")
        status, message = make(trace, folder / "levels")
        message = message if status else judge(trace, folder / "levels")
        if message:
            failed += 1
            print("%s: %s" % (name, message))
sys.exit(failed > 0)
