#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verbs.py: ranges, warps, gaps, cadence, payload, diff and check against Python: a naive second implementation over
NVIDIA's traces, and small traces whose answers were worked out by hand."""
import collections
import json
import pathlib
import re
import statistics
import sys
import tempfile

from summary_figures import percentile
from traces import FIXTURES, collector_traces, launches, load, query, rows, typed

WAIT = r"(^|_)(wait|acquire|sync|barrier)"
PATHS = {p.parent.name: p for p in collector_traces()}


def equal(got, want, what):
    if got != want and not (isinstance(got, (int, float)) and isinstance(want, float) and abs(got - want) <= 0.0006 + 1e-9 * abs(want)):
        sys.exit(f"{what}: {got!r}, expected {want!r}")


def figures(values, prefix=""):
    return {"count": len(values), prefix + "total_ns": sum(values), prefix + "min_ns": min(values), prefix + "max_ns": max(values),
            prefix + "p50_ns": percentile(values, 50), prefix + "p90_ns": percentile(values, 90), prefix + "p99_ns": percentile(values, 99)}


class Warp:
    def __init__(self, key, ordinal, launch, place, life):
        self.graph, self.launch, self.kernel, self.place = key, ordinal, launch["kernelName"], place
        self.cta, self.warp, self.sm, (self.start, self.end) = tuple(place["ctaId"]), place["warpId"], place["smId"], life
        self.ranges, self.markers = [], []


class Range:
    def __init__(self, trace, r):
        inner = r["internalEvents"][0]
        self.name, self.start, self.end, self.token = trace["stringTable"][r["rangeNameIdx"]], r["startTs"], r["endTs"], r["rangeType"] == 1
        self.type, self.bits = inner.get("payloadType", 0), inner.get("payloadVal", 0)
        self.children = []


def warps_of(trace):
    """Every warp with its ranges, the stack ranges nested naively: the parent is the shortest one around; of those with
    the same times the later in the file is the outer one, and those without length have nothing inside."""
    out = []
    for key, ordinal, launch in launches(trace):
        by_place = {w["locIdx"]: Warp(key, ordinal, launch, trace["locationTable"][w["locIdx"]], (w["startTs"], w["endTs"])) for w in launch["warpLifetimes"]}
        for r in launch["ranges"]:
            by_place[r["warpLocIdxs"][0]].ranges.append(Range(trace, r))
        for w in by_place.values():
            w.span = (min(x["startTs"] for x in launch["warpLifetimes"]), max(x["endTs"] for x in launch["warpLifetimes"]))
            stack = [(i, r) for i, r in enumerate(w.ranges) if not r.token]
            for i, r in stack:
                around = [(p.end - p.start, k, p) for k, p in stack if p.start <= r.start and r.end <= p.end and not r.start == r.end == p.end and
                          (p.end - p.start > r.end - r.start or (k > i and p.end > p.start and (p.start, p.end) == (r.start, r.end)))]
                if around:
                    parent = min(around, key=lambda a: a[:2])[2]
                    parent.children.append(r)
            out.append(w)
    return out


def exclusive(r):
    return r.end - r.start - sum(c.end - c.start for c in r.children)


