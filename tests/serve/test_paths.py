# SPDX-License-Identifier: Apache-2.0
"""No way out of the folder."""
import os
import socket
import unittest

import served

SECRET = b"outside of the folder"


class Paths(served.FolderTest):
    @classmethod
    def fill(cls):
        cls.write("secret.pftrace", SECRET, cls.outside)
        cls.write("runs/a.pftrace", "inside")
        cls.write("runs/sub dir/b&c.pftrace", "inside too")
        cls.write("100%.pftrace", "percent")
        cls.write("a+b.pftrace", "plus")
        cls.write("caf\u00e9.pftrace", "utf-8")
        cls.write(".hidden/x.pftrace", SECRET)
        cls.write(".netrc", SECRET)
        cls.write("runs/.token", SECRET)
        os.symlink(os.path.join(cls.outside, "secret.pftrace"), os.path.join(cls.folder, "file-out.pftrace"))
        os.symlink("../outside", os.path.join(cls.folder, "folder-out"))
        os.symlink("../../outside/secret.pftrace", os.path.join(cls.folder, "runs", "deep-out.pftrace"))
        os.symlink("/", os.path.join(cls.folder, "root"))
        os.symlink("/proc/self/root", os.path.join(cls.folder, "magic"))
        os.symlink("loop", os.path.join(cls.folder, "loop"))
        os.symlink("runs/a.pftrace", os.path.join(cls.folder, "file-in.pftrace"))
        os.symlink("runs", os.path.join(cls.folder, "folder-in"))
        os.mkfifo(os.path.join(cls.folder, "pipe.pftrace"))
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.join(cls.folder, "socket.pftrace"))
        cls.server = served.Server(cls.folder)

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            pass
        super().tearDownClass()

    def refused(self, path, *statuses):
        for method in ("GET", "HEAD"):
            answer = self.server.ask(path, method)
            self.assertIn(answer.status, statuses or (404,), path)
            self.assertNotIn(SECRET, answer.body, path)

    def test_inside(self):
        for path, content in {
            "/runs/a.pftrace": b"inside",
            "/runs/sub%20dir/b%26c.pftrace": b"inside too",
            "/runs/sub%20dir/b&c.pftrace": b"inside too",
            "/%72uns/a%2Epftrace": b"inside",
            "/runs%2fa.pftrace": b"inside",
            "/100%25.pftrace": b"percent",
            "/a+b.pftrace": b"plus",
            "/caf%C3%A9.pftrace": b"utf-8",
            "/runs/a.pftrace?query=1&token=x": b"inside",
        }.items():
            answer = self.server.get(path)
            self.assertEqual((answer.status, answer.body), (200, content), path)

    def test_dots(self):
        secret = "outside/secret.pftrace"
        for path in ("/../" + secret, "/runs/../../" + secret, "/%2e%2e/" + secret, "/%2E%2E%2F" + secret, "/..%2f" + secret, "/.%2e/" + secret, "/%2e./" + secret,
                     "/runs/..%2f..%2f" + secret, "/./runs/a.pftrace", "/runs/./a.pftrace", "/runs/../runs/a.pftrace", "/..", "/../", "/%2e%2e", "/runs/..", "/...", "/runs/.../x"):
            self.refused(path)
        # Decoded once: this is a name with percent signs.
        self.refused("/%252e%252e/" + secret)
        # Other systems' separators and codes are plain bytes here.
        self.refused("/..\\outside\\secret.pftrace")
        self.refused("/%c0%ae%c0%ae/" + secret)

    def test_absolute_names(self):
        for path in ("//etc/passwd", "/%2fetc/passwd", "/%2Fetc%2Fpasswd", "//", "/runs//a.pftrace", "///runs/a.pftrace"):
            self.refused(path)
        self.refused("file:///etc/passwd", 400, 404)
        self.refused("http://localhost/etc/passwd", 400, 404)
        self.refused("etc/passwd", 400, 404)
        self.refused("*", 400, 404)

    def test_nul_and_control_characters(self):
        for path in ("/runs/a.pftrace%00", "/runs/a.pftrace%00.html", "/%00", "/runs%00/../a", "/runs/a.pftrace%0a", "/%0d%0aSet-Cookie:%20x=1", "/%7f"):
            self.refused(path, 400)
        answer = self.server.raw(b"GET /runs/a\0b.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(answer.status, (400, 404))

    def test_broken_escapes(self):
        for path in ("/%", "/%2", "/%zz", "/runs/%g0", "/a%"):
            self.refused(path, 400)

    def test_long_paths(self):
        self.refused("/" + "a" * 300)
        self.refused("/" + "a/" * 1000 + "b")
        self.refused("/" + "a" * 4000, 414)
        self.refused("/" + "a" * 100_000, 414, 431)
        answer = self.server.get("/", X_Long="a" * 100_000)
        self.assertIn(answer.status, (413, 431))

    def test_symbolic_links(self):
        for path in ("/file-out.pftrace", "/folder-out/secret.pftrace", "/folder-out/", "/runs/deep-out.pftrace", "/root/etc/passwd", "/root/", "/magic/etc/passwd", "/loop"):
            self.refused(path)
        for path in ("/file-in.pftrace", "/folder-in/a.pftrace"):
            self.assertEqual(self.server.get(path).body, b"inside", path)

    def test_a_link_that_is_turned_outwards_later(self):
        link = os.path.join(self.folder, "turning")
        os.symlink("runs", link)
        self.assertEqual(self.server.get("/turning/a.pftrace").status, 200)
        os.remove(link)
        os.symlink("../outside", link)
        self.refused("/turning/secret.pftrace")

    def test_hidden_files(self):
        for path in ("/.netrc", "/.hidden/x.pftrace", "/.hidden/", "/runs/.token", "/%2enetrc"):
            self.refused(path)

    def test_what_is_no_file(self):
        self.refused("/pipe.pftrace")
        self.refused("/socket.pftrace")
        answer = self.server.get("/runs")
        self.assertEqual((answer.status, answer.get("Location")), (301, "./runs/"))
        answer = self.server.get("/runs/sub%20dir")
        self.assertEqual(answer.get("Location"), "./sub%20dir/")
        self.refused("/runs/a.pftrace/")
        self.refused("/runs/a.pftrace/x")

    def test_unreadable(self):
        path = self.write("locked.pftrace", "x")
        os.chmod(path, 0)
        if os.geteuid() != 0:
            self.refused("/locked.pftrace", 403)

    def test_gone_and_back(self):
        path = self.write("late.pftrace", "now")
        self.assertEqual(self.server.get("/late.pftrace").body, b"now")
        os.remove(path)
        self.refused("/late.pftrace")

    def test_no_way_out_shows_in_the_index(self):
        text = self.server.get("/").body.decode()
        for name in ("secret", "x.pftrace", "netrc", ">root", "-out", "-in"):
            self.assertNotIn(name, text)


if __name__ == "__main__":
    served.main()
