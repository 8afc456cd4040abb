#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""completion.py BUILD TOOL: what TAB gives, in the function and in a bash on a terminal."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import tables

BUILD, TOOL = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
SCRIPT = str(BUILD / "completions" / TOOL)

# line typed: what it becomes after TAB, in a folder with a file trace.json and a folder runs.
TYPED = {
    "iket-decode": {"iket-decode --gzip": "--gzip-level ", "iket-decode --emit=ht": "--emit=html ", "iket-decode tr": "trace.json ", "iket-decode -o ru": "runs/"},
    "iket-query": {"iket-query --mark": "--marker ", "iket-query cad": "cadence ", "iket-query --format js": "--format json", "iket-query summary tr": "trace.json "},
    "iket-serve": {"iket-serve --tls-c": "--tls-cert ", "iket-serve ru": "runs/", "iket-serve --token-file tr": "trace.json "},
}


def typed(line, folder):
    """The terminal's text after `line` and TAB."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        environment = {"PATH": os.environ["PATH"], "PS1": "ready> ", "TERM": "dumb", "HOME": folder, "INPUTRC": "/dev/null", "COLUMNS": "200"}
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    text = ""

    def wait(mark, seconds=30):
        nonlocal text
        end = time.monotonic() + seconds
        while mark not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 4096).decode()
        assert mark in text, repr(text)

    try:
        wait("ready> ")
        os.write(terminal, f". {SCRIPT}; echo sour''ced\n".encode())
        wait("sourced\r\nready> ")
        text = ""
        os.write(terminal, f"{line}\t".encode())
        os.write(terminal, b"#done")
        wait("#done")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return text.removesuffix("#done").replace("\a", "")  # the bell


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


class Completion(unittest.TestCase):
    def offered(self, *words):
        return tables.complete(SCRIPT, TOOL, *words)

    @unittest.skipUnless(has_terminals(), "this machine lends no terminal")
    def test_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "trace.json").touch()
            os.mkdir(os.path.join(folder, "runs"))
            for line, wanted in TYPED[TOOL].items():
                self.assertTrue(typed(line, folder).endswith(wanted), (line, typed(line, folder)))

    def test_options(self):
        self.assertEqual(self.offered("--vers"), (["--version"], []))
        self.assertEqual(self.offered("--nothing-so"), ([], []))
        self.assertIn("-h", self.offered("-")[0])

    @unittest.skipUnless(TOOL == "iket-decode", "of iket-decode")
    def test_values(self):
        self.assertEqual(self.offered("--emit", ""), (["pftrace", "pftrace.gz", "json", "html"], []))
        self.assertEqual(self.offered("-e", "html,js"), (["html,json"], []))
        self.assertEqual(self.offered("--emit", "=", "h"), (["html"], []))
        self.assertEqual(self.offered("--emit", "="), (["pftrace", "pftrace.gz", "json", "html"], []))
        self.assertEqual(self.offered("--output-dir", ""), ([], ["-o dirnames +o default"]))
        self.assertEqual(self.offered("--meta", ""), ([], []))
        self.assertEqual(self.offered("--gzip-level", ""), ([], ["+o default"]))

    @unittest.skipUnless(TOOL == "iket-query", "of iket-query")
    def test_verbs(self):
        self.assertEqual(self.offered("cad"), (["cadence"], ["-o filenames"]))
        self.assertEqual(self.offered("--sm", "3", "cad")[0], ["cadence"])
        self.assertEqual(self.offered("--sm", "=", "3", "cad")[0], ["cadence"])
        self.assertEqual(self.offered("--csv", "cad")[0], ["cadence"])
        self.assertEqual(self.offered("trace.json", "cad"), ([], []))
        self.assertEqual(self.offered("summary", "cad"), ([], []))
        self.assertEqual(self.offered("--format", "cs")[0], ["csv"])
        self.assertEqual(self.offered("ranges", "--by", "name,s")[0], ["name,sm"])

    def test_shellcheck(self):
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        done = subprocess.run(["shellcheck", SCRIPT], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout + done.stderr, "")


if __name__ == "__main__":
    unittest.main()
