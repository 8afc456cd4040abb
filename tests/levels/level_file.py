# SPDX-License-Identifier: Apache-2.0
"""level_file.py: reads and writes level files by the text of levels/file.h, with nothing of the C code.

LevelFile(path)      its tables as sequences: file.start[i], file.node_kind[n], …
make(seed)           a small trace with all that a file can hold, as {section: list}
write(path, tables)  a level file of such tables
"""

import array
import json
import pathlib
import random
import re
import struct

CATEGORIES = 16
NO_CLASS = 0xFFFF
LIFETIME, RANGE, TOKEN, MARKER, LAUNCH, DIAGNOSTIC, OTHER = range(7)
INSTANT, UNCLOSED, END_PAYLOAD, RECORDED_AT = 1, 2, 4, 8
NO_PAYLOAD, INT, UINT, DOUBLE, POINTER, TEXT = range(6)
ROOT, KERNEL, BUCKET, NODE_LAUNCH, SM, CTA, WARP, RANGES, MARKERS, NODE_TOKEN, DIAGNOSTICS = range(11)
NOTE_END_PAYLOAD, NOTE_BEGIN_RECORDED, NOTE_END_RECORDED, NOTE_EXTRA = range(4)

HEADER = (pathlib.Path(__file__).parents[2] / "levels/file.h").read_text()
TYPES = {"char": "B", "uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "int32_t": "i", "uint64_t": "Q", "float": "f"}
SECTIONS = [(name, TYPES.get(kind, "note")) for name, kind in re.findall(r"^    X\((\w+), (\w+)\)", HEADER, re.M)]
FIXED = struct.Struct("<8sII32sQQQ")
NOTE = struct.Struct("<QQII")


class LevelFile:
    def __init__(self, path):
        data = memoryview(pathlib.Path(path).read_bytes())
        self.magic, _, self.header_bytes, self.program, self.t0, self.span, self.complete = FIXED.unpack_from(data)
        for k, (name, kind) in enumerate(SECTIONS):
            offset, count = struct.unpack_from("<QQ", data, FIXED.size + 16 * k)
            if kind == "note":
                self.note = [NOTE.unpack_from(data, offset + NOTE.size * i) for i in range(count)]
            else:
                setattr(self, name, data[offset : offset + count * array.array(kind).itemsize].cast(kind))
        self.texts = [self.text_at(bytes(self.strings), at) for at in self.string_at]
        self.events = len(self.start)
        self.notes = {}  # (event, kind) -> (bits, type)
        for event, bits, kind, type_ in self.note:
            self.notes[event, kind] = (bits, type_)

    @staticmethod
    def text_at(data, at):
        return data[at : data.index(b"\0", at)].decode()

    def extra(self, event):
        note = self.notes.get((event, NOTE_EXTRA))
        return None if note is None else json.loads(self.text_at(bytes(self.note_text), note[0]))

    def class_text(self, cls):
        return self.texts[self.class_name[cls]]


def write(path, tables, t0, span, program):
    data = bytearray(FIXED.pack(b"IKETLVL1", 0x01020304, FIXED.size + 16 * len(SECTIONS), program, t0, span, 1))
    data += bytes(16 * len(SECTIONS))
    for k, (name, kind) in enumerate(SECTIONS):
        values = tables.get(name, [])
        data += bytes(-len(data) % 8)
        struct.pack_into("<QQ", data, FIXED.size + 16 * k, len(data), len(values))
        data += b"".join(NOTE.pack(*n) for n in values) if kind == "note" else array.array(kind, values).tobytes()
    pathlib.Path(path).write_bytes(data)


class Maker:
    """Collects nodes depth first, each with its lanes of events."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.t = {name: [] for name, _ in SECTIONS}
        self.string_of, self.class_of = {}, {}
        self.notes, self.open = [], []

    def string(self, text):
        if text not in self.string_of:
            self.string_of[text] = len(self.t["string_at"])
            self.t["string_at"].append(len(self.t["strings"]))
            self.t["strings"] += list(text.encode() + b"\0")
        return self.string_of[text]

    def cls(self, name, kind):
        if (name, kind) not in self.class_of:
            self.class_of[name, kind] = len(self.t["class_kind"])
            self.t["class_name"].append(self.string(name))
            self.t["class_kind"].append(kind)
        return self.class_of[name, kind]

    def note(self, event, kind, bits, type_=0):
        self.notes.append((event, bits, kind, type_))

    def extra(self, event, value):
        self.note(event, NOTE_EXTRA, len(self.t["note_text"]))
        self.t["note_text"] += list(json.dumps(value).encode() + b"\0")

    def node(self, kind, depth, name, a=-1, b=-1, c=-1, lanes=()):
        """lanes: lists of {start, end, name, kind, …}. Gives the node and the numbers of its events, by lane."""
        t, node = self.t, len(self.t["node_kind"])
        while len(self.open) > depth:
            t["node_last"][self.open.pop()] = node
        t["node_kind"].append(kind)
        t["node_parent"].append(self.open[-1] if self.open else -1)
        t["node_last"].append(-1)
        t["node_name"].append(self.string(name))
        for key, value in zip("abc", (a, b, c)):
            t["node_" + key].append(value)
        t["node_lane"].append(len(t["lane_node"]))
        t["node_role"].append(-1)
        self.open.append(node)
        for level, events in enumerate(lanes):
            t["lane_node"].append(node)
            t["lane_depth"].append(level)
            t["lane_first"].append(len(t["start"]))
            for e in events:
                self.event(e, lanes[level - 1] if level > 0 else [])
        return node

    def event(self, e, around):
        t, number = self.t, len(self.t["start"])
        outer = [o for o in around if o["start"] <= e["start"] and o["end"] >= e["end"] and o.get("flags", 0) != INSTANT]
        e["number"] = number
        t["start"].append(e["start"])
        t["end"].append(e["end"])
        t["cls"].append(self.cls(e["name"], e["kind"]))
        t["parent_cls"].append(self.cls(outer[0]["name"], outer[0]["kind"]) if outer else NO_CLASS)
        type_, bits = e.get("payload", (NO_PAYLOAD, 0))
        t["payload_type"].append(type_)
        t["payload"].append(bits)
        flags = e.get("flags", 0)
        if "end_payload" in e:
            flags |= END_PAYLOAD
            self.note(number, NOTE_END_PAYLOAD, e["end_payload"][1], e["end_payload"][0])
        for kind, key in ((NOTE_BEGIN_RECORDED, "begin_recorded"), (NOTE_END_RECORDED, "end_recorded")):
            if key in e:
                flags |= RECORDED_AT
                self.note(number, kind, e[key])
        t["flags"].append(flags)
        if "extra" in e:
            self.extra(number, e["extra"])

    def finish(self):
        t = self.t
        for node in self.open:
            t["node_last"][node] = len(t["node_kind"])
        t["node_lane"].append(len(t["lane_node"]))
        t["lane_first"].append(len(t["start"]))
        t["note"] = sorted(self.notes)
        return t

    # ---- what stands in the warps --------------------------------------------------------------------------------

    def payload(self):
        r = self.random
        return r.choice([
            (NO_PAYLOAD, 0), (INT, r.getrandbits(64)), (INT, (1 << 64) - r.randrange(1, 99)), (UINT, r.getrandbits(64)),
            (POINTER, r.getrandbits(48)), (UINT, r.randrange(9)), (TEXT, 0),
            (DOUBLE, bits_of(r.choice([0.1, -0.0, 1e21, 1.5e-7, 1e-6, 123456789.5, 2097152.25, float("nan"), float("inf"), -float("inf"), r.random(),
                                       struct.unpack("<f", struct.pack("<f", r.random() * 1e3))[0], 5e-324, 1e300]))),
        ])  # fmt: skip

    def lane_of(self, start, end, names, kind, most):
        """Slices within [start, end] that do not overlap; some of length zero, some that meet, instants for markers."""
        r, events, at = self.random, [], start
        while at <= end and len(events) < most and r.random() < 0.97:
            length = 0 if kind == MARKER else r.choice([0, 32, 64, r.randrange(1, 500), r.randrange(1, 5000)])
            e = {"start": at, "end": min(end, at + length), "name": r.choice(names), "kind": kind, "payload": self.payload()}
            if kind == MARKER:
                e["flags"] = INSTANT
            elif r.random() < 0.1:
                e["flags"] = UNCLOSED
            elif r.random() < 0.2:
                e["end_payload"] = self.payload() if r.random() < 0.5 else (INT, 7)
                e["end_payload"] = e["end_payload"] if e["end_payload"][0] else (UINT, 8)
            if r.random() < 0.05:
                e["begin_recorded"] = r.getrandbits(62)
            if r.random() < 0.05:
                e["end_recorded"] = r.getrandbits(62)
            if r.random() < 0.05:
                e["extra"] = {"a key": r.randrange(9), "text": 'with "quotes", and a comma'}
            events.append(e)
            at = e["end"] + r.choice([0, 0, 32, r.randrange(0, 300)])
        return events


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


RANGES_NAMES = ["tile", "load, then wait", 'store "c"', "mma_wait", "mma", "epilogue", "tma", "x<1,2>", "y", "z", "u", "v", "w", "q", "p", "o", "n"]


def make(seed, warps=3, most=14):
    m = Maker(seed)
    r = m.random
    m.node(ROOT, 0, "Launches")
    for kernel in range(2):
        m.node(KERNEL, 1, "kernel %d" % kernel)
        for launch in range(2):
            base = kernel * 40000 + launch * (9000 if kernel else 30000)  # the launches of one kernel overlap
            name = "gemm<a, %d>" % kernel
            extra = {"launch": launch, "graph_key": "graph_exec_1:0"} if kernel else {"launch": launch}
            slice_ = {"start": base, "end": base + 12000, "name": name, "kind": LAUNCH, "extra": extra}
            m.node(NODE_LAUNCH, 2, "launch %d" % launch, lanes=[[slice_]])
            for sm in (0, 1, 7):
                m.node(SM, 3, "SM %d" % sm, sm, 2 if kernel else -1, 3 if kernel else -1)
                for cta in range(2):
                    m.node(CTA, 4, "CTA (%d, 0, %d)" % (cta, sm), cta, 0, sm)
                    for warp in range(warps):
                        start = base + r.randrange(0, 3000)
                        put_warp(m, warp, start, start + r.randrange(200, 9000), most)
    m.node(DIAGNOSTICS, 1, "Diagnostics", lanes=[[]])
    m.node(DIAGNOSTICS, 2, "Dropped", lanes=[[{"start": 0, "end": 0, "name": "3 events were lost", "kind": DIAGNOSTIC, "flags": INSTANT, "extra": {"counter": "x"}}]])
    t = m.finish()
    t["arrow"] = [r.randrange(len(t["start"])) for _ in range(120)] + [5, 6] * 203
    complete(t)
    return t


def put_warp(m, warp, start, end, most):
    r, kind = m.random, m.random.randrange(5)
    life = [{"start": start, "end": end, "name": "warp lifetime", "kind": LIFETIME}]
    lanes = [life]
    if kind in (0, 1):
        outer = m.lane_of(start, end, RANGES_NAMES, RANGE, most)
        inner = [e for o in outer for e in m.lane_of(o["start"], o["end"], RANGES_NAMES, RANGE, 4)]
        lanes += [outer, inner]
    m.node(WARP, 5, "warp %d" % warp, warp, lanes=[] if kind == 4 and r.random() < 0.3 else lanes)
    if kind in (2, 3):
        m.node(NODE_TOKEN, 6, "token copy", lanes=[m.lane_of(start, end, ["copy", "copy 2"], TOKEN, most)])
    if kind == 2:
        m.node(RANGES, 6, "lane 5 ranges", 5, lanes=[m.lane_of(start, end, RANGES_NAMES, RANGE, most)])
    if r.random() < 0.6:
        m.node(MARKERS, 6, "markers", lanes=[m.lane_of(start, end, ["mark", "tile", "here"], MARKER, most)])


def complete(t):
    """What follows from the events: categories, active lanes, roles (viewer/worker/stats.js, viewer/js/model.js)."""
    own = [0] * len(t["class_kind"])
    for i, cls in enumerate(t["cls"]):
        if t["flags"][i] & INSTANT:
            continue
        own[cls] += t["end"][i] - t["start"][i]
        if t["parent_cls"][i] != NO_CLASS:
            own[t["parent_cls"][i]] -= t["end"][i] - t["start"][i]
    ranked = sorted((c for c, k in enumerate(t["class_kind"]) if k in (RANGE, TOKEN)), key=lambda c: -own[c])
    t["class_category"] = [0 if k == LIFETIME else CATEGORIES - 1 for k in t["class_kind"]]
    for place, c in enumerate(ranked[: CATEGORIES - 2]):
        t["class_category"][c] = place + 1
    t["lane_active"] = [0] * len(t["lane_node"])
    for node, kind in enumerate(t["node_kind"]):
        if kind != WARP:
            continue
        lanes = range(t["node_lane"][node], t["node_lane"][node + 1])
        for lane in lanes:
            t["lane_active"][lane] = 1
        for child in range(node + 1, t["node_last"][node] if len(lanes) <= 1 else 0):
            if t["node_kind"][child] in (RANGES, NODE_TOKEN):
                for lane in range(t["node_lane"][child], t["node_lane"][child + 1]):
                    t["lane_active"][lane] = 2 if t["node_kind"][child] == NODE_TOKEN else 1
    roles = []
    for node, kind in enumerate(t["node_kind"]):
        if kind != WARP:
            continue
        cls = role_of(t, node)
        if cls not in roles:
            roles.append(cls)
        t["node_role"][node] = roles.index(cls)
    t["role_class"] = roles


def add_bins(t, most=64):
    """Sums for every SM of a launch, from its slices: `most` bins, then half as many, to one."""
    t["bin_at"] = [0]
    for node, kind in enumerate(t["node_kind"]):
        launch = t["node_parent"][node]
        if kind != SM or t["node_kind"][launch] != NODE_LAUNCH:
            continue
        first = t["lane_first"][t["node_lane"][launch]]
        level = sums_of(t, node, t["start"][first], t["end"][first], most)
        t["bin_node"].append(node)
        t["bin_from"].append(t["start"][first])
        t["bin_to"].append(t["end"][first])
        t["bin_at"].append(t["bin_at"][-1] + 2 * most - 1)
        while True:
            t["bin"] += [value for b in level for value in b]
            if len(level) == 1:
                break
            level = [[x + y for x, y in zip(a, b)] for a, b in zip(level[0::2], level[1::2])]


def sums_of(t, node, start, end, bins):
    width, sums = (end - start) / bins, [[0.0] * CATEGORIES for _ in range(bins)]
    for lane in range(t["node_lane"][node], t["node_lane"][t["node_last"][node]]):
        for i in range(t["lane_first"][lane], t["lane_first"][lane + 1] if t["lane_active"][lane] else 0):
            around = t["parent_cls"][i]
            for b in range(bins):
                inside = min(t["end"][i], start + width * (b + 1)) - max(t["start"][i], start + width * b)
                if inside <= 0:
                    continue
                sums[b][t["class_category"][t["cls"][i]]] += inside
                if around != NO_CLASS:
                    sums[b][t["class_category"][around]] -= inside
                elif t["lane_active"][lane] == 2:
                    sums[b][0] -= inside
    return sums


def outer_lanes(t, node):
    if t["node_lane"][node + 1] - t["node_lane"][node] > 1:
        return [t["node_lane"][node] + 1]
    return [t["node_lane"][child] for child in range(node + 1, t["node_last"][node])
            if t["node_kind"][child] in (RANGES, NODE_TOKEN) and t["node_lane"][child] < t["node_lane"][child + 1]]  # fmt: skip


def role_of(t, node):
    sums = {}
    for lane in outer_lanes(t, node):
        for i in range(t["lane_first"][lane], t["lane_first"][lane + 1]):
            sums[t["cls"][i]] = sums.get(t["cls"][i], 0) + t["end"][i] - t["start"][i] + 1e-3
    return max(sums, key=lambda c: sums[c]) if sums else -1
