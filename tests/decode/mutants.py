# SPDX-License-Identifier: Apache-2.0
"""mutants.py: one to three changes to a dump.bin with its meta.json, or to what the collector leaves, for differential.py.

Each kind of change knows the fields of doc/FORMAT.md that it damages; checksums are made right again most times, so that
the damage is met by the rules and not by a CRC. mutate(rng, files) gives the changed files and says what was changed.
"""
import json
import struct
import zlib

import dump_builder as b

# name: offset, bytes
CHUNK = {"magic": (0, 4), "header": (4, 2), "flags": (6, 2), "module": (8, 8), "kernel": (16, 8), "grid": (24, 8), "start": (32, 8), "end": (40, 8),
         "cta": (48, 4), "gridDim": (60, 4), "blockDim": (72, 4), "rank": (84, 4), "warp": (88, 2), "lane": (90, 2), "sm": (92, 4), "seq": (96, 4),
         "used": (100, 4), "dropped": (104, 4), "link": (108, 4), "size": (112, 4), "crc": (116, 4)}
SHIFTS = [sign * (1 << power) + more for sign in (1, -1) for power in (5, 20, 31, 32) for more in (-33, -32, -1, 0, 1, 32)]


def get(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def put(data, at, size, value):
    data[at:at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def tweak(rng, value, size):
    """Another value for a number of `size` bytes."""
    return rng.choice([value ^ 1 << rng.randrange(8 * size), value ^ 1 << rng.randrange(4), value + 1, value - 1, value + 8, value - 8, 0, 1, 2,
                       (1 << 8 * size) - 1, 1 << 8 * size - 1, value << 1, rng.getrandbits(8 * size)])


class DumpParts:
    """A dump as its header, and sections as [kind, crc, size, items, payload]; WARP payloads as a list of chunks."""

    def __init__(self, data):
        self.header, self.sections, at = bytearray(data[:64]), [], 64
        while at + 24 <= len(data):
            kind, crc, size, items = struct.unpack_from("<4sIQI", data, at)
            body = data[at + 24:at + 24 + size]
            self.sections.append([kind, crc, size, items, self.split(body) if kind == b"WARP" else bytearray(body)])
            at += 24 + size + -size % 8
        self.tail = data[at:] if at < len(data) else b""
        self.whole = at <= len(data)

    def split(self, body):
        chunks, at = [], 0
        while at < len(body):
            size = get(body, at + 112, 4) or get(self.header, 40, 4)
            size = size if 128 <= size <= len(body) - at and get(body, at, 4) else len(body) - at
            chunks.append(bytearray(body[at:at + size]))
            at += size
        return chunks

    def chunks(self):
        return [c for s in self.sections if s[0] == b"WARP" for c in s[4] if len(c) >= 128]

    def warps(self):
        return [s for s in self.sections if s[0] == b"WARP"]

    def join(self, rng):
        """Bytes again; a section's CRC is made right unless it was wrong before or is left wrong on purpose."""
        out, self.heads = bytearray(self.header), []
        stale = rng.random() < 0.1
        for kind, crc, size, items, body in self.sections:
            body = b"".join(body) if isinstance(body, list) else bytes(body)
            if kind == b"WARP" and rng.random() < 0.2:
                crc = 0
            elif not stale:
                crc = zlib.crc32(body)
            self.heads.append(len(out))
            out += kind + struct.pack("<IQII", crc, len(body), items, 0) + body + b"\0" * (-len(body) % 8)
        out += self.tail
        return out if self.whole or not self.sections else out[:-rng.randrange(1, 40)]


def chunk_field(rng, parts):
    c = rng.choice(parts.chunks())
    name = rng.choice(list(CHUNK))
    at, size = CHUNK[name]
    if name in ("cta", "gridDim", "blockDim"):
        at += 4 * rng.randrange(3)
    put(c, at, size, tweak(rng, get(c, at, size), size))
    return f"{name} of a chunk"


def chunk_flags(rng, parts):
    for c in rng.choice([parts.chunks(), [rng.choice(parts.chunks())]]):
        put(c, 6, 2, get(c, 6, 2) ^ rng.choice([1, 2, 4, 8, 9]))
        if rng.random() < 0.3:
            put(c, 40, 8, 0)
    return "flags"


def chunk_kept_last(rng, parts):
    """As if its recorder had kept the last events, or written records of 16 bytes."""
    for c in rng.choice([parts.chunks(), [rng.choice(parts.chunks())]]):
        put(c, 6, 2, get(c, 6, 2) ^ rng.choice([16, 32, 32, 32, 40, 48]))
        put(c, 104, 4, rng.choice([0, 1, 5]))
        put(c, 120, 8, rng.choice([0, get(c, 40, 8), get(c, 40, 8) + rng.choice(SHIFTS), rng.getrandbits(64)]))
        if rng.random() < 0.2:
            put(c, 40, 8, 0)
    return "kept last"


def chunk_records(rng, parts):
    c = rng.choice(parts.chunks())
    for _ in range(rng.randrange(1, 4)):
        if len(c) > 128:
            at = 128 + rng.randrange(len(c) - 128 >> 2) * 4
            word = get(c, at, 4)
            put(c, at, 4, rng.choice([word ^ 1 << rng.randrange(32), word ^ rng.randrange(32), word & ~31, 0, word + rng.choice(SHIFTS), rng.getrandbits(32)]))
    put(c, 116, 4, rng.choice([0, get(c, 116, 4), zlib.crc32(c[128:128 + get(c, 100, 4)]), zlib.crc32(c[128:128 + get(c, 100, 4)])]))
    return "records"


def chunk_used(rng, parts):
    c = rng.choice(parts.chunks())
    used = max(0, min(len(c) - 128, get(c, 100, 4) + rng.choice([-1, -4, -8, -12, 4, 8, 16])))
    put(c, 100, 4, used)
    put(c, 116, 4, rng.choice([0, zlib.crc32(c[128:128 + used])]))
    return "used"


def chunk_times(rng, parts):
    by, which = rng.choice(SHIFTS), rng.choice([("start",), ("end",), ("start", "end")])
    for c in rng.choice([parts.chunks(), [rng.choice(parts.chunks())]]):
        for name in which:
            at, size = CHUNK[name]
            put(c, at, size, get(c, at, size) + by)
    return f"{which} by {by}"


def chunk_identity(rng, parts):
    """Chunks of one stream, warp, CTA or grid, that were of several."""
    name = rng.choice(["grid", "cta", "warp", "lane", "seq", "sm", "module", "kernel"])
    at, size = CHUNK[name]
    value = get(rng.choice(parts.chunks()), at, size)
    for c in parts.chunks():
        if rng.random() < 0.7:
            for more in range(0, 12 if name == "cta" else 1, 4):
                put(c, at + more, size, value if name != "cta" else 0)
    return f"one {name}"


def one_grid(rng, parts):
    """All launches become replays of one graph node: rule 4.1."""
    value = get(parts.chunks()[0], 24, 8)
    for c in parts.chunks():
        put(c, 24, 8, value)
        if rng.random() < 0.3:
            put(c, 96, 4, rng.choice([0, 0, 1, get(c, 96, 4)]))
        if rng.random() < 0.3:
            put(c, 32, 8, get(c, 32, 8) + rng.choice([-1, 1]) * rng.choice([0, 32, 640, 6400, 100000]))
    for s in parts.sections:
        if s[0] == b"LNCH" and rng.random() < 0.7 and len(s[4]) >= 8:
            put(s[4], 0, 8, value)
    return "one grid"


def chunk_order(rng, parts):
    what = rng.choice(["shuffled", "reversed", "one twice", "one left out", "one cut", "junk between", "zeros between"])
    chunks = rng.choice(parts.warps())[4]
    at = rng.randrange(len(chunks) + 1)
    if what == "shuffled":
        rng.shuffle(chunks)
    elif what == "reversed":
        chunks.reverse()
    elif what == "one twice" and chunks:
        chunks.insert(at, bytearray(rng.choice(chunks)))
        if rng.random() < 0.5:
            put(chunks[at], 96, 4, get(chunks[at], 96, 4) + 1)
    elif what == "one left out" and chunks:
        del chunks[at % len(chunks)]
    elif what == "one cut" and chunks:
        del chunks[at % len(chunks)][rng.randrange(0, 200) & ~rng.choice([0, 7]):]
    elif what == "junk between":
        chunks.insert(at, bytearray(rng.randbytes(rng.choice([4, 8, 128, 1000]))))
    elif what == "zeros between":
        chunks.insert(at, bytearray(rng.choice([8, 128, get(parts.header, 40, 4), 2 * get(parts.header, 40, 4) + 64])))
    return f"chunks {what}"


def section_order(rng, parts):
    what = rng.choice(["shuffled", "one twice", "one left out", "unknown", "WARP in two"])
    s, at = parts.sections, rng.randrange(len(parts.sections))
    if what == "shuffled":
        last = [x for x in s if x[0] == b"DONE"]
        rest = [x for x in s if x[0] != b"DONE"]
        rng.shuffle(rest)
        s[:] = rest + last
    elif what == "one twice":
        s.insert(at, [v if not isinstance(v, (list, bytearray)) else [bytearray(c) for c in v] if isinstance(v, list) else bytearray(v) for v in s[at]])
    elif what == "one left out":
        del s[at]
    elif what == "unknown":
        s.insert(at, [b"XTRA", 0, 0, 1, bytearray(rng.randbytes(rng.randrange(40)))])
    else:
        w = rng.choice(parts.warps())
        half = len(w[4]) // 2
        s.insert(at, [b"WARP", 0, 0, half, w[4][:half]])
        w[4] = w[4][half:]
    return f"sections {what}"


def section_words(rng, parts):
    """Numbers of KERN, LNCH, LOSS and DONE, or the head of a META's module."""
    known = [s for s in parts.sections if s[0] in (b"KERN", b"LNCH", b"LOSS", b"DONE") and len(s[4]) >= 16]
    if not known:
        return "nothing"
    s = rng.choice(known)
    at = rng.randrange(len(s[4]) >> 2) * 4
    if s[0] in (b"KERN", b"LNCH"):
        at = rng.choice([0, 4, 8, 16, 20] if s[0] == b"KERN" else [0, 8, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64])
    if at + 4 <= len(s[4]):
        put(s[4], at, 4, tweak(rng, get(s[4], at, 4), 4))
    return f"{s[0]} at {at}"


def declarations(rng, parts):
    """Numbers of one declared event or range."""
    known = [s[4] for s in parts.sections if s[0] == b"META"]
    if not known:
        return "nothing"
    body = rng.choice(known)
    found = [(at, kind) for kind in (b"\x3c\0\0\0", b"\x48\0\0\0") for at in range(0, len(body) - 72, 4) if body[at:at + 4] == kind
             and body[at - 120:at].rfind(b"_decl_") > 0]
    if not found:
        return "nothing"
    at, kind = rng.choice(found)
    at += rng.choice([4, 8, 12, 16, 20] if kind[0] == 60 else [4, 8, 12, 16])
    put(body, at, 4, rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 13, 14, 16, 31, 64, get(body, at, 4) + 1]))
    return f"declaration at {at}"


