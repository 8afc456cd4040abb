# SPDX-License-Identifier: Apache-2.0
"""The list of traces: as a page and as JSON."""
import gzip
import html.parser
import json
import os
import struct
import unittest
import urllib.parse

import served


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.folders, self.code, self.rows, self.inside = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.inside.append(tag)
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "tr":
            self.rows.append("")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if "h2" in self.inside:
            self.folders.append(data)
        if "code" in self.inside:
            self.code.append(data)
        if "tbody" in self.inside:
            self.rows[-1] += data


class Index(served.FolderTest):
    @classmethod
    def fill(cls):
        dump = b"IKETDUMP" + struct.pack("<II", 1, 64) + bytes(48)
        for rank in (0, 2, 10):
            cls.write(f"run/rank{rank}/iket_pid_0x{rank:x}.pftrace", b"x" * 1234)
        cls.write("run/rank0/iket_pid_0x0.html", '<!doctype html><meta name="generator" content="iket">')
        cls.write("run/rank0/iket_pid_0x0.pftrace.gz", gzip.compress(b"x"))
        cls.write("run/rank0/iket_pid_0x0.trace.json", "{}")
        cls.write("run/rank0/iket_pid_0x0.trace.json.gz", gzip.compress(b"{}"))
        cls.write("nvidia/only.trace.json.gz", gzip.compress(b"{}"))
        cls.write("nvidia/only.html", "<!doctype html>a landing page")
        cls.write("raw/iket/pid_0x1f/iket.data.bin", b"y")
        cls.write("raw/iket/pid_0x1f/iket.data.json", "{}")
        cls.write("raw/it's here/dump.bin", dump)
        cls.write("raw/it's here/meta.json", "{}")
        cls.write("raw/alone.bin", dump)
        cls.write("raw/other.bin", b"something else, not ours")
        cls.write("odd/<b>&'\" #?%.pftrace", "odd")
        cls.write("odd/page-without-trace.html", "x")
        cls.write("odd/notes.txt", "x")
        cls.write("odd/.hidden.pftrace", "x")
        cls.write("odd/.git/x.pftrace", "x")
        with open(os.path.join(os.fsencode(cls.folder), b"odd", b"bad\xff.pftrace"), "wb") as f:
            f.write(b"bytes")
        deep = "/".join(["deep"] * 20)
        cls.write(deep + "/x.pftrace", "x")
        os.symlink("..", os.path.join(cls.folder, "odd", "loop"))
        cls.server = served.Server(cls.folder, environment={"XDG_CACHE_HOME": cls.outside})

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            pass
        super().tearDownClass()

    def page(self, path="/"):
        answer = self.server.get(path)
        self.assertEqual((answer.status, answer.get("Content-Type"), answer.get("Cache-Control")), (200, "text/html; charset=utf-8", "no-store"))
        return Links(answer.body.decode())

    def test_every_link_works_and_is_relative(self):
        for start in ("/", "/run/", "/odd/", "/raw/it%27s%20here/"):
            page = self.page(start)
            self.assertTrue(page.links)
            for link in page.links:
                self.assertTrue(link.startswith("./") or link == "../", link)
                target = urllib.parse.urljoin("http://x" + start, link).removeprefix("http://x")
                self.assertIn(self.server.get(target).status, (200, 202, 422) if ".iket.html" in target else (200,), target)

    def test_groups_in_the_order_of_their_numbers(self):
        folders = self.page().folders
        self.assertEqual([f for f in folders if f.startswith("run/")], ["run/rank0", "run/rank2", "run/rank10"])
        self.assertEqual(self.page("/run/").folders, ["rank0", "rank2", "rank10"])

    def test_one_row_a_trace_with_its_files(self):
        rows = [row for row in self.page().rows if row.startswith("iket_pid_0x0")]
        self.assertEqual(len(rows), 1)
        for part in ("pftrace 1.2 KB", "pftrace.gz", "json 2 B", "json.gz"):
            self.assertIn(part, rows[0])
        links = self.page().links
        self.assertIn("./run/rank0/iket_pid_0x0.html", links)
        for ending in (".pftrace", ".pftrace.gz", ".trace.json", ".trace.json.gz"):
            self.assertIn("./run/rank0/iket_pid_0x0" + ending, links)

    def test_raw_input_names_the_command_that_decodes_it(self):
        code = " ".join(self.page().code)
        folder = os.path.realpath(self.folder)
        self.assertIn(f"iket-decode {folder}/raw/iket/pid_0x1f/iket.data.bin --meta {folder}/raw/iket/pid_0x1f/iket.data.json", code)
        self.assertIn(f"iket-decode '{folder}/raw/it'\\''s here/dump.bin' --meta '{folder}/raw/it'\\''s here/meta.json'", code)
        self.assertIn(f"iket-decode {folder}/raw/alone.bin", code)
        self.assertNotIn("other.bin", code)

    def test_names_are_text(self):
        page = self.page("/odd/")
        names = " ".join(page.rows)
        self.assertIn("<b>&'\" #?%", names)
        self.assertIn("bad\ufffd", names)
        self.assertIn("./bad%FF.pftrace", page.links)
        for absent in ("notes", "page-without-trace", "hidden", "git", "loop"):
            self.assertNotIn(absent, names)

    def test_depth_is_bounded_and_said(self):
        answer = self.server.get("/")
        self.assertIn(b"There is more here than this page lists", answer.body)
        self.assertNotIn(b"There is more here", self.server.get("/" + "deep/" * 15).body)
        self.assertIn("./deep/deep/deep/deep/deep/x.pftrace", self.page("/" + "deep/" * 15).links)

    def test_new_traces_appear(self):
        self.write("later/new.pftrace", "x")
        self.assertIn("later", self.page().folders)
        os.remove(os.path.join(self.folder, "later/new.pftrace"))
        self.assertNotIn("later", self.page().folders)

    def test_no_folder(self):
        self.assertEqual(self.server.get("/nothing/").status, 404)
        self.assertEqual(self.server.get("/run/rank0/iket_pid_0x0.html/").status, 404)

    def test_empty_folder(self):
        os.makedirs(os.path.join(self.folder, "empty"), exist_ok=True)
        self.assertIn(b"No trace yet", self.server.get("/empty/").body)

    def test_policy(self):
        policy = self.server.get("/").get("Content-Security-Policy")
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "form-action 'none'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        for name, kind in (("css", "text/css; charset=utf-8"), ("js", "text/javascript; charset=utf-8")):
            for place in ("/", "/run/rank0/"):
                answer = self.server.get(f"{place}iket-serve/index.{name}")
                self.assertEqual((answer.status, answer.get("Content-Type")), (200, kind))
                self.assertGreater(len(answer.body), 500)

    def test_json(self):
        for path in ("/api/v1/traces", "/run/api/v1/traces"):
            answer = self.server.get(path)
            self.assertEqual((answer.status, answer.get("Content-Type")), (200, "application/json"))
            document = json.loads(answer.body)
            self.assertEqual((document["version"], document["cut"]), (1, True))
            traces = {(t["folder"], t["base"]): t for t in document["traces"]}
            rank0 = traces["run/rank0", "iket_pid_0x0"]
            self.assertEqual([f["name"] for f in rank0["files"]], ["iket_pid_0x0" + e for e in (".html", ".pftrace", ".pftrace.gz", ".trace.json", ".trace.json.gz")])
            self.assertEqual(rank0["files"][1]["size"], 1234)
            self.assertIn(("odd", "bad\ufffd"), traces)
        document = json.loads(self.server.get("/api/v1/server").body)
        self.assertEqual((document["version"], document["uiUrl"]), (1, None))


if __name__ == "__main__":
    served.main()
