# SPDX-License-Identifier: Apache-2.0
"""naive.py: the questions of doc/api.md answered from a level file in the plainest way: every event is looked at, nothing is
searched, floats where the page has floats. The judge of the answers in C.
"""

import array
import decimal
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
        if "role" in s and not in_set(s["role"], f.node_role[warp]):
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

    # ---- single events -------------------------------------------------------------------------------------------

    def events(self, s):
        ids, others, told, f = sorted({int(n) for n in s["ids"].split(",")}), set(), [], self.f
        for i in ids:
            arrows = [(a, b) for a, b in zip(f.arrow[0::2], f.arrow[1::2]) if i in (a, b)][:200]
            more = {"outer": self.nested(i, -1), "inner": self.nested(i, 1), "previous": self.neighbour(i, -1), "next": self.neighbour(i, 1)}
            others |= set(more.values()) | {b if a == i else a for a, b in arrows}
            told.append({**self.fields(i), **more, "arrows": [{"from": a, "to": b} for a, b in arrows]})
        return {"version": 1, "events": told + [self.fields(i) for i in sorted(others - set(ids) - {-1})]}

    def fields(self, i):
        f = self.f
        end, recorded = f.notes.get((i, lf.NOTE_END_PAYLOAD)), [f.notes.get((i, k)) for k in (lf.NOTE_BEGIN_RECORDED, lf.NOTE_END_RECORDED)]
        return {"event": i, "lane": self.lane_of[i], "start": f.start[i], "end": f.end[i], "cls": f.cls[i], "flags": f.flags[i],
                "payloadType": f.payload_type[i], "payload": str(f.payload[i]) if f.payload_type[i] else "",
                "endPayload": [end[1], str(end[0])] if end else None,
                "recordedAt": [r and str(r[0]) for r in recorded] if any(recorded) else None, "extra": f.extra(i)}  # fmt: skip

    def nested(self, i, direction):
        f, lane = self.f, self.lane_of[i]
        if not 0 <= lane + direction < self.lanes or f.lane_node[lane + direction] != f.lane_node[lane]:
            return -1
        events = range(f.lane_first[lane + direction], f.lane_first[lane + direction + 1])
        if direction < 0:
            before = [j for j in events if f.start[j] <= f.start[i]][-1:]
            return before[0] if before and f.end[before[0]] >= f.end[i] else -1
        after = [j for j in events if f.start[j] >= f.start[i]][:1]
        return after[0] if after and f.end[after[0]] <= f.end[i] else -1

    def under(self, node):
        f = self.f
        return range(f.lane_first[f.node_lane[node]], f.lane_first[f.node_lane[f.node_last[node]]])

    def neighbour(self, i, direction):
        f, node = self.f, self.f.lane_node[self.lane_of[i]]
        warp = self.above(node, lf.WARP)
        same = sorted((f.start[j], j) for j in self.under(warp if warp >= 0 else node) if f.cls[j] == f.cls[i])
        at = same.index((f.start[i], i)) + direction
        return same[at][1] if 0 <= at < len(same) else -1

    def find(self, s):
        return {"version": 1, "event": getattr(self, "by_" + s["by"])({k: v for k, v in s.items() if k != "by"})}

    def by_order(self, s):
        direction, count, i = int(s.get("direction", 1)), self.f.events, int(s.get("after", -1))
        fits, classes = set(self.scope_events(s)), [int(c) for c in s["classes"].split(".")] if "classes" in s else None
        for _ in range(count):
            i = (i + direction + count) % count
            if i in fits and (classes is None or self.f.cls[i] in classes):
                return i
        return -1

    def by_warp(self, s):
        f, i, direction, lanes = self.f, int(s["after"]), int(s.get("direction", 1)), set(self.scope_lanes(s))
        node = self.above(f.lane_node[self.lane_of[i]], lf.WARP)
        while node >= 0 and 0 <= node + direction < len(f.node_kind):
            node += direction
            same = [j for j in self.under(node) if f.cls[j] == f.cls[i]] if f.node_kind[node] == lf.WARP and f.node_lane[node] in lanes else []
            if same:
                return min(same, key=lambda j: abs(f.start[j] - f.start[i]))
        return -1

    def by_node(self, s):
        f = self.f
        return next((i for i in self.under(int(s["node"])) if f.class_kind[f.cls[i]] in (lf.RANGE, lf.TOKEN, lf.MARKER)
                     and self.class_fits(f.cls[i], s) and f.end[i] >= float(s.get("from", 0))), -1)  # fmt: skip

    def by_point(self, s):
        f, lane, time, near = self.f, int(s["lane"]), float(s["time"]), float(s.get("near", 0))
        events = range(f.lane_first[lane], f.lane_first[lane + 1])
        inside = [i for i in events if f.start[i] <= time < f.end[i] and f.end[i] >= time - near]
        away = [(f.start[i] - time if time < f.start[i] else time - f.end[i], i) for i in events]
        best = min((a for a in away if a[0] < near), default=(0, -1))[1]
        return inside[0] if inside else best

    def longest(self, s):
        f, events = self.f, self.scope_events(s)
        events = sorted(events, key=lambda i: (f.start[i] - f.end[i], i))[: int(s.get("limit", 8))]
        return {"version": 1, "events": events, "lane": [self.lane_of[i] for i in events], **self.columns(events)}

    def points(self, s):
        f, cls = self.f, next(c for c in range(len(self.f.class_kind)) if self.class_fits(c, s))
        every = max(1, math.ceil(sum(c == cls for c in f.cls) / int(s.get("limit", 20000))))
        events = [i for i in self.scope_events(s) if f.payload_type[i]]
        shown = [(i, number_of(f.payload_type[i], f.payload[i])) for i in events[::every]]
        shown = [(i, v) for i, v in shown if math.isfinite(v)]
        marker = f.class_kind[cls] == lf.MARKER
        return {"version": 1, "every": every, "total": len(events), "x": [f.start[i] if marker else v for i, v in shown],
                "y": [v if marker else f.end[i] - f.start[i] for i, v in shown]}  # fmt: skip

    def rows_csv(self, s):
        f, lines = self.f, [CSV_HEADER]
        for i in self.scope_events(s):
            node, lane = f.lane_node[self.lane_of[i]], self.lane_of[i]
            launch, sm, cta, warp = (self.above(node, kind) for kind in (lf.NODE_LAUNCH, lf.SM, lf.CTA, lf.WARP))
            slice_ = self.launch_slice(launch) if launch >= 0 else None
            numbers = lambda n: [f.node_a[n], f.node_b[n], f.node_c[n]] if n >= 0 else [None] * 3  # noqa: E731
            part = f.node_a[node] if lf.RANGES <= f.node_kind[node] <= lf.NODE_TOKEN and f.node_a[node] >= 0 else None
            role = None if warp < 0 else f.role_class[f.node_role[warp]]
            instant, end = f.flags[i] & lf.INSTANT, f.notes.get((i, lf.NOTE_END_PAYLOAD))
            line = [None if slice_ is None else f.texts[f.node_name[launch]], None if slice_ is None else f.class_text(f.cls[slice_])]
            line += numbers(sm) + numbers(cta) + [f.node_a[warp] if warp >= 0 else None, part]
            line += ["-" if role == -1 else None if role is None else f.class_text(role), KIND_NAMES[f.class_kind[f.cls[i]]], f.class_text(f.cls[i])]
            line += [f.lane_depth[lane], f.t0 + f.start[i]] + ([None, None] if instant else [f.t0 + f.end[i], f.end[i] - f.start[i]])
            line += [payload_text(f.payload_type[i], f.payload[i]), payload_text(end[1], end[0]) if end else None, 1 if f.flags[i] & lf.UNCLOSED else None]
            lines.append(",".join(csv_field(v) for v in line) + "\r\n")
        return "".join(lines).encode()

    # ---- activity ------------------------------------------------------------------------------------------------

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


