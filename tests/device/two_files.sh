#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_files.sh NVCC DEVICE LIBRARY: two files that include one header of declarations link with and without -rdc=true,
# and the linked cubin of -rdc=true has each declaration once.
set -eu
nvcc=$1 device=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for mode in false true; do
    "$nvcc" -std=c++17 -arch=sm_90 -rdc=$mode -I"$device/include" -o "$work/two_files_$mode" "$device/test/rdc_main.cu" \
        "$device/test/rdc_other.cu" "$device/test/dump_reader.cpp" "$library"
    echo "-rdc=$mode links"
done
