# SPDX-License-Identifier: Apache-2.0
"""reference_records.py: of the reference decoder, what every kind of input shares: declarations, records, times, ranges and
the shape of a trace.json (doc/FORMAT.md sections 1, 2, 4.2 to 4.4 and 5). See reference.py."""
import collections
import struct

COUNTERS = ("droppedEvents", "unmatchedPops", "unclosedRanges", "undecodedBytes", "reservedRecords", "timeAmbiguousChunks", "missingChunks",
            "corruptChunks", "corruptSections", "overflowedWarps", "warpsWithoutChunk", "overwrittenEvents",
            "overwrittenBegins", "truncated")
PUSH, POP, TOKEN = 1, 2, 4
# payload_type: bytes in the record, bits of the value, how struct reads those bits
PAYLOADS = {0: (0, 0, ""), 1: (4, 8, "b"), 2: (4, 8, "B"), 3: (4, 16, "h"), 4: (4, 16, "H"), 5: (4, 32, "i"), 6: (4, 32, "I"), 7: (8, 64, "q"),
            13: (4, 32, "f"), 14: (8, 64, "d"), 15: (8, 64, "Q"), 16: (8, 64, "Q")}
NO_COLOR = NO_SM = 0xFFFFFFFF
MAX = (1 << 64) - 1

ARRAYS = {b"__iket_evt_decl_": 28, b"__iket_range_decl_": 32, b"__iket_meta_info": 28}  # what stands before their names

Event = collections.namedtuple("Event", "name pos payload range_id")
Record = collections.namedtuple("Record", "id event time bits")


class Refused(Exception):
    pass


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def text(raw):
    """Names are valid UTF-8 whatever the input held: U+FFFD for each bad byte, and (section 8) for a NUL."""
    return "".join("\ufffd" if c == "\0" or 0xDC80 <= ord(c) <= 0xDCFF else c for c in raw.decode("utf-8", "surrogateescape"))


# ---- section 1: what a module declares ----------------------------------------------------------------------------------

class Module:
    def __init__(self):
        self.events, self.ranges, self.extended = {}, {}, False
        self.declare(31, Event("pop_range", POP, 0, 0), 0, implied=True)

    def declare(self, id_, event, method, implied=False):
        if event.payload not in PAYLOADS:
            raise Refused(f"payload_type {event.payload}")
        if id_ != 0 and method == 5:
            self.extended = True
        if implied or id_ not in (0, 31):  # reserved, whatever is said of them
            self.events[id_] = event

    def range_of(self, event):
        """(range_type, range_scope, color): what stands there, or what holds without a declaration."""
        return self.ranges.get(event.range_id, (1 if event.pos == TOKEN else 2, 0, NO_COLOR))


def number(value):
    return int(value, 16) if isinstance(value, str) else value


def module_of_json(node):
    module, seen = Module(), set()
    for e in node["events"]:
        id_ = number(e["event_id"])
        if id_ in seen:
            raise Refused(f"two events of id {id_}")
        seen.add(id_)
        module.declare(id_, Event(e["event_name"], e["event_pos"], e["payload_type"], number(e["range_id"])), e["instrument_method"])
    for r in node.get("ranges", []):
        module.ranges.setdefault(number(r["range_id"]), (r["range_type"], r["range_scope"], number(r["color"]) & NO_COLOR))
    return module


def read_meta_json(meta):
    """{moduleId: Module}, {kernelId: name}"""
    modules, kernels = {}, {}
    for node in meta.get("modules", [meta]):
        modules[number(node.get("module_id", 0))] = module_of_json(node)
        for k in node.get("kernels", []):
            kernels.setdefault(number(k["kernel_id"]), k["kernel_name"])
    return modules, kernels


