#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_facts.py: for every golden input the page shows what the trace.json says: counts, totals per name to the
nanosecond, and of each event every field (of a large trace, of every 97th)."""

import collections
import math

from browser import browser, check, decode, go, golden_inputs, in_folder, launches_of, same, served


def payload_matches(text, event):
    if event is None or "payloadType" not in event:
        return text is None
    if text is None:
        return False
    kind, value = event["payloadType"], event["payload"]
    if kind in (13, 14):
        return math.isnan(float(text)) if value == "NaN" else float(text) == float(value)
    return text == ("0x%x" % value if kind == 15 else str(value))


def expected_events(trace):
    """(kind, name, start, end, SM, CTA, warp) -> list of (first, last) recorded events."""
    strings, places = trace["stringTable"], trace["locationTable"]
    events = collections.defaultdict(list)

    def key(kind, name, start, end, location):
        p = places[location]
        return kind, name, str(start), str(end), p["smId"], "(%d, %d, %d)" % tuple(p["ctaId"]), str(p["warpId"])

    for launch in launches_of(trace):
        for m in launch["markers"]:
            events[key("marker", strings[m["markerNameIdx"]], m["timestamp"], None, m["locIdx"])].append((m, None))
        for r in launch["ranges"]:
            inner = r["internalEvents"]
            kind = "token range" if r["rangeType"] == 1 else "range"
            events[key(kind, strings[r["rangeNameIdx"]], r["startTs"], r["endTs"], r["warpLocIdxs"][0])].append(
                (inner[0], inner[1] if len(inner) > 1 else None)
            )
        for life in launch["warpLifetimes"]:
            events[key("warp lifetime", "warp lifetime", life["startTs"], life["endTs"], life["locIdx"])].append(
                (None, None)
            )
    return events


def check_fields(case, page, trace, every):
    events = expected_events(trace)
    total = page.evaluate("iket.counts.events")
    shown = page.evaluate(
        """(every) => {
          const all = [];
          for (let i = 0; i < iket.counts.events; i += every) all.push(iket.fields(i));
          return all;
        }""",
        every,
    )
    seen = 0
    for fields in shown:
        if fields["kind"] in ("launch", "diagnostic"):
            continue
        start = fields.get("start", fields.get("time"))
        key = (
            fields["kind"],
            fields["name"],
            start,
            str(fields.get("end")),
            int(fields["SM"].split()[0]),
            fields["CTA"],
            fields["warp"],
        )
        check(events.get(key), "%s: the page has %r, the trace.json does not" % (case, key))
        match = [
            e
            for e in events[key]
            if payload_matches(fields.get("payload"), e[0]) and payload_matches(fields.get("end payload"), e[1])
        ]
        check(
            match,
            "%s: payload of %r: %r %r, expected one of %r"
            % (case, key, fields.get("payload"), fields.get("end payload"), events[key]),
        )
        events[key].remove(match[0])
        if "duration" in fields:
            same(
                fields["duration"].replace(",", ""),
                "%d ns" % (int(fields["end"]) - int(fields["start"])),
                case + ": duration",
            )
        seen += 1
    if every == 1:
        left = [k for k, v in events.items() if v]
        same(left, [], case + ": events that the page lacks")
    check(seen > 0 and total > 0, case + ": no event was compared")


def check_totals(case, page, trace):
    strings = trace["stringTable"]
    want = collections.defaultdict(list)
    for launch in launches_of(trace):
        for r in launch["ranges"]:
            want["token range" if r["rangeType"] == 1 else "range", strings[r["rangeNameIdx"]]].append(
                r["endTs"] - r["startTs"]
            )
        for m in launch["markers"]:
            want["marker", strings[m["markerNameIdx"]]].append(0)
        for life in launch["warpLifetimes"]:
            want["warp lifetime", "warp lifetime"].append(life["endTs"] - life["startTs"])
    got = {(s["kind"], s["name"]): s for s in page.evaluate("iket.stats")}
    same(sorted(got), sorted(want), case + ": names")
    for name, durations in want.items():
        durations.sort()
        rank = lambda p: durations[max(0, -(-len(durations) * p // 100) - 1)]
        s = got[name]
        same(
            (s["count"], int(s["total"]), s["p50"], s["p99"], s["max"]),
            (len(durations), sum(durations), rank(50), rank(99), durations[-1]),
            "%s: count, total, p50, p99, max of %s" % (case, name),
        )


def test(folder):
    with served(folder) as server, browser() as context:
        for number, (case, (source, *arguments)) in enumerate(golden_inputs()):
            name = "t%d" % number
            trace = decode(source, folder, *map(str, arguments), name=name)
            page = go(context, server.address + name + ".html")
            same(page.state, "shown", case)
            launches, counts = launches_of(trace), page.evaluate("iket.counts")
            same(counts["launches"], len(launches), case + ": launches")
            same(counts["ranges"], sum(len(l["ranges"]) for l in launches), case + ": ranges")
            same(counts["markers"], sum(len(l["markers"]) for l in launches), case + ": markers")
            same(counts["warps"], sum(len(l["warpLifetimes"]) for l in launches), case + ": warps")
            nonzero = sum(1 for v in trace["diagnostics"].values() if v)
            check(
                counts["diagnostics"] >= nonzero,
                case + ": diagnostics %d, expected %d" % (counts["diagnostics"], nonzero),
            )
            same(page.locator("#banner").is_visible(), counts["diagnostics"] > 0, case + ": banner")
            check_totals(case, page, trace)
            check_fields(case, page, trace, 1 if counts["events"] < 6000 else 97)
            page.close()
        same(context.errors, [], "errors in the console")


in_folder(test)
