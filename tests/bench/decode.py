#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decode.py [--rounds N] [--large] [--folder DIR] [--nvidia VENV] [--before "COMMAND ARGUMENT…"]: how fast iket-decode is,
against the bare cost of the same bytes in the same run. Needs iket-decode, make_dump and pigz on PATH
(`cmake --build build --target bench` sees to the first two).

Every round runs each command once, so that a machine that others use bends all of them alike; the table shows medians.
No command replaces a file: what the one before it wrote is removed first, since freeing a file's pages takes time too; and
before one that writes much, as many bytes are written and removed, so that a virtual machine has the pages at hand.
CPU is user and system time; times in seconds. --large adds 1 GiB. --before stands before each measured command, such as
"chrt -f 10" where others use the processors. --nvidia names a virtual environment with nvidia-cutlass-dsl-libs-base and
-libs-core 4.8.1, numpy, protobuf and typing-extensions, whose post-processing then runs beside ours on the same data.
The scratch folder (default: the shared memory, so that no disk is measured) takes 8 GB, with --large 10 GB.
"""
import argparse
import glob
import hashlib
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


class Bench:
    def __init__(self, options, scratch):
        self.rounds, self.before, self.scratch = options.rounds, options.before.split(), scratch
        self.runs = {}  # name: [(wall, cpu, peak)]
        self.out = scratch / "out"  # empty when a command begins

    def run(self, name, *command, out=None, env=None, writes=0):
        """Runs a command once; stdout goes to the file `out`, else away. `writes`: bytes that it writes into files."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        with tempfile.TemporaryFile(dir=self.out, buffering=0) as room:
            for _ in range(writes // MIB):
                room.write(bytes(MIB))
        with open(out or os.devnull, "wb") as sink:
            start = time.perf_counter()
            child = subprocess.Popen([*self.before, *map(str, command)], stdout=sink, stderr=subprocess.DEVNULL, env=env)
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"decode.py: exit status {child.returncode}: {' '.join(map(str, command))}")
        self.runs.setdefault(name, []).append((wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024))

    def wall(self, name):
        return statistics.median(run[0] for run in self.runs[name])

    def cpu(self, name):
        return statistics.median(run[1] for run in self.runs[name])

    def peak(self, name):
        return max(run[2] for run in self.runs[name])


