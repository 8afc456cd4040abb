#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_damage.py: the page's readers against damaged files (damage.js, in Node)."""
import pathlib
import subprocess

from browser import FIXTURES, decode, in_folder


def test(folder):
    case = FIXTURES / "collector/features"
    decode(case / "iket.data.bin", folder, "--meta", str(case / "iket.data.json"), emit="pftrace,json")
    script = pathlib.Path(__file__).parent / "damage.js"
    subprocess.run(["node", str(script), str(folder / "t.pftrace"), str(folder / "t.trace.json")], check=True)


in_folder(test)
