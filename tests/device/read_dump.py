#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""read_dump.py DIRECTORY: a second, strict reader of dump.bin and meta.json, written from the format's text alone.

Prints what a dump says as JSON with sorted keys: kernels with their launches, warps and streams, and for each kernel the
events by name with their number and the payloads that they carried. Times, SMs and ids that differ between runs are left
out, so that the output of a fixture can be kept beside it. Anything that the recorder never writes ends it with an error.
"""
import json
import struct
import sys
import zlib

FORMATS = {1: "<b", 2: "<B", 3: "<h", 4: "<H", 5: "<i", 6: "<I", 7: "<q", 13: "<f", 14: "<d", 15: "<Q", 16: "<Q"}


class Bad(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Bad(text)


def sections(data):
    need(data[:8] == b"IKETDUMP" and struct.unpack_from("<II", data, 8) == (1, 64), "file header")
    at, out = 64, []
    while at < len(data):
        kind, crc, size, items, zero = struct.unpack_from("<4sIQII", data, at)
        payload = data[at + 24:at + 24 + size]
        need(len(payload) == size and zero == 0, "section header")
        need(crc == (0 if kind == b"WARP" else zlib.crc32(payload)), "section CRC")
        out.append((kind.decode(), items, payload))
        at += 24 + (size + 7) // 8 * 8
    need(out and out[-1][0] == "DONE", "DONE")
    return out


def modules_of_meta(payload, items):
    at, out = 0, {}
    for _ in range(items):
        module, size, count = struct.unpack_from("<QII", payload, at)
        body, inner, events, ranges = payload[at + 16:at + 16 + size], 0, {}, {}
        for _ in range(count):
            name_size, data_size = struct.unpack_from("<II", body, inner)
            name = body[inner + 8:inner + 8 + name_size].decode()
            data = body[inner + 8 + name_size:inner + 8 + name_size + data_size]
            if name.startswith("__iket_evt_decl_"):
                _, event, method, payload_type, position, range_id, length = struct.unpack_from("<7I", data)
                need(len(data) == 60 and event not in events, "event declaration")
                events[event] = {"name": data[28:28 + length].decode(), "method": method, "payload": payload_type,
                                 "position": position, "range": range_id}
            elif name.startswith("__iket_range_decl_"):
                need(len(data) == 72, "range declaration")
                ranges[struct.unpack_from("<I", data, 8)[0]] = data[36:36 + struct.unpack_from("<I", data, 32)[0]].decode()
            else:
                need(name == "__iket_meta_info" and struct.unpack_from("<I", data, 24)[0] == 0xBABEF19D, "symbol " + name)
            inner += (8 + name_size + data_size + 3) // 4 * 4
        for event in events.values():
            need(event["position"] == 0 or ranges[event["range"]] == event["name"], "range of an event")
        out[module] = events
        at += (16 + size + 7) // 8 * 8
    return out


def modules_of_json(path, known):
    meta = json.load(open(path))
    listed = meta.get("modules") or [dict(meta, module_id="0x%x" % next(iter(known)))]
    out = {}
    for module in listed:
        out[int(module["module_id"], 16)] = {e["event_id"]: {
            "name": e["event_name"], "method": e["instrument_method"], "payload": e["payload_type"],
            "position": e["event_pos"], "range": e["range_id"]} for e in module["events"]}
    return out, {int(k["kernel_id"], 16): k["kernel_name"] for module in listed for k in module.get("kernels", [])}


def names(payload, items):
    at, out = 0, {}
    for _ in range(items):
        kernel, _, length, _ = struct.unpack_from("<QQII", payload, at)
        out[kernel] = payload[at + 24:at + 24 + length].decode()
        at += (24 + length + 7) // 8 * 8
    return out


def launches(payload, items):
    at, out = 0, {}
    for _ in range(items):
        grid = struct.unpack_from("<Q", payload, at)[0]
        length = struct.unpack_from("<I", payload, at + 56)[0]
        out[grid] = payload[at + 64:at + 64 + length].decode()
        at += (64 + length + 7) // 8 * 8
    return out


WIDE, EVEN, KEEPS_LAST = 8, 16, 32


def check_from_the_end(times, start, end, reference):
    """The times of records whose predecessors were overwritten: the last is the latest that is not after the reference."""
    after = reference
    for time in reversed(times):
        after -= (after - time) & 0xFFFFFFFF
        need(start <= after + 64 and after <= reference and (end is None or after <= end + 64), "time of a record")
    need(not times or reference - after < 1 << 34, "time of the first record")


def records(chunk, events, flags, start, end, reference):
    """(name, payload) of each record. With a reference, times are known from the last record back."""
    extended, wide = any(e["method"] == 5 for e in events.values()), bool(flags & WIDE)
    at, last, out, times = 0, start & ~31, [], []
    while at < len(chunk):
        if end is None and (len(chunk) - at < 4 or struct.unpack_from("<I", chunk, at)[0] == 0):
            break
        word = struct.unpack_from("<I", chunk, at)[0]
        event_id = struct.unpack_from("<I", chunk, at + 4)[0] if extended else word & 31
        kind = events[event_id]["payload"] if event_id != 31 else 0
        time = last + (((word if extended else word & ~31) - last) & 0xFFFFFFFF)
        need(reference or (time - last < 1 << 31 and (end is None or time <= end + 64)), "time of a record")
        times.append(time & 0xFFFFFFFF)
        last, value = time, None
        big = kind in (7, 14, 15, 16)
        size = (8 if kind == 0 else 16) if extended else 16 if big else 8 if kind or wide else 4
        if kind:
            value = struct.unpack_from(FORMATS[kind], chunk, at + (8 if extended or big else 4))[0]
        out.append((events[event_id]["name"] if event_id != 31 else "(pop)", value, kind))
        at += 16 if flags & EVEN else size
    if reference:
        check_from_the_end(times, start, end, reference)
    return out


def chunks(payload, items, modules):
    at = 0
    for _ in range(items):
        magic, header, flags, module, kernel, grid, start, end = struct.unpack_from("<IHHQQQQQ", payload, at)
        cta = struct.unpack_from("<3I", payload, at + 48)
        dims = struct.unpack_from("<6I", payload, at + 60)
        warp, lane = struct.unpack_from("<HH", payload, at + 88)
        _, used, dropped, _, size, crc = struct.unpack_from("<6I", payload, at + 96)
        need(magic == 0x42574B49 and header == 128 and flags & ~63 == 0 and size >= 128 and size % 8 == 0, "chunk header")
        closed = bool(flags & 1)
        body = payload[at + 128:at + (128 + used if closed else size)]
        need(not closed or crc == zlib.crc32(body), "chunk CRC")
        overwritten, reference = 0, struct.unpack_from("<Q", payload, at + 120)[0]
        if flags & KEEPS_LAST:
            overwritten, dropped = dropped, 0
            need(reference == end if closed else reference >= start, "reference time")
        need(flags & KEEPS_LAST or (reference == 0 and not flags & EVEN), "a reference, or records of 16 bytes, for nothing")
        yield {"module": module, "kernel": kernel, "grid": grid, "cta": cta, "dims": dims, "warp": warp, "lane": lane, "closed": closed,
               "start": start, "dropped": dropped, "keeps_last": bool(flags & KEEPS_LAST), "overwritten": overwritten,
               "records": records(body, modules[module], flags, start, end if closed else None, reference if overwritten else 0)}
        at += size
    need(at == len(payload), "WARP length")


def replays(found):
    """Launches of one gridId: a stream that comes again begins the next."""
    count, seen = 0, set()
    for chunk in sorted(found, key=lambda c: c["start"]):
        stream = (chunk["cta"], chunk["warp"], chunk["lane"])
        if count == 0 or stream in seen:
            count, seen = count + 1, set()
        seen.add(stream)
    return count


def text_of(value, kind):
    """A payload as text: an f32 in the fewest digits that read back to the same f32."""
    if kind != 13 or value != value or value in (float("inf"), float("-inf")):
        return str(value)
    bits = struct.pack("<f", value)
    for digits in range(1, 10):
        text = "%.*g" % (digits, value)
        try:
            if struct.pack("<f", float(text)) == bits:
                return text
        except OverflowError:
            continue
    return repr(value)


def summary(found, keys):
    events = {}
    for chunk in found:
        for name, value, kind in chunk["records"]:
            event = events.setdefault(name, {"count": 0, "payloads": {}})
            event["count"] += 1
            if kind and kind != 15:
                text = text_of(value, kind)
                event["payloads"][text] = event["payloads"].get(text, 0) + 1
    grids = {chunk["grid"] for chunk in found}
    result = {"launches": sum(replays([c for c in found if c["grid"] == grid]) for grid in grids),
            "warps": len({(c["grid"], c["start"], c["cta"], c["warp"]) for c in found}), "streams": len(found),
            "open": sum(not c["closed"] for c in found), "dropped": sum(c["dropped"] for c in found),
            "dims": sorted({c["dims"] for c in found}), "graphKeys": sorted({keys.get(grid, "") for grid in grids}), "events": events}
    if any(chunk["keeps_last"] for chunk in found):
        result["overwritten"] = sum(c["overwritten"] for c in found)
    return result


def read(directory):
    data = open(directory + "/dump.bin", "rb").read()
    modules, kernels, keys, found, lost = {}, {}, {}, [], {"warps": 0, "events": 0}
    parts = sections(data)
    for kind, items, payload in parts:
        if kind == "META":
            modules.update(modules_of_meta(payload, items))
    for kind, items, payload in parts:
        if kind == "KERN":
            kernels.update(names(payload, items))
        elif kind == "LNCH":
            keys.update(launches(payload, items))
        elif kind == "WARP":
            found += chunks(payload, items, modules)
        elif kind == "LOSS":
            for i in range(items):
                _, events, warps, _ = struct.unpack_from("<QQII", payload, 24 * i)
                lost["events"] += events
                lost["warps"] += warps
        elif kind == "DEVI":
            json.loads(payload.decode())
        elif kind == "DONE":
            written, dropped = struct.unpack("<QQ", payload)
    need(written == len(found), "DONE")
    left_out = dropped - lost["events"] - sum(c["dropped"] for c in found)
    need(left_out == 0 or (left_out > 0 and any(c["keeps_last"] for c in found)), "DONE")
    if left_out:
        lost["leftOut"] = left_out
    json_modules, json_kernels = modules_of_json(directory + "/meta.json", modules)
    need(json_modules == modules and json_kernels == kernels, "meta.json says something else than META and KERN")
    by_kernel = {}
    for chunk in found:
        by_kernel.setdefault(kernels[chunk["kernel"]], []).append(chunk)
    return {"kernels": {name: summary(group, keys) for name, group in by_kernel.items()}, "lost": lost}


def main():
    try:
        result = read(sys.argv[1])
    except (Bad, KeyError, struct.error) as error:
        sys.exit("%s: not a dump of the recorder: %s" % (sys.argv[1], error))
    json.dump(result, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