def check_ranges(name):
    warps = warps_of(load(PATHS[name]))
    for by in (["name"], ["name", "sm"], ["cta", "warp"], ["name", "payload"], ["role", "name"], ["kernel", "launch"]):
        roles = lambda w: "low" if w.warp <= 1 else "high" if w.warp == 3 else None
        keys = {"name": lambda w, r: ("token" if r.token else "range", r.name), "sm": lambda w, r: w.sm, "cta": lambda w, r: w.cta, "warp": lambda w, r: w.warp,
                "payload": lambda w, r: typed(r.type, r.bits), "role": lambda w, r: roles(w), "kernel": lambda w, r: w.kernel, "launch": lambda w, r: (w.graph, w.launch)}
        fields = {"name": lambda x: (x["kind"], x["name"]), "sm": lambda x: x["sm"], "cta": lambda x: (x["cta_x"], x["cta_y"], x["cta_z"]), "warp": lambda x: x["warp"],
                  "payload": lambda x: x["payload"], "role": lambda x: x["role"], "kernel": lambda x: x["kernel"], "launch": lambda x: (x["graph"], x["launch"])}
        groups, lives = collections.defaultdict(list), collections.Counter()
        for w in warps:
            lives[tuple(keys[k](w, None) for k in by if k not in ("name", "payload"))] += w.end - w.start
            for r in w.ranges:
                groups[tuple(keys[k](w, r) for k in by)].append(r)
        got = {tuple(fields[k](x) for k in by): x for x in rows("ranges", "--by", ",".join(by), "--roles", "0-1=low,3=high", PATHS[name])}
        what = f"{name}: ranges by {','.join(by)}"
        equal(set(got), set(groups), what)
        for key, group in groups.items():
            life = lives[tuple(v for k, v in zip(by, key) if k not in ("name", "payload"))]
            durations, selves = [r.end - r.start for r in group], [exclusive(r) for r in group]
            want = {**figures(durations), "mean_ns": statistics.fmean(durations), "exclusive_total_ns": sum(selves), "exclusive_max_ns": max(selves),
                    "exclusive_p50_ns": percentile(selves, 50), "share_pct": 100 * sum(durations) / life, "exclusive_share_pct": 100 * sum(selves) / life}
            for k, v in want.items():
                equal(got[key][k], v, f"{what}: {key}: {k}")


def segments(w):
    """What a warp is in between any two times at which something begins or ends: the range that began last. A range
    shorter than the timer's step has no length and takes no part."""
    times = sorted({w.start, w.end} | {t for r in w.ranges for t in (r.start, r.end) if w.start <= t <= w.end and r.start < r.end})
    for a, b in zip(times, times[1:]):
        inside = [r for r in w.ranges if r.start <= a and r.end >= b and r.start < r.end]
        # Of those that began together the longer one is outside.
        yield a, b, max(inside, key=lambda r: (r.start, -(r.end - r.start))) if inside else None


def busy_of(w, wait):
    sums = collections.Counter()
    for a, b, r in segments(w):
        sums["idle" if r is None else "wait" if re.search(wait, r.name) else "busy"] += b - a
    return sums


def check_warps(name, wait=None):
    warps = warps_of(load(PATHS[name]))
    arguments = ["--wait", wait] if wait else []
    answer = json.loads(query("warps", "--roles", "0-1=low,3=high", *arguments, PATHS[name], "--format", "json"))
    equal(answer["wait"], wait or WAIT, f"{name}: wait")
    got = {(r["graph"], r["launch"], r["cta_x"], r["cta_y"], r["cta_z"], r["warp"], r["sm"]): r for r in answer["rows"]}
    equal(len(got), len(warps), f"{name}: warps")
    by_role, by_sm = collections.defaultdict(list), collections.defaultdict(list)
    for w in warps:
        row, sums = got[(w.graph, w.launch, *w.cta, w.warp, w.sm)], busy_of(w, wait or WAIT)
        want = {"lifetime_ns": w.end - w.start, "start_skew_ns": w.start - w.span[0], "end_skew_ns": w.span[1] - w.end, "busy_ns": sums["busy"], "wait_ns": sums["wait"],
                "idle_ns": sums["idle"], "busy_pct": 100 * sums["busy"] / (w.end - w.start)}
        for k, v in want.items():
            equal(row[k], v, f"{name}: warp {w.cta} {w.warp}: {k}")
        by_role["low" if w.warp <= 1 else "high" if w.warp == 3 else None].append(w)
        by_sm[w.graph, w.launch, w.sm].append(w)
    lifetimes = [r["lifetime_ns"] for r in answer["rows"]]
    equal(lifetimes, sorted(lifetimes, reverse=True), f"{name}: the order of warps")
    critical = max((r for r in by_role if r), key=lambda r: (percentile([w.end - w.start for w in by_role[r]], 50), max(w.end - w.start for w in by_role[r])))
    for row in answer["roles"]:
        equal(row["critical"], row["role"] == critical, f"{name}: critical role {row['role']}")
        equal(row["lifetime_p50_ns"], percentile([w.end - w.start for w in by_role[row["role"]]], 50), f"{name}: role {row['role']}")
    for row in answer["launches"]:
        sums = [sum(w.end - w.start for w in ws) for (g, l, _), ws in by_sm.items() if (g, l) == (row["graph"], row["launch"])]
        equal(row["sm_imbalance"], max(sums) / statistics.fmean(sums), f"{name}: imbalance")


