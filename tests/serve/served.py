# SPDX-License-Identifier: Apache-2.0
"""Starts iket-serve on a free port for a test, and asks it over raw sockets, so that every byte is the test's own."""
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

TOOL = shutil.which("iket-serve")
CACHE = tempfile.TemporaryDirectory()  # never the user's own


class Answer:
    def __init__(self, data, head):
        header, _, self.body = data.partition(b"\r\n\r\n")
        lines = header.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:]]
        self.head = head

    def get(self, name, default=None):
        return next((value for key, value in self.fields if key.lower() == name.lower()), default)


def read_answer(connection, head=False):
    """One answer from a connection that stays open."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError(f"closed after {data!r}")
        data += part
    answer = Answer(data, head)
    length = int(answer.get("Content-Length", 0))
    while not head and len(answer.body) < length:
        part = connection.recv(1 << 20)
        if not part:
            raise ConnectionError(f"closed after {len(answer.body)} of {length} bytes")
        answer.body += part
    return answer


class Server:
    """iket-serve on a free port of 127.0.0.1, over `folder`; a context manager that ends it and checks that it ends well."""

    def __init__(self, folder, *options, environment=None, tls=False):
        self.process = subprocess.Popen([TOOL, "--port", "0", *options, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "XDG_CACHE_HOME": CACHE.name, **(environment or {})})
        self.url = self.process.stdout.readline().rstrip("\n")
        if not self.url:
            raise AssertionError(f"no address: {self.process.communicate()[1]}")
        self.port = int(self.url.split("/")[2].rsplit(":", 1)[1])
        self.tls = tls
        self.errors = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        else:
            self.process.communicate()

    def end(self, number=signal.SIGTERM, timeout=20):
        self.process.send_signal(number)
        out, self.errors = self.process.communicate(timeout=timeout)
        if out or self.process.returncode != 0:
            raise AssertionError(f"ended with {self.process.returncode}, more on stdout: {out!r}, on stderr: {self.errors!r}")

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        if self.tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            connection = context.wrap_socket(connection)
        return connection

    def raw(self, data, head=False):
        with self.connect() as connection:
            connection.sendall(data)
            return read_answer(connection, head)

    def ask(self, path, method="GET", host="localhost", version="1.1", **fields):
        """A field's name is written with underscores: If_Range="…"."""
        lines = [f"{method} {path} HTTP/{version}"]
        if host is not None:
            lines.append(f"Host: {host}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        return self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("utf-8"), method == "HEAD")

    def get(self, path, **fields):
        return self.ask(path, **fields)


def run(*arguments, environment=None):
    """The tool to its end: (exit status, stdout, stderr)."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60, env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


def read(path):
    with open(path, "rb") as f:
        return f.read()


class FolderTest(unittest.TestCase):
    """A folder of its own for every test class."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.outside = os.path.join(cls.scratch.name, "outside")
        cls.folder = os.path.join(cls.scratch.name, "served")
        os.makedirs(cls.outside)
        os.makedirs(cls.folder)
        cls.fill()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def fill(cls):
        pass

    @classmethod
    def write(cls, name, data, folder=None):
        path = os.path.join(folder or cls.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path


def main():
    if TOOL is None:
        raise SystemExit("iket-serve is not on PATH")
    unittest.main()