CSV_HEADER = ("launch,kernel,sm,gpc,tpc,cta_x,cta_y,cta_z,warp,lane,role,kind,name,depth,start_ns,end_ns,dur_ns,payload,end_payload,"
              "unclosed\r\n")  # fmt: skip
KIND_NAMES = ["warp lifetime", "range", "token range", "marker", "launch", "diagnostic", "event"]


def csv_field(value):
    text = "" if value is None else str(value)
    return '"%s"' % text.replace('"', '""') if any(c in text for c in '",\r\n') else text


def signed(bits):
    return bits - (1 << 64) if bits >> 63 else bits


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def number_of(type_, bits):
    return double(bits) if type_ == lf.DOUBLE else float(signed(bits) if type_ == lf.INT else bits)


def payload_text(type_, bits):
    if type_ == lf.NO_PAYLOAD:
        return None
    return {lf.INT: lambda: str(signed(bits)), lf.DOUBLE: lambda: float_text(double(bits)), lf.POINTER: lambda: "0x%x" % bits}.get(type_, lambda: str(bits))()


def float_text(value):
    """floatText() of viewer/js/format.js: the fewest digits of an f32 by toPrecision, of another double as JavaScript writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    if f32(value) == value:
        for digits in range(1, 10):
            context = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP)
            number = float(context.create_decimal(decimal.Decimal(value)))
            if f32(number) == value:
                return ecma(number)
    return ecma(value)


def f32(value):
    return array.array("f", [value])[0]  # past the greatest: infinity


def ecma(value):
    sign, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    exponent += len(text)  # of 0.d1d2…
    text = text.rstrip("0")
    if exponent > 21 or exponent < -5:
        text = "%s%se%+d" % (text[0], "." + text[1:] if len(text) > 1 else "", exponent - 1)
    elif exponent <= 0:
        text = "0." + "0" * -exponent + text
    else:
        text = text.ljust(exponent, "0")
        text = text[:exponent] + ("." + text[exponent:] if len(text) > exponent else "")
    return "-" * sign + text


def pairs(text):
    return [tuple(int(n) for n in pair.split("-")) for pair in text.split(",")]


def in_set(text, number):
    spans = [part.split("-") for part in text.split(",")]
    return any(int(span[0]) <= number <= int(span[-1]) for span in spans)


def quarter(duration):
    return 0 if duration < 1 else 1 + math.floor(math.log2(duration) * 4 + 1e-9)
