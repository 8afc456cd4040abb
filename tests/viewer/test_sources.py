#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_sources.py: where the page gets its trace from, and what it says when there is none or a bad one."""

import gzip
import json
import os
import shutil

from browser import FIXTURES, browser, check, decode, gemm, go, in_folder, same, served, settle

SERVING = ("iket-serve DIR", "ssh -L 8080:localhost:8080 HOST", "python3 -m http.server")


def keep(folder, target, *suffixes):
    """A folder with the page and only these of its files."""
    target.mkdir()
    for suffix in (".html", *suffixes):
        shutil.copy(folder / ("t" + suffix), target)
    return target


def fallbacks(folder):
    """The same numbers from each of the three files."""
    expected = None
    for number, suffix in enumerate((".pftrace", ".pftrace.gz", ".trace.json")):
        with served(keep(folder, folder / ("only%d" % number), suffix)) as server, browser() as context:
            page = go(context, server.address + "t.html")
            same(page.state, "shown", "state with only " + suffix)
            facts = page.evaluate(
                "[iket.t0, iket.stats.map(({ cls, ...s }) => s), iket.launches, Object.entries(iket.counts).sort()]"
            )
            expected = expected or facts
            same(facts, expected, "what is shown from " + suffix)
            asked = [p.split("?")[0] for p in server.paths if p != "/t.html"]
            check(asked[-1] == "/t" + suffix, "asked for %r" % asked)
            outside = [
                u for u in context.requests if not u.startswith((server.address, "blob:" + server.address, "data:"))
            ]
            same(outside, [], "requests that leave the origin")


def spaced_name(folder):
    """Names with spaces, percent and hash signs."""
    odd = folder / "odd"
    gemm(odd, name="50% of #2 ü", emit="pftrace,html")
    with served(odd) as server, browser() as context:
        page = go(context, server.address + "50%25%20of%20%232%20%C3%BC.html")
        same((page.state, page.evaluate("iket.counts.launches")), ("shown", 1), "a page with an odd name")


def no_trace(folder):
    with served(keep(folder, folder / "none")) as server, browser() as context:
        page = go(context, server.address + "t.html")
        same(page.state, "help", "state without a trace")
        text = page.locator("#start").inner_text()
        for word in ("t.pftrace", *SERVING):
            check(word in text, "the page does not say %r: %s" % (word, text))
        drop(page, folder / "t.pftrace.gz")


def from_file(folder):
    with browser() as context:
        page = context.new_page()
        page.goto("file://" + str(folder / "t.html"))
        same(settle(page), "help", "state from file://")
        text = page.locator("#start").inner_text()
        for word in SERVING:
            check(word in text, "the page does not say %r: %s" % (word, text))
        for suffix in (".pftrace", ".trace.json", ".pftrace.gz"):
            page.locator("#pick").set_input_files(folder / ("t" + suffix))
            same(settle(page), "shown", "state with a chosen t" + suffix)
            same(page.evaluate("iket.counts.ranges"), 41216, "ranges of a chosen t" + suffix)
            page.reload()
            settle(page)


def drop(page, path):
    """A file dropped on the page, as a user's mouse does it."""
    page.locator("#pick").evaluate("""(input) => { input.addEventListener('change', (e) => {
        e.stopImmediatePropagation();
        const transfer = new DataTransfer();
        transfer.items.add(input.files[0]);
        window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, cancelable: true }));
    }, { capture: true, once: true }); }""")
    page.locator("#pick").set_input_files(path)
    page.evaluate("iket.ready")
    same(settle(page), "shown", "state with a dropped file")
    same(page.evaluate("iket.counts.ranges"), 41216, "ranges of a dropped file")
    check(path.name in page.locator("#trace-name").inner_text(), "name of the dropped file")


def bad(folder):
    """Damaged files are named with what is wrong; one that is cut off shows what it has."""
    whole = (folder / "t.pftrace").read_bytes()
    middle = len(whole) // 2
    cases = {
        "empty": (b"", "is empty"),
        "noise": (os.urandom(1).join([b"\xff\xfe"] * 99), "neither"),
        "text": (b"hello, world\n", "neither"),
        "tail": (whole[:middle] + b"\x00\x01\x02" + whole[middle:], "byte"),
        "json": (b'{"launches": [{"markers": [{', "expected"),
        "other json": (b'{"traceEvents": []}', "no launch"),
        "gzip": ((folder / "t.pftrace.gz").read_bytes()[:5000], "t.pftrace"),
        "endless varint": (b"\x0a\xff\xff\xff\xff\xff\xff\xff", "byte 0"),
        "lying field": (b"\x0a\x04\x62\x7f\x00\x00", "byte"),
        "no clock": (b"\x0a\x02\x50\x01", "clock"),
    }
    with browser() as context:
        for name, (data, words) in cases.items():
            target = keep(folder, folder / ("bad " + name))
            (target / "t.pftrace").write_bytes(data)
            with served(target) as server:
                page = go(context, server.address + "t.html")
                text = page.locator("#start").inner_text()
                same(page.state, "error", "state with %s: %s" % (name, text))
                check(words in text and "t.pftrace" in text, "%s: the page says: %s" % (name, text))
                page.close()
    target = keep(folder, folder / "cut")
    (target / "t.pftrace").write_bytes(whole[: middle + 3])
    with served(target) as server, browser() as context:
        page = go(context, server.address + "t.html")
        same(page.state, "shown", "state with a file that is cut off")
        check("middle of a packet" in page.locator("#tab-body").inner_text(), page.locator("#tab-body").inner_text())
        check(page.evaluate("iket.counts.ranges") > 1000, "ranges of a file that is cut off")


