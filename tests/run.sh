#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: builds everything and runs every test; all that continuous integration does.
#
#   1. installs what is missing (as root; else says what to install) and a Python environment in build/venv
#   2. build/           a build without a warning, all tests
#   3. build-sanitize/  the same with the address and undefined-behaviour sanitizers, all tests but the browser's
#
# The last line is "N passed, N failed" over both. Ends with 0 when nothing failed. From any folder, again and again.
set -euo pipefail
# shellcheck source=tests/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

passed=0
failed=0

# count JUNIT_FILE: adds what ctest found to the sums.
count() {
    local found
    found=$(python3 - "$1" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
tests, failed, skipped, disabled = (int(suite.get(k, 0)) for k in ("tests", "failures", "skipped", "disabled"))
print(tests - failed - skipped - disabled, failed)
PYTHON
    )
    passed=$((passed + ${found% *}))
    failed=$((failed + ${found#* }))
}

# suite NAME FOLDER "CTEST ARGUMENTS" [CMAKE ARGUMENT...]: a build that fails counts as one failed test.
suite() {
    local name=$1 folder=$2 arguments=() results=$2/ctest.xml
    read -r -a arguments <<<"$3"
    shift 3
    say "== $name: build in $folder"
    if ! iket_build "$folder" -DBUILD_TESTING=ON -DCMAKE_C_FLAGS=-Werror -DIKET_PYTHON="$venv/bin/python3" "$@"; then
        say "== $name: the build failed"
        failed=$((failed + 1))
        return
    fi
    say "== $name: tests"
    rm -f "$results"
    ctest --test-dir "$folder" --parallel "$(nproc)" --timeout 300 --output-on-failure --output-junit "$results" \
        "${arguments[@]}" || true
    if [ -s "$results" ]; then
        count "$results"
    else
        say "== $name: ctest ended without results"
        failed=$((failed + 1))
    fi
}

iket_need_build libyajl-dev libelf-dev python3 python3-venv nodejs chromium fonts-liberation fonts-dejavu-core shellcheck scdoc mandoc \
    cppcheck util-linux

venv=$iket_root/build/venv
if ! cmp -s "$iket_root/tests/requirements.txt" "$venv/installed.txt"; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --requirement "$iket_root/tests/requirements.txt" >&2
    cp "$iket_root/tests/requirements.txt" "$venv/installed.txt"
fi
if ! command -v nvcc >/dev/null && [ ! -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    say "nvcc was not found: the recorder's programs are not built, the device tests are skipped"
fi

suite normal "$iket_root/build" ""
suite sanitizers "$iket_root/build-sanitize" "--label-exclude browser" -DIKET_SANITIZE=address,undefined -DIKET_CUDA=OFF

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
