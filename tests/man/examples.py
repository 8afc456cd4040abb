#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py PAGE.scd.in|README.md: the examples that a page shows do what they should.

A block (between lines of ```) in which a line begins with a tool of ours, or pipes into one, is run line by line in a folder
of its own. Each line must end with 0 and print something, or write a file. Before a block the page's set-up is run: the lines
after "; test: " in a man page, SETUP below for the README. "; test-skip: WHY" before a block leaves it out (in the README
"<!-- test-skip: WHY -->"). A line that starts iket-serve must print its address, answer there, and end with 0 after SIGINT.
In a man page, the examples of --help must be among them.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

SETUP = {
    "README.md": [
        "mkdir -p run_dir/iket/pid_0x1f",
        "cp $FIXTURES/collector/features/iket.data.* run_dir/iket/pid_0x1f",
        "cp $FIXTURES/collector/hopper_gemm/iket.data.* $FIXTURES/all_features/dump.bin .",
        "cp $FIXTURES/collector/features/expected.trace.json.gz old.trace.json.gz",
        "iket-decode --quiet --emit json --name iket_pid_0x2a --output-dir made dump.bin",
        "mv made/iket_pid_0x2a.trace.json .",
        "cp iket_pid_0x2a.trace.json before.trace.json",
        "cp iket_pid_0x2a.trace.json after.trace.json",
    ]
}
SECONDS = 120

page = pathlib.Path(sys.argv[1])
failures = []


def blocks(text):
    """The blocks of commands of ours that are to be run."""
    found, block, skip = [], None, False
    for line in text.splitlines():
        if line.startswith("```"):
            if block is None:
                block = []
            else:
                if not skip and any(re.match(r"(?:[^|#]*\| )?iket-\w+ ", b) for b in block):
                    found.append([b for b in block if b.strip()])
                block, skip = None, False
        elif block is not None:
            block.append(line)
        elif line.startswith(("; test-skip: ", "<!-- test-skip: ")):
            skip = True
    return found


def run(line, folder, environment):
    done = subprocess.run(["sh", "-euc", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    if done.returncode != 0:
        failures.append(f"{line}: ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout + done.stderr


def serve(line, folder, environment):
    words = line.split("#")[0].split()
    process = subprocess.Popen([*words, "--port", "0"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        if not address.startswith("http://127.0.0.1:"):
            failures.append(f"{line}: {address} {process.stderr.read()}")
            return
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # a token becomes a cookie
        with browser.open(address, timeout=SECONDS) as answer:
            if answer.status != 200 or not answer.read():
                failures.append(f"{line}: answers {answer.status}")
        process.send_signal(signal.SIGINT)
        if process.wait(SECONDS) != 0:
            failures.append(f"{line}: ended with {process.returncode}")
    finally:
        process.kill()
        process.communicate()


def run_block(block, setup, missing):
    with tempfile.TemporaryDirectory(prefix="iket-examples-") as folder:
        environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "LC_ALL": "C", "XDG_CACHE_HOME": os.path.join(folder, "cache")}
        environment["FIXTURES"] = environment["IKET_FIXTURES"]
        for line in setup:
            run(line, folder, environment)
        for line in block:
            lacks = [word for word in re.findall(r"\| (\w+)", line) if not shutil.which(word)]
            if lacks:
                missing += lacks
            elif line.startswith("iket-serve "):
                serve(line, folder, environment)
            else:
                before = set(os.listdir(folder))
                if not run(line, folder, environment).strip() and before == set(os.listdir(folder)):
                    failures.append(f"{line}: printed nothing and wrote nothing")


def main():
    text = page.read_text()
    found, missing = blocks(text), []
    setup = SETUP.get(page.name) or re.findall(r"^; test: (.*)", text, re.MULTILINE)
    for block in found:
        run_block(block, setup, missing)
    if page.name.endswith(".scd.in"):
        tool = page.name.removesuffix(".1.scd.in")
        shown = subprocess.run([tool, "--help"], capture_output=True, text=True, timeout=SECONDS).stdout.split("\nUsage:")[0]
        for example in re.findall(r"^  (.*)", shown, re.MULTILINE):
            if example not in text.splitlines():
                failures.append(f"the man page lacks the example of --help: {example}")
    if not found:
        failures.append("no examples were found")
    print("\n".join(failures) or f"{sum(map(len, found))} examples in {len(found)} blocks" + (f", not run for lack of {', '.join(missing)}: {len(missing)}" if missing else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
