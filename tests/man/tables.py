# SPDX-License-Identifier: Apache-2.0
"""What --help, the man page and the completion of a tool list."""
import re
import subprocess


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def help_text(tool):
    done = run(tool, "--help")
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


class Option:
    def __init__(self, letter, name, argument):
        self.letter, self.name, self.argument, self.help = letter, name, argument, ""


def options(text):
    """The options of a --help, in order."""
    found = []
    for line in text.splitlines():
        row = re.fullmatch(r"  (?:-(\w), |    )(--[a-z-]+)(?: (\S+))?(?:  +(.*))?", line)
        if row:
            found.append(Option(row[1], row[2], row[3]))
            line = row[4] or ""
        elif not found or not line.startswith(" " * 30):
            continue
        found[-1].help = f"{found[-1].help} {line.strip()}".strip()
    return found


def verbs(text):
    part = re.search(r"^Verbs .*:\n((?:  .*\n)+)", text, re.MULTILINE)
    return [line.split()[0] for line in part[1].splitlines()] if part else []


def sections(page):
    """The sections of a man page in roff: their names and texts."""
    parts = re.split(r'^\.SH "?(.*?)"?$', page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def bold(text, pattern):
    return re.findall(rf"\\fB({pattern})\\fR", text.replace("\\-", "-"))


COMPLETE = """
. "$1"
shift
compopt() { printf 'compopt %s\\n' "$*" >&2; }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_${1//-/_}
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(script, *words):
    """What the completion offers for the last of the words, and which of bash's own completions it asks for."""
    done = run("bash", "--norc", "-euc", COMPLETE, "bash", script, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout != "\n" else [], done.stderr.replace("compopt ", "").split("\n")[:-1]
