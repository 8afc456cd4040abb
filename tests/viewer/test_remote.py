#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_remote.py: a trace that is not loaded but asked about at iket-serve (?levels) is the same as one that is loaded:
counts, statistics, rows, fields, neighbours, links, plots, CSV, pictures. And the page says so, and stays usable, where the server
is slow, ends, lies, or has no such API."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from browser import browser, check, decode, FIXTURES, gemm, go, in_folder, same, served, settle

EVERYTHING = """async (every) => {
  const numbers = Array.from({ length: Math.ceil(iket.counts.events / every) }, (_, k) => k * every);
  const each = (question, ...given) => Promise.all(numbers.map((i) => iket.ask(question, i, ...given)));
  return { fields: await Promise.all(numbers.map((i) => iket.fieldsOf(i))), next: await each('neighbour', 1),
    previous: await each('neighbour', -1), inner: await each('nested', 1), outer: await each('nested', -1),
    arrows: numbers.map((i) => iket.arrowsOf(i)) };
}"""
PICTURE = """(part) => {
  const canvas = document.querySelector(part), small = new OffscreenCanvas(Math.ceil(canvas.width / 16), Math.ceil(canvas.height / 16));
  const context = small.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(canvas, 0, 0, small.width, small.height);
  return [...context.getImageData(0, 0, small.width, small.height).data].map((v) => String.fromCharCode(v)).join('');
}"""
FOLLOW = """(link) => new Promise((then) => {
  window.addEventListener('hashchange', () => setTimeout(then), { once: true });
  location.hash = link;
})"""
# A tile cache for 10,000 events of a trace of 1,024 * 16 ns (level 4 is all of it), and what it says of lane 7 at level 2.
TILES = """() => {
  const tiles = new Tiles(1024 * 16 - 1, 10000), columns = (n) => ({ start: new Float64Array(n), end: new Float64Array(n) });
  const view = { from: 5000, to: 9000, nsPerPixel: 5 }, said = [];
  const add = (level, tile, lanes, n) => tiles.add(level, tile, lanes, { lanes: [lanes[0]], at: [0, n], columns: columns(n) });
  const look = (lane = 7) => said.push(tiles.pieces(lane, view).map((p) => [p.level, p.from, p.to, p.coarse, p.again, p.limit - p.first]));
  look();
  add(1, 3, [7], 5);        // finer: 6144 .. 8192
  look();
  add(4, 0, [7, 8], 9);     // the whole, stretched
  look();
  look(8);                  // asked for, and empty
  add(2, 2, [7], 3);        // 8192 .. 12288
  look();
  add(2, 1, [7], 4);        // 4096 .. 8192
  look();
  let most = 0;
  for (let k = 0; k < 200; k++) {
    tiles.clock++;
    tiles.pieces(7, view);  // what a frame draws is kept
    add(0, k % 16, [100 + k], 300);
    most = Math.max(most, tiles.events);
  }
  look();
  return { said, most, kept: [...tiles.ofLane.keys()].length, batches: tiles.batches.size };
}"""
SHOWN = """({ counts: iket.counts, t0: iket.t0, launches: iket.launches, roles: iket.roles, rows: iket.rows,
  stats: iket.stats, diagnostics: iket.diagnostics, view: iket.view })"""