def declared_name(raw, length, strings, kind):
    raw = raw[:min(length, 32)].split(b"\0")[0]
    whole = strings.get(b"__iket_string_decl_%s_%s_str" % (kind, raw))
    if whole is not None and raw[:1] == b"h" and len(raw) == 17:
        raw = (whole[4:] if len(whole) >= 4 and u32(whole, 0) == len(whole) else whole).split(b"\0")[0]
    return text(raw)


def module_of_symbols(symbols):
    """(Module, whether every array is long enough for what it is)"""
    module, seen, whole = Module(), set(), True
    strings = dict(reversed(symbols))
    for name, data in dict.fromkeys(symbols):  # section 8: an array that repeats is taken once
        least = next((size for prefix, size in ARRAYS.items() if name.startswith(prefix)), 0)
        if len(data) < least:
            whole = False
        elif least and name.startswith(b"__iket_evt"):
            id_, method, payload, pos, range_id, length = struct.unpack_from("<6I", data, 4)
            if id_ in seen:
                raise Refused(f"two events of id {id_}")
            seen.add(id_)
            module.declare(id_, Event(declared_name(data[28:60], length, strings, b"evt"), pos, payload, range_id), method)
        elif least and name.startswith(b"__iket_range"):
            scope, range_id, color, type_ = struct.unpack_from("<4I", data, 4)
            module.ranges.setdefault(range_id, (type_, scope, color))
        elif least and u32(data, 24) != 0xBABEF19D:
            raise Refused("magic")
    return module, whole


# ---- sections 2, 4.2 and 4.4: records and their times -------------------------------------------------------------------

def resolve(ts, ref):
    """4.2: the whole time of the 32 bits ts, near ref."""
    d = (ts - ref) % (1 << 32)
    return min(max(ref - ((1 << 32) - d) if d >= (1 << 32) - (1 << 20) else ref + d, 0), MAX)


def read_records(data, module, wide, start, closed, count, even=False):
    """The records of one chunk, `data` being its used bytes when it is closed, else all that could be used."""
    filled = len(data)
    if not closed:  # up to its last u32 that is not zero
        filled = max((at + 4 for at in range(0, len(data) - 3, 4) if u32(data, at)), default=0)
    records, at, ref = [], 0, start & ~31
    while module and at < len(data):
        left = len(data) - at
        if left < (8 if module.extended else 4):
            break
        word = u32(data, at)
        id_ = u32(data, at + 4) if module.extended else word & 31
        if not closed and word == 0 and id_ == 0:
            filled = at  # section 3: an unclosed chunk's records end here
            break
        event = module.events.get(id_)
        least = 16 if even else 8 if module.extended or wide else 4
        if id_ == 0:
            size = least
        elif event is None:
            break
        elif PAYLOADS[event.payload][0] == 0:
            size = least
        else:
            size = 16 if even or module.extended or PAYLOADS[event.payload][0] == 8 else 8
        if size > left:
            break
        if id_ == 0:
            count["reservedRecords"] += 1
        else:
            bits, (bytes_, width, _) = None, PAYLOADS[event.payload]
            if bytes_:
                bits = int.from_bytes(data[at + 8:][:8] if bytes_ == 8 else data[at + (8 if module.extended else 4):][:4], "little") & (1 << width) - 1
            ref = resolve(word if module.extended else word & ~31, ref)
            records.append(Record(id_, event, ref, bits))
        at += size
    count["undecodedBytes"] += max(filled - at, 0)
    return records


def kept_last(records, reference):
    """3, flag 32: the same records with their times counted back from a reference time."""
    if not records:
        return []
    last = max(reference - (reference - records[-1].time) % (1 << 32), 0)
    first = min(max(last - (records[-1].time - records[0].time), 0), MAX)
    ref, out = first, []
    for r in records:
        ref = resolve(r.time % (1 << 32), ref)
        out.append(r._replace(time=ref))
    return out


# ---- sections 4.3 and 5: events of a stream, as trace.json has them -------------------------------------------------------