def meta_lengths(rng, parts):
    """Lengths and counts of a META section: of a module, or of a symbol's name and data."""
    known = [s[4] for s in parts.sections if s[0] == b"META" and len(s[4]) >= 16]
    if not known:
        return "nothing"
    body = rng.choice(known)
    symbols = [at - 8 for at in range(24, len(body), 4) if body[at:at + 7] == b"__iket_"]
    at = rng.choice([8, 12] + [x + more for x in symbols for more in (0, 4)])
    put(body, at, 4, tweak(rng, get(body, at, 4), 4))
    return f"META length at {at}"


def file_header(rng, parts):
    at, size = rng.choice([(0, 8), (8, 4), (12, 4), (16, 8), (24, 4), (28, 4), (32, 8), (40, 4), (48, 4)])
    put(parts.header, at, size, rng.choice([256, 512, 1024, 2048, 65536]) if at == 40 and rng.random() < 0.8 else tweak(rng, get(parts.header, at, size), size))
    return f"file header at {at}"


DUMP = [chunk_field] * 6 + [chunk_flags, chunk_kept_last, chunk_records, chunk_records, chunk_used, chunk_times, chunk_times, chunk_identity, chunk_identity, one_grid, one_grid,
                            chunk_order, chunk_order, section_order, section_words, declarations, meta_lengths, file_header]


