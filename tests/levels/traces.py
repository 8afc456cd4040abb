# SPDX-License-Identifier: Apache-2.0
"""traces.py: the .pftrace of every fixture, and level files made of them; shared by the tests of this folder."""
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
FIXTURES = pathlib.Path(os.environ.get("IKET_FIXTURES", HERE.parents[1] / "fixtures/golden"))


def cases():
    """The inputs of iket-decode, as (name, file)."""
    folders = sorted(FIXTURES.iterdir()) + sorted((FIXTURES / "collector").iterdir()) + sorted((HERE.parents[1] / "fixtures/recorder").iterdir())
    for folder in folders:
        for name in ("dump.bin", "iket.data.bin"):
            if (folder / name).exists():
                yield "%s/%s" % (folder.parent.name, folder.name), folder / name


def decode(source, folder, *options):
    """Writes folder/t.pftrace and the like."""
    subprocess.run(["iket-decode", "-q", "-f", "--name", "t", "-o", str(folder), *options, str(source)], check=True)
    return folder / "t.pftrace"


def make(trace, levels, *options):
    """(exit status, stderr) of the builder; what it prints on success is left out."""
    result = subprocess.run(["levels_make", str(trace), str(levels), *options], capture_output=True, text=True)
    return result.returncode, result.stderr


def judge(pairs):
    """Compares pairs of (.pftrace, level file) with the page's code: "" or the differences."""
    names = [str(name) for pair in pairs for name in pair]
    result = subprocess.run(["node", "--max-old-space-size=4096", str(HERE / "judge.js"), *names], capture_output=True, text=True)
    return result.stdout + result.stderr if result.returncode else ""
