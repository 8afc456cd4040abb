#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# consumer.sh CMAKE NVCC BUILD: installs the recorder outside the tree and builds and runs a program against it with
# find_package, with pkg-config and with a plain nvcc line.
set -eu
cmake=$1 nvcc=$2 build=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" -DCMAKE_INSTALL_PREFIX="$work/prefix" -P "$build/cmake_install.cmake" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"
cp "$here/consumer.cu" "$here/CMakeLists.txt" .

if ! { "$cmake" -S . -B with_cmake -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES=90 &&
    "$cmake" --build with_cmake; } > log 2>&1; then
    cat log
    exit 1
fi
./with_cmake/consumer
echo "find_package(Iket) works"

pc=$(find "$work/prefix" -name iket-recorder.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$nvcc" -std=c++17 -arch=sm_90 consumer.cu $(pkg-config --cflags --libs iket-recorder) -o with_pkg_config
./with_pkg_config
echo "pkg-config works"

library=$(find "$work/prefix" -name libiket-recorder.a)
"$nvcc" -std=c++17 -arch=sm_90 -I"$work/prefix/include" consumer.cu -L"$(dirname "$library")" -liket-recorder -o with_nvcc
./with_nvcc
echo "nvcc -I works"
