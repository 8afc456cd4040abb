#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flows.py: `iket-decode --dag` draws an arrow in Perfetto for each pair that the edges of an iket.dag file tie together.

The recorded Hopper GEMM is decoded with and without the file. The arrows that the trace processor finds are compared with
pairs made here from .trace.json (equal payloads within a CTA, in order of start); everything else must be as without.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import check

EDGES = [("load_tile", "mma_tile"), ("mma_tile", "epilogue")]
QUERIES = {
    "flows": "select a.name as source, a.ts as at, b.name as target, b.ts as until from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in",
    "slices": "select ts, dur, name, category, depth from slice order by ts, dur, name, category, depth",
}


def decode(scratch, name, *options):
    case = pathlib.Path(os.environ["IKET_FIXTURES"]) / "collector" / "hopper_gemm"
    subprocess.run(["iket-decode", "--quiet", "--output-dir", scratch, "--name", name, "--emit", "pftrace,json", *options, case], check=True)
    return scratch / f"{name}.pftrace"


def by_region(data):
    """CTA -> name -> payload (None: none) -> ranges in order of start."""
    out = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for r in data["launches"][0]["ranges"]:
        place = data["locationTable"][r["warpLocIdxs"][0]]
        out[tuple(place["ctaId"])][data["stringTable"][r["rangeNameIdx"]]][r["internalEvents"][0].get("payload")].append(r["startTs"])
    return out


def main():
    with tempfile.TemporaryDirectory(prefix="iket-flows-") as scratch:
        scratch = pathlib.Path(scratch)
        dag = scratch / "gemm.dag"
        dag.write_text(json.dumps({"name": "gemm", "regions": [], "edges": [{"source": a, "target": b} for a, b in EDGES]}))
        plain, drawn = decode(scratch, "plain"), decode(scratch, "drawn", "--dag", dag)
        data = json.loads((scratch / "drawn.trace.json").read_text())
        assert (scratch / "plain.trace.json").read_bytes() == (scratch / "drawn.trace.json").read_bytes(), "the arrows changed the .trace.json"
        places = by_region(data)
        for engine in check.engines():
            before, after = check.ask(engine, plain, QUERIES), check.ask(engine, drawn, QUERIES)
            assert before["slices"] == after["slices"], "the arrows changed the slices"
            assert not before["flows"], "arrows without a file"
            assert after["flows"], "no arrow"
            kinds = collections.Counter((f["source"], f["target"]) for f in after["flows"])
            assert set(kinds) == set(EDGES), kinds
            starts = {(name, ts) for cta in places.values() for name, groups in cta.items() for group in groups.values() for ts in group}
            for f in after["flows"]:
                assert (f["source"], f["at"]) in starts and (f["target"], f["until"]) in starts, f
            tied = {(f["target"], f["until"]) for f in after["flows"] if f["source"] == "load_tile"}
            wanted = {("mma_tile", ts) for cta in places.values() for payload, group in cta["mma_tile"].items() if payload in cta["load_tile"] for ts in group}
            assert tied == wanted, f"{len(tied)} mma_tile with an arrow, {len(wanted)} share a payload with a load_tile"
    print("same")


if __name__ == "__main__":
    sys.exit(main())