def check_gaps(name):
    warps = warps_of(load(PATHS[name]))
    groups, waits = collections.defaultdict(list), collections.defaultdict(list)
    for w in warps:
        inside = [r for r in w.ranges if r.start < r.end]
        for a, b, r in segments(w):
            if r is not None:
                continue
            ended = max((x for x in inside if x.end <= a), key=lambda x: (x.end, -x.start), default=None)
            # Several may begin at once: the innermost is what follows.
            follows = min((x for x in inside if x.start == b), key=lambda x: x.end - x.start, default=None)
            # Several may end at once: the outermost ended last.
            groups[ended.name if ended else "(start)", follows.name if follows else "(end)"].append(b - a)
        for r in w.ranges:
            if re.search(WAIT, r.name):
                waits[r.name].append(exclusive(r))
    answer = json.loads(query("gaps", PATHS[name], "--format", "json"))
    got = {(r["after"], r["before"]): r for r in answer["rows"]}
    life = sum(w.end - w.start for w in warps)
    if sum(r["total_ns"] for r in answer["rows"]) != sum(sum(v) for v in groups.values()):
        sys.exit(f"{name}: all gaps together: {sum(r['total_ns'] for r in answer['rows'])}, expected {sum(sum(v) for v in groups.values())}")
    for key, values in groups.items():
        for k, v in {**figures(values), "share_pct": 100 * sum(values) / life}.items():
            equal(got.get(key, {}).get(k), v, f"{name}: gap {key}: {k}")
    for row in answer["waits"]:
        for k, v in (("count", len(waits[row["name"]])), ("total_ns", sum(waits[row["name"]])), ("p99_ns", percentile(waits[row["name"]], 99))):
            equal(row[k], v, f"{name}: wait {row['name']}: {k}")
    equal({r["name"] for r in answer["waits"]}, set(waits), f"{name}: waits")


def check_cadence(name):
    steps = collections.defaultdict(list)
    for w in warps_of(load(PATHS[name])):
        starts = collections.defaultdict(list)
        for r in w.ranges:
            starts[r.name].append(r.start)
        for k, v in starts.items():
            v.sort()
            steps[k] += [b - a for a, b in zip(v, v[1:])]
    for row in rows("cadence", PATHS[name]):
        values = steps[row["name"]]
        equal(row["count"], len(values), f"{name}: cadence of {row['name']}")
        for k, v in (figures(values) if values else {}).items():
            equal(row[k], v, f"{name}: cadence of {row['name']}: {k}") if k in row else None


def check_lead():
    """load_issue and mma of the GEMM carry no common payload: the n-th follows the n-th; k_tile has one."""
    warps = warps_of(load(PATHS["hopper_gemm"]))
    for producer, consumer in (("load_issue", "mma"), ("load_tile", "mma_tile"), ("mma_wait", "mma")):
        leads, missing = [], 0
        for cta in {w.cta for w in warps}:
            made, used = [], []
            for w in (w for w in warps if w.cta == cta):
                made += [r for r in w.ranges if r.name == producer]
                used.append([r for r in w.ranges if r.name == consumer])
            payloads = all(r.type for r in made) and all(r.type for u in used for r in u)
            key = lambda r: r.bits if payloads else 0
            for one in used:
                for k in {key(r) for r in one}:
                    a, b = sorted((r for r in made if key(r) == k), key=lambda r: r.start), sorted((r for r in one if key(r) == k), key=lambda r: r.start)
                    leads += [y.start - x.end for x, y in zip(a, b)]
                    missing += max(0, len(b) - len(a))
        row = rows("cadence", "--producer", producer, "--consumer", consumer, PATHS["hopper_gemm"])[0]
        what = f"lead of {producer} over {consumer}"
        equal(row["unmatched"], missing, what + ": unmatched")
        for k, v in figures(leads).items():
            equal(row[k], v, f"{what}: {k}") if k in row else None
        equal(row["late_pct"], 100 * sum(v < 0 for v in leads) / len(leads), what + ": late")
        equal(row["mean_ns"], statistics.fmean(leads), what + ": mean")


