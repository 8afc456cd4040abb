#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_on_gpu.sh OUT: builds the recorder for the GPU of this machine, then checks and measures everything in one go. Results
# and small dumps are left in OUT. For whoever owns a GPU: needs nvcc, cmake and, for one part, compute-sanitizer.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: run_on_gpu.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
log=$out/log.txt
: > "$log"
say() { echo "$@" | tee -a "$log"; }

say "# $(date -u +%Y-%m-%dT%H:%MZ) $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(nvcc --version | grep release)"
cmake -S "$here" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="$arch" -DBUILD_TESTING=OFF > "$work/cmake.log" 2>&1 &&
    cmake --build "$work/build" -j "$(nproc)" > "$work/build.log" 2>&1 || { tail -30 "$work/cmake.log" "$work/build.log"; exit 1; }
build=$work/build

say "## test"
mkdir "$work/test"
"$build/test/iket-gpu-test" "$work/test" 2>&1 | tee -a "$log"
mkdir "$work/rdc" "$work/conflict"
"$build/test/iket-gpu-test-rdc" "$work/rdc" 2>&1 | tee -a "$log"
"$build/test/iket-gpu-test-conflict" "$work/conflict" 2>&1 | tee -a "$log"
CUDA_VISIBLE_DEVICES= IKET_OUTPUT_DIR=$work/none "$build/examples/iket-example-minimal" 2>&1 | tee -a "$log"
IKET_VERBOSE=1 "$build/examples/iket-example-minimal" 2>&1 | tee -a "$log"

say "## examples"
for example in minimal payload_minimal all_features warp_gemm; do
    IKET_OUTPUT_DIR=$work/example_$example "$build/examples/iket-example-$example" 2>&1 | tee -a "$log"
done
"$build/examples/iket-example-warp_gemm" 4096 2>&1 | tee -a "$log"
mkdir "$work/gemm4096"
IKET_OUTPUT_DIR=$work/gemm4096 IKET_POOL_BYTES=2G "$build/examples/iket-example-warp_gemm" 4096 2>&1 | tee -a "$log"
rm -rf "$work/gemm4096"

say "## bench"
mkdir "$work/bench"
"$build/bench/iket-bench" "$work/bench" 2>&1 | tee -a "$log"

if command -v compute-sanitizer > /dev/null; then
    say "## compute-sanitizer"
    for tool in memcheck racecheck; do
        mkdir "$work/san_$tool"
        compute-sanitizer --tool $tool --error-exitcode 9 "$build/test/iket-gpu-test" "$work/san_$tool" \
            names_ payloads divergence form_b streams odd_blocks other_lane full_pool drain_while > "$work/$tool.log" 2>&1
        say "$tool: status $?: $(grep -E 'passed,|ERROR SUMMARY|RACECHECK SUMMARY' "$work/$tool.log" | tr '\n' ' ')"
        IKET_OUTPUT_DIR=$work/san_gemm_$tool compute-sanitizer --tool $tool --error-exitcode 9 "$build/examples/iket-example-warp_gemm" > "$work/$tool-gemm.log" 2>&1
        say "$tool on warp_gemm: status $?: $(grep -E 'SUMMARY|result' "$work/$tool-gemm.log" | tr '\n' ' ')"
    done
fi

# The dumps that are small, for fixtures.
mkdir "$work/dumps"
for dump in "$work"/test/* "$work"/example_* "$work"/rdc; do
    [ -f "$dump/dump.bin" ] || continue
    [ "$(stat -c %s "$dump/dump.bin")" -lt 1000000 ] && cp -r "$dump" "$work/dumps/"
done
tar -C "$work" -czf "$out/dumps.tar.gz" dumps
tar -C "$work" -czf "$out/logs.tar.gz" $(cd "$work" && ls ./*.log)
rm -rf "$work"