def make(path, *arguments):
    """Makes an input; returns its number of records."""
    text = subprocess.run(["make_dump", path, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    return int(text.split()[0])


def table(title, head, rows):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'|'.join([' --- '] + [' ---: '] * (len(head) - 1))}|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def decode(kind, jobs, path, *more):
    return ["iket-decode", "-q", "-f", f"-j{jobs}", "--emit", kind, *more, path]


# ---- one dump, every file -----------------------------------------------------------------------------------------------

def one_size(bench, megabytes, whole):
    """whole: with the files that take long to write or to compress."""
    b, s = bench, bench.scratch
    dump, collector = s / "bench.bin", s / "collector"
    records = make(dump, "--bytes", f"{megabytes}M")
    make(collector, "--collector", "--bytes", f"{megabytes}M")
    trace, text = (s / f"iket_pid_0x1092{end}" for end in (".pftrace", ".trace.json"))  # for the others, which read them
    subprocess.run([*decode("pftrace,json" if whole else "pftrace", 2, dump), "-o", s], check=True)
    level = re.search(r"default (\d)", subprocess.run(["iket-decode", "--help"], capture_output=True, text=True).stdout)[1]
    jobs = (1, 2) if os.cpu_count() > 1 else (1,)
    sizes = {"info": dump.stat().st_size, "pftrace": trace.stat().st_size, "collector": sum(f.stat().st_size for f in collector.iterdir())}
    sizes["json"] = text.stat().st_size if whole else sum(map(len, parts_of(decode("json", 2, dump, "-o", "-"))))
    for _ in range(b.rounds):
        b.run("cp dump", "cp", dump, b.out, writes=sizes["info"])
        b.run("cp pftrace", "cp", trace, b.out, writes=sizes["pftrace"])
        for j in jobs:
            b.run(f"info {j}", "iket-decode", "--info", f"-j{j}", dump)
            b.run(f"info collector {j}", "iket-decode", "--info", f"-j{j}", collector / "iket.data.json")
            b.run(f"pftrace {j}", *decode("pftrace", j, dump, "-o", b.out), writes=sizes["pftrace"])
            b.run(f"json away {j}", *decode("json", j, dump, "-o", "-"))
            if whole:
                b.run(f"json {j}", *decode("json", j, dump, "-o", b.out), writes=sizes["json"])
                b.run(f"gz {j}", *decode("pftrace.gz", j, dump, "-o", b.out))
                b.run(f"pigz {j}", "pigz", "-c", f"-p{j}", f"-{level}", trace, out=b.out / "pigz")
                b.run(f"all {j}", *decode("all", j, dump, "-o", b.out), writes=sizes["json"] + sizes["pftrace"])
        if whole:
            b.run("cp json", "cp", text, b.out, writes=sizes["json"])
            b.run("gzip -1", "gzip", "-1", "-c", trace, out=b.out / "gzip")
    rows = []
    for j in jobs:
        for kind, what, bare in (("info", "`--info`, dump", "cp dump"), ("info collector", "`--info`, collector's data", "cp dump"), ("pftrace", ".pftrace", "cp pftrace"),
                                 ("json away", ".trace.json to /dev/null", None), *([("json", ".trace.json", "cp json")] if whole else [])):
            name, size, read = f"{kind} {j}", sizes[kind.split()[0]], sizes["collector" if "collector" in kind else "info"]
            rows.append([f"{what}, -j {j}", f"{b.wall(name):.2f}", f"{b.cpu(name):.2f}", f"{records / b.wall(name) / 1e6:.0f}", f"{size / b.wall(name) / 1e9:.2f}",
                         f"{b.wall(name) / b.wall(bare):.1f} cp" if bare else "", f"{b.wall(f'{kind} 1') / b.wall(name):.2f}", f"{(b.peak(name) - read) / 1e6:.0f}"])
        if whole:
            gz, pigz = f"gz {j}", f"pigz {j}"
            rows.append([f".pftrace.gz, -j {j}", f"{b.wall(gz):.2f}", f"{b.cpu(gz):.2f}", f"{records / b.wall(gz) / 1e6:.0f}", "",
                         f"{(b.cpu(gz) - b.cpu(f'pftrace {j}')) / b.cpu(pigz):.2f} pigz (CPU, less the .pftrace)", f"{b.wall('gz 1') / b.wall(gz):.2f}", f"{(b.peak(gz) - sizes['info']) / 1e6:.0f}"])
            name, alone = f"all {j}", sum(b.cpu(f"{k} {j}") for k in ("pftrace", "gz", "json")) - 2 * b.cpu(f"info {j}")
            rows.append([f"all four files, -j {j}", f"{b.wall(name):.2f}", f"{b.cpu(name):.2f}", f"{records / b.wall(name) / 1e6:.0f}", "",
                         f"{b.cpu(name) / alone:.2f} of each alone (CPU, decoding once)", f"{b.wall('all 1') / b.wall(name):.2f}", f"{(b.peak(name) - sizes['info']) / 1e6:.0f}"])
    table(f"{megabytes} MiB dump, {records / 1e6:.1f} million records", ["", "s", "CPU s", "million records/s", "GB/s", "against", "speed-up", "MB beside the input"], rows)
    bare = [["`cp` of the dump", "cp dump", sizes["info"]], ["`cp` of the .pftrace", "cp pftrace", sizes["pftrace"]]]
    if whole:
        bare += [["`cp` of the .trace.json", "cp json", sizes["json"]], ["`gzip -1` of the .pftrace", "gzip -1", sizes["pftrace"]]]
        bare += [[f"`pigz -{level} -p {j}` of the .pftrace", f"pigz {j}", sizes["pftrace"]] for j in jobs]
    table("the same bytes by others", ["", "s", "CPU s", "GB/s"], [[w, f"{b.wall(n):.2f}", f"{b.cpu(n):.2f}", f"{z / b.wall(n) / 1e9:.2f}"] for w, n, z in bare])
    same = {sum_of(decode("pftrace", j, dump, "-o", "-")) for j in (1, 2, 3)}
    print(f"\nThe .pftrace of -j 1, 2 and 3: {'the same bytes' if len(same) == 1 else 'DIFFERENT BYTES'}.")
    b.runs.clear()
    for path in (dump, trace, text):
        path.unlink(missing_ok=True)
    shutil.rmtree(collector)


def parts_of(command):
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE) as child:
        while part := child.stdout.read(MIB):
            yield part


def sum_of(command):
    digest = hashlib.sha256()
    for part in parts_of(command):
        digest.update(part)
    return digest.hexdigest()


# ---- growth -------------------------------------------------------------------------------------------------------------