def check_payload(name):
    trace = load(PATHS[name])
    want, durations = collections.Counter(), collections.defaultdict(list)
    for key, ordinal, launch in launches(trace):
        for m in launch["markers"]:
            if m.get("payloadType"):
                want["marker", trace["stringTable"][m["markerNameIdx"]], typed(m["payloadType"], m["payloadVal"])] += 1
        for r in launch["ranges"]:
            one = Range(trace, r)
            if one.type:
                want["token" if one.token else "range", one.name, typed(one.type, one.bits)] += 1
                durations["token" if one.token else "range", one.name, typed(one.type, one.bits)].append(one.end - one.start)
    import struct
    single = lambda v: struct.unpack("<f", struct.pack("<f", v))[0] if isinstance(v, float) else v
    got = {(r["kind"], r["name"], single(r["payload"]) if r["payload_type"] == "f32" else r["payload"]): r for r in rows("payload", PATHS[name])}
    equal({k: r["count"] for k, r in got.items()}, dict(want), f"{name}: payloads")
    for k, v in durations.items():
        for field, value in figures(v).items():
            equal(got[k][field], value, f"{name}: payload {k}: {field}")
    order = [r["payload"] for r in rows("payload", PATHS[name]) if r["name"] == "k_tile"]
    equal(order, sorted(order), f"{name}: the order of payloads")


# ---- by hand --------------------------------------------------------------------------------------------------------------

T0 = 1_700_000_000_000_000_000


def small(warps, names, kernel="k"):
    """A trace of one launch. warps: [(cta, warp, sm, start, end, [(name, start, end[, payload, ...])])] from T0; a range
    with end None is open to the warp's end; a name in brackets is a token; one that starts with ! is a marker."""
    places, launch = [], {"contextId": 1, "gridId": 1, "kernelName": kernel, "gridDimX": 1, "gridDimY": 1, "gridDimZ": 1, "blockDimX": 32 * len(warps),
                          "blockDimY": 1, "blockDimZ": 1, "markers": [], "ranges": [], "warpLifetimes": []}
    for cta, warp, sm, start, end, events in warps:
        at = len(places)
        places.append({"smId": sm, "tpcId": -1, "gpcId": -1, "ctaId": [cta, 0, 0], "warpId": warp})
        launch["warpLifetimes"].append({"locIdx": at, "startTs": T0 + start, "endTs": T0 + end})
        for name, a, b, *payload in events:
            extra = {"payloadType": payload[0], "payloadVal": payload[1]} if payload else {}
            if name[0] == "!":
                launch["markers"].append({"locIdx": at, "markerNameIdx": names.index(name[1:]), "timestamp": T0 + a, "color": 4294967295, **extra})
                continue
            token = name[0] == "["
            inner = [{"eventId": 1, "timestamp": T0 + a, **extra}] + ([] if b is None else [{"eventId": 1 if token else 31, "timestamp": T0 + b}])
            launch["ranges"].append({"rangeNameIdx": names.index(name.strip("[]")), "startTs": T0 + a, "endTs": T0 + (end if b is None else b), "warpLocIdxs": [at, at],
                                     "internalEvents": inner, "rangeId": 1, "rangeType": 1 if token else 2, "rangeScope": 0, "rangeColor": 4294967295,
                                     **({"unclosed": True} if b is None else {})})
    return {"meta": {"version": 1}, "stringTable": names, "locationTable": places, "launches": [launch], "graphLaunches": {}}


def ask(trace, *arguments, status=0):
    return json.loads(query(*arguments, "-", "--format", "json", stdin=json.dumps(trace).encode(), status=status))


