#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""selection.py: every selector picks the rows that a filter in Python picks, from a trace.json, a pipe and raw buffers;
and one that matches nothing says what is there."""
import json
import re
import sys

from traces import FIXTURES, collector_traces, events, load, query, rows, same_events

PATHS = {p.parent.name: p for p in collector_traces()}


def start_of(trace):
    from traces import launches
    return min(w["startTs"] for _, _, l in launches(trace) for w in l["warpLifetimes"])


def overlaps(row, first, last):
    return row["ts_ns"] <= last and row["ts_ns"] + (row["dur_ns"] or 0) >= first


def cases(name, trace):
    start = start_of(trace)
    if name == "hopper_gemm":
        yield ["--range", "mma_wait", "--cta", "0,0,3"], lambda r: r["name"] == "mma_wait" and (r["cta_x"], r["cta_y"], r["cta_z"]) == (0, 0, 3)
        yield ["--marker", "tile_done"], lambda r: r["kind"] == "marker"
        yield ["--range", "regex:^load_", "--sm", "5,7-9"], lambda r: r["name"].startswith("load_") and r["sm"] in (5, 7, 8, 9)
        yield ["--range", "epilogue", "--warp", "4,6-7", "--kernel", "Hopper"], lambda r: r["name"] == "epilogue" and r["warp"] in (4, 6, 7)
        yield ["--cta", "*,*,131", "--warp", "4-5"], lambda r: r["cta_z"] == 131 and r["warp"] in (4, 5)
        yield ["--range", "load_tile", "--time", "3us..4.5us"], lambda r: r["name"] == "load_tile" and overlaps(r, start + 3000, start + 4500)
        yield ["--range", "mma", "--time", f"{start + 9000}.."], lambda r: r["name"] == "mma" and overlaps(r, start + 9000, 2**64 - 1)
        yield ["--range", "mma", "--time", "..0.004ms"], lambda r: r["name"] == "mma" and overlaps(r, 0, start + 4000)
        yield ["--marker", "tile_done", "--range", "epilogue", "--sm", "0"], lambda r: r["name"] in ("tile_done", "epilogue") and r["sm"] == 0
    if name == "features":
        yield ["--launch", "0"], lambda r: r["launch"] == 0
        yield ["--launch", "1", "--marker", "i64"], lambda r: r["launch"] == 1 and r["name"] == "i64"
        yield ["--marker", "i64", "--marker", "regex:^u(8|16)$"], lambda r: r["name"] in ("i64", "u8", "u16") and r["kind"] == "marker"
        yield ["--range", "role_b", "--cta", "2"], lambda r: r["name"] == "role_b" and r["cta_x"] == 2
    if name == "graph":
        keys = list(trace["graphLaunches"])
        yield ["--launch", keys[0], "--range", "step"], lambda r: r["graph"] == keys[0]
        yield ["--launch", keys[1] + "#1", "--range", "step"], lambda r: r["graph"] == keys[1] and r["launch"] == 1
        yield ["--launch", keys[1] + "[0]", "--range", "step"], lambda r: r["graph"] == keys[1] and r["launch"] == 0
        yield ["--launch", "0", "--launch", keys[0] + "#0-1", "--range", "step"], lambda r: r["graph"] in (None, keys[0])


def check(name):
    path, trace = PATHS[name], load(PATHS[name])
    everything = list(events(trace))
    for arguments, wanted in cases(name, trace):
        want = [r for r in everything if wanted(r)]
        if not want:
            sys.exit(f"{name}: {arguments}: the case tests nothing")
        what = f"{name}: {' '.join(arguments)}"
        same_events(rows("events", *arguments, path), want, what)
        same_events(rows("events", *arguments, "-", stdin=path.read_bytes()), want, what + ", pipe")
        same_events(rows("events", *arguments, path.parent / "iket.data.json"), want, what + ", raw buffers")
        if sum(r["count"] for r in rows("summary", *arguments, path)) != len(want):
            sys.exit(f"{what}: the summary counts other rows")


# Arguments, exit status, what the one line on stderr must say.
REFUSED = [
    (["--marker", "tile_don"], 1, r"did you mean tile_done"),
    (["--marker", "regex:^nothing"], 1, r"matches nothing.*tile_done"),
    (["--range", "tile_done"], 1, r"tile_done.*no range|matches nothing"),
    (["--launch", "3"], 1, r"--launch 3 matches nothing \(launches: 0\)"),
    (["--launch", "graph_exec_1:0"], 1, r"matches nothing"),
    (["--kernel", "nope"], 1, r"--kernel nope matches nothing"),
    (["--sm", "200"], 1, r"SMs: 0-131"),
    (["--warp", "9"], 1, r"--warp 9 matches nothing"),
    (["--cta", "1,0,0"], 1, r"--cta 1,0,0 matches nothing"),
    (["--cta", "0,0,3", "--sm", "0"], 1, r"."),
    (["--sm", "3-1"], 2, r"backwards"),
    (["--sm", "a"], 2, r"no set of numbers"),
    (["--cta", "1,2,3,4"], 2, r"X,Y,Z"),
    (["--time", "5"], 2, r"A\.\.B"),
    (["--time", "1.5..2"], 2, r"finer than a nanosecond"),
    (["--time", "1h..2h"], 2, r"ns, us, ms or s"),
    (["--marker", "regex:("], 2, r"regular expression"),
    (["--launch", ""], 2, r"missing"),
    (["--format", "xml"], 2, r"no format"),
    (["--columns", "ts_n"], 2, r"did you mean ts_ns"),
    (["--sort", "nope"], 2, r"no column nope"),
    (["--markr", "x"], 2, r"did you mean --marker"),
]


def check_refused():
    path = PATHS["hopper_gemm"]
    for arguments, status, pattern in REFUSED:
        for data in (path, path.parent / "iket.data.json"):
            out = query("events", *arguments, data, status=status)
            if out or not re.search(pattern, query.stderr):
                sys.exit(f"{arguments}: stdout {out[:200]!r}, stderr {query.stderr!r}, expected {pattern}")


def check_kernels():
    """Two kernels whose names share a part, and one whose name is a part of the others'."""
    trace = load(PATHS["cxx"])
    trace["launches"].append(dict(trace["launches"][0], kernelName="work_two"))
    trace["launches"].append(dict(trace["launches"][0], kernelName="work"))
    data = json.dumps(trace).encode()
    kernels = lambda *arguments: {r["kernel"] for r in rows("events", *arguments, "-", stdin=data)}
    if kernels("--kernel", "work") != {"work"}:
        sys.exit("an exact kernel name takes more than that kernel")
    if kernels("--kernel", "_two") != {"work_two"}:
        sys.exit("a unique part of a kernel's name")
    if kernels("--kernel", "regex:work") != {"_Z4workPfi", "work_two", "work"} or kernels("--kernel", "work", "--kernel", "_two") != {"work", "work_two"}:
        sys.exit("several kernels")
    for verb in ("events", "summary"):
        out = query(verb, "--kernel", "wor", "-", stdin=data, status=2)
        if out or not all(name in query.stderr for name in ("part of 3 kernel names", "_Z4workPfi", "work_two", "standard input: ")):
            sys.exit(f"{verb}: an ambiguous kernel: {out!r} {query.stderr!r}")


for case in ("hopper_gemm", "features", "graph"):
    check(case)
check_refused()
check_kernels()
