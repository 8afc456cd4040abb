# SPDX-License-Identifier: Apache-2.0
"""facts.py: what a decoder must find, in the shape that fixtures/golden/check.py compares; all times relative to T."""
from dump_builder import T, F32, F64, I8, I16, I32, I64

COUNTERS = ["droppedEvents", "unmatchedPops", "unclosedRanges", "undecodedBytes", "reservedRecords", "timeAmbiguousChunks", "missingChunks",
            "corruptChunks", "corruptSections", "overflowedWarps", "warpsWithoutChunk", "overwrittenEvents",
            "overwrittenBegins", "truncated"]
SIGNED = {I8: 8, I16: 16, I32: 32, I64: 64}


def _payload(kind, bits, value):
    if kind is None:
        return {}
    if value is None:
        value = bits - (1 << SIGNED[kind]) if kind in SIGNED and bits >> (SIGNED[kind] - 1) else bits
        assert kind not in (F32, F64), "say what the float is"
    return {"payloadType": kind, "payloadVal": bits, "payload": value}


def mark(name, time, kind=None, bits=None, value=None):
    return {"name": name, "timestamp": T + time, **_payload(kind, bits, value)}


def at(id_, time, kind=None, bits=None, value=None):
    """One record of a range."""
    return {"eventId": id_, "timestamp": T + time, **_payload(kind, bits, value)}


def span(name, range_id, first, last=None, end=None, type_=2, scope=0, color=0xFFFFFFFF):
    """A range from the record `first` to the record `last`; without `last` it was never closed and ends at `end`."""
    out = {"name": name, "startTs": first["timestamp"], "endTs": last["timestamp"] if end is None else T + end,
           "internalEvents": [first] + ([last] if last else []), "rangeId": range_id, "rangeType": type_, "rangeScope": scope, "rangeColor": color}
    if not last:
        out["unclosed"] = True
    return out


def warp(*events, cta=(0, 0, 0), warp=0, sm=0, start=0, end=3200):
    """One location; `events` are marks and spans."""
    return {"cta": list(cta), "warp": warp, "sm": sm, "start": T + start, "end": T + end,
            "markers": [e for e in events if "timestamp" in e], "ranges": [e for e in events if "startTs" in e]}


def launch(*warps, grid=1, kernel="kernel_0x0", dims=(1, 1, 1), block=(32, 1, 1), key="", context=1):
    return {"contextId": context, "gridId": grid, "kernelName": kernel, "grid": list(dims), "block": list(block), "key": key,
            "warps": sorted(warps, key=lambda w: (w["cta"][::-1], w["warp"], w["sm"]))}


def facts(*launches, **counters):
    assert set(counters) <= set(COUNTERS), counters
    return {"launches": list(launches), "diagnostics": {**dict.fromkeys(COUNTERS, 0), **counters}}


def ordered(found):
    """Sorted as check.py's canonical() sorts what it read."""
    import json
    for one in found["launches"]:
        for w in one["warps"]:
            for kind in ("markers", "ranges"):
                w[kind] = sorted(w[kind], key=lambda e: json.dumps(e, sort_keys=True))
    return found