def ask_fails(trace, *arguments):
    query(*arguments, "-", stdin=json.dumps(trace).encode(), status=2)


def pick(rows_, *fields):
    return [tuple(r[f] for f in fields) for r in rows_]


def by_hand():
    # outer 0-100 with work 10-40 and q_wait 40-90 (in which a token lies), idle 100-120, then work 120-150.
    trace = small([(0, 0, 3, 0, 200, [("outer", 0, 100), ("work", 10, 40), ("q_wait", 40, 90), ("[load]", 50, 60), ("work", 120, 150)])], ["outer", "work", "q_wait", "load"])
    got = ask(trace, "ranges")["rows"]
    equal(sorted(pick(got, "name", "count", "total_ns", "exclusive_total_ns")), [("load", 1, 10, 10), ("outer", 1, 100, 20), ("q_wait", 1, 50, 50), ("work", 2, 60, 60)], "by hand: ranges")
    one = ask(trace, "warps")["rows"][0]
    # 10 + 10 of outer, 30 + 30 of work, 10 of load; 40 of q_wait.
    equal((one["busy_ns"], one["wait_ns"], one["idle_ns"]), (90, 40, 70), "by hand: busy")
    equal(pick(ask(trace, "warps", "--wait", "^work$")["rows"], "busy_ns", "wait_ns"), [(70, 60)], "by hand: another wait")
    gaps = ask(trace, "gaps")
    equal(sorted(pick(gaps["rows"], "after", "before", "count", "total_ns")), [("outer", "work", 1, 20), ("work", "(end)", 1, 50)], "by hand: gaps")
    equal(pick(gaps["waits"], "name", "count", "total_ns"), [("q_wait", 1, 50)], "by hand: waits")
    equal(pick(ask(trace, "cadence")["rows"], "name", "count", "p50_ns")[0], ("work", 1, 110), "by hand: cadence")

    # The stages of a pipeline: payloads by their remainder, the negative ones too.
    staged = small([(0, 0, 0, 0, 100, [("a", 10 * i, 10 * i + i + 1, 5, (i - 3) % 2**32) for i in range(7)] + [("b", 80, 90, 13, 0x40400000)])], ["a", "b"])
    got = {(r["name"], r["payload"]): (r["count"], r["total_ns"]) for r in ask(staged, "ranges", "--by", "name,payload%3")["rows"]}
    equal(got, {("a", 0): (3, 1 + 4 + 7), ("a", 1): (2, 2 + 5), ("a", 2): (2, 3 + 6), ("b", 3): (1, 10)}, "stages")
    for by in ("payload%0", "name%2", "payload%", "payload%x", "payload%2000000", "nam"):
        ask_fails(staged, "ranges", "--by", by)

    # No event at all: summaries are empty, check says so.
    nothing = small([(0, 0, 0, 0, 100, [])], [])
    for verb in ("summary", "ranges", "cadence", "payload", "events"):
        equal(ask(nothing, verb).get("rows", []), [], f"no event: {verb}")
    equal(pick(ask(nothing, "gaps")["rows"], "after", "before", "total_ns"), [("(start)", "(end)", 100)], "no event: gaps")
    equal(pick(ask(nothing, "warps")["rows"], "lifetime_ns", "busy_ns", "idle_ns"), [(100, 0, 100)], "no event: warps")
    equal(pick(ask(nothing, "check", status=1)["rows"], "check", "status")[0], ("events", "failed"), "no event: check")

    # One event; all equal; one outlier among a hundred.
    one = small([(0, 0, 0, 0, 10, [("a", 1, 2)])], ["a"])
    equal(pick(ask(one, "summary")["rows"], "count", "min_ns", "p50_ns", "p99_ns", "max_ns", "share_pct"), [(1, 1, 1, 1, 1, 10)], "one event")
    same = small([(0, 0, 0, 0, 1000, [("a", 10 * i, 10 * i + 5) for i in range(50)])], ["a"])
    equal(pick(ask(same, "ranges")["rows"], "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"), [(5, 5, 5, 5, 5)], "all equal")
    outlier = small([(0, 0, 7, 0, 17_000_002_000, [("a", 10 * i, 10 * i + 5) for i in range(99)] + [("a", 1000, 17_000_001_000)])], ["a"])
    equal(pick(ask(outlier, "ranges")["rows"], "p50_ns", "p90_ns", "p99_ns", "max_ns"), [(5, 5, 5, 17_000_000_000)], "an outlier")

    # Equal times: a range without length at its parent's end, siblings that touch, a parent and child of the same length.
    touching = small([(0, 0, 0, 0, 100, [("a", 0, 50), ("b", 0, 50), ("c", 50, 50), ("c", 50, 80)])], ["a", "b", "c"])
    got = {r["name"]: r for r in ask(touching, "ranges")["rows"]}
    equal(got["a"]["exclusive_total_ns"] + got["b"]["exclusive_total_ns"], 50, "equal times: one is inside the other")
    equal(got["c"]["exclusive_total_ns"], 30, "equal times: c")
    equal(pick(ask(touching, "check")["rows"], "check", "status")[4], ("nesting", "ok"), "equal times: nesting")

    # An unclosed range ends with its warp; a partial overlap is a failed check and takes no time from the other.
    unclosed = small([(0, 0, 0, 0, 100, [("a", 10, None), ("b", 20, 40)])], ["a", "b"])
    equal(sorted(pick(ask(unclosed, "events")["rows"], "name", "dur_ns", "unclosed")), [("a", 90, True), ("b", 20, False)], "unclosed")
    equal(pick(ask(unclosed, "check", status=1)["rows"], "check", "status")[3], ("pairs", "failed"), "unclosed: check")
    partial = small([(0, 0, 0, 0, 100, [("a", 0, 50), ("b", 25, 75)])], ["a", "b"])
    equal(sorted(pick(ask(partial, "ranges")["rows"], "name", "exclusive_total_ns")), [("a", 50), ("b", 50)], "partial overlap")
    equal(pick(ask(partial, "check", status=1)["rows"], "check", "status")[4], ("nesting", "failed"), "partial overlap: check")

    # 64-bit extremes, NaN and the infinities as payloads.
    extremes = small([(0, 0, 0, 0, 100, [("!m", 1, 1, 7, 1 << 63), ("!m", 2, 2, 16, 2**64 - 1), ("!m", 3, 3, 14, 0x7FF8000000000000), ("!m", 4, 4, 13, 0xFF800000),
                                         ("!m", 5, 5, 7, 2**63 - 1), ("!m", 6, 6, 1, 0x80)])], ["m"])
    values = query("events", "-", "--values", stdin=json.dumps(extremes).encode()).split()
    equal(values, ["-9223372036854775808", "18446744073709551615", "NaN", "-Infinity", "9223372036854775807", "-128"], "extreme payloads")
    equal(pick(ask(extremes, "payload")["rows"], "payload_type", "payload", "count"),
          [("i8", -128, 1), ("i64", -(2**63), 1), ("i64", 2**63 - 1, 1), ("f32", "-Infinity", 1), ("f64", "NaN", 1), ("u64", 2**64 - 1, 1)], "extreme payloads: payload")
    long = small([(0, 0, 0, -T0, 2**64 - 1 - T0, [("a", -T0, 2**64 - 1 - T0), ("a", -T0, 2**64 - 1 - T0)])], ["a"])
    equal(pick(ask(long, "summary")["rows"], "total_ns", "max_ns"), [(2 * (2**64 - 1), 2**64 - 1)], "the longest durations")


