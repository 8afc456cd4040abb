# SPDX-License-Identifier: Apache-2.0
"""The viewer's page for every trace: as it lies there, of another build, of nobody; decoded on demand; the index's facts."""
import gzip
import hashlib
import html
import base64
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import served

GOLDEN = os.environ.get("IKET_FIXTURES", "")
POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


class View(served.FolderTest):
    @classmethod
    def fill(cls):
        cls.cache = os.path.join(cls.scratch.name, "cache")
        os.makedirs(cls.cache)
        for case in ("all_features", "broken_ranges"):
            shutil.copytree(os.path.join(GOLDEN, case), os.path.join(cls.folder, case))
        source = os.path.join(GOLDEN, "collector", "features")
        for name in ("iket.data.bin", "iket.data.json"):
            cls.write(f"graph/{name}", served.read(os.path.join(GOLDEN, "collector", "graph", name)))
            cls.write(f"run/pid_0x1f/{name}", served.read(os.path.join(source, name)))
        cls.write("run/nvidia.trace.json.gz", served.read(os.path.join(source, "expected.trace.json.gz")))
        cls.write("run/nvidia.html", "<!doctype html><script>alert(1)</script>a landing page")
        cls.write("bad/cut.trace.json", '{"launches": [')
        cls.write("bad/dump.bin", b"IKETDUMP" + bytes(100))
        cls.write("bad/iket.data.bin", b"no schema beside it")
        subprocess.run(["iket-decode", os.path.join(cls.folder, "all_features", "dump.bin"), "--meta", os.path.join(cls.folder, "all_features", "meta.json"), "-o", os.path.join(cls.folder, "ours"),
                        "--name", "a"], check=True, capture_output=True)
        cls.age()
        cls.server = served.Server(cls.folder, environment={"XDG_CACHE_HOME": cls.cache})

    @classmethod
    def age(cls):
        """What was written just now is not read for its facts: it may still grow."""
        for folder, _, names in os.walk(cls.folder):
            for name in names:
                os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000))

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            pass
        super().tearDownClass()

    def until(self, path, *unready, server=None):
        """Asks until the answer is not that it takes a moment."""
        for _ in range(600):
            answer = (server or self.server).get(path)
            if answer.status not in unready:
                return answer
            time.sleep(0.05)
        self.fail(f"{path} stays {answer.status}")

    def assert_runs_its_own_script_alone(self, answer):
        policy = answer.get("Content-Security-Policy")
        scripts = re.findall(rb"<script>(.*?)</script>", answer.body, re.S)
        self.assertEqual(len(scripts), 1)
        digest = base64.b64encode(hashlib.sha256(scripts[0]).digest()).decode()
        self.assertIn(f"script-src 'sha256-{digest}';", policy)
        self.assertNotIn("unsafe-inline", policy)
        self.assertNotIn("sandbox", policy)
        for part in ("default-src 'none'", "worker-src blob:", "connect-src 'self'"):
            self.assertIn(part, policy)

    # ---- pages that lie there

    def test_our_page_of_this_build(self):
        answer = self.server.get("/ours/a.html")
        with open(os.path.join(self.folder, "ours", "a.html"), "rb") as f:
            self.assertEqual(answer.body, f.read())
        self.assertIsNotNone(answer.get("ETag"))
        self.assert_runs_its_own_script_alone(answer)

    def test_our_page_of_another_build(self):
        page = self.server.get("/ours/a.html").body
        old = POLICY.sub(lambda m: m[0].replace(b"sha256-", b"sha256-AAAA"), page).replace(b"<script>", b"<script>/* as it was then */")
        for ending in (".pftrace", ".pftrace.gz", ".trace.json"):
            shutil.copy(os.path.join(self.folder, "ours", "a" + ending), os.path.join(self.folder, "ours", "old" + ending))
        self.write("ours/old.html", old)
        answer = self.server.get("/ours/old.html")
        self.assertEqual(answer.status, 200)
        self.assertNotIn(b"as it was then", answer.body)
        self.assert_runs_its_own_script_alone(answer)
        self.assertIn(b'"base":"old"', answer.body)
        # Without a trace beside it there is nothing to make a page for: it is a file like any other.
        self.write("elsewhere/old.html", old)
        answer = self.server.get("/elsewhere/old.html")
        self.assertEqual(answer.body, old)
        self.assertNotIn("script-src", answer.get("Content-Security-Policy"))

    def test_page_of_nobody(self):
        for content in (b"<!doctype html><script>alert(1)</script>", b'<meta name="generator" content="iket"><script>alert(1)</script>'):
            self.write("run/foreign.html", content)
            answer = self.server.get("/run/foreign.html")
            self.assertEqual(answer.body, content)
            self.assertNotIn("script-src", answer.get("Content-Security-Policy"))
            self.assertIn("sandbox", answer.get("Content-Security-Policy"))
        # Our mark and our policy in another's page: nothing runs but a script of ours.
        head = POLICY.search(self.server.get("/ours/a.html").body)[0]
        self.write("run/pretender.html", head + b'<meta name="generator" content="iket"><script>alert(1)</script>')
        policy = self.server.get("/run/pretender.html").get("Content-Security-Policy")
        digest = base64.b64encode(hashlib.sha256(b"alert(1)").digest()).decode()
        self.assertNotIn(digest, policy)
        self.assertNotIn("unsafe-inline", policy)

    # ---- decoded on demand

    def test_dump_is_decoded_when_it_is_opened(self):
        answer = self.until("/all_features/dump.bin.iket.html", 202)
        self.assertEqual((answer.status, answer.get("Content-Type")), (200, "text/html; charset=utf-8"))
        self.assert_runs_its_own_script_alone(answer)
        self.assertIn(b'"base":"dump.bin.iket"', answer.body)
        trace = self.server.get("/all_features/dump.bin.iket.pftrace")
        self.assertEqual((trace.status, trace.get("Content-Type")), (200, "application/x-protobuf"))
        with open(os.path.join(self.folder, "ours", "a.pftrace"), "rb") as f:
            self.assertEqual(trace.body, f.read())
        part = self.server.get("/all_features/dump.bin.iket.pftrace", Range="bytes=3-9", If_Range=trace.get("ETag"))
        self.assertEqual((part.status, part.body), (206, trace.body[3:10]))
        # Never beside the user's file.
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "all_features"))), sorted(os.listdir(os.path.join(GOLDEN, "all_features"))))
        self.assertEqual(os.listdir(self.cache), ["iket"])

    def test_everything_decodes(self):
        for path in ("/all_features/dump.bin", "/broken_ranges/dump.bin", "/run/pid_0x1f/iket.data.bin", "/run/nvidia"):
            trace = self.until(path + ".iket.pftrace", 503)
            self.assertEqual(trace.status, 200, path)
            self.assertEqual(trace.body[:1], b"\n")
            self.assertEqual(self.server.get(path + ".iket.html").status, 200)

    def test_while_it_is_decoded(self):
        shutil.copytree(os.path.join(self.folder, "all_features"), os.path.join(self.folder, "again"))
        answer = self.server.get("/again/dump.bin.iket.pftrace")
        if answer.status != 200:
            self.assertEqual((answer.status, answer.get("Retry-After")), (503, "1"))
        answer = self.server.get("/again/dump.bin.iket.html")
        if answer.status != 200:
            self.assertEqual(answer.status, 202)
            self.assertIn(b'http-equiv="refresh"', answer.body)
            self.assertIn(b"Decoding dump.bin", answer.body)
        self.assertEqual(self.until("/again/dump.bin.iket.html", 202).status, 200)

    def test_what_cannot_be_decoded(self):
        for path, why in (("/bad/cut.trace.json", b"bad/cut.trace.json: byte 0x"), ("/bad/dump.bin", b"bad/dump.bin: byte 0x"), ("/bad/iket.data.bin", b"bad/iket.data.bin: byte 0x0")):
            base = path.removesuffix(".trace.json")
            answer = self.until(base + ".iket.html", 202)
            self.assertEqual(answer.status, 422, path)
            self.assertIn(why, answer.body)
            self.assertNotIn(b"/proc/", answer.body)
            self.assertEqual(self.server.get(base + ".iket.pftrace").status, 422)

    def test_what_is_not_there(self):
        for path in ("/nothing.iket.html", "/nothing.iket.pftrace", "/.iket.html", "/all_features/.iket.html", "/all_features/meta.json.iket.html", "/../x.iket.html", "/ours/a.iket.pftrace.gz",
                     "/all_features.iket.html"):
            self.assertEqual(self.server.get(path).status, 404, path)

    def test_changed_source_is_decoded_anew(self):
        self.write("changing/dump.bin", served.read(os.path.join(GOLDEN, "all_features", "dump.bin")))
        self.write("changing/meta.json", served.read(os.path.join(GOLDEN, "all_features", "meta.json")))
        first = self.until("/changing/dump.bin.iket.pftrace", 503)
        for name in ("dump.bin", "meta.json"):
            self.write("changing/" + name, served.read(os.path.join(GOLDEN, "every_payload", name)))
        second = self.until("/changing/dump.bin.iket.pftrace", 503)
        self.assertEqual((first.status, second.status), (200, 200))
        self.assertNotEqual(first.body, second.body)

    def test_a_part_of_a_trace(self):
        """What the commands' selectors leave: the same bytes as iket-decode writes."""
        for selection, options in (("sm=3", ["--sm", "3"]), ("launch=0;warp=0", ["--launch", "0", "--warp", "0"]), ("time=100..300", ["--time", "100..300"]), ("kernel=main;cta=0,0,*", ["--kernel", "main", "--cta", "0,0,*"])):
            wanted = os.path.join(self.scratch.name, "part")
            done = subprocess.run(["iket-decode", os.path.join(self.folder, "all_features", "dump.bin"), "--meta", os.path.join(self.folder, "all_features", "meta.json"), "-o", wanted, "--force",
                                   "--name", "x", "--emit", "pftrace,json", *options], capture_output=True, text=True)
            if done.returncode == 1:
                self.assertEqual(self.until(f"/all_features/dump.bin.iket;{selection}.pftrace", 503).status, 422)
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            for ending in (".pftrace", ".trace.json"):
                answer = self.until(f"/all_features/dump.bin.iket;{selection}{ending}", 503)
                self.assertEqual(answer.body, served.read(os.path.join(wanted, "x" + ending)), selection + ending)
            page = self.until(f"/all_features/dump.bin.iket%3B{selection.replace('=', '%3D')}.html", 202)
            self.assertIn(f'"base":"dump.bin.iket;{selection}"'.encode(), page.body)
            self.assert_runs_its_own_script_alone(page)
        self.assertEqual(self.until("/run/nvidia.iket.trace.json", 503).get("Content-Type"), "application/json")
        for selection, why in (("sm=banana", b"sm: "), ("planet=mars", b"is no selector"), ("sm", b"selects nothing"), (";", b"selects nothing"), ("sm=99999", b"99999"), ("kernel=" + "k" * 600, b"selects nothing")):
            answer = self.until(f"/all_features/dump.bin.iket;{selection}.html", 202)
            self.assertEqual(answer.status, 422, selection)
            self.assertIn(why, answer.body, selection)
        self.assertEqual(self.server.get("/alone/x.iket;sm=3.html").status, 404)

    def test_a_large_trace_opens_by_questions(self):
        cache = os.path.join(self.scratch.name, "levels-cache")
        os.makedirs(cache)
        with served.Server(self.folder, "--most-events", "1", environment={"XDG_CACHE_HOME": cache}) as server:
            for path in ("graph/iket.data.bin", "all_features/dump.bin"):
                answer = self.until(f"/{path}.iket.html?perfetto=http%3A%2F%2Fui", 202, server=server)
                self.assertEqual((answer.status, answer.get("Location")), (303, f"./{os.path.basename(path)}.iket.html?perfetto=http%3A%2F%2Fui&levels"))
                page = server.get(f"/{path}.iket.html?levels")
                self.assertEqual(page.status, 200)
                self.assertIn(f'"base":"{os.path.basename(path)}.iket"'.encode(), page.body)
                self.assert_runs_its_own_script_alone(page)
            # It is not decoded as a whole before somebody asks.
            self.assertEqual([name for name in os.listdir(os.path.join(cache, "iket")) if name.endswith(".pftrace")], [])
            page = server.get("/all_features/dump.bin.iket;sm=3.html?levels")
            self.assertIn(b'"base":"dump.bin.iket;sm=3"', page.body)
            # As a whole, when that is asked for.
            self.assertTrue(b'"base":"dump.bin.iket"' in self.until("/all_features/dump.bin.iket.html?all", 202, server=server).body)
            self.assertEqual(server.get("/all_features/dump.bin.iket.html").status, 303)
            # What is small opens as a whole; what lies in the folder is the page's to decide.
            self.assertEqual(self.until("/all_features/dump.bin.iket.html", 202).status, 200)
            self.assertEqual(server.get("/ours/a.html").status, 200)

    def test_parts_to_choose_from(self):
        cache = os.path.join(self.scratch.name, "parts-cache")
        os.makedirs(cache)
        with served.Server(self.folder, "--most-events", "1", environment={"XDG_CACHE_HOME": cache}) as server:
            for path, selectors in (("graph/iket.data.bin", (";launch=graph", "%23", ";time=")), ("all_features/dump.bin", (";sm=", ";time="))):
                answer = self.until(f"/{path}.iket.html?parts", 202, server=server)
                text = answer.body.decode()
                self.assertEqual(answer.status, 200)
                self.assertIn("Open a part of it", text)
                self.assertIn("script-src 'self'", answer.get("Content-Security-Policy"))
                links = [html.unescape(link) for link in re.findall(r'href="\./([^"]*\.iket;[^"]*)"', text)]
                for selector in selectors:
                    self.assertTrue(any(selector in link for link in links), (selector, links))
                for link in links:
                    page = self.until(f"/{os.path.dirname(path)}/{link}", 202, server=server)
                    self.assertIn(page.status, (200, 422), link)  # 422: nothing happens in that time
                    if page.status == 200:
                        self.assert_runs_its_own_script_alone(page)
            self.assertEqual(self.until("/bad/dump.bin.iket.html?parts", 202, server=server).status, 422)
            self.write("alone/y.pftrace", b"\n")
            self.assertIn(b'"base":"y"', server.get("/alone/y.iket.html?parts").body)
            # The index leads there.
            self.assertIn('href="./all_features/dump.bin.iket.html?parts"', server.get("/").body.decode())

    def test_only_pftrace_gets_a_page_too(self):
        self.write("alone/x.pftrace", b"\n")
        answer = self.server.get("/alone/x.iket.html")
        self.assertEqual(answer.status, 200)
        self.assertIn(b'"base":"x"', answer.body)
        self.assert_runs_its_own_script_alone(answer)

    def test_no_place_for_a_cache(self):
        with served.Server(self.folder, environment={"XDG_CACHE_HOME": "/proc/nothing"}) as server:
            answer = self.until("/all_features/dump.bin.iket.html", 202, server=server)
            self.assertEqual(answer.status, 422)
            self.assertIn(b"cache folder cannot be made", answer.body)
            self.assertEqual(server.get("/ours/a.pftrace").status, 200)

    def test_ends_while_it_decodes(self):
        cache = os.path.join(self.scratch.name, "short-lived")
        os.makedirs(cache)
        big = {"meta": {"version": 1}, "stringTable": ["k", "m"], "locationTable": [{"smId": 0, "tpcId": -1, "gpcId": -1, "ctaId": [0, 0, 0], "warpId": 0}], "graphLaunches": {}}
        marker = '{"locIdx":0,"markerNameIdx":1,"timestamp":1800000000000000000,"color":4294967295}'
        text = json.dumps(big)[:-1] + ',"launches":[{"contextId":1,"gridId":1,"kernelName":"k","gridDimX":1,"gridDimY":1,"gridDimZ":1,"blockDimX":32,"blockDimY":1,"blockDimZ":1,"ranges":[],"markers":['
        text += ",".join([marker] * 400_000) + '],"warpLifetimes":[{"locIdx":0,"startTs":1800000000000000000,"endTs":1800000000000000032}]}]}'
        with served.Server(self.folder, environment={"XDG_CACHE_HOME": cache}) as server:
            self.write("slow/x.trace.json", text)
            with server.connect() as client:  # its answer is not waited for, so that the decoder has just begun
                client.sendall(b"GET /slow/x.iket.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
                time.sleep(0.05)
                server.end()
        shutil.rmtree(os.path.join(self.folder, "slow"))
        left = os.listdir(os.path.join(cache, "iket")) if os.path.exists(os.path.join(cache, "iket")) else []
        self.assertEqual([name for name in left if ".part" in name], [])

    # ---- facts

    def test_index_tells_what_is_in_a_trace(self):
        for _ in range(600):
            text = self.server.get("/").body.decode()
            if 'class="pending"' not in text:
                break
            time.sleep(0.05)
        rows = {re.search(r'class="open" href="\./([^"]*)"', row)[1]: row for row in text.split("<tr>") if 'class="open"' in row}
        with gzip.open(os.path.join(self.folder, "run/nvidia.trace.json.gz")) as f:
            wanted = json.load(f)
        events = sum(len(launch["markers"]) + len(launch["ranges"]) for launch in wanted["launches"])
        row = rows["run/nvidia.iket.html"]
        self.assertIn(f'<td class="number">{len(wanted["launches"])}</td>', row)
        self.assertIn(f'<td class="number">{events:,}</td>'.replace(",", "\u202f"), row)
        self.assertIn(wanted["launches"][0]["kernelName"][:80], row)
        self.assertIn('src="data:image/png;base64,', row)
        self.assertIn("pop had no push", rows["broken_ranges/dump.bin.iket.html"])
        self.assertIn("ours/a.html", rows)
        self.assertIn("bad/dump.bin: byte 0x", rows["bad/dump.bin.iket.html"])
        traces = {(t["folder"], t["base"]): t for t in json.loads(self.server.get("/api/v1/traces").body)["traces"]}
        facts = traces["run", "nvidia"]["facts"]
        self.assertEqual((facts["launches"], facts["markers"] + facts["ranges"]), (len(wanted["launches"]), events))
        self.assertEqual(facts["kernels"][0]["launches"], sum(launch["kernelName"] == wanted["launches"][0]["kernelName"] for launch in wanted["launches"]))
        self.assertEqual(traces["run", "nvidia"]["page"], "nvidia.iket.html")
        self.assertEqual(traces["ours", "a"]["page"], "a.html")
        self.assertIn("byte 0x", traces["bad", "dump.bin"]["error"])


if __name__ == "__main__":
    if not os.path.isdir(GOLDEN):
        raise SystemExit("IKET_FIXTURES does not name the golden fixtures")
    served.main()
