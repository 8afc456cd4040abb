#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""install.py CMAKE BUILD: what is installed, to the last file, and that the tools run from there."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

CMAKE, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
TOOLS = ("iket-decode", "iket-query", "iket-serve")
# The recorder's, where the CUDA Toolkit was found.
RECORDER = re.compile(r"include/iket/[\w/]+\.(h|cuh)|lib(64)?(/[\w-]+)?/(libiket-recorder\.a|cmake/Iket/[\w-]+\.cmake|pkgconfig/iket-recorder\.pc)")
DUMP = os.path.join(os.environ["IKET_FIXTURES"], "all_features", "dump.bin")


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **more)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return done.stdout


with tempfile.TemporaryDirectory(prefix="iket-install-") as scratch:
    prefix = pathlib.Path(scratch, "prefix")
    run(CMAKE, "--install", str(BUILD), "--prefix", str(prefix))
    files = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()}
    wanted = {f"bin/{t}" for t in TOOLS} | {f"share/bash-completion/completions/{t}" for t in TOOLS}
    if (BUILD / "man").is_dir():
        wanted |= {f"share/man/man1/{t}.1" for t in TOOLS}
    assert wanted <= files, f"not installed: {wanted - files}"
    leaked = {f for f in files - wanted if not RECORDER.fullmatch(f)}
    assert not leaked, f"installed as well: {leaked}"

    # From the prefix, in a folder of their own, with nothing of the build in PATH.
    work = pathlib.Path(scratch, "work")
    work.mkdir()
    more = {"cwd": work, "env": {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": scratch, **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}}
    assert re.fullmatch(r"iket-decode \d+\.\d+\.\d+\n", run("iket-decode", "--version", **more))
    run("iket-decode", "--name", "trace", "--output-dir", ".", DUMP, **more)
    assert run("iket-query", "--marker", "store_index", "--values", "trace.trace.json", **more).split() == [str(32 * n) for n in range(8)]
    server = subprocess.Popen(["iket-serve", ".", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
    try:
        with urllib.request.urlopen(server.stdout.readline().strip() + "trace.html", timeout=60) as answer:
            assert answer.headers.get_content_type() == "text/html" and len(answer.read()) > 100000
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.communicate()
    print(f"{len(files)} files")
