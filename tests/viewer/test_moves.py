#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_moves.py: mouse and keyboard on the real GEMM: the first screen, zoom, pan, opening rows, hover, selection, steps
between events, search, the link, CSV."""

import csv
import io
import re

from browser import check, gemm, go, in_folder, opened, same, settle


def near(got, want, what, share=0.02):
    check(abs(got - want) <= share * max(1, abs(want)), "%s is %r, expected about %r" % (what, got, want))


def view(page):
    v = page.evaluate("iket.view")
    return v["from"], v["to"]


def press(page, key, times=1):
    for _ in range(times):
        page.keyboard.press(key)
    settle(page)


def first_screen(page, trace):
    """Without a click: launch, all SMs, totals with the waits first, skews."""
    stats = page.evaluate("iket.stats")
    same([s["name"] for s in stats[:2]], ["load_acquire", "mma_wait"], "the first rows")
    rows = page.locator("#names-section tbody tr").all_inner_texts()
    same(len(rows), 9, "rows of the table")
    check("load_acquire" in rows[0] and "4,096" in rows[0], rows[0])
    (launch,) = page.evaluate("iket.launches")
    lives = trace["launches"][0]["warpLifetimes"]
    places = trace["locationTable"]
    first, last = {}, {}
    for life in lives:
        sm = places[life["locIdx"]]["smId"]
        first[sm] = min(first.get(sm, life["startTs"]), life["startTs"])
        last[sm] = max(last.get(sm, life["endTs"]), life["endTs"])
    same(launch["startSkew"], max(first.values()) - min(first.values()), "start skew")
    same(launch["endSkew"], max(last.values()) - min(last.values()), "end skew")
    text = page.locator("#launches-section").inner_text()
    latest = max(first, key=lambda sm: (first[sm], -sm))
    check("SM %d " % latest in text, "the latest SM %d is not named: %s" % (latest, text))
    check(page.locator("#trace-facts").inner_text().count("132 SMs") == 1, "facts in the bar")
    for sm in (0, 131):
        check(page.evaluate("(sm) => iket.placeOfSm(sm) !== null", sm), "SM %d has no line in the map" % sm)


def zoom_and_pan(page):
    start = view(page)
    press(page, "w")
    a = view(page)
    near(a[1] - a[0], (start[1] - start[0]) / 1.4, "span after W")
    near(sum(a), sum(start), "middle after W")
    press(page, "d")
    b = view(page)
    near(b[1] - b[0], a[1] - a[0], "span after D")
    check(b[0] > a[0], "D moves to later times")
    press(page, "a")
    near(view(page)[0], a[0], "start after A")
    press(page, "s")
    near(view(page)[1] - view(page)[0], start[1] - start[0], "span after S")
    press(page, "w", 4)
    press(page, "f")
    near(view(page)[0], start[0], "start after F")
    near(view(page)[1], start[1], "end after F")
    # The wheel over the map zooms about the mouse.
    line = page.evaluate("iket.placeOfSm(60)")
    x = line["x"] + line["width"] * 0.25
    page.mouse.move(x, line["y"])
    at = start[0] + (start[1] - start[0]) * 0.25
    page.mouse.wheel(0, -400)
    settle(page)
    c = view(page)
    check(c[1] - c[0] < (start[1] - start[0]) * 0.7, "the wheel zooms in")
    near(c[0] + (c[1] - c[0]) * 0.25, at, "time under the mouse")
    press(page, "f")


def open_and_hover(page):
    """One click on the map opens an SM down to its warps' ranges."""
    line = page.evaluate("iket.placeOfSm(12)")
    page.mouse.click(line["x"] + 200, line["y"] + line["height"] / 2)
    settle(page)
    names = [r["name"] for r in page.evaluate("iket.rows")]
    at = names.index("CTA (0, 0, 10)")
    same(names[at + 1 : at + 9], ["warp %d" % w for w in range(8)], "rows under the CTA")
    event = page.evaluate("iket.find('mma_tile', 100000).find((e) => iket.placeOf(e))")
    place = page.evaluate("(e) => iket.placeOf(e)", event)
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    settle(page)
    fields, tip = page.evaluate("(e) => iket.fields(e)", event), page.locator("#tip")
    check(tip.is_visible(), "no tooltip")
    text = tip.inner_text()
    for key in ("start", "end", "duration", "payload", "warp", "CTA", "SM", "role"):
        check(fields[key] in text, "the tooltip lacks %s %s: %s" % (key, fields[key], text))
    check(re.fullmatch(r"1796112531294\d{6}", fields["start"]), "start " + fields["start"])
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    settle(page)
    same(page.evaluate("iket.selected"), event, "the clicked event")
    check(fields["start"] in page.locator("#tab-body").inner_text(), "details of the clicked event")
    return event


