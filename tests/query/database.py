#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""database.py: what `export` writes and `sql` answers is what Python reads from the trace."""
import collections
import csv
import io
import json
import os
import pathlib
import sqlite3
import sys
import tempfile

from traces import collector_traces, events, launches, load, query, rows, same_value

PATHS = {p.parent.name: p for p in collector_traces()}


def equal(got, want, what):
    if got != want:
        sys.exit(f"{what}: {got!r}, expected {want!r}")


def check_export(name, folder):
    path, trace = PATHS[name], load(PATHS[name])
    target = folder / f"{name}.db"
    query("export", path, "-o", target)
    query("export", path, "-o", target, status=2)  # it exists
    query("export", path, "-o", target, "--force")
    database = sqlite3.connect(target)
    want = list(events(trace))
    key = lambda r: (r["kernel"], r["graph"] or "", r["launch"], r["sm"], r["cta_x"], r["cta_y"], r["cta_z"], r["warp"], r["kind"], r["name"], r["ts_ns"], r["dur_ns"] or 0)
    got = database.execute("SELECT kernel, ifnull(graph, ''), launch, sm, cta_x, cta_y, cta_z, warp, kind, name, start_ns, dur_ns FROM range_events "
                           "UNION ALL SELECT kernel, ifnull(graph, ''), launch, sm, cta_x, cta_y, cta_z, warp, 'marker', name, ts_ns, 0 FROM marker_events").fetchall()
    equal(collections.Counter(got), collections.Counter(map(key, want)), f"{name}: events")
    payloads = collections.defaultdict(list)
    for r in want:
        payloads[r["kind"] == "marker", r["name"]].append(str(r["payload"]) if isinstance(r["payload"], int) and r["payload"] >= 2**63 else r["payload"])
    for table, marker in (("markers", True), ("ranges", False)):
        for event in {n for m, n in payloads if m == marker}:
            one = sorted((r[0] for r in database.execute(f"SELECT payload FROM {table} WHERE name = ?", (event,))), key=repr)
            two = sorted(payloads[marker, event], key=repr)
            if len(one) != len(two) or not all(same_value(a, b) for a, b in zip(one, two)):
                sys.exit(f"{name}: payloads of {event}: {one[:3]}, expected {two[:3]}")
    lives = sum(w["endTs"] - w["startTs"] for _, _, l in launches(trace) for w in l["warpLifetimes"])
    equal(database.execute("SELECT sum(dur_ns) FROM warp_summary").fetchone()[0], lives, f"{name}: lifetimes")
    equal(database.execute("SELECT count(*) FROM ranges r JOIN ranges p ON r.parent_id = p.range_id WHERE r.start_ns < p.start_ns OR r.end_ns > p.end_ns").fetchone()[0], 0, f"{name}: parents")
    summary = {(r["name"], r["count"], r["total_ns"]) for r in rows("summary", path) if r["kind"] != "marker"}
    equal(set(database.execute("SELECT name, sum(count), sum(total_ns) FROM range_summary GROUP BY name")), summary, f"{name}: range_summary")
    for table in ("launches", "locations", "lifetimes", "ranges", "markers"):
        columns = [c[1] for c in database.execute(f"PRAGMA table_info({table})")]
        whole = database.execute(f"SELECT * FROM {table}").fetchall()
        lines = [json.loads(line) for line in query("export", "--table", table, "--format", "jsonl", path).splitlines()]
        equal([list(line) for line in lines[:1]], [columns] if whole else [], f"{name}: {table}: columns")
        equal([tuple(line.values()) for line in lines], whole, f"{name}: {table} as lines")
        equal(len(list(csv.reader(io.StringIO(query("export", "--table", table, "--csv", path))))), len(whole) + 1, f"{name}: {table} as csv")
    equal(json.loads(query("sql", "SELECT name, count(*) AS n FROM markers GROUP BY name ORDER BY name", path, "--json"))["rows"],
          [{"name": n, "n": c} for n, c in database.execute("SELECT name, count(*) FROM markers GROUP BY name ORDER BY name")], f"{name}: sql")


def check_refused():
    path = PATHS["wrap"]
    for statement, words in (("DROP TABLE ranges", "only a SELECT"), ("SELECT 1; SELECT 2", "one statement"), ("SELEC 1", "syntax error"), ("SELECT nope FROM ranges", "no such column"),
                             ("ATTACH 'x.db' AS x", "SELECT")):
        query("sql", statement, path, status=2)
        if words not in query.stderr:
            sys.exit(f"{statement}: {query.stderr}")
    query("sql", path, status=2)
    query("export", path, status=2)
    query("export", "--csv", path, status=2)
    query("export", "--table", "range", "--csv", path, status=2)
    if "did you mean ranges" not in query.stderr:
        sys.exit(query.stderr)


with tempfile.TemporaryDirectory() as scratch:
    os.environ["TMPDIR"] = scratch
    for case in ("features", "graph", "tilelang_all_features"):
        check_export(case, pathlib.Path(scratch))
    check_refused()
    if list(pathlib.Path(scratch).glob("iket-*")):
        sys.exit("a temporary file is left")
    # Two inputs in one database.
    both = pathlib.Path(scratch) / "both.db"
    query("export", PATHS["features"], PATHS["graph"], "-o", both)
    counts = dict(sqlite3.connect(both).execute("SELECT input, count(*) FROM range_events GROUP BY input"))
    equal(counts, {"features/expected.trace.json.gz": 204, "graph/expected.trace.json.gz": 20}, "two inputs")
