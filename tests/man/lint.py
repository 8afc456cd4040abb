#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lint.py MANDOC FOLDER: mandoc finds nothing in the man pages but what scdoc always writes."""
import pathlib
import re
import subprocess
import sys

# scdoc ends every block with .P and leaves lines and the title as they came.
KNOWN = re.compile(r"skipping paragraph macro: PP|lower case character in document title|input text line longer than 80 bytes")

pages = sorted(pathlib.Path(sys.argv[2]).glob("*.1"))
found = []
for page in pages:
    done = subprocess.run([sys.argv[1], "-T", "lint", page], capture_output=True, text=True, timeout=60)
    lines = (done.stdout + done.stderr).splitlines()
    found += [line for line in lines if not KNOWN.search(line)]
print("\n".join(found) or f"{len(pages)} pages")
sys.exit(1 if found or len(pages) != 3 else 0)