def growth(bench, large):
    b, dump, rows = bench, bench.scratch / "growth.bin", []
    shapes = [(f"{m} MiB", ["--bytes", f"{m}M"]) for m in (1, 4, 16, 64, 256, *([1024] if large else []))]
    shapes += [(f"{w:,} warps of ten".replace(",", " "), ["--warps", w, "--records", 10]) for w in (10000, 100000, 1000000)]
    shapes += [(f"one warp of {n:,}".replace(",", " "), ["--warps", 1, "--records", n]) for n in (100000, 1000000, 10000000)]
    for what, arguments in shapes:
        records = make(dump, *arguments)
        for _ in range(b.rounds if records < 2e7 else 1):  # CPU time, and of a long run: once is enough
            b.run("info", "iket-decode", "--info", "-j1", dump)
            for kind in ("pftrace", "json"):
                for j in (1, 2):
                    b.run(f"{kind} {j}", *decode(kind, j, dump, "-o", "-"))
        rows.append([what, f"{records / 1e6:.2f}", *(f"{b.cpu(kind) / records * 1e9:.0f}" for kind in ("info", "pftrace 1", "json 1"))])
        rows[-1] += [f"{b.wall(f'{kind} 1') / b.wall(f'{kind} 2'):.2f}" for kind in ("pftrace", "json")]
        rows[-1].append(f"{max(map(b.peak, b.runs)) / 1e6 - dump.stat().st_size / 1e6:.0f}")
        b.runs.clear()
    dump.unlink()
    table("cost of a record as the input grows, -j 1, CPU; speed-up by -j 2", ["", "million records", "`--info` ns", ".pftrace ns", ".trace.json ns", ".pftrace speed-up", ".trace.json speed-up",
                                                                                "MB beside the input"], rows)


# ---- others -------------------------------------------------------------------------------------------------------------

def python_json(bench):
    b, dump, text = bench, bench.scratch / "small.bin", bench.scratch / "iket_pid_0x1092.trace.json"
    make(dump, "--bytes", "4M")
    for _ in range(b.rounds):
        b.run("json", *decode("json", 1, dump, "-o", b.scratch))
        b.run("load", sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1]))", text)
        b.run("dump", sys.executable, "-c", "import json, sys; d = json.load(open(sys.argv[1])); json.dump(d, open('/dev/null', 'w'))", text)
    size = text.stat().st_size
    table(f"{size / 1e6:.0f} MB of trace.json", ["", "CPU s", "of ours"],
          [[n, f"{s:.2f}", f"{s / b.cpu('json'):.0f}"] for n, s in (("iket-decode writes it", b.cpu("json")), ("Python's json reads it", b.cpu("load")), ("Python's json writes it", b.cpu("dump") - b.cpu("load")))])
    b.runs.clear()
    text.unlink()


def nvidia(bench, venv):
    b, run, out = bench, bench.scratch / "run", bench.scratch / "theirs"
    packages = glob.glob(f"{venv}/lib/python3*/site-packages/nvidia_cutlass_dsl/dsl_packages")
    if not packages:
        sys.exit(f"decode.py: {venv}: has no nvidia_cutlass_dsl")
    (run / "iket").mkdir(parents=True)
    records = make(run / "iket" / "pid_0x1092", "--collector", "--bytes", "22M")
    rows = []
    ours = {"perfetto": ("pftrace",), "json": ("json",), "html": ("pftrace.gz,html", "--gzip-level", 9)}
    for form, (kind, *more) in ours.items():
        for _ in range(max(1, b.rounds // 2)):
            b.run("theirs", f"{venv}/bin/python", "-m", "iket.cli.main", "postprocess", "--format", form, "--output-dir", out, run, env={**os.environ, "PYTHONPATH": packages[0]})
            their_size = sum(f.stat().st_size for f in out.iterdir())
            shutil.rmtree(out)
            out.mkdir()
            b.run("ours", "iket-decode", "-q", "-f", "-o", out, "--emit", kind, run / "iket" / "pid_0x1092")
            our_size = sum(f.stat().st_size for f in out.iterdir())
            shutil.rmtree(out)
        rows.append([form, *(f"{v:.2f}" for v in (b.cpu("theirs"), b.cpu("ours"))), f"1/{b.cpu('theirs') / b.cpu('ours'):.0f}", *(f"{b.peak(n) / 1e6:.0f}" for n in ("theirs", "ours")),
                     f"1/{b.peak('theirs') / b.peak('ours'):.0f}", *(f"{v / 1e6:.1f}" for v in (their_size, our_size))])
        b.runs.clear()
    shutil.rmtree(run)
    table(f"NVIDIA's post-processing of {records / 1e6:.1f} million records of its collector, and ours", ["", "theirs CPU s", "ours", "", "theirs MB of memory", "ours", "", "theirs MB written", "ours"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--nvidia", default=os.environ.get("IKET_NVIDIA_VENV"), metavar="VENV")
    parser.add_argument("--before", default="")
    options = parser.parse_args()
    missing = [tool for tool in ("iket-decode", "make_dump", "pigz", "gzip") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"decode.py: not on PATH: {', '.join(missing)}")
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors ({model[1] if model else platform.machine()}), load {os.getloadavg()[0]:.1f}, "
          f"median of {options.rounds}; `{' '.join(sys.argv[1:])}`")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="iket-bench-") as scratch:
        bench = Bench(options, pathlib.Path(scratch))
        one_size(bench, 64, True)
        if options.large:
            one_size(bench, 1024, False)
        growth(bench, options.large)
        python_json(bench)
        if options.nvidia:
            nvidia(bench, options.nvidia)


if __name__ == "__main__":
    main()