def mutate_dump(rng, files):
    done, data, changes = [], files.get("dump.bin"), rng.choice([1, 1, 1, 2, 3])
    if data is None:
        data, changes = built_dump(rng), rng.choice([0, 0, 1])
    parts = DumpParts(data)
    for _ in range(changes):
        if parts.chunks():
            done.append(rng.choice(DUMP)(rng, parts))
    data = parts.join(rng)
    if rng.random() < 0.05 and parts.heads:
        at, size = rng.choice([(0, 4), (4, 4), (8, 8), (8, 8), (16, 4), (20, 4)])
        at += rng.choice(parts.heads)
        put(data, at, size, tweak(rng, get(data, at, size), size))
        done.append(f"section header at {at}")
    if rng.random() < 0.1:
        data = data[:rng.randrange(64, len(data) + 1)]
        done.append("cut off")
    if rng.random() < 0.05:
        at = rng.randrange(64, len(data)) if len(data) > 64 else 0
        data[at] ^= 1 << rng.randrange(8)
        done.append(f"a bit of byte {at}")
    out = {"dump.bin": bytes(data)}
    if "meta.json" in files and rng.random() < 0.5:
        out["meta.json"] = mutate_meta(rng, files["meta.json"], done)
    return out, done


def mutate_meta(rng, text, done):
    try:
        meta = json.loads(text)
        nodes = [n for n in meta.get("modules", [meta]) if isinstance(n["events"], list) and n["events"]]
    except (ValueError, KeyError):
        return text
    for node in nodes:
        if rng.random() < 0.5:
            continue
        what = rng.choice(["ids as text", "no ranges", "no kernels", "twice", "payload", "pos", "left out", "id", "another module", "extended"])
        e = rng.choice(node["events"])
        if what == "ids as text":
            for each in node["events"]:
                for key in ("event_id", "range_id"):
                    each[key] = hex(each[key]) if isinstance(each[key], int) else each[key]
        elif what in ("no ranges", "no kernels"):
            node.pop(what[3:], None)
        elif what == "twice":
            node["events"].append(dict(e))
        elif what == "payload":
            e["payload_type"] = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 16, 17])
        elif what == "pos":
            e["event_pos"] = rng.choice([0, 1, 4])
        elif what == "left out":
            node["events"].remove(e)
        elif what == "id":
            e["event_id"] = rng.choice([0, 8, 30, 31, 32, 64, 4095])
        elif what == "another module":
            meta = {"modules": [{**node, "module_id": "0x0"}, {**node, "module_id": "0x7f0000000000"}]}
        else:
            e["instrument_method"] = 8 - e["instrument_method"] if e["instrument_method"] in (3, 5) else 3
        done.append(f"meta.json: {what}")
        break
    return json.dumps(meta).encode()


