#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bad.py: a trace.json that is damaged gives one line that says where and what, and exit status 2: never a crash, a hang
or half an answer that looks whole. Then some thousand mutations, of which only the exit status is known."""
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from traces import collector_traces, load, query

PATHS = {p.parent.name: p for p in collector_traces()}
VERBS = ["events", "summary", "ranges", "warps", "gaps", "cadence", "payload", "check"]


def trace():
    return load(PATHS["cxx"])


def changed(change):
    t = trace()
    change(t)
    return json.dumps(t)


def launch(t):
    return t["launches"][0]


def drop(holder, key):
    def change(t):
        del holder(t)[key]
    return change


def put(holder, key, value):
    def change(t):
        holder(t)[key] = value
    return change


marker = lambda t: launch(t)["markers"][0]
range_ = lambda t: launch(t)["ranges"][0]
life = lambda t: launch(t)["warpLifetimes"][0]
paid = lambda t: next(m for m in launch(t)["markers"] if "payloadType" in m)

# (what, document, what the line says)
BAD = [
    ("empty", "", r"is empty"),
    ("no JSON", "hello", r"is not an IKET dump, nor a trace\.json"),
    ("an array", "[]", r"is not an IKET dump|an object was expected"),
    ("an object of something else", '{"a": 1}', r"without launches"),
    ("cut off", changed(lambda t: None)[:5000], r"byte 0x1388: the file ends inside"),
    ("cut off in a key", '{"launches": [{"mark', r"byte 0x[0-9a-f]+: the file ends inside"),
    ("something behind it", changed(lambda t: None) + "{}", r"something follows the end"),
    ("a comma too many", '{"launches": [],}', r"byte 0x10: a value is missing after ','"),
    ("a control character", '{"launches": ["\x01"]}', r"byte 0x[0-9a-f]+: "),
    ("markers are an object", changed(put(launch, "markers", {})), r"an array was expected, not an object"),
    ("a launch is a number", '{"launches": [1]}', r"an object was expected, not a number"),
    ("stringTable has a number", changed(put(lambda t: t["stringTable"], 0, 7)), r"a string was expected, not a number"),
    ("a time as double", changed(put(marker, "timestamp", 1.7961e18)), r"no exact integer"),
    ("a time as text", changed(put(marker, "timestamp", "1")), r"a number was expected, not a string"),
    ("a negative time", changed(put(marker, "timestamp", -1)), r"negative"),
    ("a time past 64 bits", changed(put(marker, "timestamp", 2**64)), r"does not fit 64 bits"),
    ("no timestamp", changed(drop(marker, "timestamp")), r"a marker without timestamp ends here"),
    ("no name", changed(drop(range_, "rangeNameIdx")), r"a range without rangeNameIdx ends here"),
    ("no place", changed(drop(range_, "warpLocIdxs")), r"a range without warpLocIdxs ends here"),
    ("no end", changed(drop(life, "endTs")), r"a warpLifetime without endTs ends here"),
    ("places that are none", changed(put(range_, "warpLocIdxs", [])), r"a range without a place"),
    ("a name that is not there", changed(put(marker, "markerNameIdx", 99)), r"name index 99, but stringTable has 3 names"),
    ("a place that is not there", changed(put(marker, "locIdx", 999)), r"location index 999, but locationTable has"),
    ("a huge index", changed(put(marker, "locIdx", 2**40)), r"an index of 1099511627776"),
    ("an unknown payload type", changed(put(paid, "payloadType", 9)), r"payloadType 9 is not known"),
    ("a payload without value", changed(drop(paid, "payloadVal")), r"a payloadType without payloadVal"),
    ("a text as payload", changed(put(paid, "payloadVal", "x")), r"does not fit its payloadType"),
    ("an SM past 32 bits", changed(put(lambda t: t["locationTable"][0], "smId", 2**33)), r"does not fit 32 bits"),
    ("an id in words", changed(put(launch, "gridId", "twelve")), r"an id that is no number"),
    ("an id as decimal text", changed(put(launch, "gridId", "12")), r"an id that is no number"),
    ("two string tables", '{"stringTable": [], "stringTable": [], "launches": []}', r"a second stringTable"),
]


def check_bad(folder):
    path = folder / "bad.json"
    for what, text, pattern in BAD:
        path.write_text(text)
        # Of a file, events reads no lifetimes.
        for verb in ("ranges",) if "warpLifetime" in pattern else ("events", "ranges"):
            query(verb, path, "--csv", status=2)
            lines = query.stderr.splitlines()
            if len(lines) != 1 or not re.match(r"iket-query: .*bad\.json: ", lines[0]) or not re.search(pattern, lines[0]):
                sys.exit(f"{what}: {verb}: {query.stderr!r}, expected {pattern}")
        if text:
            query("events", "-", "--csv", stdin=text.encode(), status=2)
            if not re.search(pattern, query.stderr) or len(query.stderr.splitlines()) != 1:
                sys.exit(f"{what}: from a pipe: {query.stderr!r}, expected {pattern}")


def check_gzip(folder):
    data = gzip.compress(json.dumps(load(PATHS["crowd"])).encode())
    path = folder / "t.gz"
    for what, packed, pattern in (("cut off", data[:-100], "cut off"), ("damaged", data[:2000] + b"\0" * 50 + data[2050:], "damaged|byte 0x"), ("followed by bytes", data + b"abc", "not gzip"),
                                  ("a header only", data[:5], "cut off|empty|ends")):
        path.write_bytes(packed)
        for arguments in (["events", path], ["ranges", path]):
            query(*arguments, "--csv", status=2)
            if not re.search(pattern, query.stderr) or len(query.stderr.splitlines()) != 1:
                sys.exit(f"gzip {what}: {query.stderr!r}")
    # The rows before the damage are given.
    path.write_bytes(gzip.compress(json.dumps({k: load(PATHS["crowd"])[k] for k in ("stringTable", "locationTable", "launches")}).encode())[:-100])
    if len(query("events", path, "--csv", status=2).splitlines()) < 1000:
        sys.exit("gzip that is cut off: the rows before the end are missing")
    path.write_bytes(data + b"\0" * 700)  # padding, as tape drives leave it
    query("events", path, "--count")


def check_files(folder):
    for path, pattern in ((folder / "nothing.json", "cannot be opened|No such file"), (folder, "no trace in this folder")):
        query("summary", path, status=2)
        if not re.search(pattern, query.stderr):
            sys.exit(f"{path}: {query.stderr!r}")
    query(status=2)
    query("summary", status=2)
    good = PATHS["cxx"]
    if subprocess.run(["sh", "-c", 'iket-query events "$0" --csv > /dev/full', good], capture_output=True).returncode != 2:
        sys.exit("a full disk is no failure")
    (folder / "there").write_text("x")
    query("summary", good, "-o", folder / "there", status=2)
    if (folder / "there").read_text() != "x":
        sys.exit("an existing file was replaced without --force")
    query("summary", good, "-o", folder / "there", "--force")
    (folder / "deep.json").write_text('{"launches": [], "x": ' + "[" * 200000 + "]" * 200000 + "}")
    query("events", folder / "deep.json", "--csv")
    # As many ranges as there may be on one warp, each crossing the one before it.
    t = trace()
    one = launch(t)["ranges"][0]
    launch(t)["ranges"] = [dict(one, startTs=one["startTs"] + i, endTs=one["startTs"] + 10000 + i) for i in range(2000)]
    (folder / "crossing.json").write_text(json.dumps(t))
    query("ranges", folder / "crossing.json")
    query("check", folder / "crossing.json", status=1)


def check_mutations(folder, count):
    rng = random.Random(5)
    base = json.dumps(trace()).encode()
    tokens = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"-", b"0", b"1e9", b"18446744073709551616", b"null", b"true", b"\0", b"\xff", b"4294967295", b"2", b"-1", b'"endTs"', b'"locIdx"']
    path = folder / "m.json"
    for i in range(count):
        data = bytearray(base)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            action = rng.randrange(4)
            if action == 0:
                data[at] = rng.randrange(256)
            elif action == 1:
                del data[at:at + rng.randint(1, 40)]
            elif action == 2:
                data[at:at] = rng.choice(tokens)
            else:
                # Another number: same shape, other facts.
                numbers = [m.span() for m in re.finditer(rb"\d+", bytes(data))]
                if numbers:
                    a, b = rng.choice(numbers)
                    data[a:b] = rng.choice([b"0", b"1", b"7", b"18446744073709551615", b"4294967295", b"9223372036854775808", str(rng.randrange(2**63)).encode()])
        path.write_bytes(data)
        verb = VERBS[i % len(VERBS)]
        done = subprocess.run(["iket-query", verb, path if i % 2 else "-", "--csv"], input=bytes(data), capture_output=True, timeout=60)
        if done.returncode not in (0, 1, 2) or len(done.stderr.splitlines()) > 1 or (done.returncode == 2) != (b"iket-query: " in done.stderr and done.returncode != 1):
            (folder.parent / "iket-mutation.json").write_bytes(data)
            sys.exit(f"mutation {i}, {verb}: exit {done.returncode}: {done.stderr.decode(errors='replace')[:3000]}")


with tempfile.TemporaryDirectory() as scratch:
    folder_ = pathlib.Path(scratch)
    check_files(folder_)
    check_bad(folder_)
    check_gzip(folder_)
    check_mutations(folder_, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
