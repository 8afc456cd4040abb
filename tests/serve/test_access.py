# SPDX-License-Identifier: Apache-2.0
"""Who may ask: Host, Origin, the token, addresses that are not loopback, TLS."""
import os
import re
import shutil
import socket
import stat
import subprocess
import unittest

import served

UI = "https://ui.perfetto.dev"


class Access(served.FolderTest):
    @classmethod
    def fill(cls):
        cls.write("a.pftrace", "0123456789")
        cls.write("runs/b.pftrace", "b")

    def test_host(self):
        with served.Server(self.folder, "--allow-host", "traces.example.org") as server:
            for host in ("localhost", "localhost:1234", f"127.0.0.1:{server.port}", "127.0.0.1", "127.8.9.1:80", "localhost:", "[::1]:99", "[::1]", "LocalHost:8080", "a.localhost",
                         "traces.example.org", "TRACES.example.org:443"):
                self.assertEqual(server.get("/a.pftrace", host=host).status, 200, host)
            for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "0.0.0.0", "localhost:99999999",
                         "localhost:80:80", "localhost:x", "[::1", "", "local host", "localhost/", "evil.example, localhost", "notlocalhost", ".localhost", "1127.0.0.1"):
                answer = server.get("/a.pftrace", host=host)
                self.assertIn(answer.status, (400, 403), host)
                self.assertNotIn(b"0123456789", answer.body)
            self.assertEqual(server.get("/a.pftrace", host=None).status, 400)
            self.assertEqual(server.get("/a.pftrace", host=None, version="1.0").status, 200)

    def test_origin(self):
        with served.Server(self.folder, "--ui-origin", "http://perfetto.local:10000") as server:
            for origin in (f"http://localhost:{server.port}", "http://127.0.0.1:9", "https://[::1]:9"):
                answer = server.get("/a.pftrace", Origin=origin)
                self.assertEqual((answer.status, answer.get("Access-Control-Allow-Origin")), (200, None), origin)
            for origin in ("https://evil.example", "null", "https://ui.perfetto.dev.evil.example", "http://ui.perfetto.dev", "https://ui.perfetto.dev:444", "file://", "http://perfetto.local",
                           "ftp://localhost"):
                answer = server.get("/a.pftrace", Origin=origin)
                self.assertEqual((answer.status, answer.get("Access-Control-Allow-Origin")), (403, None), origin)
            for origin in (UI, "http://perfetto.local:10000"):
                answer = server.get("/a.pftrace", Origin=origin, Range="bytes=1-2")
                self.assertEqual((answer.status, answer.get("Access-Control-Allow-Origin"), answer.body), (206, origin, b"12"), origin)
                self.assertIn("Origin", answer.get("Vary"))

    def test_what_another_site_embeds(self):
        with served.Server(self.folder) as server:
            for site, mode, status in (("cross-site", "no-cors", 403), ("cross-site", "cors", 403), ("cross-site", None, 403), ("cross-site", "navigate", 200), ("same-site", "no-cors", 200),
                                       ("same-origin", "cors", 200), ("none", "navigate", 200)):
                fields = {"Sec_Fetch_Site": site, **({"Sec_Fetch_Mode": mode} if mode else {})}
                self.assertEqual(server.get("/a.pftrace", **fields).status, status, fields)
            self.assertEqual(server.get("/a.pftrace", Origin=UI, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status, 200)

    def test_preflight(self):
        with served.Server(self.folder) as server:
            answer = server.ask("/a.pftrace", "OPTIONS", Origin=UI, Access_Control_Request_Method="GET", Access_Control_Request_Headers="range")
            self.assertEqual((answer.status, answer.get("Access-Control-Allow-Origin"), answer.get("Access-Control-Allow-Methods")), (204, UI, "GET, HEAD"))
            self.assertIn("Range", answer.get("Access-Control-Allow-Headers"))
            self.assertIsNone(answer.get("Access-Control-Allow-Private-Network"))
            answer = server.ask("/a.pftrace", "OPTIONS", Origin=UI, Access_Control_Request_Method="GET", Access_Control_Request_Private_Network="true")
            self.assertEqual(answer.get("Access-Control-Allow-Private-Network"), "true")
            self.assertEqual(server.ask("/a.pftrace", "OPTIONS", Origin="https://evil.example", Access_Control_Request_Method="GET").status, 403)

    # ---- token

    def token_server(self, *options):
        path = os.path.join(self.scratch.name, "token")
        if os.path.exists(path):
            os.remove(path)
        server = served.Server(self.folder, "--token-file", path, *options)
        with open(path) as f:
            return server, f.read().strip(), path

    def test_token_flow(self):
        server, token, path = self.token_server()
        with server:
            self.assertEqual(server.url, f"http://127.0.0.1:{server.port}/?token={token}")
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertRegex(token, r"^[0-9a-f]{64}$")
            for target in ("/", "/a.pftrace", "/nothing", "/api/v1/server", "/iket-serve/index.css"):
                answer = server.get(target)
                self.assertEqual((answer.status, answer.get("WWW-Authenticate")), (401, "Bearer"), target)
            for target, place in (("/", "./"), ("/runs/", "./"), ("/a.pftrace", "./a.pftrace"), ("/runs/b.pftrace", "./b.pftrace"), ("/runs/b%2e.html", "./b%2e.html")):
                for query, rest in ((f"token={token}", ""), (f"x=1&token={token}&y=%26z&flag", "?x=1&y=%26z&flag")):
                    answer = server.get(f"{target}?{query}")
                    self.assertEqual((answer.status, answer.get("Location"), answer.body), (303, place + rest, b""), target)
                    self.assertEqual(answer.get("Cache-Control"), "no-store")
            name, _, rest = answer.get("Set-Cookie").partition("=")
            self.assertEqual(name, f"iket-{server.port}")
            self.assertEqual(rest, f"{token}; Path=/; HttpOnly; SameSite=Strict")
            cookie = f"{name}={token}"
            for value in (cookie, f"a=b; {cookie}; c=d", f"{name}=wrong; {cookie}", f"a=b;{cookie}"):
                self.assertEqual(server.get("/a.pftrace", Cookie=value).status, 200, value)
            for value in (f"{name}=", f"{name}={token[:-1]}", f"{name}={token}x", f"x{cookie}", f"{name}x={token}", f"other={token}", name, ";;;", f"{name}={'x' * 64}"):
                self.assertEqual(server.get("/a.pftrace", Cookie=value).status, 401, value)
            self.assertEqual(server.get("/a.pftrace", Authorization=f"Bearer {token}").body, b"0123456789")
            for value in (f"Bearer {token}x", f"Basic {token}", "Bearer ", "Bearer", token):
                self.assertEqual(server.get("/a.pftrace", Authorization=value).status, 401, value)
            for query in ("token=", f"token={token}x", "token"):
                self.assertEqual(server.get(f"/?{query}").status, 401, query)
            self.assertNotIn(token.encode(), server.get("/", Cookie=cookie).body)

    def test_a_token_does_not_replace_the_other_checks(self):
        server, token, _ = self.token_server()
        with server:
            bearer = f"Bearer {token}"
            self.assertEqual(server.get("/a.pftrace", host="evil.example", Authorization=bearer).status, 403)
            self.assertEqual(server.get("/a.pftrace", Origin="https://evil.example", Authorization=bearer).status, 403)
            self.assertEqual(server.get("/../outside", Authorization=bearer).status, 404)
            self.assertEqual(server.ask("/a.pftrace", "POST", Authorization=bearer).status, 405)

    def test_token_files(self):
        for content, why in ((b"", "characters"), (b"short", "not 5"), (b"x" * 300, "not 257"), (b"sixteen chars or more", "byte 0x7"), (b"0123456789abcdef\0", "byte 0x10")):
            path = self.write("token", content, self.outside)
            status, out, errors = served.run("--port", "0", "--token-file", path, self.folder)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(why, errors)
            self.assertEqual(errors.count("\n"), 1)
        for content in (b"0123456789abcdef", b"0123456789abcdef\n", b"0123456789abcdef\r\nmore\n"):
            path = self.write("token", content, self.outside)
            os.chmod(path, 0o600)
            with served.Server(self.folder, "--token-file", path) as server:
                self.assertEqual(server.get("/a.pftrace", Authorization="Bearer 0123456789abcdef").status, 200)
            self.assertNotIn("others", server.errors)
        os.chmod(path, 0o644)
        with served.Server(self.folder, "--token-file", path) as server:
            pass
        self.assertIn("others can read it", server.errors)
        status, _, errors = served.run("--port", "0", "--token-file", os.path.join(self.outside, "no", "token"), self.folder)
        self.assertEqual(status, 2)
        self.assertIn("No such file", errors)

    # ---- other addresses than loopback

    def test_other_addresses_need_a_token(self):
        for host in ("0.0.0.0", "::"):
            status, out, errors = served.run("--port", "0", "--host", host, self.folder)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("--token-file FILE, or --insecure", errors)
            self.assertEqual(errors.count("\n"), 1)

    def test_other_addresses_with_a_token(self):
        server, token, _ = self.token_server("--host", "0.0.0.0")
        with server:
            machine = socket.gethostname()
            self.assertEqual(server.url, f"http://{machine}:{server.port}/?token={token}")
            self.assertEqual(server.get("/a.pftrace").status, 401)
            for host in (machine, f"{machine}:{server.port}", "10.1.2.3", "localhost"):
                self.assertEqual(server.get("/a.pftrace", host=host, Authorization=f"Bearer {token}").status, 200, host)
            self.assertEqual(server.get("/a.pftrace", host="evil.example", Authorization=f"Bearer {token}").status, 403)

    def test_insecure(self):
        with served.Server(self.folder, "--host", "0.0.0.0", "--insecure") as server:
            self.assertEqual(server.get("/a.pftrace").status, 200)
            self.assertEqual(server.get("/a.pftrace", host="evil.example").status, 403)
        self.assertIn("whoever reaches 0.0.0.0 can read the traces", server.errors)

    def test_loopback_addresses(self):
        for host, url in (("localhost", "http://127.0.0.1:"), ("127.0.0.1", "http://127.0.0.1:"), ("127.0.0.2", "http://127.0.0.2:"), ("::1", "http://[::1]:")):
            try:
                with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
                    probe.bind((host, 0))
            except OSError:
                continue
            with served.Server(self.folder, "--host", host) as server:
                self.assertTrue(server.url.startswith(url), server.url)

    # ---- the copy of the Perfetto UI

    def test_ui(self):
        ui = os.path.join(self.outside, "ui")
        self.write("index.html", "<!doctype html>the UI", ui)
        self.write("v1/app.js", "1", ui)
        self.write("v1/engine.wasm", b"\0asm", ui)
        with served.Server(self.folder, "--ui-dir", ui) as server:
            answer = server.get("/runs/api/v1/server", host="box.localhost:77")
            found = re.search(rb'"uiUrl":"http://box.localhost:(\d+)"', answer.body)
            self.assertIsNotNone(found, answer.body)
            index = server.get("/", host="[::1]:77").body
            self.assertIn(b'href="./a.iket.html?perfetto=http%3A%2F%2F%5B%3A%3A1%5D%3A' + found[1] + b'"', index)
            traces, server.port = server.port, int(found[1])
            self.assertNotEqual(server.port, traces)
            for path, kind in {"/": "text/html; charset=utf-8", "/v1/app.js": "text/javascript; charset=utf-8", "/v1/engine.wasm": "application/wasm"}.items():
                answer = server.get(path)
                self.assertEqual((answer.status, answer.get("Content-Type")), (200, kind))
                self.assertNotIn("default-src", answer.get("Content-Security-Policy"))
            self.assertEqual(server.get("/a.pftrace").status, 404)
            self.assertEqual(server.get("/", host="evil.example").status, 403)
            self.assertEqual(server.get("/../secret").status, 404)
            ui_port = server.port
        self.assertIn(f"the Perfetto UI is on port {ui_port}", server.errors)
        self.assertIn(f"-L {ui_port}:127.0.0.1:{ui_port}", server.errors)
        status, _, errors = served.run("--port", "0", "--ui-dir", self.folder, self.folder)
        self.assertEqual(status, 2)
        self.assertIn("perfetto-ui.zip", errors)

    # ---- TLS

    def test_tls(self):
        if shutil.which("openssl") is None:
            self.skipTest("no openssl")
        key, certificate = (os.path.join(self.outside, name) for name in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        token = self.write("tls-token", "0123456789abcdef", self.outside)
        with served.Server(self.folder, "--tls-cert", certificate, "--tls-key", key, "--token-file", token, tls=True) as server:
            self.assertTrue(server.url.startswith("https://127.0.0.1:"))
            self.assertEqual(server.get("/a.pftrace", Authorization="Bearer 0123456789abcdef").body, b"0123456789")
            self.assertTrue(server.get("/?token=0123456789abcdef").get("Set-Cookie").endswith("; Secure"))
        for options, why in ((["--tls-cert", certificate], "need each other"), (["--tls-key", key], "need each other"),
                             (["--tls-cert", key, "--tls-key", certificate], "not a certificate and its key"), (["--tls-cert", "/nothing", "--tls-key", key], "No such file")):
            status, out, errors = served.run("--port", "0", *options, self.folder)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(why, errors)


if __name__ == "__main__":
    served.main()
