#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_scale.py: a large trace. What a frame paints is bound by pixels, at every zoom; nothing is lost on the way."""

import pathlib
import subprocess
import sys

from browser import check, gemm, in_folder, opened, same, settle

RANGES = 300000


def test(folder):
    gemm(folder, emit="html")
    maker = pathlib.Path(__file__).parent / "make_pftrace.py"
    subprocess.run([sys.executable, str(maker), "--synthetic", str(RANGES), str(folder / "t.pftrace")], check=True)
    tiles = RANGES // (132 * 8 * 17)
    with opened(folder, "t.html") as page:
        counts = page.evaluate("iket.counts")
        same(
            (counts["warps"], counts["ranges"], counts["markers"]),
            (1056, 1056 * tiles * 17, 1056 * tiles),
            "warps, ranges, markers",
        )
        for sm in (3, 4, 5):
            line = page.evaluate("(sm) => iket.placeOfSm(sm)", sm)
            page.mouse.click(line["x"] + 300, line["y"] + 1)
        settle(page)
        width = page.evaluate("iket.view.width")
        height = page.evaluate("document.getElementById('scroller').clientHeight")
        # A lane paints at most a rectangle a pixel (a marker three every two); lanes are at least 6 pixels high.
        bound = width * (height / 6) * 1.5
        seen = []
        for key in ("f", "w", "w", "w", "w", "w", "w", "w", "w", "w", "w", "w", "w"):
            page.keyboard.press(key)
            settle(page)
            seen.append(page.evaluate("iket.painted"))
        check(max(seen) < bound, "rectangles a frame: %r, bound %d" % (seen, bound))
        check(min(seen) > 10, "rectangles a frame: %r" % seen)
        page.locator("#query").fill("wait_full sm:3 warp:1")
        settle(page)
        same(page.locator("#query-result").inner_text(), "%d events in 1 warp" % (tiles * 8), "search")


in_folder(test)
