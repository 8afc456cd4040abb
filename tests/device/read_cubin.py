#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""read_cubin.py NVCC INCLUDE DIRECTORY: the declarations stand in a cubin as byte arrays, found by their symbols' prefix.

Compiles everything.cu, NativeDump and extended, and compares what the arrays say with what the source declares.
"""
import os
import struct
import subprocess
import sys
import tempfile

WANTED = [("point", 0, 0), ("Ort: größer als ∅", 0, 15), ("small_value", 0, 1), ("large_value", 0, 16), ("span", 1, 0),
          ("span_value", 1, 13), ("pass", 4, 0), ("pass_value", 4, 14)]


def symbols(data):
    """name -> bytes of every symbol with contents in a 64-bit little-endian ELF file."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    out = {}
    for header in headers:
        if header[1] != 2:
            continue
        texts = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, _, _, section, value, length = struct.unpack_from("<IBBHQQ", data, at)
            if section == 0 or section >= count or length == 0:
                continue
            end = data.index(b"\0", texts + name)
            start = headers[section][4] + value
            out[data[texts + name:end].decode()] = data[start:start + length]
    return out


def check(cubin, first, method):
    found = symbols(open(cubin, "rb").read())
    info = found["__iket_meta_info"]
    assert struct.unpack("<12I", info)[:7] == (48, 0, 5, 4095 if method == 5 else 31, 32, 60, 0xBABEF19D), "__iket_meta_info"
    events, ranges = {}, {}
    for name, data in found.items():
        if name.startswith("__iket_evt_decl_"):
            size, event, how, payload, position, range_id, length = struct.unpack_from("<7I", data)
            assert size == len(data) == 60 and how == method, name
            events[event] = (data[28:28 + length].decode(), position, payload, range_id)
        elif name.startswith("__iket_range_decl_"):
            size, scope, range_id, color, kind = struct.unpack_from("<5I", data)
            length, = struct.unpack_from("<I", data, 32)
            assert size == len(data) == 72 and scope == 0 and color == 0xFFFFFFFF, name
            ranges[range_id] = (data[36:36 + length].decode(), kind)
    assert [events[first + i][:3] for i in range(len(WANTED))] == WANTED and len(events) == len(WANTED), "events"
    for name, position, _, range_id in events.values():
        assert position == 0 or ranges[range_id] == (name, 1 if position == 4 else 2), name
    assert len(ranges) == 4, "ranges"


def main():
    nvcc, include, here = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as work:
        for options, first, method in (([], 1, 3), (["-DIKET_EXTENDED"], 64, 5), (["-DIKET_BACKEND_COLLECTOR"], 1, 3), (["-rdc=true"], 1, 3)):
            cubin = os.path.join(work, "out.cubin")
            subprocess.run([nvcc, "-std=c++17", "-arch=sm_90", *options, "-I" + include, "-cubin", "-o", cubin, here + "/everything.cu"], check=True)
            check(cubin, first, method)
            print("declarations", *options, "are right")


if __name__ == "__main__":
    main()