def steps(page, event):
    """Arrow keys: the next and previous of one name in its warp; into and out of nested ranges."""
    fields = lambda: page.evaluate("iket.fields(iket.selected)")
    a = fields()
    press(page, "ArrowRight")
    b = fields()
    same((b["name"], b["warp"], b["CTA"]), (a["name"], a["warp"], a["CTA"]), "name and warp of the next")
    check(int(b["start"]) > int(a["start"]), "the next is later")
    press(page, "ArrowLeft")
    same(page.evaluate("iket.selected"), event, "back again")
    press(page, "ArrowDown")
    inside = fields()
    check(int(a["start"]) <= int(inside["start"]) and int(inside["end"]) <= int(a["end"]), "the inner one lies inside")
    same(inside["depth"], str(int(a["depth"]) + 1), "depth of the inner one")
    press(page, "ArrowUp")
    same(page.evaluate("iket.selected"), event, "out again")
    press(page, "Shift+ArrowRight")
    c = fields()
    same(c["name"], a["name"], "name in the next warp")
    check((c["warp"], c["CTA"]) != (a["warp"], a["CTA"]), "another warp")
    press(page, "Escape")
    same(page.evaluate("iket.selected"), -1, "selection after Escape")


def rows_by_keyboard(page):
    page.locator("#timeline").focus()
    press(page, "Home")
    press(page, "ArrowDown")
    check(
        "launch 0" in page.locator("#live").inner_text(), "the row is announced: " + page.locator("#live").inner_text()
    )
    count = len(page.evaluate("iket.rows"))
    press(page, "Enter")
    same(len(page.evaluate("iket.rows")), 2, "rows with the launch closed")
    press(page, "Enter")
    same(len(page.evaluate("iket.rows")), count, "rows with the launch open again")


def select_span(page, trace):
    """A drag on the scale selects a span; the table shows what overlaps it, with exact numbers."""
    press(page, "f")
    box = page.locator("#ruler").bounding_box()
    page.mouse.move(box["x"] + 400, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 420, box["y"] + 30)
    page.mouse.move(box["x"] + 440, box["y"] + 30)
    page.mouse.up()
    page.wait_for_timeout(120)
    settle(page)
    span = page.evaluate("iket.selection")
    check(span and span["to"] > span["from"], "no span was selected")
    low, high = int(page.evaluate("iket.t0")) + span["from"], int(page.evaluate("iket.t0")) + span["to"]
    strings = trace["stringTable"]
    t0 = int(page.evaluate("iket.t0"))
    want = [
        r["endTs"] - r["startTs"]
        for r in trace["launches"][0]["ranges"]
        if strings[r["rangeNameIdx"]] == "epilogue"
        and r["endTs"] - t0 > span["from"]
        and r["startTs"] - t0 <= span["to"]
    ]
    check(low < high, "span")
    got = [s for s in page.evaluate("iket.stats") if s["name"] == "epilogue"]
    same([(s["count"], int(s["total"])) for s in got], [(len(want), sum(want))] if want else [], "epilogue in the span")
    check("selected" in page.locator("#names-section").inner_text(), "the table names its scope")
    # In the map a drag selects SMs as well.
    a, b = page.evaluate("iket.placeOfSm(10)"), page.evaluate("iket.placeOfSm(19)")
    page.mouse.move(a["x"] + 300, a["y"] + 1)
    page.mouse.down()
    page.mouse.move(a["x"] + 330, b["y"], steps=3)
    page.mouse.move(a["x"] + 360, b["y"] + 1)
    page.mouse.up()
    page.wait_for_timeout(120)
    settle(page)
    same(page.evaluate("iket.selection.sms"), list(range(10, 20)), "the selected SMs")
    press(page, "Escape")
    same(page.evaluate("iket.selection"), None, "span after Escape")


def search(page, trace):
    strings, places = trace["stringTable"], trace["locationTable"]
    want = 0
    for r in trace["launches"][0]["ranges"]:
        place = places[r["warpLocIdxs"][0]]
        want += strings[r["rangeNameIdx"]] == "mma_wait" and place["smId"] == 12 and place["warpId"] in (4, 5)
    page.keyboard.press("/")
    page.keyboard.type("mma_wait sm:12 warp:4-5")
    settle(page)
    result = page.locator("#query-result").inner_text()
    same(result, "%d events in 2 warps" % want, "result of the search")
    names = [r["name"] for r in page.evaluate("iket.rows")]
    same([n for n in names if n.startswith("warp")], ["warp 4", "warp 5"], "rows that are left")
    page.keyboard.press("Enter")
    settle(page)
    found = page.evaluate("iket.fields(iket.selected)")
    same((found["name"], found["SM"].split()[0], found["warp"]), ("mma_wait", "12", "4"), "the first match")
    same([s["count"] for s in page.evaluate("iket.stats") if s["name"] == "mma_wait"], [want], "count in the table")
    page.locator("#query").fill("role:load_tile")
    settle(page)
    same(page.locator("#query-result").inner_text(), "132 warps", "warps of a role")
    page.locator("#query").fill("sm:twelve")
    settle(page)
    check("no number" in page.locator("#query-result").inner_text(), "a bad filter is named")
    page.locator("#query").fill("")
    settle(page)
    page.keyboard.press("Escape")
    page.locator("#timeline").focus()
    press(page, "Escape")