def payload(record):
    if record.bits is None:
        return {}
    _, width, form = PAYLOADS[record.event.payload]
    value = struct.unpack("<" + form, record.bits.to_bytes(width // 8, "little"))[0]
    if form in "fd" and (value != value or value in (float("inf"), float("-inf"))):
        value = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return {"payloadType": record.event.payload, "payloadVal": record.bits, "payload": value}


class Launch:
    def __init__(self, context, grid_id, kernel, grid, block, key=""):
        self.key = key
        self.json = {"contextId": context, "gridId": grid_id, "kernelName": kernel, "markers": [], "ranges": [], "warpLifetimes": []}
        for name, three in (("gridDim", grid), ("blockDim", block)):
            self.json.update({name + axis: v for axis, v in zip("XYZ", three)})
        self.streams = []  # (place, start, end, runs), runs: (module, records) in order

    def add(self, place, start, end, runs):
        """place: (ctaId, warpId, smId, tpcId, gpcId)"""
        self.streams.append((place, start, end, runs))


def emit_stream(launch, place_index, end, runs, names, count):
    name = lambda text: names.setdefault(text, len(names))
    inner = lambda r: {"eventId": r.id, "timestamp": r.time, **payload(r)}

    def emit_range(module, first, last):
        type_, scope, color = module.range_of(first.event)
        one = {"rangeNameIdx": name(first.event.name), "startTs": first.time, "endTs": max(first.time, last.time if last else end),
               "warpLocIdxs": [place_index] * 2, "internalEvents": [inner(first)] + ([inner(last)] if last else []),
               "rangeId": first.event.range_id, "rangeType": type_, "rangeScope": scope, "rangeColor": color}
        if not last:
            one["unclosed"] = True
            count["unclosedRanges"] += 1
        launch.json["ranges"].append(one)

    stack, tokens = [], {}
    for module, records, *kept in runs:
        overwritten, closed = kept or (False, False)
        times = collections.Counter(r.id for r in records)
        seen = set()
        for r in records:
            first = r.id not in seen
            seen.add(r.id)
            if r.event.pos == PUSH:
                stack.append((module, r))
            elif r.event.pos == POP:
                if stack:
                    emit_range(*stack.pop(), r)
                else:
                    count["overwrittenBegins" if overwritten else "unmatchedPops"] += 1
            elif r.event.pos == TOKEN:
                if r.id in tokens:
                    emit_range(*tokens.pop(r.id), r)
                elif overwritten and closed and first and times[r.id] % 2:
                    count["overwrittenBegins"] += 1
                else:
                    tokens[r.id] = module, r
            else:
                launch.json["markers"].append({"locIdx": place_index, "markerNameIdx": name(r.event.name), "timestamp": r.time, "color": NO_COLOR, **payload(r)})
    for module, r in [*stack, *tokens.values()]:
        emit_range(module, r, None)


def trace_of(launches, count):
    names, places, groups = {}, [], {}
    trace = {"meta": {"version": 1}, "launches": []}
    for launch in launches:
        if not launch.streams:
            continue  # 4.6: it left nothing
        lives = {}
        for place, start, end, _ in launch.streams:
            old = lives.get(place, (start, end))
            lives[place] = min(old[0], start), max(old[1], end)
        index = {place: len(places) + i for i, place in enumerate(sorted(lives, key=lambda p: (p[0][::-1], p[1:])))}
        places += index
        launch.json["warpLifetimes"] = [{"locIdx": i, "startTs": lives[p][0], "endTs": max(lives[p])} for p, i in index.items()]
        for place, _, end, runs in launch.streams:
            emit_stream(launch, index[place], end, runs, names, count)
        (groups.setdefault(launch.key, []) if launch.key else trace["launches"]).append(launch.json)
    keys = "ctaId warpId smId tpcId gpcId".split()
    trace["locationTable"] = [dict(zip(keys, [list(p[0]), *p[1:]])) for p in places]
    return {**trace, "graphLaunches": groups, "stringTable": list(names), "diagnostics": {k: min(count[k], MAX) for k in COUNTERS}}
