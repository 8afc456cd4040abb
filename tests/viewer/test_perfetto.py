#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_perfetto.py: the hand-over to the Perfetto UI, with a stand-in that speaks its messages on another origin: what
is sent, only after the answer, only to that origin; a window that was held back; an address that is remembered."""

import hashlib

from browser import browser, check, gemm, go, in_folder, same, served, settle

STAND_IN = """<!doctype html><title>stand-in</title><link rel="icon" href="data:,"><script>
window.got = [];
window.pings = 0;
window.addEventListener('message', async (e) => {
  if (e.data === 'PING') {
    window.pings++;
    if (window.pings >= 3) e.source.postMessage('PONG', e.origin);
    return;
  }
  const { buffer, title, fileName } = e.data.perfetto;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', buffer));
  const hex = [...hash].map((b) => b.toString(16).padStart(2, '0')).join('');
  window.got.push({ title, fileName, size: buffer.byteLength, hash: hex });
});
</script>"""


def wait_for(page, expression, what):
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(what)


def hand_over(context, page, ui, button):
    with context.expect_page() as opened:
        page.locator(button).click()
    window = opened.value
    wait_for(window, "window.got.length > 0", "the stand-in got no trace")
    page.wait_for_timeout(400)
    got = window.evaluate("[window.got, window.pings]")
    check(window.url.startswith(ui.address), window.url)
    window.close()
    return got


def test(folder):
    gemm(folder)
    data = (folder / "t.pftrace.gz").read_bytes()
    (folder / "ui").mkdir()
    (folder / "ui/index.html").write_text(STAND_IN)
    with served(folder) as server, served(folder / "ui") as ui, browser() as context:
        page = go(context, server.address + "t.html")
        page.locator("#show-perfetto").click()
        same(page.locator("#perfetto-address").input_value(), "https://ui.perfetto.dev", "the default address")
        text = page.locator("#dialog").inner_text()
        check("t.pftrace.gz" in text and "43,297 events" in text, "what will be sent: " + text)
        check(not page.locator("#perfetto-warning").count(), "a warning for a small trace")
        page.locator("#perfetto-address").fill(ui.address)
        got, pings = hand_over(context, page, ui, "#perfetto-open")
        same(len(got), 1, "traces handed over")
        same(
            (got[0]["fileName"], got[0]["size"], got[0]["hash"]),
            ("t.pftrace.gz", len(data), hashlib.sha256(data).hexdigest()),
            "what was handed over",
        )
        check(pings >= 3, "it asks until it is answered")
        same(page.locator("#perfetto-state").inner_text(), "Handed over.", "state")
        # The address is kept; a window that the browser holds back is offered again.
        page.reload()
        settle(page)
        page.evaluate("() => { const open = window.open; window.open = () => { window.open = open; return null; }; }")
        page.locator("#show-perfetto").click()
        same(page.locator("#perfetto-address").input_value(), ui.address, "the remembered address")
        page.locator("#perfetto-open").click()
        page.locator("#perfetto-again").wait_for()
        check(
            "did not allow" in page.locator("#perfetto-state").inner_text(),
            page.locator("#perfetto-state").inner_text(),
        )
        got, _ = hand_over(context, page, ui, "#perfetto-again")
        same(got[0]["hash"], hashlib.sha256(data).hexdigest(), "what was handed over at the second try")
        # ?perfetto= names the address in the page's own.
        other = go(context, server.address + "t.html?perfetto=https://perfetto.example/")
        other.locator("#show-perfetto").click()
        same(
            other.locator("#perfetto-address").input_value(),
            "https://perfetto.example/",
            "the address of the parameter",
        )
        outside = [
            u
            for u in context.requests
            if not u.startswith((server.address, ui.address, "blob:" + server.address, "data:"))
        ]
        same(outside, [], "requests elsewhere")
        same(context.errors, [], "errors in the console")


in_folder(test)
