# SPDX-License-Identifier: Apache-2.0
"""Files as answers: types, HEAD, conditions, ranges."""
import email.utils
import gzip
import os
import random
import time
import unittest

import served

DATA = random.Random(1).randbytes(300_000)
PLAIN = {"Date"}


class Files(served.FolderTest):
    @classmethod
    def fill(cls):
        cls.write("a.pftrace", DATA)
        cls.write("a.pftrace.gz", gzip.compress(DATA[:5000]))
        cls.write("a.trace.json", '{"launches": []}')
        cls.write("small.pftrace", DATA[:1000])
        cls.write("empty.pftrace", b"")
        cls.write("page.html", "<!doctype html><script>alert(1)</script>")
        cls.write("notes.bin", b"\0\1\2")
        for name in ("a.pftrace", "small.pftrace"):
            os.utime(os.path.join(cls.folder, name), (1_700_000_000, 1_700_000_000))
        cls.server = served.Server(cls.folder, "--timeout", "2")

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            pass
        super().tearDownClass()

    def test_types(self):
        for name, wanted in {
            "a.pftrace": "application/x-protobuf",
            "a.pftrace.gz": "application/gzip",
            "a.trace.json": "application/json",
            "page.html": "text/html; charset=utf-8",
            "notes.bin": "application/octet-stream",
        }.items():
            answer = self.server.get("/" + name)
            self.assertEqual((answer.status, answer.get("Content-Type")), (200, wanted), name)
            self.assertIsNone(answer.get("Content-Encoding"), name)
            with open(os.path.join(self.folder, name), "rb") as f:
                self.assertEqual(answer.body, f.read(), name)

    def test_every_answer_has_the_safety_headers(self):
        for path in ("/", "/a.pftrace", "/page.html", "/nothing", "/iket-serve/index.js"):
            answer = self.server.get(path)
            self.assertEqual(answer.get("X-Content-Type-Options"), "nosniff", path)
            self.assertEqual(answer.get("Referrer-Policy"), "no-referrer", path)
            # With it the page could not hand a trace to the Perfetto UI.
            self.assertIsNone(answer.get("Cross-Origin-Opener-Policy"), path)
            self.assertIsNone(answer.get("Access-Control-Allow-Origin"), path)

    def test_html_found_in_the_folder_runs_nothing(self):
        policy = self.server.get("/page.html").get("Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("script-src", policy)
        self.assertIn("sandbox", policy)

    def test_head_has_the_headers_of_get(self):
        for path in ("/", "/a.pftrace", "/small.pftrace", "/empty.pftrace", "/page.html", "/nothing", "/.hidden", "/iket-serve/index.css"):
            for fields in ({}, {"Range": "bytes=5-9"}, {"Range": "bytes=9999999-"}):
                get, head = self.server.get(path, **fields), self.server.ask(path, "HEAD", **fields)
                self.assertEqual(head.body, b"", path)
                self.assertEqual(head.status, get.status, path)
                self.assertEqual([f for f in head.fields if f[0] not in PLAIN], [f for f in get.fields if f[0] not in PLAIN], path)

    def test_methods(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "FROB"):
            answer = self.server.ask("/a.pftrace", method)
            self.assertEqual((answer.status, answer.get("Allow")), (405, "GET, HEAD"), method)
        answer = self.server.raw(b"POST /a.pftrace HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
        self.assertEqual(answer.status, 405)
        answer = self.server.raw(b"GET /a.pftrace HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
        self.assertEqual(answer.status, 413)

    def test_keep_alive(self):
        with self.server.connect() as connection:
            for path, wanted in (("/small.pftrace", DATA[:1000]), ("/a.pftrace", DATA), ("/empty.pftrace", b""), ("/small.pftrace", DATA[:1000])):
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                self.assertEqual(served.read_answer(connection).body, wanted)

    def test_an_answer_that_is_kept_is_never_old(self):
        """A small file that has not changed for a while is answered from memory."""
        path = self.write("kept.pftrace", b"one")
        os.link(path, os.path.join(self.folder, "kept.json"))
        time.sleep(3.1)
        first = self.server.get("/kept.pftrace")
        for _ in range(3):
            again = self.server.get("/kept.pftrace")
            self.assertEqual([f for f in again.fields if f[0] not in PLAIN], [f for f in first.fields if f[0] not in PLAIN])
            self.assertEqual(again.body, b"one")
        self.assertEqual(self.server.get("/kept.json").get("Content-Type"), "application/json")
        self.assertEqual(self.server.get("/kept.pftrace", Range="bytes=1-1").body, b"n")
        self.assertEqual(self.server.ask("/kept.pftrace", "HEAD").fields[1:], first.fields[1:])
        self.assertIsNotNone(self.server.get("/kept.pftrace", Origin="https://ui.perfetto.dev").get("Access-Control-Allow-Origin"))
        self.assertIsNone(self.server.get("/kept.pftrace").get("Access-Control-Allow-Origin"))
        with open(path, "wb") as f:
            f.write(b"two")
        self.assertEqual(self.server.get("/kept.pftrace").body, b"two")
        os.remove(path)
        self.assertEqual(self.server.get("/kept.pftrace").status, 404)

    # ---- conditions

    def test_entity_tag_is_strong_and_changes_with_the_file(self):
        path = self.write("changing.pftrace", b"one")
        tags = []
        for content in (b"one", b"two", b"three"):
            time.sleep(0.02)
            with open(path, "wb") as f:
                f.write(content)
            os.utime(path, (1_700_000_000, 1_700_000_000))
            tags.append(self.server.get("/changing.pftrace").get("ETag"))
        self.assertEqual(len(set(tags)), 3)
        for tag in tags:
            self.assertRegex(tag, r'^"[^"]+"$')

    def test_if_none_match(self):
        tag = self.server.get("/a.pftrace").get("ETag")
        for value, status in {tag: 304, "W/" + tag: 304, f'"x", {tag}': 304, "*": 304, '"x"': 200, tag[:-2] + '"': 200, "garbage": 200, "": 200}.items():
            answer = self.server.get("/a.pftrace", If_None_Match=value)
            self.assertEqual(answer.status, status, value)
            self.assertEqual(answer.get("ETag"), tag)
            self.assertEqual(len(answer.body), 0 if status == 304 else len(DATA))

    def test_if_modified_since(self):
        answer = self.server.get("/a.pftrace")
        self.assertEqual(answer.get("Last-Modified"), "Tue, 14 Nov 2023 22:13:20 GMT")
        for date, status in {
            "Tue, 14 Nov 2023 22:13:20 GMT": 304,
            "Tuesday, 14-Nov-23 22:13:20 GMT": 304,
            "Tue Nov 14 22:13:20 2023": 304,
            "Tue, 14 Nov 2023 22:13:19 GMT": 200,
            "Wed, 15 Nov 2023 00:00:00 GMT": 304,
            "yesterday": 200,
        }.items():
            self.assertEqual(self.server.get("/a.pftrace", If_Modified_Since=date).status, status, date)
        # A tag that does not fit outweighs a date that does.
        self.assertEqual(self.server.get("/a.pftrace", If_None_Match='"x"', If_Modified_Since="Wed, 15 Nov 2023 00:00:00 GMT").status, 200)

    def test_if_match_and_if_unmodified_since(self):
        tag = self.server.get("/a.pftrace").get("ETag")
        for fields, status in (({"If_Match": tag}, 200), ({"If_Match": "*"}, 200), ({"If_Match": '"x"'}, 412), ({"If_Match": "W/" + tag}, 412),
                               ({"If_Unmodified_Since": "Tue, 14 Nov 2023 22:13:19 GMT"}, 412), ({"If_Unmodified_Since": "Tue, 14 Nov 2023 22:13:20 GMT"}, 200)):
            self.assertEqual(self.server.get("/a.pftrace", **fields).status, status, fields)

    def test_if_range(self):
        answer = self.server.get("/a.pftrace")
        tag, date = answer.get("ETag"), answer.get("Last-Modified")
        for value, status in {tag: 206, date: 206, '"x"': 200, "W/" + tag: 200, "Tue, 14 Nov 2023 22:13:21 GMT": 200, "junk": 200}.items():
            answer = self.server.get("/a.pftrace", Range="bytes=1-2", If_Range=value)
            self.assertEqual((answer.status, answer.body), (status, DATA[1:3] if status == 206 else DATA), value)
        # A file that was changed within this second may change again within it: its date is no proof.
        self.write("new.pftrace", b"0123456789")
        now = email.utils.formatdate(os.stat(os.path.join(self.folder, "new.pftrace")).st_mtime, usegmt=True)
        self.assertEqual(self.server.get("/new.pftrace", Range="bytes=1-2", If_Range=now).status, 200)

    # ---- ranges

    def test_one_range(self):
        for name, data in (("a.pftrace", DATA), ("small.pftrace", DATA[:1000])):
            n = len(data)
            for field, first, end in (("0-0", 0, 1), ("0-", 0, n), ("5-9", 5, 10), (f"{n - 1}-", n - 1, n), ("10-99999999", 10, n), ("-1", n - 1, n), ("-7", n - 7, n),
                                      ("-99999999", 0, n), (" 5-9 ", 5, 10), ("5-9,", 5, 10), (",5-9", 5, 10), ("0-18446744073709551616", 0, n),
                                      (f"{n}-,5-9", 5, 10), ("-0,5-9", 5, 10)):
                answer = self.server.get("/" + name, Range="bytes=" + field)
                self.assertEqual((answer.status, answer.get("Content-Range")), (206, f"bytes {first}-{end - 1}/{n}"), field)
                self.assertEqual(answer.get("Content-Length"), str(end - first))
                self.assertEqual(answer.body, data[first:end], field)
                self.assertEqual(answer.get("Accept-Ranges"), "bytes")

    def test_ranges_that_do_not_count(self):
        for field in ("bytes=", "bytes=a-b", "bytes=5", "bytes=9-5", "bytes=--5", "bytes=1-2;3-4", "bytes=1-2x", "bytes 1-2", "lines=1-2", "", "bytes=-", "bytes=1-2,x", "bytes=0x1-2"):
            answer = self.server.get("/small.pftrace", Range=field)
            self.assertEqual((answer.status, len(answer.body)), (200, 1000), field)

    def test_range_past_the_end(self):
        for field in ("1000-", "1000-2000", "-0", "18446744073709551615-", "99999999999999999999999-", "1000-1001,2000-"):
            answer = self.server.get("/small.pftrace", Range="bytes=" + field)
            self.assertEqual((answer.status, answer.get("Content-Range")), (416, "bytes */1000"), field)
            self.assertIn(b"1000 bytes", answer.body)
        for field in ("0-", "-1", "0-0"):
            self.assertEqual(self.server.get("/empty.pftrace", Range="bytes=" + field).status, 416, field)

    def parts(self, answer):
        kind, _, boundary = answer.get("Content-Type").partition("; boundary=")
        self.assertEqual((answer.status, kind), (206, "multipart/byteranges"))
        pieces = (b"\r\n" + answer.body).split(b"\r\n--" + boundary.encode())
        self.assertEqual((pieces[0], pieces[-1]), (b"", b"--\r\n"))
        self.assertIsNone(answer.get("Content-Range"))
        result = []
        for piece in pieces[1:-1]:
            header, _, body = piece.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in header.decode().strip().split("\r\n"))
            self.assertEqual(fields["Content-Type"], "application/x-protobuf")
            result.append((fields["Content-Range"], body))
        return result

    def test_several_ranges(self):
        n = len(DATA)
        answer = self.server.get("/a.pftrace", Range="bytes=0-0, 100000-250000 ,-3")
        self.assertEqual(self.parts(answer), [(f"bytes 0-0/{n}", DATA[:1]), (f"bytes 100000-250000/{n}", DATA[100000:250001]), (f"bytes {n - 3}-{n - 1}/{n}", DATA[-3:])])
        # In the order of the request, overlapping or not.
        answer = self.server.get("/small.pftrace", Range="bytes=20-29,10-24")
        self.assertEqual(self.parts(answer), [("bytes 20-29/1000", DATA[20:30]), ("bytes 10-24/1000", DATA[10:25])])

    def test_too_many_ranges_are_one_file(self):
        some = ",".join(f"{i * 10}-{i * 10}" for i in range(16))
        self.assertEqual(len(self.parts(self.server.get("/a.pftrace", Range="bytes=" + some))), 16)
        self.assertEqual(self.server.get("/a.pftrace", Range=f"bytes={some},500-501").status, 200)
        self.assertEqual(self.server.get("/a.pftrace", Range="bytes=" + ",".join(["0-"] * 16)).status, 200)
        self.assertEqual(self.server.get("/a.pftrace", Range="bytes=" + ",".join(["999999-"] * 500)).status, 200)

    def test_a_file_that_shrinks_while_it_is_read_does_not_hang(self):
        path = self.write("shrinking.pftrace", bytes(32 << 20))
        with self.server.connect() as connection:
            connection.sendall(b"GET /shrinking.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(1000)
            os.truncate(path, 1 << 20)
            while connection.recv(1 << 20):
                pass
        self.assertEqual(self.server.get("/small.pftrace").status, 200)


if __name__ == "__main__":
    served.main()