def large_json(folder):
    """Past 200 MB a trace.json is refused before it is read, with the way out."""
    target = keep(folder, folder / "large")
    with served(target, claims={"t.trace.json": 300 << 20}) as server, browser() as context:
        page = go(context, server.address + "t.html")
        text = page.locator("#start").inner_text()
        check(page.state == "error" and "200 MB" in text and "iket-decode" in text, text)


def large_trace(folder):
    """A trace that may be more than the browser holds: a warning with the way out first, then as the user wants."""
    target = keep(folder, folder / "huge", ".pftrace")
    with served(target, claims={"t.pftrace": 1 << 30}) as server, browser() as context:
        page = go(context, server.address + "t.html")
        text = page.locator("#start").inner_text()
        check(
            page.state == "large"
            and "30 million events" in text
            and "--launch" in text
            and "trace_processor_shell" in text,
            text,
        )
        server.claims.clear()
        page.locator("#load-anyway").click()
        same((settle(page), page.evaluate("iket.counts.ranges")), ("shown", 41216), "loaded all the same")


def nvidias_json(folder):
    """The collector's own trace.json, whose tables come last."""
    target = keep(folder, folder / "nvidia")
    source = FIXTURES / "collector/hopper_gemm/expected.trace.json.gz"
    (target / "t.trace.json").write_bytes(gzip.decompress(source.read_bytes()))
    with served(target) as server, browser() as context:
        page = go(context, server.address + "t.html")
        same(
            (page.state, page.evaluate("[iket.counts.ranges, iket.counts.markers, iket.counts.warps]")),
            ("shown", [41216, 1024, 1056]),
            "NVIDIA's JSON",
        )


def decoded_on_demand(folder):
    """A server that is still decoding says so, and is asked again."""
    with served(keep(folder, folder / "later", ".pftrace"), busy=2) as server, browser() as context:
        page = go(context, server.address + "t.html")
        same((page.state, server.paths.count("/t.pftrace")), ("shown", 3), "state and requests")


def hostile_names(folder):
    """Names that look like markup are shown as text, wherever they stand."""
    evil = "</script><script>window.pwned = 1</script><img src=x onerror=window.pwned=1>\u2028&amp;"
    life = {"locIdx": 0, "startTs": 10, "endTs": 90}
    range_ = {"rangeNameIdx": 0, "startTs": 20, "endTs": 80, "warpLocIdxs": [0, 0], "rangeId": 1, "rangeType": 2, "rangeScope": 0}
    range_.update(rangeColor=4294967295, internalEvents=[{"eventId": 1, "timestamp": 20}, {"eventId": 31, "timestamp": 80}])
    launch = {"contextId": 1, "gridId": 1, "kernelName": evil, "markers": [], "ranges": [range_], "warpLifetimes": [life]}
    launch.update({side + "Dim" + axis: 1 for side in ("grid", "block") for axis in "XYZ"})
    trace = {
        "meta": {"version": 1},
        "diagnostics": {},
        "stringTable": [evil],
        "locationTable": [{"smId": 0, "tpcId": 0, "gpcId": 0, "ctaId": [0, 0, 0], "warpId": 0}],
        "launches": [launch],
        "graphLaunches": {},
    }
    (folder / "evil.trace.json").write_text(json.dumps(trace))
    target = folder / "evil"
    decode(folder / "evil.trace.json", target, emit="pftrace,html")
    with served(target) as server, browser() as context:
        page = go(context, server.address + "t.html")
        same(page.state, "shown", "state with hostile names")
        same(page.evaluate("[iket.launches[0].kernel, iket.stats[0].name]"), [evil, evil], "the names")
        same(page.evaluate("window.pwned"), None, "what a name did")
        check(evil[:20] in page.locator("#names-section").inner_text(), page.locator("#names-section").inner_text())
        same(context.errors, [], "errors in the console")


def test(folder):
    gemm(folder)
    hostile_names(folder)
    decoded_on_demand(folder)
    fallbacks(folder)
    spaced_name(folder)
    no_trace(folder)
    from_file(folder)
    bad(folder)
    large_json(folder)
    large_trace(folder)
    nvidias_json(folder)


in_folder(test)
