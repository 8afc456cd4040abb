#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options.py BUILD TOOL: --help, the man page and the completion list the same options and verbs."""
import pathlib
import re
import shutil
import sys

import tables

build, tool = pathlib.Path(sys.argv[1]), sys.argv[2]
help_text = tables.help_text(tool)
options = tables.options(help_text)
names = {o.name for o in options} | {f"-{o.letter}" for o in options if o.letter}
verbs = tables.verbs(help_text)
failures = []


def check(condition, *what):
    if not condition:
        failures.append(" ".join(map(str, what)))


def accepted(name):
    """Whether the tool knows the option, listed by --help or not."""
    return not any("unknown option" in tables.run(tool, word, "--help").stderr for word in (name, f"{name}=1"))


check(len(options) >= 10 and all(o.help for o in options), "--help was not understood")
check((tool == "iket-query") == bool(verbs), "verbs", verbs)
check(not accepted("--there-is-no-such"), "accepted() cannot fail")

completed = set(tables.complete(str(build / "completions" / tool), tool, "-")[0])
check(names <= completed, "not in the completion:", names - completed)
synonyms = completed - names
for name in synonyms:
    check(accepted(name), name, "is completed, but not an option")

if verbs:
    offered = tables.complete(str(build / "completions" / tool), tool, "")[0]
    check(set(verbs) <= set(offered), "not in the completion:", set(verbs) - set(offered))

for o in options:
    words = tables.complete(str(build / "completions" / tool), tool, o.name, "")[0] if o.argument and o.argument not in ("FILE", "DIR") else []
    for word in words:
        check(re.search(rf"\b{re.escape(word)}\b", o.help), o.name, "is completed by", word, "of which --help does not tell")

page = build / "man" / f"{tool}.1"
if not page.exists():
    print("\n".join(failures) or "no man page: it was built without scdoc")
    sys.exit(1 if failures else 77)
sections = tables.sections(page.read_text())
missing = {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"} - set(sections)
check(not missing, "the man page lacks", missing)
listed = set(tables.bold(sections["OPTIONS"], r"--?[a-zA-Z][a-z-]*"))
check(listed == completed, "the man page and the completion differ by", listed ^ completed)
check(tables.bold(sections.get("VERBS", ""), r"[a-z]+") == verbs, "verbs of the man page", sections.get("VERBS"))
for name, text in sections.items():
    for option in tables.bold(text, r"--?[a-zA-Z][a-z-]*"):
        check(option in completed, name, "tells of", option, "which is not an option")

# The text of each option survives its way through scdoc.
if shutil.which("mandoc"):
    shown = " ".join(re.sub(".\x08", "", tables.run("mandoc", "-T", "utf8", "-O", "width=900", str(page)).stdout).split())
    for o in options:
        check(" ".join(o.help.split()) in shown, "not in the man page:", o.help)
    for word in re.findall(r"^  \w+ +(.*)", help_text[help_text.find("\nVerbs "):], re.MULTILINE) if verbs else []:
        check(word in shown, "not in the man page:", word)

print("\n".join(failures) or f"{len(options)} options, {len(synonyms)} synonyms, {len(verbs)} verbs")
sys.exit(1 if failures else 0)
