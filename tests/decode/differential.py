#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""differential.py [--count N] [--first N] [--seed S] [--keep FOLDER] [--only KIND] [--unchanged]

iket-decode against reference.py on damaged input. Every mutant is one of the golden inputs, or of those that
tests/badinput builds, with one to three changes, or a dump of random streams; both decoders must find the same facts and the same counters, or both
must refuse it. Mutant n of a seed is always the same one. Those that differ are said, and written to FOLDER with --keep.

A difference is settled by doc/FORMAT.md: it says which of the two is wrong, or must say more.
"""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(os.environ["IKET_FIXTURES"])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "badinput"))
import case  # noqa: E402
import mutants  # noqa: E402
import reference  # noqa: E402


def module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


check = module(FIXTURES / "check.py", "check")
collector_check = module(FIXTURES / "collector" / "check.py", "collector_check")
LARGE = 100000  # a longer input would make each mutant slow, and shows nothing else


def sources():
    """{name: {file: bytes}}, of inputs small enough."""
    found = {}
    for path in sorted(FIXTURES.glob("*/dump.bin")):
        found[path.parent.name] = {p.name: p.read_bytes() for p in (path, path.parent / "meta.json")}
    for path in sorted(FIXTURES.glob("collector/*/iket.data.bin")):
        found[f"collector/{path.parent.name}"] = {p.name: p.read_bytes() for p in (path, path.parent / "iket.data.json")}
    for part in ("rules", "metadata", "collector"):
        case.CASES.clear()  # two lists may have a name in common
        importlib.import_module(part)
        for name, build in case.CASES.items():
            one = build()
            if {"dump.bin", "iket.data.bin"} & set(one.files) and one.prepare is None and set(one.files) <= {"dump.bin", "meta.json", "iket.data.bin", "iket.data.json"}:
                found[f"{part}/{name}"] = {n: d if isinstance(d, bytes) else d.encode() if isinstance(d, str) else json.dumps(d).encode()
                                                   for n, d in one.files.items()}
    return {n: files for n, files in found.items() if sum(map(len, files.values())) < LARGE and not any(d[:2] == b"\x1f\x8b" for d in files.values())}


# ---- both decoders ------------------------------------------------------------------------------------------------------------

def write(folder, files):
    for name in ("dump.bin", "meta.json", "iket.data.bin", "iket.data.json"):
        (folder / name).unlink(missing_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    main = "dump.bin" if "dump.bin" in files else "iket.data.bin"
    return [str(folder / n) for n in (main, "meta.json", "iket.data.json") if n in files]


def by_tool(paths):
    command = ["iket-decode", "--quiet", "--emit", "json", "-o", "-", paths[0]] + [a for p in paths[1:] for a in ("--meta", p)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    if done.returncode == 2:
        return None, done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout), ""


def by_text(paths):
    try:
        return reference.reference(*paths), ""
    except (reference.Refused, LookupError, TypeError, ValueError, AttributeError) as refused:  # the others: no such JSON
        return None, repr(refused)


def canonical(trace):
    out = check.canonical({**trace, "graphLaunches": dict(sorted(trace["graphLaunches"].items()))})
    out["diagnostics"] = {k: v for k, v in out["diagnostics"].items() if v}
    return out


def difference(paths):
    (ours, said), (wanted, why) = by_tool(paths), by_text(paths)
    launches = [l for group in [wanted["launches"], *wanted["graphLaunches"].values()] for l in group] if wanted else []
    if ours is None and wanted and "has no event" in said and not any(l["markers"] or l["ranges"] for l in launches) and (not launches or "dump.bin" in paths[0]):
        return None  # no trace at all is an error of the tool, not of the format
    if ours is None or wanted is None:
        return None if ours is wanted else f"iket-decode {'reads' if ours else 'refuses'} it ({said}), the reference {'reads' if wanted else 'refuses'} it ({why})"
    found = check.difference(canonical(wanted), canonical(ours))
    if not found and len(paths) > 1:
        (a, _), (b, _) = collector_check.facts(wanted), collector_check.facts(ours)
        found = None if a == b else f"by collector/check.py: {[str(f)[:200] for k in set(a) | set(b) for f in (a.get(k, {}).keys() ^ b.get(k, {}).keys())][:2]}"
    return found


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seed", default="1")
    options.add_argument("--keep", type=pathlib.Path)
    options.add_argument("--only", default="", help="inputs whose names begin so")
    options.add_argument("--unchanged", action="store_true", help="the inputs themselves")
    options = options.parse_args()
    known = {n: files for n, files in sources().items() if n.startswith(options.only)}
    if not options.unchanged and "built".startswith(options.only[:5]):
        known.update({f"built/{i}": {} for i in range(len(known) // 4 + 1)})
    names, bad, kinds = sorted(known), 0, collections.Counter()
    with tempfile.TemporaryDirectory(prefix="iket-differential-") as scratch:
        for n in range(options.first, len(names) if options.unchanged else options.first + options.count):
            rng = random.Random(f"{options.seed}/{n}")
            name = names[n] if options.unchanged else rng.choice(names)
            files, done = known[name], []
            if not options.unchanged:
                files, done = mutants.mutate(rng, files)
            kinds.update(done)
            found = difference(write(pathlib.Path(scratch), files))
            if found:
                bad += 1
                print(f"{n}: {name}, {', '.join(done)}: {found}", flush=True)
                if options.keep:
                    (options.keep / str(n)).mkdir(parents=True, exist_ok=True)
                    write(options.keep / str(n), files)
    print(f"{n + 1 - options.first} inputs, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
