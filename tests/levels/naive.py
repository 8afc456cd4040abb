# SPDX-License-Identifier: Apache-2.0
"""naive.py: the questions of doc/api.md answered from a level file in the plainest way: every event is looked at, nothing is
searched, floats where the page has floats. The judge of the answers in C.
"""

import array
import decimal
import json
import math
import struct

import level_file as lf

FAR = 1 << 80


class Naive:
    def __init__(self, file):
        self.f = file
        self.lanes = len(file.lane_node)
        self.lane_of = [lane for lane in range(self.lanes) for _ in range(file.lane_first[lane], file.lane_first[lane + 1])]

    # ---- scope ---------------------------------------------------------------------------------------------------

    def above(self, node, kind):
        while node >= 0 and self.f.node_kind[node] != kind:
            node = self.f.node_parent[node]
        return node

    def launch_slice(self, node):
        lane = self.f.node_lane[node]
        return self.f.lane_first[lane] if lane < self.f.node_lane[node + 1] else None

    def warp_fits(self, warp, s):
        f, launch = self.f, self.above(warp, lf.NODE_LAUNCH)
        slice_ = self.launch_slice(launch) if launch >= 0 else None
        if slice_ is None:
            return False
        extra = f.extra(slice_) or {}
        if "launch" in s:
            key, _, index = s["launch"].partition("#")
            if key.replace("-", "").replace(",", "").isdigit():
                if "graph_key" in extra or not in_set(key, extra.get("launch", 0)):
                    return False
            elif extra.get("graph_key") != key or (index and not in_set(index, extra.get("launch", 0))):
                return False
        if "kernel" in s and s["kernel"] not in f.class_text(f.cls[slice_]):
            return False
        if "sm" in s and not in_set(s["sm"], f.node_a[self.above(warp, lf.SM)]):
            return False
        cta = self.above(warp, lf.CTA)
        if "cta" in s:
            place = (f.node_a[cta], f.node_b[cta], f.node_c[cta])
            if any(p not in ("*", "") and int(p) != place[axis] for axis, p in enumerate(s["cta"].split(","))):
                return False
        if "warp" in s and not in_set(s["warp"], f.node_a[warp]):
            return False
        if "role" in s and str(f.node_role[warp]) not in s["role"].split(","):
            return False
        return "under" not in s or any(a <= warp < b for a, b in pairs(s["under"]))

    def scope_lanes(self, s):
        f = self.f
        if "lanes" in s:
            return [lane for a, b in pairs(s["lanes"]) for lane in range(a, b)]
        if not set(s) & {"launch", "kernel", "sm", "cta", "warp", "role", "under"}:
            return list(range(self.lanes))
        warps = [n for n in range(len(f.node_kind)) if f.node_kind[n] == lf.WARP and self.warp_fits(n, s)]
        return [lane for w in warps for lane in range(f.node_lane[w], f.node_lane[f.node_last[w]])]

    def span(self, s):
        if "time" in s:
            a, _, b = s["time"].partition("..")
            t0 = self.f.t0
            ends = [None if t == "" else int(t) if int(t) < t0 else int(t) - t0 for t in (a, b)]
            return (-FAR if ends[0] is None else ends[0], FAR if ends[1] is None else ends[1])
        return (float(s["from"]) if "from" in s else -FAR, float(s["to"]) if "to" in s else FAR)

    def class_fits(self, cls, s):
        return ("class" not in s or int(s["class"]) == cls) and ("name" not in s or self.f.class_text(cls) == s["name"])

    def scope_events(self, s):
        f, (a, b) = self.f, self.span(s)
        return [i for lane in self.scope_lanes(s) for i in range(f.lane_first[lane], f.lane_first[lane + 1])
                if f.end[i] >= a and f.start[i] <= b and self.class_fits(f.cls[i], s)]  # fmt: skip

    # ---- answers -------------------------------------------------------------------------------------------------

    def statistics(self, s):
        f, a, durations = self.f, self.span(s)[0], {}
        for i in self.scope_events(s):
            if f.end[i] > a or f.start[i] >= a:
                durations.setdefault(f.cls[i], []).append(f.end[i] - f.start[i])
        classes = []
        for cls, values in sorted(durations.items()):
            values.sort()
            rank = lambda p: values[max(0, math.ceil(len(values) * p / 100) - 1)]  # noqa: E731, B023
            bins = [0] * (1 + max(quarter(v) for v in values))
            for v in values:
                bins[quarter(v)] += 1
            classes.append({"cls": cls, "name": f.class_text(cls), "kind": f.class_kind[cls], "count": len(values), "total": str(sum(values)),
                            "mean": sum(values) / len(values), "min": values[0], "p50": rank(50), "p90": rank(90), "p99": rank(99), "max": values[-1],
                            "histogram": bins})  # fmt: skip
        return {"version": 1, "classes": classes}

    def columns(self, events):
        f = self.f
        return {"start": [f.start[i] for i in events], "length": [f.end[i] - f.start[i] for i in events], "cls": [f.cls[i] for i in events],
                "flags": [f.flags[i] for i in events], "payloadType": [f.payload_type[i] for i in events],
                "payload": [str(f.payload[i]) if f.payload_type[i] else "" for i in events]}  # fmt: skip

    def window(self, s):
        f, (a, b), pixel = self.f, self.span(s), float(s.get("ns_per_pixel", 0))
        lanes, at, events = self.scope_lanes(s), [0], []
        for lane in lanes:
            all_ = [i for i in range(f.lane_first[lane], f.lane_first[lane + 1]) if self.class_fits(f.cls[i], s)]
            events += [i for i in all_ if f.end[i] < a][-1:]
            past = -FAR  # what ends up to here was stood for
            for i in all_:
                if f.end[i] < a or f.end[i] <= past:
                    continue
                events.append(i)
                if f.start[i] > b:
                    break
                past = -FAR
                if pixel > 0 and f.end[i] - f.start[i] < pixel:
                    origin = a if a > -FAR else 0
                    past = origin + (math.floor((f.start[i] - origin) / pixel) + 1) * pixel
            at.append(len(events))
        return {"version": 1, "from": a if a > -FAR else 0, "to": b if b < FAR else f.span, "ns_per_pixel": pixel, "lanes": lanes, "at": at,
                "event": events, **self.columns(events)}  # fmt: skip

    def activity(self, s):
        """The page's activity() and peakWarps(), in its single precision."""
        f, bins, a, b = self.f, int(s.get("bins", 256)), float(s.get("from", 0)), float(s.get("to", self.f.span))
        if "rows" in s:
            rows = [pairs(row.replace(".", ",")) for row in s["rows"].split(",")]
        else:
            rows = [[(n, f.node_last[n]) for n in range(len(f.node_kind)) if f.node_kind[n] == lf.SM and f.node_a[n] == sm]
                    for sm in range(64) if in_set(s["sms"], sm)]  # fmt: skip
        peaks = [self.peak(row) for row in rows]
        out = [self.row(row, peak, a, b, bins) for row, peak in zip(rows, peaks)]
        return struct.pack("<%dI" % (2 + len(rows)), len(rows), bins, *peaks) + b"".join(out)

    def peak(self, row):
        f, edges = self.f, []
        for a, b in row:
            for node in range(a, b):
                lane = f.node_lane[node]
                if f.node_kind[node] == lf.WARP and lane < f.node_lane[node + 1]:
                    for i in range(f.lane_first[lane], f.lane_first[lane + 1]):
                        edges.append((f.start[i], f.end[i]))
        return max((sum(s <= t <= e for s, e in edges) for t, _ in edges), default=0)

    def row(self, row, peak, a, b, bins):
        f, sums, steps, scale = self.f, array.array("f", bytes(64 * bins)), array.array("f", bytes(64 * (bins + 1))), bins / (b - a)

        def add(x0, x1, c, sign):
            b0, b1 = min(bins - 1, math.floor(x0)), min(bins - 1, math.floor(x1))
            if b0 == b1:
                sums[b0 * 16 + c] += sign * (x1 - x0)
                return
            sums[b0 * 16 + c] += sign * (b0 + 1 - x0)
            sums[b1 * 16 + c] += sign * (x1 - b1)
            steps[(b0 + 1) * 16 + c] += sign
            steps[b1 * 16 + c] -= sign

        for node_from, node_to in row:
            for lane in range(f.node_lane[node_from], f.node_lane[node_to]):
                for i in range(f.lane_first[lane], f.lane_first[lane + 1] if f.lane_active[lane] else 0):
                    x0, x1 = (max(f.start[i], a) - a) * scale, (min(f.end[i], b) - a) * scale
                    if x1 <= x0:
                        continue
                    add(x0, x1, f.class_category[f.cls[i]], 1)
                    if f.parent_cls[i] != lf.NO_CLASS:
                        add(x0, x1, f.class_category[f.parent_cls[i]], -1)
                    elif f.lane_active[lane] == 2:
                        add(x0, x1, 0, -1)
        running, out, unit = array.array("f", bytes(64)), bytearray(bins * 16), 255 / max(1, peak)
        for k in range(bins * 16):
            running[k % 16] += steps[k]
            out[k] = int(max(0, min(255, (sums[k] + running[k % 16]) * unit + 0.5)))
        return bytes(out)


def pairs(text):
    return [tuple(int(n) for n in pair.split("-")) for pair in text.split(",")]


def in_set(text, number):
    spans = [part.split("-") for part in text.split(",")]
    return any(int(span[0]) <= number <= int(span[-1]) for span in spans)


def quarter(duration):
    return 0 if duration < 1 else 1 + math.floor(math.log2(duration) * 4 + 1e-9)
