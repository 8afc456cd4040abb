#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuts.py CASE: a golden dump, cut off at every section border and inside each header of the file, a section or a chunk.

Whatever the place: no crash, exit status 0 or 2; where there is something to show, `truncated` is 1, nothing counts as
corrupt that was not before, and every warp whose chunk lies wholly before the cut is there, with what it had.
"""
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(os.environ["IKET_FIXTURES"])
spec = importlib.util.spec_from_file_location("check", FIXTURES / "check.py")
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)


def places(data):
    """(cuts, chunks): where to cut, and of each chunk its end, grid id, CTA and warp."""
    cuts, chunks = set(range(0, 65, 4)), []
    default = struct.unpack_from("<I", data, 40)[0]
    at = 64
    while at + 24 <= len(data):
        kind, size = data[at:at + 4], struct.unpack_from("<Q", data, at + 8)[0]
        cuts.update(range(at, at + 25, 2))
        inner, end = at + 24, min(at + 24 + size, len(data))
        while kind == b"WARP" and inner + 128 <= end:
            whole = struct.unpack_from("<I", data, inner + 112)[0] or default
            cuts.update(range(inner, inner + 129, 8))
            cuts.update((inner + whole - 1, inner + whole))
            grid, cta, warp = struct.unpack_from("<Q", data, inner + 24)[0], struct.unpack_from("<3I", data, inner + 48), struct.unpack_from("<H", data, inner + 88)[0]
            chunks.append((inner + whole, (grid, cta, warp)))
            inner += whole
        at += 24 + (size + 7) // 8 * 8
    cuts.update((len(data) - 1, len(data) - 8))
    return sorted(c for c in cuts if 0 <= c < len(data)), chunks


def facts_of(trace):
    """Per warp of a grid its events, ends of what was left open aside: (grid, cta, warp) -> set of texts."""
    out = {}
    for l in trace["launches"]:
        for w in l["warps"]:
            seen = out.setdefault((l["gridId"], tuple(w["cta"]), w["warp"]), set())
            seen.update(json.dumps(m, sort_keys=True) for m in w["markers"])
            seen.update(json.dumps([r["name"], r["startTs"], r["internalEvents"][0]], sort_keys=True) for r in w["ranges"])
    return out


def decode(folder, data, meta):
    (folder / "dump.bin").write_bytes(data)
    done = subprocess.run(["iket-decode", "--emit", "json", "--force", "--output-dir", "out", "--name", "t", "dump.bin", "--meta", meta], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    output = folder / "out" / "t.trace.json"
    trace = json.loads(output.read_bytes()) if done.returncode == 0 else None
    output.unlink(missing_ok=True)
    return done, trace and check.canonical(trace)


def main():
    case = FIXTURES / sys.argv[1]
    data, meta = (case / "dump.bin").read_bytes(), case / "meta.json"
    bad = []
    with tempfile.TemporaryDirectory(prefix="iket-cuts-") as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        _, whole = decode(folder, data, meta)
        want = facts_of(whole)
        cuts, chunks = places(data)
        for cut in cuts:
            done, trace = decode(folder, data[:cut], meta)
            kept = [place for end, place in chunks if end <= cut]
            of_one_chunk = {p for p in kept if sum(q == p for _, q in chunks) == 1}
            if done.returncode not in (0, 2):
                bad.append(f"cut at {cut}: exit status {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}")
            elif trace is None and any(want[p] for p in of_one_chunk):
                bad.append(f"cut at {cut}: refused, with whole chunks: {done.stderr.decode(errors='replace')}")
            elif trace is not None:
                got, counters = facts_of(trace), trace["diagnostics"]
                if counters["truncated"] != 1:
                    bad.append(f"cut at {cut}: truncated is {counters['truncated']}")
                for counter in ("corruptChunks", "corruptSections", "undecodedBytes", "reservedRecords"):
                    if counters[counter] > whole["diagnostics"][counter]:
                        bad.append(f"cut at {cut}: {counter} is {counters[counter]}")
                if set(got) != set(kept):
                    bad.append(f"cut at {cut}: warps {set(got) ^ set(kept)}")
                bad += [f"cut at {cut}: warp {p} differs" for p in of_one_chunk if got.get(p) != want[p]]
    print("\n".join(bad[:20]) or f"{len(cuts)} cuts")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
