#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_fold.py: launches far apart stand side by side, with the idle time between them folded on the screen alone: a nanosecond of
a launch is as wide everywhere, and every number, selection and link is of the true time."""

from browser import check, decode, FIXTURES, go, in_folder, opened, same, settle


def near(got, want, what, by=1.5):
    check(abs(got - want) <= by, "%s is %r, expected about %r" % (what, got, want))


def places(page, launches):
    return [[page.evaluate("(t) => iket.xOf(t)", launch[side]) for side in ("start", "end")] for launch in launches]


def test(folder):
    case = FIXTURES / "collector/graph"
    decode(case / "iket.data.bin", folder, "--meta", str(case / "iket.data.json"), emit="pftrace,html")
    with opened(folder, "t.html") as page:
        launches = page.evaluate("iket.launches")
        same(len(launches), 5, "launches")
        check(page.evaluate("iket.view.folded"), "launches that fill 0.1 % of the time are not folded at first")
        at, scale = places(page, launches), page.evaluate("iket.view.width / (iket.view.to - iket.view.from)")
        for launch, (a, b) in zip(launches, at):
            near(b - a, (launch["end"] - launch["start"]) * scale, "width of " + launch["name"])
            check(b - a > 80, "%s is %d pixels wide" % (launch["name"], b - a))
            for time in (launch["start"], launch["start"] + 32, launch["end"]):
                near(page.evaluate("(t) => iket.timeAt(iket.xOf(t))", time), time, "the time at the place of %d" % time, 1e-3)
        for (_, b), (a, _) in zip(at, at[1:]):
            check(2 < a - b < 40, "a gap is %.1f pixels wide" % (a - b))
        page.keyboard.press("g")
        settle(page)
        check(not page.evaluate("iket.view.folded"), "G unfolds")
        a, b = places(page, launches)[1]
        check(b - a < 1, "a launch of 352 ns in 1.4 ms is %.1f pixels wide" % (b - a))
        page.locator("#fold").click()
        settle(page)
        same(places(page, launches), at, "places after folding again")
        # The last launch, opened: what is clicked on is what its fields say.
        page.locator("#launches-section tbody tr").nth(4).click()
        settle(page)
        line = page.evaluate("Array.from({ length: 200 }, (_, sm) => iket.placeOfSm(sm)).find((place) => place)")
        box, (a, b) = page.locator("#heat").bounding_box(), places(page, launches)[4]
        page.mouse.click(box["x"] + (a + b) / 2, line["y"] + line["height"] / 2)
        settle(page)
        event = page.evaluate(
            "Array.from({ length: iket.counts.events }, (_, i) => i).find((i) => iket.fields(i).kind === 'range' && iket.placeOf(i)?.width > 5)"
        )
        place = page.evaluate("(e) => iket.placeOf(e)", event)
        page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        settle(page)
        same(page.evaluate("iket.selected"), event, "the clicked event")
        start = int(page.evaluate("(e) => iket.fields(e).start", event)) - int(page.evaluate("iket.t0"))
        check(launches[4]["start"] <= start <= launches[4]["end"], "it starts at %d" % start)
        # A span over a fold is of true time.
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        settle(page)
        box, at = page.locator("#ruler").bounding_box(), places(page, launches)
        for x in ((at[1][0] + at[1][1]) / 2, (at[2][0] + at[2][1]) / 2):
            page.mouse.move(box["x"] + x, box["y"] + 30)
            if x < at[2][0]:
                page.mouse.down()
        page.mouse.up()
        page.wait_for_timeout(120)
        settle(page)
        span = page.evaluate("iket.selection")
        near(span["from"], (launches[1]["start"] + launches[1]["end"]) / 2, "begin of the span", 8)
        near(span["to"], (launches[2]["start"] + launches[2]["end"]) / 2, "end of the span", 8)
        page.wait_for_timeout(300)
        facts = "[iket.view.folded, Math.round(iket.view.from), Math.round(iket.view.to), iket.selection]"
        check("fold=1" in page.url, "the address " + page.url)
        other = go(page.context, page.url)
        same(other.evaluate(facts), page.evaluate(facts), "what the linked page shows")
        other.close()


in_folder(test)
