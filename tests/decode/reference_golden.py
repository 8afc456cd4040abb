#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference_golden.py: the reference decoder finds what the golden cases expect; only then may it judge another."""
import json
import sys

import reference
from golden import FIXTURES, check, collector_check


def dump(folder, want, meta):
    got = check.canonical(reference.reference(folder / "dump.bin", meta))
    if not meta:  # kernel names stand in the meta.json only
        want = {**want, "launches": [{**launch, "kernelName": "any"} for launch in want["launches"]]}
        got["launches"] = [{**launch, "kernelName": "any"} for launch in got["launches"]]
    got["diagnostics"] = check.known(got["diagnostics"], want["diagnostics"])
    return check.difference(want, got)


def collector(folder):
    trace = reference.reference(folder / "iket.data.bin", folder / "iket.data.json")
    (ours, _), (theirs, _) = collector_check.facts(trace), collector_check.facts(collector_check.load(folder / "expected.trace.json.gz"))
    wrong = {k: v for k, v in trace["diagnostics"].items() if v and k not in ("unclosedRanges", "unmatchedPops")}
    return None if ours == theirs and not wrong else f"the facts differ, {wrong}"


def main():
    found = {}
    for expected in sorted(FIXTURES.glob("*/expected.json")):
        want = json.loads(expected.read_text())
        for meta in (expected.parent / "meta.json", None):
            found[f"{expected.parent.name}{'' if meta else ' by its META'}"] = dump(expected.parent, want, meta)
    for expected in sorted(FIXTURES.glob("collector/*/expected.trace.json.gz")):
        found[f"collector/{expected.parent.name}"] = collector(expected.parent)
    for case, difference in found.items():
        if difference:
            print(f"{case}: {difference}")
    print(f"{len(found)} cases, {sum(map(bool, found.values()))} differ")
    return 1 if any(found.values()) or len(found) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
