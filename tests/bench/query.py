#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""query.py [--build FOLDER] [--megabytes N] [--runs N]: how fast iket-query reads, beside jq, Python's json and DuckDB.

Two traces are written that have the shape of NVIDIA's files (keys sorted, tables last), from real ones of fixtures/: one
that is nearly all ranges (the Hopper GEMM), one that is mostly markers. Every program answers the same question, how
many markers of one name there are, and must give the same number. Each is run --runs times on one core; the least time
counts. Memory includes the pages of the mapped file. jq and DuckDB are left out where they are not installed (DuckDB: pip install duckdb). Never part of ctest.
"""
import argparse
import gzip
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = {"ranges": ("hopper_gemm", "tile_done"), "markers": ("crowd", "step")}


def write(case, megabytes, path):
    """The case's launch as often as it takes, plain and packed. In a process of its own: a program that is started counts
    its parent's memory as its own until it runs."""
    trace = json.loads(gzip.decompress((ROOT / "fixtures/golden/collector" / case / "expected.trace.json.gz").read_bytes()))
    one = json.dumps(trace["launches"][0], separators=(",", ":"), sort_keys=True)
    count = max(1, megabytes * 1_000_000 // len(one))
    with open(path, "w") as out:
        out.write('{"graphLaunches":{},"launches":[' + ",".join([one] * count))
        out.write('],"locationTable":' + json.dumps(trace["locationTable"], separators=(",", ":")) + ',"meta":{"version":1},"stringTable":')
        out.write(json.dumps(trace["stringTable"]) + "}")
    path.with_suffix(".json.gz").write_bytes(gzip.compress(path.read_bytes(), 1))


def python_count(path, name):
    return [sys.executable, "-c", "import json,sys; t=json.load(open(sys.argv[1])); n=t['stringTable'].index(sys.argv[2]); "
            "print(sum(m['markerNameIdx']==n for l in t['launches'] for m in l['markers']))", path, name]


def duckdb_count(path, name):
    return [sys.executable, "-c", "import duckdb,sys; c=duckdb.connect(config={'threads':1}); c.execute('set enable_progress_bar=false'); "
            "print(c.execute(\"with t as (select * from read_json(?, maximum_object_size=2000000000)), s as (select list_position(stringTable, ?)-1 n from t), "
            "m as (select unnest(l.markers) m from (select unnest(launches) l from t)) select count(*) from m, s where m.markerNameIdx=s.n\", [sys.argv[1], sys.argv[2]]).fetchone()[0])",
            path, name]


def has_duckdb():
    return subprocess.run([sys.executable, "-c", "import duckdb"], capture_output=True).returncode == 0


def measure(command, runs, stdin=None):
    """(seconds of the CPU, MB of memory, what it printed); the least of several runs."""
    best = None
    for _ in range(runs):
        with open(stdin or os.devnull, "rb") as source:
            started = time.perf_counter()
            process = subprocess.Popen(list(map(str, command)), stdin=source, stdout=subprocess.PIPE)
            out = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command[0]} failed: {process.returncode}")
        cpu = usage.ru_utime + usage.ru_stime
        if best is None or cpu < best[0]:
            best = (cpu, wall, usage.ru_maxrss / 1000, out.decode().strip())
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--megabytes", type=int, default=250)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    query = options.build.resolve() / "iket-query"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        for kind, (case, name) in CASES.items():
            path = pathlib.Path(scratch) / f"{kind}.trace.json"
            packed = path.with_suffix(".json.gz")
            writer = multiprocessing.Process(target=write, args=(case, options.megabytes, path))
            writer.start()
            writer.join()
            size = path.stat().st_size / 1e6
            programs = [("iket-query", [query, "--marker", name, "--count", path], None, options.runs),
                        ("iket-query, pipe", [query, "--marker", name, "--count", "-"], path, options.runs),
                        ("iket-query, gzip", [query, "--marker", name, "--count", packed], None, options.runs),
                        ("iket-query --csv", ["sh", "-c", '"$0" --marker "$1" --csv "$2" | tail -n +2 | wc -l', query, name, path], None, options.runs),
                        ("iket-query summary", ["sh", "-c", '"$0" summary --csv "$2" | grep -F ",$1," | cut -d, -f5', query, name, path], None, options.runs)]
            if shutil.which("jq"):
                programs.append(("jq", ["jq", f'(.stringTable | index("{name}")) as $n | [.launches[].markers[] | select(.markerNameIdx == $n)] | length', path], None, 1))
            programs.append(("Python json", python_count(path, name), None, 1))
            if has_duckdb():
                programs.append(("DuckDB, 1 thread", duckdb_count(path, name), None, 1))
            print(f"{kind}: {size:.0f} MB, {packed.stat().st_size / 1e6:.0f} MB gzip, --marker {name}")
            answers = set()
            for title, command, stdin, runs in programs:
                cpu, wall, memory, out = measure(command, runs, stdin)
                answers.add(out)
                print(f"  {title:20} {cpu:7.2f} s CPU {wall:7.2f} s {size / cpu:8.0f} MB/s {memory:8.0f} MB memory")
            if len(answers) != 1:
                sys.exit(f"the programs do not agree: {answers}")


main()
