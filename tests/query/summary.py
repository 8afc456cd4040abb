#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py: the figures of `iket-query summary` against those that Python computes from the rows."""
import json
import sys

from summary_figures import percentile
from traces import collector_traces, events, launches, load, query, rows


def figures(trace):
    groups = {}
    for row in events(trace):
        groups.setdefault((row["kernel"], row["kind"], row["name"]), []).append(row)
    lifetimes, warps, sms, spans = {}, {}, {}, {}
    for key, ordinal, launch in launches(trace):
        k = launch["kernelName"]
        places = {}
        for w in launch["warpLifetimes"]:
            p = trace["locationTable"][w["locIdx"]]
            place = (tuple(p["ctaId"]), p["warpId"], p["smId"])
            places[place] = (w["startTs"], w["endTs"])
        lifetimes[k] = lifetimes.get(k, 0) + sum(b - a for a, b in places.values())
        warps[k] = warps.get(k, 0) + len(places)
        sms.setdefault(k, set()).update(p[2] for p in places)
        spans.setdefault(k, []).append((min(a for a, _ in places.values()), max(b for _, b in places.values())))
    out = {}
    for (kernel, kind, name), group in groups.items():
        place = lambda r: (r["graph"], r["launch"], r["cta_x"], r["cta_y"], r["cta_z"], r["warp"], r["sm"])
        one = {"count": len(group), "launches": len({(r["graph"], r["launch"]) for r in group}), "warps": len({place(r) for r in group}),
               "sms": len({r["sm"] for r in group})}
        if kind != "marker":
            d = [r["dur_ns"] for r in group]
            one.update(total_ns=sum(d), min_ns=min(d), max_ns=max(d), p50_ns=percentile(d, 50), p90_ns=percentile(d, 90), p99_ns=percentile(d, 99),
                       mean_ns=sum(d) / len(d), share_pct=100 * sum(d) / lifetimes[kernel] if lifetimes[kernel] else None)
        out[kernel, kind, name] = one
    kernels = {k: {"launches": len(s), "warps": warps[k], "sms": len(sms[k]), "span_ns": max(b for _, b in s) - min(a for a, _ in s),
                   "launch_p50_ns": percentile([b - a for a, b in s], 50), "launch_max_ns": max(b - a for a, b in s), "lifetime_ns": lifetimes[k]}
               for k, s in spans.items()}
    return out, kernels


def same(got, want, what):
    for k, v in want.items():
        if got[k] != v and not (isinstance(v, float) and got[k] is not None and abs(got[k] - v) <= 0.0006):
            sys.exit(f"{what}: {k} is {got[k]!r}, expected {v!r}")


def check(path, trace, what):
    answer = json.loads(query("summary", path, "--format", "json"))
    want, kernels = figures(trace)
    got = {(r["kernel"], r["kind"], r["name"]): r for r in answer["rows"]}
    if set(got) != set(want):
        sys.exit(f"{what}: groups {set(got) ^ set(want)}")
    for k in want:
        same(got[k], want[k], f"{what}: {k}")
    for row in answer["kernels"]:
        same(row, kernels[row["kernel"]], f"{what}: kernel {row['kernel']}")
    totals = [r["total_ns"] for r in answer["rows"] if r["total_ns"] is not None]
    if totals != sorted(totals, reverse=True) or len(answer["kernels"]) != len(kernels):
        sys.exit(f"{what}: order, or kernels")


def check_table(path):
    """The table fits 80 columns."""
    for line in query("summary", path).splitlines():
        if len(line) > 80:
            sys.exit(f"{path}: a line of {len(line)} columns: {line}")


for path in collector_traces():
    check(path, load(path), path.parent.name)
    check(path.parent / "iket.data.json", load(path), path.parent.name + ", raw buffers") if path.parent.name not in ("open_push",) else None
    check_table(path)
# Several inputs: each by itself, with its name.
two = [p for p in collector_traces() if p.parent.name in ("cxx", "wrap")]
together = rows("summary", *two)
for path in two:
    mine = [{**r, "input": None} for r in together if r["input"] == f"{path.parent.name}/expected.trace.json.gz"]
    if mine != [{**r, "input": None} for r in rows("summary", path)]:
        sys.exit(f"{path.parent.name}: other figures beside another input")
