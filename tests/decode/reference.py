#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference.py: an independent second reading of doc/FORMAT.md, used to judge iket-decode.

    reference.py dump.bin [meta.json]              the trace.json of a dump, on stdout
    reference.py iket.data.bin iket.data.json      the same of what NVIDIA's collector leaves

It was written from the text of doc/FORMAT.md (sections 1 to 6, and 8 where those leave something open), not from the
decoder's code, and it is as plain as can be: whole files in memory, one pass a rule. Section numbers stand at each rule.
It knows the facts and the counters and no more: no key order, no messages. reference_records.py holds what dumps and the
collector share. Input that the format calls an error, or that is no such file, raises Refused. What it gives is the object
of a trace.json, for canonical() of fixtures/golden/check.py.
"""
import collections
import json
import os
import struct
import sys
import zlib

from reference_records import Event, Launch, MAX, Module, NO_COLOR, NO_SM, Refused, module_of_symbols, kept_last, read_meta_json, read_records, resolve, text, trace_of, u32


# ---- section 3: dump.bin --------------------------------------------------------------------------------------------------

class Outside(Exception):
    """An inner length leads outside its section."""


def take(data, at, size):
    if size > len(data) - at:
        raise Outside
    return data[at:at + size], at + size


def up(at, to):
    return at + -at % to


Chunk = collections.namedtuple("Chunk", "flags module kernel grid start end cta dims block warp lane sm seq used dropped size crc ref data")


def chunk_at(data, at, end, default):
    """The chunk with a valid header at this place of a section that ends at `end`; its data may be cut off with the file."""
    if len(data) - at < 128:
        return None
    f = struct.unpack_from("<IHHQQQQQ3I3I3IIHHIIIIIII", data, at)
    size, used, closed = f[25] or default, f[22], f[2] & 1
    if f[0] != 0x42574B49 or f[1] != 128 or size < 128 or size % 8 or size > end - at or closed and used > size - 128:
        return None
    body = data[at + 128:at + size]
    ref = struct.unpack_from("<Q", data, at + 120)[0] or f[7]  # flag 32
    return Chunk(*f[2:8], f[8:11], f[11:14], f[14:17], *f[18:22], used, f[23], size, f[26], ref, body)


def read_chunks(data, declared, default, crc_failed, count):
    """4.5. data: what the file has of the section's `declared` bytes."""
    chunks, at = [], 0
    while at < len(data):
        cut = declared > len(data) and len(data) - at < 128
        if cut:
            break  # nothing but a cut-off chunk, truncated says it all
        if default and len(data) - at >= 4 and u32(data, at) == 0:
            at += default
            continue
        chunk = chunk_at(data, at, declared, default)
        if chunk is None:
            count["corruptChunks"] += 1
            at = next((p for p in range(at + 8, len(data), 8) if chunk_at(data, p, declared, default)), len(data))
            continue
        if chunk.size > len(data) - at:
            break
        at += chunk.size
        checked = chunk.flags & 1 and chunk.crc != 0
        if checked and zlib.crc32(chunk.data[:chunk.used]) != chunk.crc or crc_failed and not checked:
            count["corruptChunks"] += 1
        else:
            chunks.append(chunk)
    return chunks