@contextlib.contextmanager
def serve(folder, cache):
    """iket-serve over a folder; gives its port."""
    process = subprocess.Popen(
        ["iket-serve", "--port", "0", "--ui-dir", str(folder / "ui"), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )
    try:
        yield int(process.stdout.readline().split(":")[2].strip("/\n"))
    finally:
        process.terminate()
        same(process.wait(), 0, "iket-serve's end")


class Between(http.server.BaseHTTPRequestHandler):
    """What stands between the browser and iket-serve, to make it slow, wrong or dead."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server, is_api = self.server, "/api/v1/trace/" in self.path
        server.paths.append(self.path)
        if is_api:
            time.sleep(server.delay)
            if server.gone:
                self.close_connection = True
                return
            if server.busy and self.path.endswith("/" + server.busy[0]):
                server.busy.pop(0)
                self.reply(503, b'{"version": 1, "error": "too many questions"}', {"Content-Type": "application/json", "Retry-After": "1"})
                return
            if server.answer is not None:
                self.reply(*server.answer)
                return
        connection = http.client.HTTPConnection("127.0.0.1", server.behind)
        connection.request("GET", self.path, headers={"Host": "127.0.0.1:%d" % server.behind})
        answer = connection.getresponse()
        self.reply(answer.status, answer.read(), dict(answer.getheaders()))
        connection.close()

    def reply(self, status, body, headers):
        with contextlib.suppress(OSError):  # the page may have given the question up
            self.send_response_only(status)
            for name in ("Content-Type", "Retry-After", "Content-Encoding", "Cross-Origin-Resource-Policy"):
                if name in headers:
                    self.send_header(name, headers[name])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


@contextlib.contextmanager
def between(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    server.daemon_threads = True
    server.behind, server.delay, server.gone, server.answer, server.paths = port, 0, False, None, []
    server.busy = []  # questions that are refused once, one after the other
    server.address = "http://127.0.0.1:%d/" % server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def both(context, address, name):
    """The trace loaded, and asked about."""
    pages = [go(context, address + name), go(context, address + name + "?levels")]
    same([p.state for p in pages], ["shown", "shown"], name)
    same([p.evaluate("iket.remote") for p in pages], [False, True], name + ": which page asks the server")
    return pages


def alike(pages, question, what, *argument):
    """Both pages answer the same; gives the answer."""
    loaded, asked = [p.evaluate(question, *argument) for p in pages]
    if isinstance(loaded, dict):
        for key in loaded:
            same(asked[key], loaded[key], "%s: %s" % (what, key))
    same(asked, loaded, what)
    return loaded


def on_both(pages, act):
    for page in pages:
        page.bring_to_front()  # behind another, a page draws once a second
        act(page)
        settle(page)


def fill(text):
    return lambda page: page.locator("#query").fill(text)


def press(key):
    return lambda page: page.keyboard.press(key)


def see_alike(pages, part, what):
    """Mean colours of cells of 16 by 16 pixels: a slice narrower than a pixel may stand a pixel aside."""
    a, b = [page.evaluate(PICTURE, part) for page in pages]
    same(len(a), len(b), what + ": size")
    worst = max(range(len(a)), key=lambda k: abs(ord(a[k]) - ord(b[k])))
    check(
        abs(ord(a[worst]) - ord(b[worst])) <= 24,
        "%s: the mean colour of cell %d is %d and %d" % (what, worst // 4, ord(a[worst]), ord(b[worst])),
    )


def every_case(folder, address, context):
    """Small fixtures, each event of them."""
    for name in ("all_features", "broken_ranges", "divergent_streams", "every_payload", "extended", "graph_replays"):
        source = FIXTURES / name / "dump.bin"
        decode(source, folder, "--meta", str(source.parent / "meta.json"), name=name, emit="pftrace,html")
        pages = both(context, address, name + ".html")
        count = alike(pages, SHOWN, name)["counts"]["events"]
        alike(pages, EVERYTHING, name, max(1, count // 400))
        if alike(pages, "!document.getElementById('fold-tool').hidden", name + ": launches far apart"):
            on_both(pages, press("g"))
            for part in ("#timeline", "#heat"):
                see_alike(pages, part, "%s of %s with its gaps folded" % (part, name))
        for page in pages:
            page.close()


def scopes(pages):
    """Search, span and SMs: what is left is counted the same."""
    for text in ("sm:12 warp:4-5", "role:load_tile", "cta:0,*,4 mma", "kernel:gemm sm:0-3,130 launch:0 /wait$/", "warp:99"):
        on_both(pages, fill(text))
        alike(pages, "({ stats: iket.stats, rows: iket.rows, result: document.getElementById('query-result').textContent })", text)
    on_both(pages, fill("mma_wait sm:12,40"))
    for key in ("Enter", "Shift+Enter", "Shift+Enter"):
        on_both(pages, lambda page: page.locator("#query").press(key))
        alike(pages, "iket.selected", "the match after " + key)
    for page in pages:
        page.locator("#timeline").focus()
    for key in ("Shift+ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown", "Shift+ArrowLeft", "ArrowLeft"):
        on_both(pages, press(key))
        check(alike(pages, "iket.selected", "the event after " + key) >= 0, "nothing is selected after " + key)
    on_both(pages, fill(""))
    for link in ("#span=2000,5000", "#span=2000,5000&sms=3.4.5.90&name=mma_wait", "#t=3000,4000&e=1000&q=warp:4", "#"):
        on_both(pages, lambda page: page.evaluate(FOLLOW, link))
        alike(pages, SHOWN, "what %s shows" % link)
        alike(pages, "[iket.selected, iket.focus, document.getElementById('tab-body').innerText]", "the tab of " + link)
    for tab, shown in (("payload", "#tab-body canvas"), ("roles", "#roles-table")):
        for page in pages:
            page.locator("#tab-" + tab).click()
            page.locator(shown).wait_for()
        alike(pages, "[document.getElementById('tab-body').innerText, iket.roleSums]", tab)


def saved(page):
    page.locator("#show-files").click()
    with page.expect_download() as download:
        page.locator("#save-csv").click()
    page.keyboard.press("Escape")
    return pathlib.Path(download.value.path()).read_bytes()


def files(pages):
    for page in pages:
        page.locator("#timeline").focus()
        for _ in range(4):
            page.keyboard.press("Escape")
    for query in ("", "role:mma_tile sm:7"):
        on_both(pages, fill(query))
        one, other = [saved(page) for page in pages]
        check(one == other, "the CSV of %r differs: %d and %d bytes" % (query, len(one), len(other)))
    on_both(pages, fill(""))


def pictures(pages):
    """Opened, zoomed, panned; and an event that is clicked on is the one that is drawn there."""

    def open_sm(page):
        line = page.evaluate("iket.placeOfSm(12)")
        page.mouse.click(line["x"] + 200, line["y"] + 1)
        page.mouse.move(5, 5)

    on_both(pages, open_sm)
    for key in ("", "w", "d", "w", "w", "w", "s"):
        if key:
            on_both(pages, press(key))
        for part in ("#timeline", "#heat"):
            see_alike(pages, part, "%s after %r" % (part, key))
    on_both(pages, press("f"))
    event = pages[0].evaluate("iket.find('mma_tile', 100000).find((e) => iket.placeOf(e)?.width > 40)")
    place = pages[0].evaluate("(e) => iket.placeOf(e)", event)
    for x in (0.5, 0.9):
        on_both(pages, lambda page: page.mouse.click(place["x"] + place["width"] * x, place["y"] + place["height"] / 2))
        same(alike(pages, "iket.selected", "the clicked event"), event, "the clicked event")
    on_both(pages, press("Escape"))


def tile_cache(page):
    """What is drawn while tiles are missing, and that what no frame uses goes."""
    got = page.evaluate(TILES)
    finer, whole = [1, 6144, 8192, 0, False, 5], lambda a, b, again: [4, a, b, 16, again, 9]
    want = [
        [],
        [finer],
        [whole(4096, 8192, False), whole(8192, 12288, True)],
        [[4, 4096, 8192, 16, False, 0], [4, 8192, 12288, 16, True, 0]],
        [whole(4096, 8192, False), [2, 8192, 12288, 0, False, 3]],
        [[2, 4096, 8192, 0, False, 4], [2, 8192, 12288, 0, True, 3]],
    ]
    same(got["said"], want + want[-1:], "what there is of a lane")
    check(got["most"] <= 10300 and got["kept"] < 45 and got["batches"] < 45, "kept: %r" % got)


def copy_of_perfetto(page):
    """The server's copy of the Perfetto UI is the address that is offered."""
    page.locator("#show-perfetto").click()
    for _ in range(40):
        address = page.locator("#perfetto-address").input_value()
        if address.startswith("http://127.0.0.1:"):
            break
        page.wait_for_timeout(50)
    check(address.startswith("http://127.0.0.1:") and not page.url.startswith(address), "the address is " + address)
    page.keyboard.press("Escape")


def busy(server, context):
    """A server that has too many questions at first is asked again, for the tables too."""
    server.busy = ["facts", "tables"]
    page = go(context, server.address + "t.html?levels")
    same((page.state, page.evaluate("iket.remote"), server.busy), ("shown", True, []), "a server that is busy at first")
    page.close()


def hardships(folder, port):
    """A server that is slow, then gone, then back; one that has no API, another version of it, or cannot read the trace."""
    with between(port) as server, browser() as context:
        busy(server, context)
        page = go(context, server.address + "t.html?levels")
        same((page.state, page.evaluate("iket.remote")), ("shown", True), "by way of another server")
        server.delay = 0.7
        line = page.evaluate("iket.placeOfSm(20)")
        page.mouse.click(line["x"] + 200, line["y"] + 1)
        before = page.evaluate("[iket.frames, iket.view.from]")
        started = time.monotonic()
        for key in "wwddwdwd":
            page.keyboard.press(key)
            page.wait_for_timeout(16)
        check(time.monotonic() - started < 3, "the page waits for its server")
        frames, moved = page.evaluate("[iket.frames, iket.view.from]")
        check(frames >= before[0] + 6 and moved > before[1], "frames %r" % [frames, before])
        check(page.evaluate("document.getElementById('trouble').hidden"), "a slow server is no trouble")
        settle(page)
        painted, frames = page.evaluate("[iket.painted, iket.frames]")
        page.keyboard.press("w")
        page.wait_for_function("(n) => iket.frames > n", arg=frames)
        check(page.evaluate("iket.painted") > painted / 4 and not page.evaluate("iket.settled"), "nothing is drawn until the server answers")
        settle(page)
        windows = [p for p in server.paths if "/window?" in p]
        check(len(windows) < 40, "%d requests for tiles" % len(windows))
        server.delay, server.gone = 0, True
        page.keyboard.press("w")
        page.locator("#query").fill("sm:3")
        page.locator("#trouble").wait_for(state="visible")
        check("asking again" in page.locator("#trouble").inner_text(), page.locator("#trouble").inner_text())
        same(page.evaluate("iket.rows.length") > 1, True, "rows without a server")
        server.gone = False
        settle(page, 30)
        same(page.locator("#trouble").is_visible(), False, "the complaint when the server is back")
        check("256 warps" in page.locator("#names-section").inner_text() or "warps" in page.locator("#names-section").inner_text(), "numbers when the server is back")
        page.close()
        context.errors.clear()  # what the browser itself says of a dead server
        html = {"Content-Type": "text/html"}
        as_json = {"Content-Type": "application/json"}
        for answer in (
            (404, b"not here", html),
            (200, b"<html>anything</html>", html),
            (200, b'{"version": 7, "state": "ready"}', as_json),
            (200, b'{"version": 1, "state": "none"}', as_json),
            (200, b'{"version": 1, "st', as_json),
        ):
            server.answer = answer
            page = go(context, server.address + "t.html?levels")
            same((page.state, page.evaluate("iket.remote")), ("shown", False), "with the answer %r" % (answer,))
            page.close()
        server.answer = (200, b'{"version": 1, "state": "failed", "error": "byte 0x12: nonsense"}', as_json)
        page = go(context, server.address + "t.html?levels")
        text = page.locator("#start").inner_text()
        check(page.state == "large" and "byte 0x12: nonsense" in text and "--launch" in text, text)
        page.locator("#load-anyway").click()
        same((settle(page), page.evaluate("iket.remote")), ("shown", False), "loaded all the same")
        page.close()
        in_the_making(folder, server, context)
        large(folder, context)


def replaced(folder, address):
    """A file that is another one by now: the numbers of its rows and events mean nothing any more, and the page says so."""
    with browser() as context:
        for first, second, query in (("every_payload", "all_features", "warp:0"), ("all_features", "every_payload", "")):
            for case in (first, second):
                source = FIXTURES / case / "dump.bin"
                decode(source, folder, "--meta", str(source.parent / "meta.json"), name="replaced", emit="pftrace,html")
                if case == first:
                    page = go(context, address + "replaced.html?levels")
            same((page.state, page.evaluate("iket.remote")), ("shown", True), first)
            page.locator("#query").fill(query)
            page.evaluate("void iket.fieldsOf(iket.counts.events - 1)")  # or by a number that the new file has not
            page.locator("#trouble", has_text="another trace of this name").wait_for()
            page.close()


def in_the_making(folder, server, context):
    """While the level file is made: how far it is, and an overview that grows."""
    overview = {
        "launches": [{"name": "launch 0", "kernel": "gemm", "start": 0, "end": 4000}],
        "names": [{"name": "mma_wait", "kind": 1, "count": 12, "total_ns": 345}, {"name": "mma", "kind": 1, "count": 7, "total_ns": 999}],
        "activity": {"from": 0, "to": 4096, "bins": 2, "sms": [0, 1], "busy": "AP+AQA=="},
    }
    facts = {"version": 1, "state": "building", "progress": {"phase": "reading", "bytes": 1 << 20, "total": 4 << 20}}
    facts.update(events=19, launches=1, warps=8, span_ns=4000, overview=overview)
    server.answer = (200, json.dumps(facts).encode(), {"Content-Type": "application/json"})
    page = context.new_page()
    page.goto(server.address + "t.html?levels")
    page.locator("#building canvas").wait_for()
    text = page.locator("#start").inner_text()
    for words in ("1.0 MB of 4.0 MB", "mma_wait", "19 events", "gemm"):
        check(words in text, "the overview lacks %r: %s" % (words, text))
    facts.update(events=23)
    server.answer = (200, json.dumps(facts).encode(), {"Content-Type": "application/json"})
    page.locator("#building", has_text="23 events").wait_for()
    other = context.new_page()
    other.goto(server.address + "t.html?levels")
    other.locator("#building canvas").wait_for()
    other.locator("#pick").set_input_files(folder / "t.pftrace.gz")
    same((settle(other), other.evaluate("iket.remote")), ("shown", False), "a file that is dropped meanwhile")
    server.answer = None
    page.bring_to_front()
    same((settle(page), page.evaluate("iket.remote")), ("shown", True), "when it is made")
    page.wait_for_timeout(1200)
    same(other.evaluate("[iket.remote, document.getElementById('main').hidden]"), [False, False], "the dropped file later")
    other.close()
    page.close()


def large(folder, context):
    """Past 256 MB the page asks by itself."""
    with served(folder, claims={"t.pftrace": 300 << 20}) as server:
        page = go(context, server.address + "t.html")
        check(any("/api/v1/trace/t/facts" in p for p in server.paths), "the page asks no API: %r" % server.paths)
        page.close()


def test(folder):
    edges = [{"source": a, "target": b} for a, b in (("load_tile", "mma_tile"), ("mma_tile", "epilogue"))]
    (folder / "gemm.dag").write_text(json.dumps({"name": "gemm", "regions": [], "edges": edges}))
    gemm(folder, options=["--dag", str(folder / "gemm.dag")])
    (folder / "ui").mkdir()
    (folder / "ui/index.html").write_text("<!doctype html><title>stand-in</title>")
    with tempfile.TemporaryDirectory() as cache, serve(folder, cache) as port:
        address = "http://127.0.0.1:%d/" % port
        with browser() as context:
            every_case(folder, address, context)
            pages = both(context, address, "t.html")
            alike(pages, SHOWN, "the GEMM")
            alike(pages, EVERYTHING, "the GEMM", 131)
            pictures(pages)
            scopes(pages)
            files(pages)
            tile_cache(pages[1])
            copy_of_perfetto(pages[1])
            same(context.errors, [], "errors in the console")
        replaced(folder, address)
        hardships(folder, port)


in_folder(test)
