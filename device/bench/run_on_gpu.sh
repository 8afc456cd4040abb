#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_on_gpu.sh OUT [PART...]: builds the recorder for this machine's GPU, then checks and measures it. Parts: test,
# examples, bench (cycles an event), gemm (what a matrix product loses), drain (pool to file), sanitize; all without one.
# Leaves log.txt, the tools' logs and small dumps in OUT. For whoever owns a GPU: needs nvcc and cmake, for sanitize
# compute-sanitizer. IKET_BUILD=DIR uses a build that is there, IKET_DRAIN_DIRS="DIR..." are where drains write (/dev/shm
# and the folder of temporary files).
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: run_on_gpu.sh OUT [PART...]}
shift
parts=${*:-test examples bench gemm drain sanitize}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
build=${IKET_BUILD:-$work/build}
log=$out/log.txt
: > "$log"

say() { echo "$@" | tee -a "$log"; }
# Runs a command with a time limit, in the log and on the terminal.
run() {
    seconds=$1
    shift
    timeout -k 5 "$seconds" "$@" 2>&1 | tee -a "$log"
}
wants() { case " $parts " in *" $1 "*) return 0 ;; esac; return 1; }

say "# $(date -u +%Y-%m-%dT%H:%MZ) $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(nvcc --version | grep release)"
if [ -z "${IKET_BUILD:-}" ]; then
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    if ! { cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="$arch" -DBUILD_TESTING=OFF &&
        cmake --build "$build" -j "$(nproc)"; } > "$work/build.log" 2>&1; then
        tail -30 "$work/build.log"
        exit 1
    fi
fi

if wants test; then
    say "## test"
    mkdir "$work/test" "$work/rdc" "$work/conflict"
    run 120 "$build/test/iket-gpu-test" "$work/test"
    run 20 "$build/test/iket-gpu-test-rdc" "$work/rdc"
    run 20 "$build/test/iket-gpu-test-conflict" "$work/conflict"
fi
if wants examples; then
    say "## examples"
    CUDA_VISIBLE_DEVICES='' IKET_OUTPUT_DIR=$work/none run 20 "$build/examples/iket-example-minimal"
    IKET_VERBOSE=1 run 20 "$build/examples/iket-example-minimal"
    for example in minimal payload_minimal all_features warp_gemm; do
        IKET_OUTPUT_DIR=$work/example_$example run 30 "$build/examples/iket-example-$example"
    done
    IKET_OUTPUT_DIR=$work/example_keep_last IKET_KEEP=last IKET_FIRST_LANE_BYTES=64 IKET_OTHER_LANE_BYTES=96 \
        run 30 "$build/examples/iket-example-all_features"
    run 60 "$build/examples/iket-example-warp_gemm" 4096
    IKET_OUTPUT_DIR=$work/large IKET_POOL_BYTES=4G run 60 "$build/examples/iket-example-warp_gemm" 4096
    rm -rf "$work/large"
fi
if wants bench; then
    say "## bench"
    mkdir "$work/bench"
    run 120 "$build/bench/iket-bench" "$work/bench"
fi
if wants gemm; then
    say "## gemm"
    mkdir "$work/gemm"
    run 200 "$build/bench/iket-bench-gemm" "$work/gemm"
fi
if wants drain; then
    say "## drain"
    for place in ${IKET_DRAIN_DIRS:-/dev/shm "$work"}; do
        folder=$(mktemp -d "$place/iket-drain-XXXXXX")
        run 120 "$build/bench/iket-bench-drain" "$folder"
        rm -rf "$folder"
    done
fi
if wants sanitize; then
    say "## compute-sanitizer"
    for tool in memcheck racecheck; do
        mkdir "$work/san_$tool"
        timeout -k 5 80 compute-sanitizer --tool $tool --error-exitcode 9 "$build/test/iket-gpu-test" "$work/san_$tool" names_ payloads \
            divergence form_b streams odd_blocks other_lane full_pool capacity silent keep_last_narrow > "$out/$tool.log" 2>&1
        say "$tool, test: status $?: $(grep -E ' passed, |SUMMARY' "$out/$tool.log" | tr '\n' ' ')"
        IKET_OUTPUT_DIR=$work/san_gemm_$tool timeout -k 5 40 compute-sanitizer --tool $tool --error-exitcode 9 \
            "$build/examples/iket-example-warp_gemm" > "$out/$tool-gemm.log" 2>&1
        say "$tool, warp_gemm: status $?: $(grep -E 'SUMMARY|result' "$out/$tool-gemm.log" | tr '\n' ' ')"
    done
fi

# The dumps that are small, for fixtures.
mkdir "$work/dumps"
for dump in "$work"/test/* "$work"/example_* "$work"/rdc; do
    [ -f "$dump/dump.bin" ] && [ "$(stat -c %s "$dump/dump.bin")" -lt 1000000 ] && cp -r "$dump" "$work/dumps/"
done
tar -C "$work" -czf "$out/dumps.tar.gz" dumps
rm -rf "$work"