def check_diff(folder):
    """Counts, medians and totals by hand; the interval holds the change; the threshold decides the exit status."""
    def write(name, durations, extra=()):
        at, events = 0, []
        for d in durations:
            events.append(("work", at, at + d))
            at += d + 7
        path = folder / name
        path.write_text(json.dumps(small([(0, 0, 0, 0, at + 1000, events + [("steady", at + 10 * i, at + 10 * i + 4) for i in range(20)] + list(extra))], ["work", "steady", "gone", "fresh"])))
        return path

    before = write("a.trace.json", [100 + i % 5 for i in range(200)], [("gone", 1, 2)])
    slower = write("b.trace.json", [110 + i % 5 for i in range(200)], [("fresh", 1, 2)])
    got = {r["name"]: r for r in rows("diff", before, slower)}
    equal({k: r["verdict"] for k, r in got.items()}, {"work": "slower", "steady": "same", "gone": "gone", "fresh": "new"}, "diff: verdicts")
    w = got["work"]
    equal((w["count_a"], w["count_b"], w["p50_a_ns"], w["p50_b_ns"], w["total_a_ns"], w["total_b_ns"]), (200, 200, 102, 112, 20400, 22400), "diff: figures")
    equal(w["p50_change_pct"], 100 * 10 / 102, "diff: change of the median")
    equal(w["total_change_pct"], 100 * 2000 / 20400, "diff: change of the total")
    if not w["p50_low_pct"] <= w["p50_change_pct"] <= w["p50_high_pct"] or not 8 < w["p50_low_pct"] or not w["p50_high_pct"] < 12:
        sys.exit(f"diff: interval {w['p50_low_pct']}..{w['p50_high_pct']} around {w['p50_change_pct']}")
    equal(rows("diff", before, slower), rows("diff", before, slower), "diff: twice the same")
    query("diff", before, slower, "--fail-over", "5%", status=1)
    if not re.search(r"1 name is slower than --fail-over allows: work \(p50 \+9\.80 %\)", query.stderr):
        sys.exit(f"diff: {query.stderr}")
    query("diff", before, slower, "--fail-over", "10", status=0)
    query("diff", slower, before, "--fail-over", "0%", status=0)
    query("diff", before, status=2)
    query("diff", before, slower, before, status=2)

    # Three ranks a side: folders.
    for side, scale in (("old", 1), ("new", 2)):
        (folder / side).mkdir()
        for rank in range(3):
            (folder / side / f"rank{rank}.trace.json").write_text(json.dumps(small([(0, 0, 0, 0, 1000, [("a", 0, 10 * scale + rank)])], ["a"])))
    got = rows("diff", folder / "old", folder / "new")[0]
    equal((got["count_a"], got["p50_a_ns"], got["p50_b_ns"], got["total_a_ns"]), (3, 11, 21, 33), "diff: ranks")
    equal([r["input"] for r in rows("ranges", folder / "old", "--sort", "input:asc")], [f"rank{i}.trace.json" for i in range(3)], "ranks: the input is part of the key")


