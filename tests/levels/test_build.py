#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_build.py: the level file of every fixture against the page's own tables of the same trace, exactly (judge.js)."""
import pathlib
import sys
import tempfile

from traces import cases, decode, judge, make

with tempfile.TemporaryDirectory() as scratch:
    pairs = []
    for name, source in cases():
        folder = pathlib.Path(scratch) / name.replace("/", "_")
        trace = decode(source, folder, "--emit", "pftrace,pftrace.gz" if len(pairs) % 4 == 0 else "pftrace")
        packed = trace.with_name("t.pftrace.gz")
        pairs.append((packed if packed.exists() else trace, folder / "levels"))
        status, message = make(*pairs[-1])
        if status:
            sys.exit("%s: %s" % (name, message))
    sys.exit(judge(pairs) or 0)
