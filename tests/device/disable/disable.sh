#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# disable.sh NVCC INCLUDE COMPARE ARCH: with IKET_DISABLE a kernel's code is that of one without annotations; without it
# the comparison must find a difference, or it would compare nothing.
set -eu
nvcc=$1 include=$2 compare=$3 arch=$4
source=$(dirname "$0")/kernel.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nvcc" -std=c++17 -arch="$arch" -DPLAIN -cubin -o "$work/plain.cubin" "$source"
"$nvcc" -std=c++17 -arch="$arch" -DIKET_DISABLE -I"$include" -cubin -o "$work/disabled.cubin" "$source"
"$nvcc" -std=c++17 -arch="$arch" -I"$include" -cubin -o "$work/recorded.cubin" "$source"
"$compare" "$work/plain.cubin" "$work/disabled.cubin"
if "$compare" "$work/plain.cubin" "$work/recorded.cubin" > /dev/null; then
    echo "the comparison sees no difference where there is one"
    exit 1
fi
