#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py [--levels] [RANGES ...]: how fast the page loads and pans large traces in headless Chromium, by the browser's tracing.

    page.py 1000000 10000000
    page.py --levels 30000000     not loaded, but asked about at iket-serve, which has prepared the trace before (?levels)

For each size: a synthetic trace (tests/viewer/make_pftrace.py) is served (by iket-serve where it is on PATH, else by
Python) and opened at 1280x720. Printed:

    load     from the start of the navigation to the first frame with the trace, and to all numbers beside it
    pan      frames a second while the mouse drags for 4 seconds, at three zooms; main: how much of that time the page's
             thread was busy; worst: its longest task
Needs tests/requirements.txt and iket-decode on PATH. Nothing but a table on stdout. Never run by ctest.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "viewer"))
from browser import browser, decode, FIXTURES, served, settle  # noqa: E402

PAN_SECONDS = 4
VIEWS = (("half the trace, SMs closed", 0, 0.5), ("a fifth, 64 warps open", 8, 0.2), ("20 us, 64 warps open", 8, None))


def traced(page, action):
    """Runs action() under the browser's tracing; gives its events."""
    session = page.context.new_cdp_session(page)
    events, done = [], []
    session.on("Tracing.dataCollected", lambda e: events.extend(e["value"]))
    session.on("Tracing.tracingComplete", lambda e: done.append(e))
    session.send(
        "Tracing.start",
        {
            "transferMode": "ReportEvents",
            "traceConfig": {
                "includedCategories": [
                    "toplevel",
                    "devtools.timeline",
                    "disabled-by-default-devtools.timeline.frame",
                    "devtools.timeline.frame",
                ]
            },
        },
    )
    action()
    session.send("Tracing.end")
    while not done:
        page.wait_for_timeout(50)
    session.detach()
    return events


def main_thread(events):
    """(busy seconds, longest task in ms, animation frames) of the thread that fires the page's animation frames."""
    frames = [e for e in events if e["name"] == "FireAnimationFrame"]
    if not frames:
        return 0.0, 0.0, 0
    thread = (frames[0]["pid"], frames[0]["tid"])
    tasks = [
        e["dur"]
        for e in events
        if (e["pid"], e["tid"]) == thread and e["name"] in ("RunTask", "ThreadControllerImpl::RunTask") and "dur" in e
    ]
    return sum(tasks) / 1e6, max(tasks, default=0) / 1e3, len(frames)


def drag(page, seconds):
    """Drags to and fro over the timeline at 60 moves a second."""
    box = page.locator("#timeline").bounding_box()
    x, y = box["x"] + 500, box["y"] + box["height"] * 0.7
    page.mouse.move(x, y)
    page.mouse.down()
    started, step = time.monotonic(), 0
    while time.monotonic() - started < seconds:
        step += 1
        page.mouse.move(x + abs((step * 6) % 600 - 300) - 150, y)
        time.sleep(max(0, started + step / 60 - time.monotonic()))
    page.mouse.up()
    return time.monotonic() - started


def prepare(page, open_sms, share):
    page.keyboard.press("f")
    if open_sms:
        for sm in range(open_sms):
            line = page.evaluate("(sm) => iket.placeOfSm(sm)", sm)
            if not page.evaluate("(sm) => iket.rows.some((r) => r.open && r.name.startsWith(`SM ${sm} `))", sm):
                page.mouse.click(line["x"] + 300, line["y"] + line["height"] / 2)
    span = page.evaluate("iket.view.span")
    want = span * share if share else 20000
    if want < span:
        page.evaluate("([a, b]) => { location.hash = `#t=${a},${b}`; }", [round(span * 0.3), round(span * 0.3 + want)])
    settle(page)


def measure(context, address, ranges):
    page = context.new_page()
    if address.endswith("?levels"):  # the first time the server prepares it
        started = time.monotonic()
        page.goto(address)
        settle(page, 600)
        print("prepared by the server in %.1f s" % (time.monotonic() - started))
    started = time.monotonic()
    page.goto(address)
    settle(page, 300)
    timing = page.evaluate("iket.timing")
    counts = page.evaluate("iket.counts")
    print(
        "%s events (%s ranges) on %s warps, waited %.1f s"
        % tuple(
            f"{n:,}" if isinstance(n, int) else n
            for n in (counts["events"], counts["ranges"], counts["warps"], time.monotonic() - started)
        )
    )
    print(
        "  load   first frame %.2f s   all numbers %.2f s"
        % (timing["drawn"] / 1000, timing["shown"] / 1000)
    )
    for title, open_sms, share in VIEWS:
        prepare(page, open_sms, share)
        before, wall = page.evaluate("iket.frames"), []
        events = traced(page, lambda: wall.append(drag(page, PAN_SECONDS)))
        drawn = page.evaluate("iket.frames") - before
        busy, worst, _ = main_thread(events)
        print(
            "  pan    %-26s %5.1f frames/s   main %3.0f %%   worst %5.1f ms   %s rectangles"
            % (title, drawn / wall[0], 100 * busy / wall[0], worst, f"{page.evaluate('iket.painted'):,}")
        )
    page.close()


def serve_folder(folder):
    """iket-serve's address, with its process; None where it is not on PATH."""
    try:
        process = subprocess.Popen(
            ["iket-serve", "--port", "0", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    except FileNotFoundError:
        return None, None
    return process.stdout.readline().strip(), process


def main():
    levels = "?levels" if "--levels" in sys.argv else ""
    sizes = [int(a) for a in sys.argv[1:] if a != "--levels"] or [1000000, 10000000]
    case = FIXTURES / "collector/hopper_gemm"
    maker = pathlib.Path(__file__).parents[1] / "viewer/make_pftrace.py"
    with tempfile.TemporaryDirectory() as folder:
        for ranges in sizes:
            name = "s%d" % ranges
            decode(case / "iket.data.bin", folder, "--meta", str(case / "iket.data.json"), name=name, emit="html")
            subprocess.run(
                [sys.executable, str(maker), "--synthetic", str(ranges), "%s/%s.pftrace" % (folder, name)], check=True
            )
        address, process = serve_folder(folder)
        try:
            with served(folder) as python_server, browser() as context:
                address = address or python_server.address
                print(
                    "served by",
                    "iket-serve" if process else "Python's http.server",
                    "·",
                    json.dumps(context.browser.version if context.browser else "Chromium"),
                )
                for ranges in sizes:
                    measure(context, address + "s%d.html%s" % (ranges, levels), ranges)
        finally:
            if process:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
