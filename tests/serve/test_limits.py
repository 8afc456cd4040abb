# SPDX-License-Identifier: Apache-2.0
"""Clients that are many, slow, idle or gone; and the end of the server while they are there."""
import os
import signal
import socket
import threading
import time
import unittest

import served

BIG = 16 << 20  # more than the two sockets of a connection hold


class Limits(served.FolderTest):
    @classmethod
    def fill(cls):
        cls.write("small.pftrace", "small")
        cls.write("medium.pftrace", bytes(range(256)) * 4096)
        with open(os.path.join(cls.folder, "big.pftrace"), "wb") as f:
            f.truncate(BIG)

    def until_closed(self, connection, drip=None):
        """Reads, sending `drip` now and then, until the other side ends the connection. Returns what came."""
        connection.settimeout(0.2)
        data = b""
        for _ in range(100):
            try:
                part = connection.recv(65536)
                if not part:
                    return data
                data += part
            except TimeoutError:
                try:
                    if drip is not None:
                        connection.sendall(drip)
                except OSError:
                    return data
            except ConnectionError:
                return data
        self.fail("still open")

    def test_idle_connection_is_dropped(self):
        with served.Server(self.folder, "--timeout", "1") as server, server.connect() as silent, server.connect() as used:
            self.assertEqual(self.until_closed(silent), b"")
            used.settimeout(20)
            self.assertEqual(server.get("/small.pftrace").status, 200)

    def test_header_in_drips_is_dropped(self):
        with served.Server(self.folder, "--timeout", "1") as server, server.connect() as slow:
            slow.sendall(b"GET /small.pftrace HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            self.assertNotIn(b"200 OK", self.until_closed(slow, b"x"))

    def test_second_header_in_drips_is_dropped(self):
        with served.Server(self.folder, "--timeout", "1") as server, server.connect() as slow:
            slow.sendall(b"GET /small.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(served.read_answer(slow).body, b"small")
            slow.sendall(b"GET /small.pftrace HTTP/1.1\r\nX: ")
            self.until_closed(slow, b"x")

    def test_reader_that_takes_nothing_is_dropped(self):
        with served.Server(self.folder, "--timeout", "1") as server, server.connect() as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.sendall(b"GET /big.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for _ in range(200):
                if self.open_sockets(server) == 0:
                    break
                time.sleep(0.1)
            self.assertEqual(self.open_sockets(server), 0)

    def test_a_file_that_shrinks_ends_its_downloads(self):
        """Not after the timeout: nothing more can come."""
        with served.Server(self.folder) as server, server.connect() as reader:
            path = os.path.join(self.folder, "shrinking.pftrace")
            with open(path, "wb") as f:
                f.truncate(4 * BIG)
            reader.sendall(b"GET /shrinking.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reader.recv(1000)
            os.truncate(path, 1000)
            started, count = time.monotonic(), 0
            while part := reader.recv(1 << 20):
                count += len(part)
            self.assertLess(count, 4 * BIG - 1000)
            self.assertLess(time.monotonic() - started, 10)
            self.assertEqual(server.get("/shrinking.pftrace").body, bytes(1000))

    def open_sockets(self, server):
        """Connections of the server: its sockets with a peer."""
        with open(f"/proc/{server.process.pid}/net/tcp") as f:
            rows = [line.split() for line in f][1:]
        return sum(row[1].endswith(f":{server.port:04X}") and row[3] == "01" for row in rows)

    def test_many_idle_connections_do_not_stop_it(self):
        with served.Server(self.folder) as server:
            idle = [server.connect() for _ in range(1000)]
            try:
                for _ in range(20):
                    self.assertEqual(server.get("/small.pftrace").body, b"small")
                self.assertEqual(self.open_sockets(server) >= 1000, True)
            finally:
                for connection in idle:
                    connection.close()

    def test_the_longest_idle_makes_room(self):
        with served.Server(self.folder, "--connections", "32") as server:
            idle = []
            try:
                for _ in range(100):
                    idle.append(server.connect())
                    self.assertEqual(server.get("/small.pftrace").body, b"small")
            finally:
                for connection in idle:
                    connection.close()

    def test_concurrent_clients(self):
        wanted = bytes(range(256)) * 4096
        with served.Server(self.folder) as server:
            wrong = []

            def client(number):
                try:
                    with server.connect() as connection:
                        for turn in range(20):
                            first = (number * 7919 + turn * 104729) % len(wanted)
                            connection.sendall(f"GET /medium.pftrace HTTP/1.1\r\nHost: localhost\r\nRange: bytes={first}-\r\n\r\n".encode())
                            if served.read_answer(connection).body != wanted[first:]:
                                wrong.append((number, turn))
                except Exception as why:  # noqa: BLE001 (told by the main thread)
                    wrong.append((number, why))

            clients = [threading.Thread(target=client, args=(i,)) for i in range(16)]
            for thread in clients:
                thread.start()
            for thread in clients:
                thread.join()
            self.assertEqual(wrong, [])

    def test_clients_that_go_away(self):
        with served.Server(self.folder) as server:
            for _ in range(50):
                with server.connect() as connection:
                    connection.sendall(b"GET /big.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    connection.recv(100)
            self.assertEqual(server.get("/small.pftrace").body, b"small")

    def test_nonsense(self):
        with served.Server(self.folder, "--timeout", "2") as server:
            for data in (b"\0" * 100, b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(300), b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                         b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n", b"A" * 1_000_000, b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
                with server.connect() as connection:
                    connection.settimeout(20)
                    try:
                        connection.sendall(data)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
                    except OSError:
                        pass
                self.assertEqual(server.get("/small.pftrace").body, b"small", data[:40])

    # ---- the end

    def test_what_is_in_flight_is_finished(self):
        with served.Server(self.folder) as server, server.connect() as busy:
            busy.sendall(b"GET /big.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
            header, _, body = busy.recv(65536).partition(b"\r\n\r\n")
            count = len(body)
            server.process.send_signal(signal.SIGTERM)
            while part := busy.recv(1 << 20):
                count += len(part)
            self.assertEqual((header[:12], count), (b"HTTP/1.1 200", BIG))
            self.assertEqual(server.process.wait(20), 0)
            with self.assertRaises(OSError):
                server.connect()

    def test_a_stuck_download_does_not_hold_the_end(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with served.Server(self.folder) as server, server.connect() as stuck:
                stuck.sendall(b"GET /big.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
                stuck.recv(1000)
                server.end(number)

    def test_a_second_signal_ends_at_once(self):
        with served.Server(self.folder) as server, server.connect() as stuck:
            stuck.sendall(b"GET /big.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stuck.recv(1000)
            server.process.send_signal(signal.SIGTERM)
            server.end(signal.SIGINT)

    def test_idle_connections_do_not_hold_the_end(self):
        with served.Server(self.folder) as server:
            with server.connect() as idle, server.connect():
                idle.sendall(b"GET /small.pftrace HTTP/1.1\r\nHost: localhost\r\n\r\n")
                served.read_answer(idle)
                server.end()


if __name__ == "__main__":
    served.main()
