# SPDX-License-Identifier: Apache-2.0
"""browser.py: what the page's tests share: a static server that remembers its requests, Debian's Chromium, and traces.

with opened(folder, "name.html") as page: ...       a page that has settled
decode(input, folder, ...)                           iket-decode of PATH; gives the trace.json it wrote
"""

import contextlib
import functools
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from playwright.sync_api import sync_playwright

FIXTURES = pathlib.Path(os.environ.get("IKET_FIXTURES", pathlib.Path(__file__).parents[2] / "fixtures/golden"))
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run"
).split()


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def same(got, want, what):
    check(got == want, "%s is %.900r, expected %.900r" % (what, got, want))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.paths.append(self.path)
        if self.server.busy > 0 and self.path.endswith(".pftrace"):  # as iket-serve while it decodes
            self.server.busy -= 1
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        size = self.server.claims.get(self.path.lstrip("/"))
        if size is None:
            return super().do_GET()
        self.send_response(200)  # a file that is said to be large
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b'{"launches":[')
        return None


@contextlib.contextmanager
def served(folder, claims=None, busy=0):
    """Serves a folder on loopback; gives the server, with .address and .paths (what was asked for)."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    server.daemon_threads = True
    server.paths, server.claims, server.busy = [], claims or {}, busy
    server.address = "http://127.0.0.1:%d/" % server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def browser(width=1280, height=720, dark=False):
    """A fresh Chromium; gives a context with .requests, all that its pages asked for, and .errors, all they complained of."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile,
            executable_path="/usr/bin/chromium",
            args=ARGUMENTS,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        context.requests, context.errors = [], []
        context.on("request", lambda r: context.requests.append(r.url))
        context.on("weberror", lambda e: context.errors.append(str(e.error)))
        context.on("console", lambda m: context.errors.append(m.text) if m.type == "error" else None)
        try:
            yield context
        finally:
            context.close()


def settle(page, seconds=60):
    """Waits until the page shows its trace with all numbers, or says that it cannot. Gives which."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = page.evaluate(
            "window.iket && iket.state !== 'loading' && (iket.state !== 'shown' || iket.settled) ? iket.state : ''"
        )
        if state:
            return state
        page.wait_for_timeout(30)
    raise AssertionError("the page did not settle within %d s" % seconds)


def go(context, url):
    page = context.new_page()
    page.goto(url)
    page.state = settle(page)
    return page


@contextlib.contextmanager
def opened(folder, name, **look):
    with served(folder) as server, browser(**look) as context:
        page = go(context, server.address + name)
        same(page.state, "shown", "state of " + name)
        page.server = server
        yield page
        outside = [u for u in context.requests if not u.startswith((server.address, "blob:" + server.address, "data:"))]
        same(outside, [], "requests that leave the origin")
        same(context.errors, [], "errors in the console")


def decode(source, folder, *arguments, name="t", emit="pftrace,pftrace.gz,json,html"):
    """Runs iket-decode; gives its trace.json."""
    subprocess.run(
        [
            "iket-decode",
            "--quiet",
            "--force",
            "--output-dir",
            str(folder),
            "--name",
            name,
            "--emit",
            emit,
            *arguments,
            str(source),
        ],
        check=True,
    )
    path = pathlib.Path(folder) / (name + ".trace.json")
    return json.loads(path.read_text()) if path.exists() else None


def golden_inputs():
    """Every golden case as (name, arguments of iket-decode)."""
    for dump in sorted(FIXTURES.glob("*/dump.bin")):
        yield dump.parent.name, (dump, "--meta", dump.parent / "meta.json")
    for data in sorted(FIXTURES.glob("collector/*/iket.data.bin")):
        yield "collector/" + data.parent.name, (data, "--meta", data.parent / "iket.data.json")


def gemm(folder, options=(), **names):
    case = FIXTURES / "collector/hopper_gemm"
    return decode(case / "iket.data.bin", folder, "--meta", str(case / "iket.data.json"), *options, **names)


def launches_of(trace):
    return trace["launches"] + [launch for group in trace["graphLaunches"].values() for launch in group]


def read_json(path):
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def in_folder(test):
    """Runs test(folder) in a scratch folder."""
    with tempfile.TemporaryDirectory() as folder:
        test(pathlib.Path(folder))
