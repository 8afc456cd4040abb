#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_arrows.py: the arrows that `iket-decode --dag` ties between ranges: each leads from one name to the other within a
CTA, and a click in the selected event's list goes there."""
import json

from browser import check, gemm, in_folder, opened, same, settle

EDGES = [("load_tile", "mma_tile"), ("mma_tile", "epilogue")]


def test(folder):
    edges = [{"source": a, "target": b} for a, b in EDGES]
    (folder / "gemm.dag").write_text(json.dumps({"name": "gemm", "regions": [], "edges": edges}))
    case = folder / "gemm.dag"
    gemm(folder, options=["--dag", str(case)])
    with opened(folder, "t.html") as page:
        check(page.evaluate("iket.counts.arrows") > 1000, "arrows: %r" % page.evaluate("iket.counts.arrows"))
        event = page.evaluate("iket.find('mma_tile').find((e) => iket.arrowsOf(e).length > 1)")
        arrows = page.evaluate("(e) => iket.arrowsOf(e)", event)
        name = lambda e: page.evaluate("(e) => [iket.fields(e).name, iket.fields(e).CTA]", e)
        cta = name(event)[1]
        for a in arrows:
            check((name(a["from"])[0], name(a["to"])[0]) in EDGES, "an arrow from %r to %r" % (name(a["from"]), name(a["to"])))
            same((name(a["from"])[1], name(a["to"])[1]), (cta, cta), "the CTA of both ends")
        page.goto(page.server.address + "t.html#e=%d" % event)
        page.reload()
        settle(page)
        page.locator("#tab-event").click()
        rows = page.locator("#arrows tbody tr")
        same(rows.count(), len(arrows), "arrows in the list")
        rows.first.locator("button").click()
        settle(page)
        other = arrows[0]["to"] if arrows[0]["from"] == event else arrows[0]["from"]
        same(page.evaluate("iket.selected"), other, "the event at the arrow's other end")
        check(page.evaluate("(e) => iket.placeOf(e) !== null", other), "its row is open")


in_folder(test)