def check_check():
    statuses = lambda path, *more, status=0: {r["check"]: r["status"] for r in rows("check", path, *more, status=status)}
    gemm = PATHS["hopper_gemm"]
    equal(set(statuses(gemm).values()), {"ok", "skipped"}, "check: the GEMM")
    equal(statuses(gemm, "--expect", "tile_done=1024/launch")["expect tile_done"], "ok", "check: a launch's markers")
    equal(statuses(gemm, "--warp", "0", "--expect", "load_tile=2/cta", status=1)["expect load_tile"], "failed", "check: some CTAs have another number")
    equal(statuses(PATHS["features"], "--expect", "block_enter=1/warp")["expect block_enter"], "ok", "check: one a warp")
    equal(statuses(PATHS["features"], "--expect", "block_enter=3/cta", status=1)["expect block_enter"], "failed", "check: not three a CTA")
    query("check", gemm, "--expect", "nonsense", status=2)
    raw = FIXTURES / "collector" / "hopper_gemm"
    launch = json.loads((raw / "iket.data.json").read_text())["launches"][0]
    room, data = launch["warpBufferSize"], (raw / "iket.data.bin").read_bytes()
    used = max(int.from_bytes(data[at:at + 4], "little") for at in range(0, len(data), room))
    row = next(r for r in rows("check", raw / "iket.data.json") if r["check"] == "headroom")
    equal((row["status"], row["detail"]), ("ok", f"the fullest warp buffer has {used} of {room} bytes"), "check: headroom")
    broken = statuses(FIXTURES / "broken_ranges" / "dump.bin", status=1)
    equal(broken["pairs"], "failed", "check: broken ranges")
    equal(statuses(FIXTURES / "cut_off_file" / "dump.bin", status=1)["intact"], "failed", "check: a file that is cut off")
    equal(statuses(FIXTURES / "divergent_streams" / "dump.bin")["nesting"], "note", "check: divergence")