class Dump:
    def __init__(self, data, meta=None):
        self.count = collections.Counter()
        self.modules, self.kernels, self.host, self.chunks = {}, {}, [], []
        self.dropped, self.lost, self.done, self.replaced = 0, 0, False, meta is not None
        if data[:8] != b"IKETDUMP" or len(data) < 64:
            raise Refused("no dump")
        version, header = struct.unpack_from("<2I", data, 8)
        self.context, self.chunk_bytes = struct.unpack_from("<QI", data, 32)
        if version != 1 or header != 64:
            raise Refused("file header")
        if self.chunk_bytes not in [256 << i for i in range(9)]:
            self.chunk_bytes = 0  # section 8: then every chunk says its own
        at = 64
        while not self.done and len(data) - at >= 24:
            kind, crc, size = struct.unpack_from("<4sIQ", data, at)
            body = data[at + 24:at + 24 + size]
            self.section(kind, crc, size, body)
            at = up(at + 24 + size, 8)
        self.count["truncated"] = 0 if self.done else 1

    def section(self, kind, crc, size, body):
        if len(body) < size:
            if kind == b"WARP":
                self.chunks += read_chunks(body, size, self.chunk_bytes, False, self.count)
            return
        failed = zlib.crc32(body) != crc
        if kind not in (b"META", b"KERN", b"LNCH", b"DEVI", b"LOSS", b"DONE"):  # WARP, and unknown ones
            failed = failed and crc != 0
        if failed:
            self.count["corruptSections"] += 1
        if kind == b"WARP":
            self.chunks += read_chunks(body, size, self.chunk_bytes, failed, self.count)
        if kind == b"DONE":
            self.done = True
        if self.replaced and kind == b"META":
            return  # section 1: by the meta.json, altogether
        read = {b"META": self.read_meta, b"KERN": self.read_kern, b"LNCH": self.read_lnch, b"LOSS": self.read_loss, b"DONE": self.read_done}.get(kind)
        if read and not failed:
            try:
                read(body)
            except Outside:
                self.count["corruptSections"] += 1

    def read_meta(self, data):
        at = 0
        while at < len(data):
            head, at = take(data, at, 16)
            id_, size, symbols = struct.unpack("<QII", head)
            body, found, inner, whole = data[at:at + size], [], 0, True
            try:
                for _ in range(symbols):
                    lengths, inner = take(body, inner, 8)
                    name_bytes, data_bytes = struct.unpack("<II", lengths)
                    name, inner = take(body, inner, name_bytes)
                    value, inner = take(body, inner, data_bytes)
                    inner = up(inner, 4)
                    found.append((name, value))
                _, at = take(data, at, size)
            finally:
                if id_ not in self.modules:  # section 8: the first stands
                    self.modules[id_], whole = module_of_symbols(found)
            if not whole:
                raise Outside
            at = up(at, 8)

    def read_kern(self, data):
        at = 0
        while at < len(data):
            head, at = take(data, at, 24)
            id_, _, length, _ = struct.unpack("<QQII", head)
            name, at = take(data, at, length)
            at = up(at, 8)
            self.kernels.setdefault(id_, text(name))

    def read_lnch(self, data):
        at = 0
        while at < len(data):
            head, at = take(data, at, 64)
            f = struct.unpack("<QQ3I3IQQII", head)
            key, at = take(data, at, f[10])
            at = up(at, 8)
            self.host.append({"grid": f[0], "kernel": f[1], "dims": f[2:5], "block": f[5:8], "start": f[8], "end": f[9], "key": text(key)})

    def read_loss(self, data):
        at = 0
        while at < len(data):
            entry, at = take(data, at, 24)
            _, events, warps, _ = struct.unpack("<QQII", entry)
            self.lost += events
            self.count["warpsWithoutChunk"] += warps

    def read_done(self, data):
        self.dropped = max(self.dropped, struct.unpack("<QQ", take(data, 0, 16)[0])[1])


# ---- section 4.1: streams and launches --------------------------------------------------------------------------------------

def stream_of(chunk):
    return chunk.cta, chunk.warp, chunk.lane


class Replay:
    def __init__(self, began):
        self.began, self.heads, self.streams = began, set(), collections.defaultdict(dict)

    def first_chunk(self):
        """Section 8: of the first stream, which has the say where the chunks of a launch disagree."""
        heads = [chunks[min(chunks)] for chunks in self.streams.values()]
        return min(heads, key=lambda c: (c.cta[::-1], c.warp, c.sm, c.lane))

    def earliest(self):
        return min(c.start for chunks in self.streams.values() for c in chunks.values())


def replays_of(chunks, count):
    """The launches of one gridId."""
    found = []
    order = sorted(chunks, key=lambda c: c.start)
    for c in order:
        if c.seq == 0:
            if not found or stream_of(c) in found[-1].heads:
                found.append(Replay(c.start))
            found[-1].heads.add(stream_of(c))
            found[-1].streams[stream_of(c)][0] = c
    if not found:
        found.append(Replay(order[0].start))
    for c in chunks:
        if c.seq:
            before = [r for r in found if r.began <= c.start]
            home = ([r for r in before if stream_of(c) in r.heads] or before or found[:1])[-1]
            if c.seq in home.streams[stream_of(c)]:
                count["corruptChunks"] += 1
            else:
                home.streams[stream_of(c)][c.seq] = c
    return found


