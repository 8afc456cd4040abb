#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rows.py: the rows of every shape of a trace.json, from a file, a pipe and gzip, are those that Python reads."""
import gzip
import json
import pathlib
import sys
import tempfile

from traces import collector_traces, events, inlined, load, query, rows, same_events, shapes


def compressed(data):
    """Two gzip members, cut in the middle."""
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(data[half:])


def check_shapes(path, folder):
    trace = load(path)
    want = list(events(trace))
    for name, data in shapes(trace):
        what = f"{path.parent.name}: {name}"
        plain, packed = folder / "t.json", folder / "t.json.gz"
        plain.write_bytes(data)
        packed.write_bytes(compressed(data))
        same_events(rows("events", plain), want, what)
        same_events(rows("events", "-", stdin=data), want, what + ", pipe")
        same_events(rows("events", packed), want, what + ", gzip")
        same_events(rows("events", "-", "--memory", 0, stdin=packed.read_bytes()), want, what + ", gzip from a pipe, spooled")
        if int(query("events", plain, "--count")) != len(want):
            sys.exit(f"{what}: --count")


def check_model(path):
    """What the whole model says (the summary comes from it) agrees with the counts of rows."""
    trace = load(path)
    counts = {}
    for row in events(trace):
        counts[row["kernel"], row["kind"], row["name"]] = counts.get((row["kernel"], row["kind"], row["name"]), 0) + 1
    got = {(r["kernel"], r["kind"], r["name"]): r["count"] for r in rows("summary", path)}
    if got != counts:
        sys.exit(f"{path}: summary counts {got}, expected {counts}")


def check_formats(path):
    """All formats say the same."""
    import csv
    import io
    as_json = rows("events", path)
    as_lines = [json.loads(line) for line in query("events", path, "--format", "jsonl").splitlines()]
    if as_lines != as_json:
        sys.exit(f"{path}: jsonl differs from json")
    as_csv = list(csv.DictReader(io.StringIO(query("events", path, "--csv"), newline="")))
    text = lambda v: "" if v is None else "true" if v is True else "false" if v is False else str(v) if not isinstance(v, float) else v
    for a, b in zip(as_csv, as_json):
        for k, v in b.items():
            if a[k] != text(v) and not (isinstance(v, float) and float(a[k]) == v):
                sys.exit(f"{path}: csv says {k} is {a[k]!r}, json {v!r}")
    if len(as_csv) != len(as_json) or len(query("events", path).splitlines()) != len(as_json) + (1 if as_json else 0):
        sys.exit(f"{path}: csv or table has another number of rows")
    values = query("events", path, "--values").splitlines()
    want = [str(r["payload"]) for r in as_json if r["payload"] is not None]
    if [float(v) if "." in v or "e" in v else v for v in values] != [float(v) if "." in v or "e" in v else v for v in want]:
        sys.exit(f"{path}: --values differ")


def check_spool(folder):
    """Megabytes of rows that cannot be named before the end wait in $TMPDIR and come out in order."""
    trace = load([p for p in collector_traces() if p.parent.name == "hopper_gemm"][0])
    data = json.dumps(trace, sort_keys=True).encode()
    in_memory = query("events", "-", "--csv", stdin=data)
    spooled = query("events", "-", "--csv", "--memory", 0, stdin=data, env={"TMPDIR": str(folder)})
    if in_memory != spooled:
        sys.exit("rows that went through the spool differ")
    if list(folder.glob("iket-spool*")):
        sys.exit("the spool left a file behind")
    query("events", "-", "--memory", 0, stdin=data, env={"TMPDIR": str(folder / "missing")}, status=2)
    if "TMPDIR" not in query.stderr:
        sys.exit(f"no advice about TMPDIR: {query.stderr}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for path in collector_traces():
            check_model(path)
            if path.parent.name in ("features", "graph", "cxx", "wrap", "open_push"):
                check_shapes(path, folder)
                check_formats(path)
        check_spool(folder)
        # Older files that repeat every name: the model, too.
        path = [p for p in collector_traces() if p.parent.name == "features"][0]
        (folder / "old.json").write_text(json.dumps(inlined(load(path))))
        strip = lambda rs: [{k: v for k, v in r.items() if k != "input"} for r in rs]
        if strip(rows("summary", folder / "old.json")) != strip(rows("summary", path)):
            sys.exit("the summary of the older generation differs")


main()
