# SPDX-License-Identifier: Apache-2.0
"""The command: its help, its two streams, its exit statuses, ports that are taken, the line for ssh."""
import os
import signal
import socket
import subprocess
import unittest

import served

HELP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "help.txt")


class Command(served.FolderTest):
    def test_help(self):
        """Refresh with: iket-serve --help > tests/serve/help.txt"""
        with open(HELP) as f:
            self.assertEqual(served.run("--help"), (0, f.read(), ""))
        self.assertEqual(served.run("-h")[1], served.run("--help")[1])

    def test_version(self):
        status, out, errors = served.run("--version")
        self.assertRegex(out, r"^iket-serve \d+\.\d+\.\d+\n$")
        self.assertEqual((status, errors), (0, ""))

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            for arguments in (["--help"], ["--port", "0", self.folder]):
                done = subprocess.run([served.TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(done.returncode, 2)
                self.assertIn("No space left", done.stderr)

    def test_bad_use(self):
        for arguments, why in (([], "no folder"), (["a", "b"], "one folder at a time"), (["--prot", "1", "."], "did you mean --port?"), (["--port", "x", "."], "not a number"),
                               (["--port", "65536", "."], "too large"), (["--port=-1", "."], "not a number"), (["--port"], "needs a value"), (["--open=1", "."], "takes no value"),
                               (["--timeout", "0", "."], "too small"), (["--connections", "1", "."], "too small"), (["--most-events", "0", "."], "too small"), (["--ui-origin", "perfetto", "."], "not an origin"),
                               (["--ui-origin", "https://a/b", "."], "not an origin"), (["--host", "no such host", "."], "no such address"),
                               (["/nothing/here"], "No such file"), (["/etc/passwd"], "Not a directory")):
            status, out, errors = served.run(*arguments)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertIn(why, errors)
            self.assertTrue(all(line.startswith("iket-serve: ") for line in errors.splitlines()), errors)
            self.assertLessEqual(errors.count("\n"), 2)

    def test_address_is_the_one_line_on_stdout(self):
        for arguments in (["--port", "0", self.folder], [self.folder, "--port=0"], ["-p0", "--", self.folder]):
            process = subprocess.Popen([served.TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            # Ends although the server runs on: stdout is closed after its line.
            out = process.stdout.read()
            self.assertRegex(out, r"^http://127\.0\.0\.1:\d+/\n$")
            self.assertIsNone(process.poll())
            process.terminate()
            errors = process.communicate(timeout=20)[1]
            self.assertEqual(process.returncode, 0)
            self.assertEqual(errors.count("\n"), 1, errors)

    def test_fixed_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen([served.TOOL, "--port", str(port), self.folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.read(), f"http://127.0.0.1:{port}/\n")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0)

    def test_port_in_use(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            port = holder.getsockname()[1]
            status, out, errors = served.run("--port", port, self.folder)
            self.assertEqual((status, out), (2, ""))
            self.assertRegex(errors, rf"^iket-serve: 127\.0\.0\.1 port {port}: in use by python\S* \(pid {os.getpid()}\) \(--port \d+ is free; --port 0 takes any\)\n$")
            free = int(errors.rsplit("(--port ", 1)[1].split()[0])
            self.assertGreater(free, port)
        with served.Server(self.folder) as server:
            errors = served.run("--port", server.port, self.folder)[2]
            self.assertIn(f"in use by iket-serve (pid {server.process.pid})", errors)

    def ssh_line(self, **variables):
        plain = {"USER": "ann", **{name: "" for name in ("SLURM_JOB_ID", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST")}}
        with served.Server(self.folder, environment={**plain, **variables}) as server:
            pass
        return server.errors, server.port

    def test_ssh_line(self):
        errors, port = self.ssh_line()
        self.assertEqual(errors, f"iket-serve: from another machine: ssh -L {port}:127.0.0.1:{port} ann@{socket.gethostname()}\n")

    def test_ssh_line_leads_to_the_address_that_is_listened_on(self):
        for host, address in (("127.0.0.2", "127.0.0.2"), ("0.0.0.0", "127.0.0.1"), ("localhost", "127.0.0.1")):
            with served.Server(self.folder, "--host", host, "--insecure") as server:
                pass
            self.assertIn(f"ssh -L {server.port}:{address}:{server.port} ", server.errors)

    def test_ssh_line_on_a_compute_node(self):
        slurm = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "node12", "SLURM_SUBMIT_HOST": "login1.example.org"}
        errors, port = self.ssh_line(**slurm)
        self.assertEqual(errors, f"iket-serve: from another machine: ssh -J ann@login1.example.org -L {port}:127.0.0.1:{port} ann@node12\n")
        errors, port = self.ssh_line(**{**slurm, "SLURM_SUBMIT_HOST": "node12"})
        self.assertIn(f"machine: ssh -L {port}:127.0.0.1:{port} ann@node12\n", errors)
        errors, port = self.ssh_line(**{**slurm, "SLURM_JOB_ID": ""})
        self.assertNotIn("node12", errors)

    def test_open(self):
        opened = os.path.join(self.scratch.name, "opened")
        self.write("bin/xdg-open", f'#!/bin/sh\nprintf "%s\\n" "$*" > {opened}.part && mv {opened}.part {opened}\n', self.outside)
        os.chmod(os.path.join(self.outside, "bin/xdg-open"), 0o755)
        with served.Server(self.folder, "--open", environment={"PATH": os.path.join(self.outside, "bin") + ":" + os.environ["PATH"]}) as server:
            for _ in range(1000):
                if os.path.exists(opened):
                    break
                server.get("/")
            with open(opened) as f:
                self.assertEqual(f.read(), server.url + "\n")
        os.remove(opened)
        token = os.path.join(self.scratch.name, "token")
        with served.Server(self.folder, "--open", "--token-file", token, environment={"PATH": os.path.join(self.outside, "bin") + ":" + os.environ["PATH"]}) as server:
            while not os.path.exists(opened):
                self.assertEqual(server.get("/").status, 401)
            with open(opened) as f, open(token) as t:
                url, secret = f.read().strip(), t.read().strip()
            # A command line is seen by others: what stands there works once, and is not the token.
            self.assertNotIn(secret, url)
            target = url.removeprefix(f"http://127.0.0.1:{server.port}")
            self.assertEqual(server.get(target[:-1]).status, 401)
            self.assertIn(secret, server.get(target).get("Set-Cookie"))
            self.assertEqual(server.get(target).status, 401)
        with served.Server(self.folder, "--open", environment={"PATH": "/nothing"}) as server:
            pass
        self.assertIn("no xdg-open here", server.errors)


if __name__ == "__main__":
    served.main()
