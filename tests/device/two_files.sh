#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_files.sh NVCC DEVICE LIBRARY: two files that include one header of declarations link with and without -rdc=true.
set -eu
nvcc=$1 device=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/main.cu" <<'SOURCE'
#include "rdc_events.h"
__global__ void kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::inner_value, 1);
}
int main() {
    kernel<<<1, 32>>>();
    other_file_kernel<<<1, 32>>>();
    return 0;
}
SOURCE
for mode in false true; do
    "$nvcc" -std=c++17 -arch=sm_90 -rdc=$mode -I"$device/include" -I"$device/test" -o "$work/two_files" "$work/main.cu" \
        "$device/test/rdc_other.cu" "$library"
    echo "-rdc=$mode links"
done
