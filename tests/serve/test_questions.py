# SPDX-License-Identifier: Apache-2.0
"""The API about one trace: its way over HTTP. What the answers say is tests/levels' concern."""
import gzip
import json
import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import served

GOLDEN = os.environ.get("IKET_FIXTURES", "")
QUESTIONS = ("facts", "tables", "window", "statistics", "activity?rows=0-1&from=0&to=1000&bins=4", "events?ids=0", "find?by=point&lane=0&time=0&near=0", "longest", "points?class=0", "rows.csv")


LONG = "rows.csv?sm=0-30"  # 3 MB


def decode(folder, case, name, source="dump.bin", meta="meta.json"):
    at = os.path.join(GOLDEN, case)
    subprocess.run(["iket-decode", os.path.join(at, source), "--meta", os.path.join(at, meta), "-o", folder, "--name", name, "--emit", "pftrace,pftrace.gz"], check=True, capture_output=True)


class Questions(served.FolderTest):
    @classmethod
    def fill(cls):
        cls.cache = os.path.join(cls.scratch.name, "cache")
        os.makedirs(cls.cache)
        decode(os.path.join(cls.folder, "run 1"), "all_features", "a;b")
        decode(cls.folder, "collector/hopper_gemm", "gemm", "iket.data.bin", "iket.data.json")
        os.remove(os.path.join(cls.folder, "gemm.pftrace.gz"))
        os.remove(os.path.join(cls.folder, "run 1", "a;b.pftrace"))
        for case in ("all_features", "every_payload"):
            shutil.copytree(os.path.join(GOLDEN, case), os.path.join(cls.folder, case))
        cls.write("bad/noise.pftrace", b"no trace at all" * 100)
        cls.write("bad/only.trace.json", "{}")
        whole = served.read(os.path.join(cls.folder, "gemm.pftrace"))
        cls.write("cut/gemm.pftrace", whole[: len(whole) * 2 // 3])
        cls.server = served.Server(cls.folder, environment={"XDG_CACHE_HOME": cls.cache})

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            pass
        super().tearDownClass()

    def address(self, base, question, folder=""):
        return f"/{urllib.parse.quote(folder)}{'/' if folder else ''}api/v1/trace/{urllib.parse.quote(base, safe='')}/{question}"

    def facts(self, base, folder="", server=None):
        answer = (server or self.server).get(self.address(base, "facts", folder))
        self.assertEqual((answer.status, answer.get("Content-Type"), answer.get("Cache-Control")), (200, "application/json", "no-store"))
        return json.loads(answer.body)

    def until_made(self, base, folder="", server=None):
        """The facts when the level file is there, or cannot be."""
        for _ in range(600):
            facts = self.facts(base, folder, server)
            self.assertEqual(facts["version"], 1)
            if facts["state"] not in ("waiting", "building"):
                return facts
            time.sleep(0.02)
        self.fail(f"{base} stays {facts}")

    def fresh(self, *options):
        """A server with an empty cache."""
        cache = tempfile.mkdtemp(dir=self.scratch.name)
        return served.Server(self.folder, *options, environment={"XDG_CACHE_HOME": cache}), os.path.join(cache, "iket")

    def until_idle(self, server):
        """What the index asks for has its turn last."""
        for name in ("dump.bin", "meta.json"):
            os.utime(os.path.join(self.folder, "all_features", name), (1_700_000_000, 1_700_000_000))
        for _ in range(600):
            traces = json.loads(server.get("/api/v1/traces").body)["traces"]
            if any("facts" in trace for trace in traces if trace["folder"] == "all_features"):
                break
            time.sleep(0.05)

    def level_files(self, cache):
        return [os.path.join(cache, name) for name in os.listdir(cache) if name.endswith(".levels")]

    # ---- what is asked about

    def test_every_question(self):
        self.assertEqual(self.until_made("gemm")["state"], "ready")
        for question in QUESTIONS:
            answer = self.server.get(self.address("gemm", question))
            self.assertEqual(answer.status, 200, (question, answer.body))
            wanted = "text/csv" if question == "rows.csv" else "application/octet-stream" if question.startswith("activity") else "application/json"
            self.assertEqual(answer.get("Content-Type").split(";")[0], wanted, question)
            self.assertEqual(answer.get("X-Content-Type-Options"), "nosniff")
            if wanted == "application/json":
                self.assertEqual(json.loads(answer.body)["version"], 1, question)

    def test_facts(self):
        facts = self.until_made("gemm")
        self.assertEqual((facts["state"], facts["launches"], facts["warps"]), ("ready", 1, 1056))
        tables = json.loads(self.server.get(self.address("gemm", "tables")).body)
        self.assertEqual((facts["events"], facts["t0"]), (tables["events"], tables["t0"]))
        self.assertGreaterEqual(facts["events"], 42240)

    def test_folders_and_names(self):
        """A packed .pftrace, in a folder, with what an address escapes."""
        facts = self.until_made("a;b", "run 1")
        self.assertEqual((facts["state"], facts["warps"]), ("ready", 8))
        self.assertEqual(self.server.get("/run%201/api/v1/trace/a%3Bb/window").status, 200)
        self.assertEqual(self.server.get("/api/v1/trace/a%3Bb/window").status, 404)

    def test_growing_source(self):
        """Nor is what is decoded on demand decoded once for each step."""
        at, steps = os.path.join(GOLDEN, "collector/hopper_gemm"), 30
        whole = served.read(os.path.join(at, "iket.data.bin"))
        self.write("grows/iket.data.json", served.read(os.path.join(at, "iket.data.json")))
        server, cache = self.fresh()
        with server:
            for step in range(1, steps + 1):
                self.write("grows/iket.data.bin", whole[: len(whole) * step // steps])
                self.facts("iket.data.bin.iket", "grows", server)
            self.assertEqual(self.until_made("iket.data.bin.iket", "grows", server)["warps"], 1056)
            self.until_idle(server)
            self.assertLess(len([name for name in os.listdir(cache) if name.endswith(".pftrace")]), steps // 4)

    def test_decoded_on_demand(self):
        for folder, base in (("all_features", "dump.bin.iket"), ("all_features", "dump.bin.iket;warp=0"), ("every_payload", "dump.bin.iket")):
            answer = self.server.get(self.address(base, "window", folder))
            self.assertEqual((answer.status, answer.get("Retry-After")), (503, "1"))
            self.assertEqual(self.until_made(base, folder)["state"], "ready", base)
        whole, part = self.facts("dump.bin.iket", "all_features"), self.facts("dump.bin.iket;warp=0", "all_features")
        self.assertGreater(whole["events"], part["events"])
        self.assertEqual(whole["events"], self.until_made("a;b", "run 1")["events"])
        failed = self.until_made("dump.bin.iket;sm=banana", "all_features")
        self.assertEqual(failed["state"], "failed")
        self.assertIn("sm: ", failed["error"])

    def test_what_is_not_there(self):
        self.until_made("gemm")
        for path, why in ((self.address("nope", "facts"), "no such trace"), (self.address("nope.iket", "facts"), "no such trace"), (self.address("gemm", "wonder"), ""), (self.address("gemm", "facts", "run 1"), "no such trace")):
            answer = self.server.get(path)
            self.assertEqual((answer.status, answer.get("Content-Type")), (404, "application/json"), path)
            self.assertIn(why, json.loads(answer.body)["error"])
        for path in ("/api/v1/trace/gemm", "/api/v1/trace/gemm/", "/api/v1/trace/../gemm/facts", "/api/v1/trace//facts", "/api/v1/trace/.gemm/facts", "/xapi/v1/trace/gemm/facts", "/api/v1/trace/a/b/facts"):
            self.assertEqual(self.server.get(path).status, 404, path)
        self.assertEqual(self.facts("dump.bin", "all_features")["state"], "none")
        answer = self.server.get(self.address("dump.bin", "tables", "all_features"))
        self.assertEqual((answer.status, json.loads(answer.body)["state"]), (404, "none"))

    def test_wrong_arguments(self):
        self.until_made("gemm")
        for question in ("window?lanes=banana", "window?ns_per_pixel=x", "window?planet=mars", "window?sm=1&sm=2", "window?lanes=%zz", "window?lanes=%", "window?lanes=0-1%00", "activity", "events?ids=-1", "statistics?from=x",
                         "window?" + "&".join(f"a{i}=1" for i in range(100))):
            answer = self.server.get(self.address("gemm", question))
            self.assertEqual((answer.status, answer.get("Content-Type")), (400, "application/json"), question)
            self.assertTrue(json.loads(answer.body)["error"], question)
        self.assertEqual(self.server.get(self.address("gemm", "statistics?sm=0-1&name=" + urllib.parse.quote_plus("no such")), host="localhost").status, 400)

    def test_more_than_can_be_answered(self):
        self.until_made("gemm")
        answer = self.server.get(self.address("gemm", "activity?rows=" + ",".join(["0-2"] * 600) + "&from=0&to=1000&bins=8192"))
        self.assertEqual(answer.status, 413, answer.body[:300])
        self.assertTrue(json.loads(answer.body)["error"])

    # ---- while it is made

    def test_first_question_makes_it(self):
        server, cache = self.fresh()
        with server:
            answer = server.get(self.address("gemm", "window"))
            self.assertEqual((answer.status, answer.get("Retry-After"), answer.get("Cache-Control")), (503, "1", "no-store"))
            self.assertIn(json.loads(answer.body)["state"], ("waiting", "building"))
            self.assertEqual(self.until_made("gemm", server=server)["state"], "ready")
            self.assertEqual(server.get(self.address("gemm", "window?lanes=0-1")).status, 200)
            # Only the level file is left, when its maker is gone, and nothing beside the user's.
            for _ in range(100):
                if len(os.listdir(cache)) == 1:
                    break
                time.sleep(0.05)
            self.assertEqual([name.rpartition(".")[2] for name in os.listdir(cache)], ["levels"])
            self.assertEqual(os.listdir(os.path.join(self.folder, "cut")), ["gemm.pftrace"])

    def test_what_it_cannot_be_made_of(self):
        facts = self.until_made("noise", "bad")
        self.assertEqual(facts["state"], "failed")
        self.assertRegex(facts["error"], r"bad/noise\.pftrace: .*byte 0x")
        answer = self.server.get(self.address("noise", "tables", "bad"))
        self.assertEqual((answer.status, answer.get("Retry-After")), (422, None))
        self.assertEqual(json.loads(answer.body), facts)

    def test_cut_trace_is_what_is_whole(self):
        self.assertEqual(self.until_made("gemm", "cut")["state"], "ready")
        self.assertTrue(json.loads(self.server.get(self.address("gemm", "tables", "cut")).body)["notes"])

    def test_damaged_cache_is_made_anew(self):
        server, cache = self.fresh()
        with server:
            wanted = self.until_made("gemm", server=server)
            for damage in ("cut while it is open", "cut", "another version", "noise", "gone"):
                [path] = self.level_files(cache)
                if damage.startswith("cut"):
                    os.truncate(path, os.path.getsize(path) // 2)
                elif damage == "gone":
                    os.remove(path)
                else:
                    with open(path, "r+b") as f:
                        f.write(b"IKETLVL0" if damage == "another version" else os.urandom(4096))
                if damage != "cut while it is open":
                    server.end()
                    server = served.Server(self.folder, environment={"XDG_CACHE_HOME": os.path.dirname(cache)})
                answer = server.get(self.address("gemm", "window"))
                self.assertEqual(answer.status, 503, damage)
                self.assertEqual(self.until_made("gemm", server=server), wanted, damage)
            server.end()

    def test_changed_trace_is_another(self):
        shutil.copy(os.path.join(self.folder, "gemm.pftrace"), os.path.join(self.folder, "changing.pftrace"))
        first = self.until_made("changing")
        self.write("changing.pftrace", served.read(os.path.join(self.folder, "cut", "gemm.pftrace")))
        self.assertNotEqual(self.until_made("changing")["events"], first["events"])

    def test_growing_trace(self):
        """Asked about at every step, it is not read once for each."""
        whole = served.read(os.path.join(self.folder, "gemm.pftrace"))
        server, cache = self.fresh()
        with server:
            for size in range(100_000, len(whole), 10_000):
                self.write("growing/x.pftrace", whole[:size])
                self.facts("x", "growing", server)
            self.write("growing/x.pftrace", whole)
            self.assertEqual(self.until_made("x", "growing", server)["warps"], 1056)
            self.until_idle(server)
            self.assertLess(len(self.level_files(cache)), (len(whole) - 100_000) // 10_000 // 4)

    def test_ends_while_it_is_made(self):
        marker = '{"locIdx":0,"markerNameIdx":1,"timestamp":1800000000000000000,"color":4294967295}'
        head = '{"meta":{"version":1},"stringTable":["k","m"],"locationTable":[{"smId":0,"tpcId":-1,"gpcId":-1,"ctaId":[0,0,0],"warpId":0}],"graphLaunches":{},"launches":[{"contextId":1,"gridId":1,'
        head += '"kernelName":"k","gridDimX":1,"gridDimY":1,"gridDimZ":1,"blockDimX":32,"blockDimY":1,"blockDimZ":1,"ranges":[],"warpLifetimes":[{"locIdx":0,"startTs":1800000000000000000,"endTs":1800000000000000032}],'
        path = self.write("x.trace.json", head + '"markers":[' + ",".join([marker] * 1_000_000) + "]}]}", folder=self.outside)
        subprocess.run(["iket-decode", path, "-o", os.path.join(self.folder, "large"), "--name", "x", "--emit", "pftrace"], check=True, capture_output=True)
        server, cache = self.fresh()
        with server:
            server.get(self.address("x", "facts", "large"))
            time.sleep(0.05)
            started = time.monotonic()
            server.end()
            self.assertLess(time.monotonic() - started, 10)
        shutil.rmtree(os.path.join(self.folder, "large"))
        self.assertEqual([name for name in os.listdir(cache) if not name.endswith(".levels")], [])

    # ---- HTTP

    def test_tags(self):
        self.until_made("gemm")
        for question in ("tables", "window?lanes=0-300", "statistics", LONG):
            path = self.address("gemm", question)
            plain, packed = self.server.get(path), self.server.get(path, Accept_Encoding="br, gzip;q=0.5")
            self.assertEqual((plain.get("Content-Encoding"), packed.get("Content-Encoding")), (None, "gzip"), question)
            self.assertNotEqual(plain.get("ETag"), packed.get("ETag"))
            self.assertEqual(plain.get("Cache-Control"), "no-cache")
            self.assertIn("Accept-Encoding", [value for key, value in plain.fields if key == "Vary"])
            for tag, more in ((plain.get("ETag"), {}), (packed.get("ETag"), {"Accept_Encoding": "gzip"}), (f'"x", {plain.get("ETag")}', {"Accept_Encoding": "gzip"}), ("*", {})):
                answer = self.server.get(path, If_None_Match=tag, **more)
                self.assertEqual((answer.status, answer.body), (304, b""), (question, tag))
            self.assertEqual(self.server.get(path, If_None_Match='"x"').status, 200)
        # Another server with another cache has the same.
        server, _ = self.fresh()
        with server:
            self.until_made("gemm", server=server)
            self.assertEqual(server.get(path).get("ETag"), plain.get("ETag"))

    def test_packed(self):
        self.until_made("gemm")
        for question in ("tables", "window", "statistics", "activity?rows=0-1800&from=0&to=13000&bins=2000"):
            path = self.address("gemm", question)
            plain, packed = self.server.get(path), self.server.get(path, Accept_Encoding="gzip")
            self.assertEqual((plain.get("Content-Encoding"), packed.get("Content-Encoding")), (None, "gzip"), question)
            self.assertEqual(gzip.decompress(packed.body), plain.body)
            self.assertLess(len(packed.body), len(plain.body))
            self.assertEqual(self.server.get(path, Accept_Encoding="gzip;q=0, identity").body, plain.body)
        self.assertEqual(self.server.get(self.address("gemm", "facts"), Accept_Encoding="gzip").get("Content-Encoding"), None)
        # What is too large for the memory is sent as it is.
        answer = self.server.get(self.address("gemm", "activity?from=0&to=13000&bins=8192&rows=" + ",".join(f"{i}-{i + 1}" for i in range(160))), Accept_Encoding="gzip")
        self.assertEqual((answer.status, answer.get("Content-Encoding")), (200, None), answer.body[:200])
        self.assertGreater(len(answer.body), 16 << 20)

    def test_head(self):
        self.until_made("gemm")
        for question in ("facts", "tables", "window?lanes=0-3", "rows.csv", "wonder"):
            path = self.address("gemm", question)
            head, get = self.server.ask(path, "HEAD"), self.server.get(path)
            self.assertEqual((head.status, head.get("Content-Length"), head.get("Content-Type"), head.body), (get.status, str(len(get.body)), get.get("Content-Type"), b""), question)

    def test_who_may_ask(self):
        self.until_made("gemm")
        path = self.address("gemm", "tables")
        self.assertEqual(self.server.ask(path, "POST").status, 405)
        self.assertEqual(self.server.get(path, Content_Length="5").status, 413)
        self.assertEqual(self.server.get(path, host="evil.example").status, 403)
        self.assertEqual(self.server.get(path, Origin="https://evil.example").status, 403)
        self.assertEqual(self.server.get(path, Sec_Fetch_Site="cross-site").status, 403)
        self.assertIsNone(self.server.get(path, Origin="http://localhost:9").get("Access-Control-Allow-Origin"))
        self.assertEqual(self.server.get(path, Origin="https://ui.perfetto.dev").get("Access-Control-Allow-Origin"), "https://ui.perfetto.dev")
        token = self.write("token", "0123456789abcdef", folder=self.scratch.name)
        server = served.Server(self.folder, "--token-file", token, environment={"XDG_CACHE_HOME": self.cache})
        with server:
            self.assertEqual(server.get(path).status, 401)
            self.assertEqual(server.get(path + "?token=0123456789abcdee").status, 401)
            self.assertEqual(server.get(path, Authorization="Bearer 0123456789abcdef").status, 200)
            self.assertEqual(server.get(path, Cookie=f"iket-{server.port}=0123456789abcdef").status, 200)
            answer = server.get(self.address("gemm", "window?lanes=0-1&token=0123456789abcdef"))
            self.assertEqual((answer.status, answer.get("Location")), (303, "./window?lanes=0-1"))

    def test_one_connection_asks_again_and_again(self):
        self.until_made("gemm")
        with self.server.connect() as connection:
            for question in QUESTIONS * 3:
                connection.sendall(f"GET {self.address('gemm', question)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                self.assertEqual(served.read_answer(connection).status, 200, question)

    # ---- many, long, gone

    def test_two_ask_at_once(self):
        wanted = {question: None for question in ("window", "statistics", LONG, "tables")}
        self.until_made("gemm")
        for question in wanted:
            wanted[question] = self.server.get(self.address("gemm", question)).body
        wrong = []

        def client():
            for question in list(wanted) * 2:
                try:
                    if self.server.get(self.address("gemm", question)).body != wanted[question]:
                        wrong.append(question)
                except Exception as why:  # noqa: BLE001 (told by the main thread)
                    wrong.append((question, why))

        clients = [threading.Thread(target=client) for _ in range(6)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        self.assertEqual(wrong, [])

    def memory(self, server):
        """Resident MB that are the server's own: not those of mapped files. None where a sanitizer keeps what is freed."""
        if "libasan" in served.read(f"/proc/{server.process.pid}/maps").decode():
            return None
        with open(f"/proc/{server.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("RssAnon")) / 1000

    def ask_many(self, server, count, question=LONG, fields=""):
        connections = [server.connect() for _ in range(count)]
        for connection in connections:
            connection.sendall(f"GET {self.address('gemm', question)} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        return connections

    def ready(self, connections, seconds):
        return select.select(connections, [], [], seconds)[0]

    def test_long_answers_hold_nobody_up(self):
        """Tables of everything wait for each other, and everything else for none of them; nor do they fill the memory."""
        server, _ = self.fresh()
        with server:
            self.until_made("gemm", server=server)
            before, size = self.memory(server), len(server.get(self.address("gemm", LONG)).body)
            # On a busy machine this process may come to look when all are done: one time of five is enough.
            self.assertTrue(any(self.overtakes(server, before, size) for _ in range(5)))

    def overtakes(self, server, before, size):
        long = self.ask_many(server, 50)
        try:
            self.assertEqual(server.get("/gemm.pftrace", Range="bytes=0-9").status, 206)
            for question in ("window?lanes=0-50", "events?ids=5", "tables", "facts"):
                self.assertEqual(server.get(self.address("gemm", question)).status, 200)
            overtook = len(self.ready(long, 0)) < 50  # some did not have their turn yet
            for _ in range(600):
                if len(self.ready(long, 0)) == 50:
                    break
                time.sleep(0.05)
            self.assertGreater(50 * size, 100e6)
            if before is not None:
                self.assertLess(self.memory(server) - before, 85)
            for connection in long:
                self.assertEqual(len(served.read_answer(connection).body), size)
            return overtook
        finally:
            for connection in long:
                connection.close()

    def test_clients_that_go_away(self):
        self.until_made("gemm")
        def work(wait):
            """Processor time of the server for 60 tables of everything, which the clients wait for or not."""
            before = self.processor_time(self.server)
            connections = self.ask_many(self.server, 60)
            answers = {served.read_answer(connection).status for connection in connections} if wait else {200}
            for connection in connections:
                connection.close()
            for _ in range(2):  # when the first is answered, all of those have been read; the second has its turn after them
                self.assertEqual(self.server.get(self.address("gemm", "longest")).status, 200)
            if answers == {200, 503}:
                return 0  # the queue was still full of those that went away: this time does not count
            self.assertEqual(answers, {200})
            return self.processor_time(self.server) - before

        # On a busy machine the answers may be made before their clients come to close.
        self.assertTrue(any(work(False) < 0.7 * work(True) for _ in range(5)))

    def processor_time(self, server):
        fields = served.read(f"/proc/{server.process.pid}/stat").rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12])

    def test_waiting_for_an_answer_is_no_slowness(self):
        """Together they take longer than the time after which a connection is dropped on which nothing moves."""
        with served.Server(self.folder, "--timeout", "1", environment={"XDG_CACHE_HOME": self.cache}) as server:
            self.until_made("gemm", server=server)
            waiting = self.ask_many(server, 30, "rows.csv", "Accept-Encoding: gzip\r\n")
            for connection in waiting:
                self.assertEqual(served.read_answer(connection).status, 200)
                connection.close()

    def test_more_wait_than_there_is_room_for(self):
        self.until_made("gemm")
        many = self.ask_many(self.server, 400)
        try:
            refused = []
            for _ in range(600):
                refused = [connection for connection in self.ready(many, 1) if connection.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 503"]
                if refused:
                    break
                time.sleep(0.02)
            answer = served.read_answer(refused[0])
            self.assertEqual((answer.status, answer.get("Retry-After"), answer.get("Content-Type")), (503, "1", "application/json"))
            self.assertIn("too many", json.loads(answer.body)["error"])
            # What is quick has room all the same.
            self.assertEqual(self.server.get(self.address("gemm", "facts")).status, 200)
        finally:
            for connection in many:
                connection.close()

    def test_ends_while_answers_are_made(self):
        server, _ = self.fresh()
        with server:
            self.until_made("gemm", server=server)
            waiting = self.ask_many(server, 200)
            self.ready(waiting, 20)
            server.end()
            for connection in waiting:
                connection.close()


if __name__ == "__main__":
    if not os.path.isdir(GOLDEN):
        raise SystemExit("IKET_FIXTURES does not name the golden fixtures")
    served.main()
