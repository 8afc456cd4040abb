#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py: the figures in the page that iket-decode writes are those of `iket-query summary --format json`, from raw
buffers, a dump and a trace.json alike: one meaning, one implementation."""
import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile

from traces import FIXTURES, query


class Scripts(html.parser.HTMLParser):
    """The JSON documents in a page's scripts."""
    def __init__(self):
        super().__init__()
        self.inside, self.found = False, []

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "script" and dict(attributes).get("type") == "application/json"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside and '"schema_version"' in data:
            self.found.append(json.loads(data))


def summary_of_page(path):
    scripts = Scripts()
    scripts.feed(path.read_text())
    if len(scripts.found) != 1:
        sys.exit(f"{path.name}: {len(scripts.found)} summaries in the page")
    found = scripts.found[0]
    return found.get("summary", found)


def without_input(answer):
    return {k: [{a: b for a, b in row.items() if a != "input"} for row in v] if isinstance(v, list) else v for k, v in answer.items()}


CASES = ["collector/features/iket.data.json", "collector/hopper_gemm/iket.data.json", "collector/graph/expected.trace.json.gz", "divergent_streams/dump.bin"]
with tempfile.TemporaryDirectory() as scratch:
    for i, case in enumerate(CASES):
        folder = pathlib.Path(scratch) / str(i)
        subprocess.run(["iket-decode", "--quiet", "--emit", "html", "-o", folder, "--name", "t", FIXTURES / case], check=True)
        page, answer = summary_of_page(folder / "t.html"), json.loads(query("summary", FIXTURES / case, "--format", "json"))
        if without_input(page) != without_input(answer) or not answer["rows"]:
            sys.exit(f"{case}: the page says {page}\niket-query says {answer}")