def check_path(folder):
    """A producer warp and a consumer warp, worked out by hand."""
    dag = folder / "k.iket_dag.json"
    dag.write_text(json.dumps({"name": "k", "regions": ["load", "mma", "store"], "edges": [
        {"source": "load", "target": "mma", "label": "smem", "via": "mbarrier"}, {"source": "mma", "target": "load", "label": "free"}, {"source": "mma", "target": "store"}]}))
    p = lambda n: (5, n)
    trace = small([(0, 0, 1, 0, 500, [("load", 10, 60, *p(0)), ("load", 60, 160, *p(1)), ("other", 170, 480)]),
                   (0, 1, 1, 0, 500, [("mma", 70, 90, *p(0)), ("mma", 150, 200, *p(1)), ("store", 210, 300)])], ["load", "mma", "store", "other"])
    answer = ask(trace, "path", "--dag", dag)
    # Back from the store: bound by mma 1 (order and edge tie: the edge is no tie for occurrence 0, so order); mma 1 by
    # load 1, which ended after mma 1 had started; load 1 by load 0 on its own warp, and that by nothing.
    equal(pick(answer["rows"], "name", "payload", "path_ns", "slack_ns", "bound_by", "via"),
          [("load", 0, 50, 10, None, None), ("load", 1, 100, 0, "load", "order"), ("mma", 1, 40, 0, "load", "mbarrier"), ("store", None, 90, 10, "mma", "order")], "path: steps")
    equal({r["name"]: (r["count"], r["path_ns"], r["slack_ns"]) for r in answer["regions"]}, {"load": (2, 150, 10), "mma": (1, 40, 0), "store": (1, 90, 10)}, "path: regions")
    equal([r["count"] for r in answer["edges"]], [1, 0, 0, 2], "path: edges")
    equal(sum(r["path_ns"] + r["slack_ns"] for r in answer["rows"]), 300, "path: it covers the time to its end")
    # Over the GEMM the path of the launch adds up to its last region's end, whatever bound it.
    gemm = load(PATHS["hopper_gemm"])
    dag.write_text(json.dumps({"edges": [{"source": "load_issue", "target": "mma_wait"}, {"source": "mma_wait", "target": "mma"}, {"source": "mma", "target": "epilogue"}]}))
    steps = rows("path", "--dag", dag, PATHS["hopper_gemm"])
    names = {"load_issue", "mma_wait", "mma", "epilogue"}
    last = max(r["endTs"] for r in gemm["launches"][0]["ranges"] if gemm["stringTable"][r["rangeNameIdx"]] in names)
    begin = min(w["startTs"] for w in gemm["launches"][0]["warpLifetimes"])
    equal(sum(r["path_ns"] + r["slack_ns"] for r in steps), last - begin, "path: the GEMM")
    for a, b in zip(steps, steps[1:]):
        equal(b["bound_by"], a["name"], "path: a step is bound by the one before")
    query("path", PATHS["wrap"], status=2)
    query("path", "--dag", dag, PATHS["wrap"], status=1)
    dag.write_text('{"edges": [{"source": "a"}]}')
    query("path", "--dag", dag, PATHS["wrap"], status=2)


for case in ("features", "tilelang_all_features", "cxx", "wrap"):
    check_ranges(case)
    check_warps(case)
    check_gaps(case)
    check_cadence(case)
    check_payload(case)
check_ranges("hopper_gemm")
check_warps("hopper_gemm", "^mma_wait$")
check_gaps("hopper_gemm")
check_lead()
by_hand()
with tempfile.TemporaryDirectory() as scratch:
    check_diff(pathlib.Path(scratch))
    check_path(pathlib.Path(scratch))
check_check()