# ---- dumps of random streams ------------------------------------------------------------------------------------------------

def some_records(rng, time, most, wide):
    out = b""
    for _ in range(rng.randrange(most)):
        time += rng.choice([0, 32, 32, 64, 960, -32, -640, 1 << 19, 1 << 21, -(1 << 19)])
        id_ = rng.choice([1, 1, 2, 3, 3, 4, 5, 6, 7, 7, 31, 31, 31] + [0, 8] * (rng.random() < 0.1))
        payload = rng.getrandbits(64) if id_ in (2, 5, 6, 7) else None
        out += b.native(time, id_, payload, 8 if id_ == 6 else 4, wide)
    return out, time


def built_dump(rng):
    """A few streams of a few launches, of which many share a gridId; chunks in any order, some lost: rules 4.1 to 4.3."""
    chunks, hosts = [], []
    for run in range(rng.randrange(1, 6)):
        grid, begin = rng.choice([7, 7, 7, 8]), b.T + run * rng.choice([0, 320, 6400, 9600])
        if rng.random() < 0.5:
            hosts.append(b.launch(grid, rng.choice([0, 16, 17]), rng.choice([(0, 0, 0), (4, 1, 1), (0, 2, 1)]), rng.choice([(0, 0, 0), (64, 2, 1)]),
                                  start=rng.choice([0, begin - 100, begin]), end=rng.choice([0, begin, begin + 5000]), key=rng.choice(["", "", "g:0", "g:1"])))
        for _ in range(rng.randrange(1, 4)):
            place = {"cta": rng.choice([(0, 0, 0), (1, 0, 0), (0, 1, 0)]), "warp": rng.choice([0, 0, 1]), "lane": rng.choice([0, 0, 0, 5])}
            time = begin + rng.choice([0, 32, 320, 640])
            for seq in range(rng.randrange(1, 4)):
                wide, closed = rng.random() < 0.2, rng.random() < 0.8
                records, end = some_records(rng, time, 8, wide)
                end = rng.choice([end, max(end, time), end + 32, end + 640, 0])
                chunks.append(b.chunk(records, grid=grid, seq=seq, start=time, end=end if closed or rng.random() < 0.2 else 0, closed=closed, wide=wide, kernel_id=rng.choice([0, 16, 17]),
                                      sm=rng.choice([3, 3, 3, 4]), dims=rng.choice([(2, 2, 1), (1, 1, 1)]), dropped=rng.choice([0, 0, seq]), **place,
                                      size=rng.choice([None, None, 1024]), module_id=rng.choice([0, 0, 0, 0xA0, 9])))
                time = max(time, end)
    rng.shuffle(chunks)
    del chunks[len(chunks) - rng.choice([0, 0, 0, 1, 2]):]
    modules = [b.module([b.info()] + b.EVENTS, 0xA0)] + [b.module([b.info()] + b.EXTENDED_EVENTS, 0xB0)] * (rng.random() < 0.2)
    rng.shuffle(hosts)
    half = rng.randrange(len(chunks) + 1)
    return (b.header() + b.meta(*modules) + b.kern(b.kernel(16, "sixteen"), b.kernel(17, "")) + b.lnch(*hosts) + b.warps(*chunks[:half]) + b.warps(*chunks[half:])
            + b.loss((7, rng.randrange(4), 1)) * rng.randrange(2) + b.done(len(chunks), rng.choice([0, 0, 5])))


