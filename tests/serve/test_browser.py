# SPDX-License-Identifier: Apache-2.0
"""What the headers do in a real browser: pages of this build run, others do not; the index filters and follows the folder."""
import os
import shutil
import subprocess
import unittest

from playwright.sync_api import expect, sync_playwright

import served

GOLDEN = os.environ.get("IKET_FIXTURES", "")


class Browser(served.FolderTest):
    @classmethod
    def fill(cls):
        shutil.copytree(os.path.join(GOLDEN, "all_features"), os.path.join(cls.folder, "all_features"))
        shutil.copytree(os.path.join(GOLDEN, "divergent_streams"), os.path.join(cls.folder, "divergent_streams"))
        subprocess.run(["iket-decode", os.path.join(cls.folder, "all_features", "dump.bin"), "-o", os.path.join(cls.folder, "ours"), "--name", "a",
                        "--meta", os.path.join(cls.folder, "all_features", "meta.json")], check=True, capture_output=True)
        page = served.read(os.path.join(cls.folder, "ours", "a.html"))
        for ending in (".pftrace", ".pftrace.gz", ".trace.json"):
            shutil.copy(os.path.join(cls.folder, "ours", "a" + ending), os.path.join(cls.folder, "ours", "old" + ending))
        cls.write("ours/old.html", page.replace(b"sha256-", b"sha256-AAAA").replace(b"<script>", b"<script>document.documentElement.dataset.old = 1;"))
        cls.write("foreign/x.pftrace", b"")
        cls.write("foreign/x.html", "<!doctype html><body onload=\"document.title = 'ran'\"><script>document.title = 'ran'</script>hello")
        for folder, _, names in os.walk(cls.folder):
            for name in names:
                os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000))
        cls.server = served.Server(cls.folder, environment={"XDG_CACHE_HOME": cls.outside})
        cls.address = f"http://localhost:{cls.server.port}"
        cls.playwright = sync_playwright().start()
        cls.chromium = cls.playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.chromium.close()
        cls.playwright.stop()
        with cls.server:
            pass
        super().tearDownClass()

    def setUp(self):
        self.context = self.chromium.new_context(viewport={"width": 1280, "height": 720})
        self.addCleanup(self.context.close)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", lambda message: message.type in ("error", "warning") and self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.set_default_timeout(60_000)

    def open(self, path):
        self.page.goto(self.address + path)
        return self.page

    def assert_shows_a_timeline(self, page):
        page.wait_for_selector("#main:not([hidden])", timeout=60_000)
        self.assertIn("main_kernel", page.inner_text("#main"))
        self.assertEqual(self.complaints, [])

    def test_page_of_this_build(self):
        self.assert_shows_a_timeline(self.open("/ours/a.html"))

    def test_page_of_another_build(self):
        page = self.open("/ours/old.html")
        self.assert_shows_a_timeline(page)
        self.assertIsNone(page.get_attribute("html", "data-old"))

    def test_page_of_nobody_runs_nothing(self):
        page = self.open("/foreign/x.html")
        expect(page.locator("body")).to_contain_text("hello")
        self.assertNotEqual(page.title(), "ran")
        self.assertTrue(any("Content Security Policy" in text or "sandbox" in text for text in self.complaints), self.complaints)

    def test_raw_dump_from_the_index_to_its_timeline(self):
        page = self.open("/")
        page.locator("tr", has_text="Raw dump").first.locator("a.open").click()
        page.wait_for_url("**/dump.bin.iket.html")
        self.assert_shows_a_timeline(page)

    def test_large_dump_is_asked_about(self):
        """Under the same policy: decoded, made ready and drawn while the page waits."""
        cache = os.path.join(self.scratch.name, "levels-cache")
        os.makedirs(cache)
        with served.Server(self.folder, "--most-events", "1", environment={"XDG_CACHE_HOME": cache}) as server:
            self.page.goto(f"http://localhost:{server.port}/all_features/dump.bin.iket.html")
            self.page.wait_for_url("**/dump.bin.iket.html?levels", timeout=60_000)
            self.assert_shows_a_timeline(self.page)
            self.assertTrue(self.page.evaluate("iket.remote"))
            self.page.goto(f"http://localhost:{server.port}/all_features/dump.bin.iket.html?parts")
            self.page.locator("a", has_text="all of it").click()
            self.page.wait_for_url("**/dump.bin.iket.html?levels")
            self.assert_shows_a_timeline(self.page)

    def test_index(self):
        page = self.open("/")
        rows = page.locator("tbody tr:not(.folder)")
        expect(rows.locator("img").first).to_be_visible()
        self.assertGreater(page.evaluate("document.querySelector('td.picture img').naturalWidth"), 0)
        self.assertEqual(rows.count(), 5)
        page.keyboard.press("/")
        page.keyboard.type("diverg dump")
        expect(page.locator("tbody tr:visible", has=page.locator("a.open"))).to_have_count(1)
        expect(page.locator("h2:visible")).to_have_text("divergent_streams")
        page.fill("#filter", "")
        expect(rows.filter(visible=True)).to_have_count(5)
        page.locator("details").first.locator("summary").click()
        self.assertRegex(page.locator("details code").first.inner_text(), r"^iket-decode /.*/dump\.bin --meta /.*/meta\.json$")
        part = page.locator("details").first
        part.locator("input[name=launch]").fill("0")
        part.locator("button").click()
        page.wait_for_url("**/dump.bin.iket;launch=0.html")
        page.go_back()
        # A new trace comes without a reload, and what is open stays so while nothing changes.
        page.evaluate("window.mark = 1")
        self.write("later/new.pftrace", "x")
        expect(page.locator("a.open", has_text="new")).to_be_visible(timeout=30_000)
        self.assertEqual(page.evaluate("window.mark"), 1)
        self.assertEqual(page.inner_text("#count"), "6 traces")
        shutil.rmtree(os.path.join(self.folder, "later"))
        self.assertEqual(self.complaints, [])

    def test_token(self):
        token = os.path.join(self.scratch.name, "token")
        with served.Server(self.folder, "--token-file", token, environment={"XDG_CACHE_HOME": self.outside}) as server:
            page = self.page
            page.goto(server.url)
            self.assertEqual(page.url, f"http://127.0.0.1:{server.port}/")
            page.locator("a.open", has_text="a").first.click()
            page.goto(f"http://127.0.0.1:{server.port}/ours/a.html")
            self.assert_shows_a_timeline(page)
            self.assertNotIn(served.read(token).decode().strip(), page.evaluate("document.cookie"))
            stranger = self.chromium.new_page()
            stranger.goto(f"http://127.0.0.1:{server.port}/ours/a.html")
            self.assertIn("A token is needed", stranger.inner_text("h1"))
            stranger.close()

    def test_another_site_reads_nothing(self):
        result = self.page.evaluate("url => fetch(url).then((a) => a.text(), () => 'refused')", f"{self.address}/ours/a.trace.json")
        self.assertEqual(result, "refused")
        self.assertTrue(any("Access-Control-Allow-Origin" in text for text in self.complaints), self.complaints)


if __name__ == "__main__":
    served.main()