def table(page):
    page.locator("#names-section th button", has_text="count").click()
    counts = [s["count"] for s in page.evaluate("iket.stats")]
    same(counts, sorted(counts, reverse=True), "counts after a click on the column")
    page.locator("#names-section th button", has_text="count").click()
    counts = [s["count"] for s in page.evaluate("iket.stats")]
    same(counts, sorted(counts), "counts after a second click")
    page.locator("#names-section tr", has_text="epilogue").click()
    same(page.evaluate("iket.focus"), "epilogue", "the chosen name")
    check("epilogue" in page.locator("#tab-body").inner_text(), "its histogram")
    page.locator("#tab-payload").click()
    check("payload" in page.locator("#tab-body").inner_text(), "payload tab")


def roles(page, trace):
    """Per role: of its warps' lifetime, what works and what waits, each moment counted in the innermost range."""
    page.locator("#tab-roles").click()
    page.locator("#roles-table").wait_for()
    strings, places = trace["stringTable"], trace["locationTable"]
    total = {name: 0 for name in strings}
    for r in trace["launches"][0]["ranges"]:
        total[strings[r["rangeNameIdx"]]] += r["endTs"] - r["startTs"]
    life = {0: 0, 4: 0}
    for l in trace["launches"][0]["warpLifetimes"]:
        number = places[l["locIdx"]]["warpId"]
        if number == 0 or number >= 4:
            life[min(number, 4)] += l["endTs"] - l["startTs"]
    got = {s["name"]: (s["warps"], s["lifetime"], s["wait"], s["work"]) for s in page.evaluate("iket.roleSums")}
    same(
        got["load_tile"],
        (132, life[0], total["load_acquire"], total["load_tile"] - total["load_acquire"]),
        "the producers",
    )
    same(got["mma_tile"], (528, life[4], total["mma_wait"], total["mma_tile"] - total["mma_wait"]), "the consumers")
    same(got["-"][0], 396, "warps without a range")
    check("4-7" in page.locator("#roles-table").inner_text(), page.locator("#roles-table").inner_text())
    page.locator("#roles-table tr", has_text="load_tile").click()
    settle(page)
    same(page.locator("#query-result").inner_text(), "132 warps", "rows of the role")
    page.locator("#query").fill("")
    settle(page)


def save_csv(page, trace):
    """The chosen name alone, exact."""
    page.locator("#show-files").click()
    with page.expect_download() as download:
        page.locator("#save-csv").click()
    lines = list(csv.DictReader(io.StringIO(open(download.value.path(), newline="").read())))
    page.keyboard.press("Escape")
    strings = trace["stringTable"]
    want = sorted(
        (r["startTs"], r["endTs"]) for r in trace["launches"][0]["ranges"] if strings[r["rangeNameIdx"]] == "epilogue"
    )
    same(sorted((int(l["start_ns"]), int(l["end_ns"])) for l in lines), want, "times in the CSV")
    same({l["name"] for l in lines}, {"epilogue"}, "names in the CSV")
    links = page.locator("#dialog a").all_inner_texts()
    same(links, ["t.pftrace", "t.pftrace.gz", "t.trace.json"], "links to the files")


def link(page):
    """The address shows the same place in another window."""
    page.keyboard.press("w")
    page.keyboard.press("w")
    page.keyboard.press("d")
    event = page.evaluate("iket.find('mma', 5000)[4321]")
    page.locator("#query").fill("sm:12")
    settle(page)
    page.wait_for_timeout(300)
    facts = "({view: [Math.round(iket.view.from), Math.round(iket.view.to)], focus: iket.focus, rows: iket.rows})"
    before, address = page.evaluate(facts), page.url
    check("#t=" in address and "q=sm:12" in address, "address " + address)
    other = go(page.context, address)
    same(other.state, "shown", "the linked page")
    same(other.evaluate(facts), before, "what the linked page shows")
    other.goto(page.server.address + "t.html#e=%d" % event)
    other.reload()
    settle(other)
    same(other.evaluate("iket.selected"), event, "the linked event")
    other.close()


def test(folder):
    trace = gemm(folder)
    with opened(folder, "t.html") as page:
        first_screen(page, trace)
        zoom_and_pan(page)
        event = open_and_hover(page)
        steps(page, event)
        rows_by_keyboard(page)
        select_span(page, trace)
        search(page, trace)
        table(page)
        roles(page, trace)
        save_csv(page, trace)
        link(page)


in_folder(test)
