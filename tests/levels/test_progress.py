#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_progress.py: what the builder tells while it reads, and its last overview against the level file. The progress is
written into a pipe, so that every state of it is seen and nothing depends on time. A trace that changes between the two
passes over it is refused."""
import base64
import fcntl
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile

from level_file import SM, WARP, LevelFile
from traces import FIXTURES, decode


def check(condition, what):
    if not condition:
        sys.exit(what)


def build(trace, levels, pipe):
    """Every state that the builder wrote, in order."""
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    text = bytearray()
    with subprocess.Popen(["levels_make", str(trace), str(levels), str(pipe)], stdout=subprocess.DEVNULL) as process:
        ended = False
        while True:
            try:
                text += os.read(reader, 1 << 16)
            except BlockingIOError:
                if ended:
                    break
                try:
                    process.wait(0.01)
                    ended = True
                except subprocess.TimeoutExpired:
                    pass
    os.close(reader)
    check(process.returncode == 0, "levels_make ends with %d" % process.returncode)
    check(not pipe.exists(), "the progress is left behind")
    return [json.loads(line) for line in text.decode().splitlines()]


def check_states(states, size, events):
    phases = [state["progress"]["phase"] for state in states]
    check(list(dict.fromkeys(phases)) == ["reading", "placing", "summing"], "the phases are %s" % phases)
    for state in states:
        progress = state["progress"]
        check(state["version"] == 1 and state["state"] == "building", "a state is %s" % state)
        check(0 <= progress["bytes"] <= progress["total"], "the progress is %s" % progress)
        check(progress["total"] == size or progress["phase"] == "summing", "the total is %s" % progress)
    check(states[0]["events"] == 0 and states[-1]["events"] == events, "the last state counts %d events" % states[-1]["events"])


def check_names(overview, file, tables):
    want = [c for c in tables["classes"] if c["kind"] <= 3]
    want.sort(key=lambda c: -int(c["total"]))
    want = [{"name": file.texts[c["name"]], "kind": c["kind"], "count": c["count"], "total_ns": int(c["total"])} for c in want]
    check(overview["names"] == want, "the names are %s, not %s" % (overview["names"], want))
    want = [{"name": file.texts[file.node_name[n["node"]]], "kernel": file.class_text(n["cls"]), "start": n["start"], "end": n["end"]} for n in tables["launches"]]
    check(overview["launches"] == want, "the launches are %s, not %s" % (overview["launches"], want))


def curve(file, node, depth, width, bins):
    """ns in each bin of all slices at that depth of the node's warps."""
    out = [0] * bins
    for warp in range(node, file.node_last[node]):
        lane = file.node_lane[warp] + depth
        if file.node_kind[warp] != WARP or lane >= file.node_lane[warp + 1]:
            continue
        for i in range(file.lane_first[lane], file.lane_first[lane + 1]):
            at = file.start[i]
            while at < file.end[i]:
                to = min(file.end[i], (at // width + 1) * width)
                out[at // width] += to - at
                at = to
    return out


def check_activity(activity, file):
    bins, width = activity["bins"], activity["to"] // activity["bins"]
    busy = base64.b64decode(activity["busy"])
    rows = {}
    for node in range(len(file.node_kind)):
        if file.node_kind[node] == SM:
            both = rows.setdefault(file.node_a[node], ([0] * bins, [0] * bins))
            for depth in (0, 1):
                for k, time in enumerate(curve(file, node, depth, width, bins)):
                    both[depth][k] += time
    check(activity["sms"] == sorted(rows) and len(busy) == bins * len(rows), "the SMs are %s" % activity["sms"])
    check(128 < bins <= 256 and file.span <= activity["to"], "%d bins up to %d" % (bins, activity["to"]))
    for k, sm in enumerate(activity["sms"]):
        lived, worked = rows[sm]
        want = bytes(min(255, int(w / l * 255 + 0.5)) if l > 0 else 0 for l, w in zip(lived, worked))
        check(busy[k * bins : (k + 1) * bins] == want, "SM %d: %s, not %s" % (sm, list(busy[k * bins : (k + 1) * bins]), list(want)))


def change_while_reading(trace, folder, change):
    """Lets the builder read the trace once, calls change() while it waits to tell that it begins to place, and gives what it says."""
    pipe = folder / "progress"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)  # less than a state with an overview: its writer waits until all is read
    command = ["levels_make", str(trace), str(folder / "levels"), str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        text = b""
        while b'"phase":"placing"' not in text:
            check(process.poll() is None, "levels_make ends with %s: %s" % (process.returncode, text[-200:]))
            if select.select([reader], [], [], 0.1)[0]:
                text += os.read(reader, 1 << 16)
        change()
        os.set_blocking(reader, False)
        while process.poll() is None:
            if select.select([reader], [], [], 0.01)[0]:
                os.read(reader, 1 << 16)
        message = process.stderr.read()
    os.close(reader)
    check(not (folder / "levels").exists(), "a level file of a trace that changed is there")
    return message


def check_changes(trace, folder):
    whole = trace.read_bytes()
    half = len(whole) // 2
    begins = [whole.index(b"\x0a", at) for at in range(half, half + 2000, 100)]
    changes = [whole[:half], b"", whole[:200] * 20, whole[:half] + whole[: half + 10], whole + whole[half:], *(whole[:at] + b"\x0b" + whole[at + 1 :] for at in begins)]
    for content in changes:
        message = change_while_reading(trace, folder, lambda content=content: trace.write_bytes(content))
        check(message.count("\n") == 1 and message.startswith("levels_make: %s: " % trace), "a trace that changed: %s" % message)
        trace.write_bytes(whole)


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    for case in ("collector/hopper_gemm/iket.data.bin", "graph_replays/dump.bin"):
        trace = decode(FIXTURES / case, folder, "--emit", "pftrace")
        states = build(trace, folder / "levels", folder / "progress")
        level_file = LevelFile(folder / "levels")
        check_states(states, trace.stat().st_size, level_file.events)
        check_names(states[-1]["overview"], level_file, json.loads(bytes(level_file.tables_json)))
        check_activity(states[-1]["overview"]["activity"], level_file)
        os.unlink(folder / "levels")
        if "hopper" in case:
            check_changes(trace, folder)
        check(states[-1]["t0"] == str(level_file.t0) and states[-1]["warps"] == level_file.node_kind.tolist().count(WARP), "%s: t0 or warps" % case)