def match_host(replays, entries):
    """Section 8: in their order, the last entry for the rest; where some left no chunk, the first free one whose times hold its begin."""
    out, used = [], set()
    for i, replay in enumerate(replays):
        at = min(i, len(entries) - 1)
        begin = replay.earliest()
        if len(entries) > len(replays):
            at = next((k for k, e in enumerate(entries) if k not in used and e["start"] and e["start"] <= begin and (not e["end"] or begin <= e["end"])), at)
        used.add(at)
        out.append(entries[at] if entries else None)
    return out


def read_dump(data, meta=None):
    dump = Dump(data, meta)
    count, modules, kernels = dump.count, dump.modules, dump.kernels
    if meta is not None:
        modules, named = read_meta_json(meta)
        kernels = {**kernels, **named}
    if not modules or len(modules) > 4096:
        raise Refused("no schema, or no such one")  # section 8
    by_grid = collections.defaultdict(list)
    for c in dump.chunks:
        by_grid[c.grid].append(c)
    found, dropped = [], dump.lost
    for grid, chunks in by_grid.items():
        replays = replays_of(chunks, count)
        entries = match_host(replays, [h for h in dump.host if h["grid"] == grid])
        for replay, host in zip(replays, entries):
            first = replay.first_chunk()
            host = host or {"kernel": 0, "dims": (0, 0, 0), "block": (0, 0, 0), "key": ""}
            kernel = host["kernel"] or first.kernel
            launch = Launch(dump.context, grid, kernels.get(kernel) or f"kernel_0x{kernel:x}", [a or b for a, b in zip(host["dims"], first.dims)],
                            [a or b for a, b in zip(host["block"], first.block)], host["key"])
            for chunk_of in replay.streams.values():
                in_order = [chunk_of[seq] for seq in sorted(chunk_of)]
                count["missingChunks"] += max(chunk_of) + 1 - len(chunk_of)
                dropped += max((c.dropped for c in in_order if not c.flags & 32), default=0)
                count["overwrittenEvents"] += sum(c.dropped for c in in_order if c.flags & 32)
                add_stream(launch, in_order, modules, count)
            found.append((replay.earliest(), grid, launch))
    count["droppedEvents"] = max(dump.dropped, dropped)
    found.sort(key=lambda f: f[:2])
    return trace_of([launch for _, _, launch in found], count)


def add_stream(launch, chunks, modules, count):
    runs = []
    for c in chunks:
        closed = c.flags & 1
        module = modules.get(c.module) or (next(iter(modules.values())) if len(modules) == 1 else None)
        overwritten = bool(c.flags & 32 and c.dropped)
        # far from both ends of time where the times are counted back
        begin = 1 << 63 if overwritten and c.ref else c.start
        records = read_records(c.data[:c.used] if closed else c.data, module, c.flags & 8, begin, closed, count, even=c.flags & 16)
        if overwritten and c.ref:
            records = kept_last(records, c.ref)
        if closed and records and c.end and (records[-1].time > c.end or c.end - records[-1].time >= 1 << 32):
            count["timeAmbiguousChunks"] += 1
        runs.append((module, records, overwritten, closed))
    last, seen = chunks[-1], runs[-1][1]
    if last.flags & 1 and last.end:
        end = last.end
    elif last.end or seen:
        end = max(last.end, seen[-1].time if seen else 0)
    else:
        end = last.ref if last.flags & 32 and last.dropped and last.ref else last.start  # section 8
    launch.add((chunks[0].cta, chunks[0].warp, -1 if chunks[0].sm == NO_SM else chunks[0].sm, -1, -1), chunks[0].start, end, runs)


# ---- section 6: iket.data.bin and iket.data.json --------------------------------------------------------------------------------

