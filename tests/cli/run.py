#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [--refresh] [--build FOLDER] [CASE...]: the golden tests of the commands.

A case cases/TOOL/NAME.sh is run by `sh -eu` in an empty folder, with the built tools first in PATH, a copy of
fixtures/golden in $FIXTURES, and no terminal. Its stdout, stderr and exit status must be those in NAME.stdout,
NAME.stderr and NAME.exit; a file that is missing stands for no output, or 0. An exit status of 77 skips the case.
--refresh writes these files from what the case does now: look at the difference before you commit it.
"""
import argparse
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
GOLDEN = HERE.parent.parent / "fixtures" / "golden"
SKIP = 77
SECONDS = 120  # a case that takes longer hangs


def run(script, build):
    with tempfile.TemporaryDirectory(prefix="iket-cli-") as scratch:
        folder = os.path.join(scratch, "case")
        os.mkdir(folder)
        shutil.copytree(GOLDEN, os.path.join(scratch, "golden"))
        env = {"PATH": f"{build}:{os.environ.get('PATH', '/usr/bin:/bin')}", "FIXTURES": "../golden", "HOME": folder, "LC_ALL": "C",
               "TERM": "dumb", "TMPDIR": scratch, "CASE": str(script.parent)}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        done = subprocess.run(["sh", "-eu", str(script)], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    return {"stdout": done.stdout, "stderr": done.stderr, "exit": b"%d\n" % done.returncode}


def default(kind):
    return b"0\n" if kind == "exit" else b""


def check(name, build, refresh):
    script = CASES / (name + ".sh")
    got = run(script, build)
    if got["exit"] == b"%d\n" % SKIP:
        print(f"{name}: skipped: {got['stderr'].decode(errors='replace').strip()}")
        return SKIP
    bad = 0
    for kind, text in got.items():
        path = script.with_suffix("." + kind)
        want = path.read_bytes() if path.exists() else default(kind)
        if text == want:
            continue
        if refresh:
            if text == default(kind):
                path.unlink()
            else:
                path.write_bytes(text)
            print(f"{name}: {kind} written")
            continue
        bad = 1
        lines = [t.decode(errors="backslashreplace").splitlines() for t in (want, text)]
        print("\n".join(difflib.unified_diff(*lines, f"{name}.{kind}", f"{kind} now", lineterm="")))
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refresh", action="store_true", help="write what the cases do now")
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path, help="folder of the built tools (build/)")
    parser.add_argument("cases", nargs="*", help="TOOL/NAME (all)")
    options = parser.parse_args()
    names = options.cases or sorted(str(p.relative_to(CASES).with_suffix("")) for p in CASES.glob("*/*.sh"))
    results = [check(name, options.build.resolve(), options.refresh) for name in names]
    return max((r for r in results if r != SKIP), default=SKIP if results else 1)


if __name__ == "__main__":
    sys.exit(main())
