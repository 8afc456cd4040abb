#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_fuzz.py COUNT: COUNT mutations of small traces through the builder, and of small level files through every question."""
import pathlib
import subprocess
import sys
import tempfile

from traces import FIXTURES, decode, make

SMALL = ["all_features/dump.bin", "broken_ranges/dump.bin", "every_payload/dump.bin", "divergent_streams/dump.bin", "collector/graph/iket.data.bin"]

with tempfile.TemporaryDirectory() as scratch:
    traces, levels = [], []
    for i, name in enumerate(SMALL):
        traces.append(decode(FIXTURES / name, pathlib.Path(scratch) / str(i), "--emit", "pftrace"))
        levels.append(traces[-1].with_name("levels"))
        status, message = make(traces[-1], levels[-1])
        if status:
            sys.exit(message)
    for program, files in (("fuzz_build", traces), ("fuzz_file", levels)):
        subprocess.run([program, sys.argv[1], *map(str, files)], check=True, cwd=scratch)
