#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""large.py [MIB [FOLDER]]: how a .pftrace that is too large to load opens, the first time and the second, and pans.

    large.py 310        a dump of 310 MiB: a .pftrace of 1.1 GB with 39 million events

The trace is made (tests/bench/make_dump, iket-decode; FOLDER keeps it), served by iket-serve with an empty cache, and opened in headless Chromium at
1280x720, all from the same machine. Printed:

    made     size, events, time of iket-decode
    first    seconds until the page shows progress, an overview of what was read so far, and the whole trace; updates of the
             overview meanwhile; processor time of the process that makes the level file (which is what the wait comes to on a machine
             that does nothing else); the server's and its peak of memory that is not the page cache's
    second   the same page of a server that was started anew: seconds to the first frame and to all numbers
    pan      as tests/bench/page.py, each first with windows that nobody asked for yet

Needs tests/requirements.txt and iket-serve, iket-decode and make_dump on PATH. Never run by ctest.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "viewer"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import browser  # noqa: E402
from page import measure  # noqa: E402


def make(folder, mebibytes):
    dump, trace = folder / "large.bin", folder / "large.pftrace"
    if not trace.exists():
        subprocess.run(["make_dump", dump, "--bytes", f"{mebibytes}M"], check=True, stdout=subprocess.DEVNULL)
        started = time.monotonic()
        subprocess.run(
            ["iket-decode", dump, "-o", folder, "--name", "large", "--emit", "pftrace", "--quiet"],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        print("made     %.2f s by iket-decode" % (time.monotonic() - started))
        dump.unlink()  # or the index offers it too
    print("made     %.2f GB" % (trace.stat().st_size / 1e9), flush=True)


def own_memory(process):
    """MB of a process and its children that are not the page cache's."""
    total = 0
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/status") as f:
                fields = dict(line.split(":", 1) for line in f)
            if entry == str(process) or fields["PPid"].strip() == str(process):
                total += int(fields["RssAnon"].split()[0]) / 1000
        except (OSError, KeyError):
            continue
    return total


def children_time(process):
    """Seconds of processor time of its children that have ended."""
    with open(f"/proc/{process}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, folder, cache):
        self.process = subprocess.Popen(
            ["iket-serve", "--port", "0", folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        )
        self.address = self.process.stdout.readline().strip()
        self.peak, self.done = 0, threading.Event()
        self.watch = threading.Thread(target=self.sample)
        self.watch.start()

    def sample(self):
        while not self.done.wait(0.1):
            self.peak = max(self.peak, own_memory(self.process.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.done.set()
        self.watch.join()
        self.process.terminate()
        self.process.wait()


def open_first(context, address):
    page = context.new_page()
    started = time.monotonic()
    page.goto(address)
    seen, texts = {}, set()
    while "all" not in seen:
        state = page.evaluate(
            """() => ({ all: iket.state === 'shown' && iket.settled, refused: !['loading', 'shown'].includes(iket.state),
                 bar: !byId('start-progress').hidden, overview: !byId('building').hidden, text: byId('building').innerText })"""
        )
        if state["refused"]:
            sys.exit("large.py: " + page.inner_text("#start"))
        texts.add(state["text"])
        for what in ("bar", "overview", "all"):
            if state[what]:
                seen.setdefault(what, time.monotonic() - started)
        page.wait_for_timeout(50)
    page.close()
    print("first    progress %.2f s   overview %.2f s   whole trace %.2f s   the overview changed %d times" % (seen["bar"], seen["overview"], seen["all"], len(texts) - 1))


def main():
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else 310
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch) / "traces", pathlib.Path(scratch) / "cache"
        folder.mkdir(parents=True, exist_ok=True)
        cache.mkdir()
        make(folder, mebibytes)
        address = "large.iket.html"
        with Server(folder, cache) as server, browser() as context:
            open_first(context, server.address + address)
            size = sum(f.stat().st_size for f in (cache / "iket").iterdir()) / 1e9
            print("         %.2f s of processor time   %.0f MB of memory of its own at most   level file %.2f GB" % (children_time(server.process.pid), server.peak, size), flush=True)
        for _ in range(2):
            with Server(folder, cache) as server, browser() as context:
                print("second   ", end="", flush=True)
                measure(context, server.address + address, 0)


if __name__ == "__main__":
    main()
