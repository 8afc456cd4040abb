# SPDX-License-Identifier: Apache-2.0
"""collector_builder.py: writes iket.data.bin and iket.data.json as NVIDIA's collector leaves them, by doc/FORMAT.md section 6."""
import struct

from dump_builder import MARKER, NATIVE, NONE, POP, T

FILE = "iket.data.bin"


def buffer(records=b"", entry=T, closing=T + 3200, sm=0, size=256, used=None, junk=0x12345):
    """A warp buffer: used, SM in the top 12 bits, time of entry, records, closing time. `closing` None: there is none."""
    body = struct.pack("<IQ", sm << 20 | junk, entry) + records + (b"" if closing is None else struct.pack("<I", closing & 0xFFFFFFFF))
    return (struct.pack("<I", 4 + len(body) if used is None else used) + body).ljust(size, b"\0")[:size]


def declared(id_, name, pos=MARKER, payload=NONE, range_id=0, method=NATIVE):
    return {"eventId": id_, "eventName": name, "eventPosition": pos, "instrumentMethod": method, "payloadType": payload, "rangeId": range_id}


def context(events, kernel="f", widest=4, ranges=()):
    reserved = [declared(0, "reserved_event_id_0"), declared(31, "pop_range", POP)]
    return {"architecture": 90, "events": events + reserved, "ranges": list(ranges),
            "kernels": [{"kernelName": kernel, "maxPayloadSize": widest, "instrumentPoints": []}],
            "metaInfo": {"versionMajor": 0, "versionMinor": 5, "maxEventId": 31, "maxEventNameSize": 32, "eventAttributeSize": 60, "magicNumber": 3133075869,
                         "legacyIketCubin": 0, "supportedFeatures": 3}}


def run(grid=1, kernel="f", dims=(1, 1, 1), block=(32, 1, 1), offset=0, size=256, warp_bytes=256, context_id="c0", decodable=True, cluster=(0, 0, 0),
        single=0, enabled=(1, 1, 1), filename=FILE, **more):
    """One entry of launches[]."""
    xyz = lambda values: dict(zip("xyz", values))
    return {"contextId": 1, "gridId": grid, "kernelName": kernel, **{"gridDim" + a: v for a, v in zip("XYZ", dims)},
            **{"blockDim" + a: v for a, v in zip("XYZ", block)}, "clusterDim": xyz(cluster), "decodeContextId": context_id, "canDecode": decodable,
            "dataRef": {"filename": filename, "offset": offset, "size": size}, "warpBufferSize": warp_bytes, "maxTsCntPerWarp": 10, "singleClusterActive": single,
            "enabledCluster": xyz(enabled), **more}


def document(launches, contexts, graphs=None, topology=None):
    sms = [{"smId": s, "gpcId": s // 2, "tpcId": s} for s in range(8)]
    return {"decodeContexts": contexts, "launches": launches, "graphLaunches": graphs or {}, "meta": {"version": 1},
            "topology": [{"contextId": 1, "sms": sms}] if topology is None else topology}