# ---- the collector's files --------------------------------------------------------------------------------------------------

def buffers(rng, data, launches):
    l = rng.choice(launches)
    step, ref = l["warpBufferSize"], l["dataRef"]
    if step < 20 or ref["size"] < step or ref["offset"] + ref["size"] > len(data):
        return "nothing"
    for _ in range(rng.randrange(1, 4)):
        at = ref["offset"] + rng.randrange(ref["size"] // step) * step
        used = get(data, at, 4)
        where = rng.randrange(6)
        if where == 0:
            put(data, at, 4, rng.choice([0, 1, 16, 19, 20, 24, used - 4, used + 4, used - 1, step, step + 1, step + 4, step - 4, 1 << 31, (1 << 32) - 1]))
        elif where == 1:
            put(data, at + 4, 4, tweak(rng, get(data, at + 4, 4), 4))
        elif where == 2:
            put(data, at + 8, 8, rng.choice([get(data, at + 8, 8) + rng.choice(SHIFTS), 0, (1 << 64) - 1, 1 << rng.randrange(64)]))
        elif where == 3 and 20 <= used <= step:
            put(data, at + used - 4, 4, get(data, at + used - 4, 4) + rng.choice(SHIFTS))
        else:
            word = at + 16 + rng.randrange(max(1, min(used, step) - 16 >> 2)) * 4
            if word + 4 <= len(data):
                value = get(data, word, 4)
                put(data, word, 4, rng.choice([0, value ^ rng.randrange(32), value & ~31, value + rng.choice(SHIFTS), rng.getrandbits(32)]))
    return "buffers"


def launch_fields(rng, document, launches):
    l = rng.choice(launches)
    what = rng.choice(["offset", "size", "warpBufferSize", "canDecode", "cluster", "dims", "block", "kernelName", "contextId", "gridId"])
    if what in ("offset", "size"):
        l["dataRef"][what] = min(max(0, l["dataRef"][what] + rng.choice([-1, 1]) * rng.choice([1, 4, 16, l["warpBufferSize"], 100000])), (1 << 64) - 1)
    elif what == "warpBufferSize":
        l[what] = min((1 << 64) - 1, rng.choice([l[what] + 4, l[what] - 4, l[what] + 1, l[what] * 2, l[what] // 2, 20, 16, 1 << 31]))
    elif what == "canDecode":
        l[what] = not l[what]
    elif what == "cluster":
        l["singleClusterActive"] = rng.choice([1, 1, 0])
        l["clusterDim"] = {a: rng.choice([0, 1, 2]) for a in "xyz"}
        l["enabledCluster"] = {a: rng.choice([0, 1, 2]) for a in "xyz"}
    elif what in ("dims", "block"):
        key = {"dims": "gridDim", "block": "blockDim"}[what] + rng.choice("XYZ")
        l[key] = min(rng.choice([l[key] + 1, l[key] - 1 or 1, l[key] * 2, 33, 1 << 20]), (1 << 32) - 1)
    elif what == "kernelName":
        l[what] = rng.choice([x["kernelName"] for x in document["launches"]] + ["other"])
    else:
        l[what] = abs(l[what] + rng.choice([-1, 1]))
    return what


def schema(rng, document):
    node = rng.choice(list(document["decodeContexts"].values()))
    what = rng.choice(["maxPayloadSize", "payloadType", "eventPosition", "left out", "method", "topology", "an sm", "ranges"])
    e = rng.choice(node["events"])
    if what == "maxPayloadSize":
        for k in node["kernels"]:
            k[what] = rng.choice([0, 4, 8, 16])
    elif what == "payloadType" and e["eventId"] not in (0, 31):
        e[what] = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 16])
    elif what == "eventPosition" and e["eventId"] not in (0, 31):
        e[what] = rng.choice([0, 1, 4])
    elif what == "left out":
        node["events"].remove(e)
    elif what == "method":
        e["instrumentMethod"] = rng.choice([3, 5])
    elif what == "topology":
        document["topology"] = rng.choice([[], document["topology"][:1]])
    elif what == "an sm":
        for t in document["topology"]:
            t["sms"] = [s for s in t["sms"] if rng.random() < 0.8]
    elif what == "ranges":
        node["ranges"] = []
    return what


def mutate_collector(rng, files):
    try:
        data, document, done = bytearray(files["iket.data.bin"]), json.loads(files["iket.data.json"]), []
        document = {"launches": [], "graphLaunches": {}, "decodeContexts": {}, **document}
    except ValueError:
        return files, ["nothing"]
    launches = [l for l in document["launches"] + [l for g in document["graphLaunches"].values() for l in g] if l["canDecode"]]
    for _ in range(rng.choice([1, 1, 2, 3])):
        if launches and document["decodeContexts"]:
            done.append(rng.choice([lambda: buffers(rng, data, launches), lambda: buffers(rng, data, launches), lambda: launch_fields(rng, document, launches),
                                    lambda: schema(rng, document)])())
    if rng.random() < 0.1:
        data = data[:rng.randrange(min(1, len(data)), len(data) + 1)]
        done.append("cut off")
    return {"iket.data.bin": bytes(data), "iket.data.json": json.dumps(document).encode()}, done


def mutate(rng, files):
    """files: {} is a dump of random streams."""
    return (mutate_collector if "iket.data.bin" in files else mutate_dump)(rng, files)
