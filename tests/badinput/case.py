# SPDX-License-Identifier: Apache-2.0
"""case.py: one input that was built for a test, what iket-decode must make of it, and the program around a list of them.

    @case
    def name():
        "one line: what it shows"
        return Case(...)

    FILE.py --list     the names, for CMake
    FILE.py NAME...    builds and checks these (all); exit status 1 when one is not as it must be
    FILE.py --write NAME FOLDER
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import facts

SECONDS = 60


class Case:
    """files: {name: bytes or object (written as JSON)}. arguments: of iket-decode, after --emit json; the inputs.
    want: facts.facts(...), compared with the trace.json; None: there must be no output.
    again: whether the trace.json, read again, must say the same. status: the exit status. says: regular expressions that
    stderr must match, each on one line. silent: must not match."""

    def __init__(self, files, want=None, status=0, says=(), silent=(), arguments=None, prepare=None, again=True):
        if not isinstance(files, dict):
            files = {"dump.bin": files}
        self.files, self.want, self.status, self.says, self.silent, self.prepare = files, want, status, says, silent, prepare
        self.again = again
        if arguments is None:
            main = next(n for n in ("dump.bin", "iket.data.bin", "t.json") if n in files)
            arguments = [main] + [a for n in ("meta.json", "iket.data.json") if n in files for a in ("--meta", n)]
        self.arguments = arguments

    def write(self, folder):
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json.dumps(data).encode())
        if self.prepare:
            self.prepare(folder)


CASES = {}


def case(function):
    assert function.__doc__ and function.__name__ not in CASES, function.__name__
    CASES[function.__name__] = function
    return function


def checker():
    path = pathlib.Path(os.environ["IKET_FIXTURES"]) / "check.py"
    spec = importlib.util.spec_from_file_location("check", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def decode(folder, name, *arguments):
    command = ["iket-decode", "--emit", "json", "--output-dir", "out", "--name", name, *arguments]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)


def read_again(check, folder, output):
    """What a second run makes otherwise of the first one's trace.json."""
    done = decode(folder, "again", output.relative_to(folder))
    if done.returncode != 0:
        yield f"its own trace.json is refused: {done.stderr.decode(errors='replace')}"
        return
    first, second = (check.canonical(json.loads(path.read_bytes())) for path in (output, output.with_name("again.trace.json")))
    found = check.difference(first, second)
    if found:
        yield f"read again from its trace.json: {found}"


def problems(one, folder):
    """What is not as it must be, as lines; last of all what stderr was."""
    one.write(folder)
    (folder / "out").mkdir(exist_ok=True)
    done = decode(folder, "t", *one.arguments)
    stderr = done.stderr.decode(errors="replace")
    if done.returncode != one.status:
        yield f"exit status {done.returncode}, expected {one.status}"
    for pattern in one.says:
        if not any(re.search(pattern, line) for line in stderr.splitlines()):
            yield f"stderr has no line like {pattern!r}"
    for pattern in one.silent:
        if re.search(pattern, stderr):
            yield f"stderr matches {pattern!r}"
    if done.returncode == 2 and not re.match(r"iket-decode: \S.*\n", stderr):
        yield "an error does not start with the program's name"
    output = folder / "out" / "t.trace.json"
    if one.status == 2 and any((folder / "out").iterdir()):
        yield f"an error left {[p.name for p in (folder / 'out').iterdir()]}"
    if one.want is not None and output.exists():
        check = checker()
        got = check.canonical(json.loads(output.read_bytes()))
        want = facts.ordered(one.want)
        got["diagnostics"] = check.known(got["diagnostics"], want["diagnostics"])
        found = check.difference(want, got)
        if found:
            yield found
        if one.again:
            yield from read_again(check, folder, output)
    elif one.want is not None:
        yield "no trace.json"
    yield stderr


def run(name):
    with tempfile.TemporaryDirectory(prefix="iket-case-") as scratch:
        *found, stderr = problems(CASES[name](), pathlib.Path(scratch))
    if found:
        print(f"{name}: {CASES[name].__doc__}\n  " + "\n  ".join(found) + f"\n--- stderr:\n{stderr}---")
    return bool(found)


def write(name, folder):
    """Writes a case's files; returns iket-decode's arguments with whole paths, for tests that share its input."""
    one = CASES[name]()
    one.write(pathlib.Path(folder))
    return [str(pathlib.Path(folder) / a) if a in one.files else a for a in one.arguments]


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(CASES), end="")
        return 0
    if sys.argv[1:2] == ["--write"]:
        print(" ".join(write(*sys.argv[2:4])))
        return 0
    failed = [name for name in sys.argv[1:] or CASES if run(name)]
    if len(sys.argv) != 2:
        print(f"{len(sys.argv[1:] or CASES) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}")
    return 1 if failed else 0