def module_of_context(node):
    module = Module()
    for e in node["events"]:
        if [other["eventId"] for other in node["events"]].count(e["eventId"]) > 1:
            raise Refused(f"two events of id {e['eventId']}")
        module.declare(e["eventId"], Event(e["eventName"], e["eventPosition"], e["payloadType"], e["rangeId"]), e["instrumentMethod"])
    for r in node.get("ranges", []):
        module.ranges.setdefault(r["rangeId"], (r["rangeType"], r["rangeScope"], r["color"] & NO_COLOR))
    return module


def read_collector(data, document):
    count, launches = collections.Counter(), []
    contexts = {id_: (module_of_context(node), {k["kernelName"]: k["maxPayloadSize"] for k in node.get("kernels", [])})
                for id_, node in document["decodeContexts"].items()}
    topology = {(t["contextId"], s["smId"]): (s["tpcId"], s["gpcId"]) for t in document.get("topology", []) for s in t["sms"]}
    known = {context for context, _ in topology}
    runs = [("", l) for l in document["launches"]] + [(key, l) for key, group in document.get("graphLaunches", {}).items() for l in group]
    for key, l in runs:
        if not l["canDecode"]:
            continue
        if l["decodeContextId"] not in contexts:
            raise Refused("decodeContextId")
        module, widest = contexts[l["decodeContextId"]]
        dims, block = ([l[name + a] for a in "XYZ"] for name in ("gridDim", "blockDim"))
        launch = Launch(l["contextId"], l["gridId"], l["kernelName"], dims, block, key)
        launches.append(launch)
        first, size = (0, 0, 0), dims
        if l.get("singleClusterActive") == 1:
            size = [l["clusterDim"][a] or 1 for a in "xyz"]
            first = [l["enabledCluster"][a] * s for a, s in zip("xyz", size)]
        if os.path.basename(l["dataRef"]["filename"]) != l["dataRef"]["filename"]:
            raise Refused("dataRef.filename leads elsewhere")
        warps, step = -(-min(block[0] * block[1] * block[2], MAX) // 32), l["warpBufferSize"]
        begin = l["dataRef"]["offset"]
        end = min(begin + l["dataRef"]["size"], len(data))
        total = min(size[0] * size[1] * size[2] * warps, MAX)
        if step < 20 and l["dataRef"]["size"] == 0:
            continue
        fit = min(max(end - begin, 0) // step, total) if step >= 20 else 0  # section 8: fewer hold no warp
        count["corruptChunks"] += total - fit
        for n in range(fit):
            cta, warp = divmod(n, warps)
            cta = first[0] + cta % size[0], first[1] + cta // size[0] % size[1], first[2] + cta // (size[0] * size[1])
            buffer = data[begin + n * step:begin + (n + 1) * step]
            read_buffer(launch, buffer, module, widest.get(l["kernelName"]) == 8, cta, warp, topology if l["contextId"] in known else None, l["contextId"], count)
    return trace_of(launches, count)


def read_buffer(launch, buffer, module, wide, cta, warp, topology, context, count):
    if len(buffer) < 4 or u32(buffer, 0) == 0:
        return
    used = u32(buffer, 0)
    if used < 20 or len(buffer) < 16:
        count["corruptChunks"] += 1
        return
    sm, entry = u32(buffer, 4) >> 20, struct.unpack_from("<Q", buffer, 8)[0]
    tpc, gpc = -1, -1
    if topology is not None:
        if (context, sm) not in topology:
            count["corruptChunks"] += 1
            return
        tpc, gpc = topology[context, sm]
    over = used > len(buffer)
    count["overflowedWarps"] += over
    records = read_records(buffer[16:] if over else buffer[16:used - 4], module, wide, entry, True, count)
    end = records[-1].time if records else entry
    if not over:
        end = resolve(u32(buffer, used - 4), end)
    launch.add((cta, warp, sm, tpc, gpc), entry, end, [(module, records)])


def reference(main, beside=None):
    """The trace of a dump.bin [meta.json], or of an iket.data.bin and its iket.data.json."""
    with open(main, "rb") as file:
        data = file.read()
    document = None
    if beside:
        with open(beside, "rb") as file:
            document = json.load(file)
    if document is not None and "decodeContexts" in document:
        return read_collector(data, document)
    return read_dump(data, document)


if __name__ == "__main__":
    try:
        json.dump(reference(*sys.argv[1:3]), sys.stdout)
    except Refused as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
