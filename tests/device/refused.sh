#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# refused.sh NVCC INCLUDE FILE [OPTION...]: FILE must not compile, with the message that its line "// expect:" names.
set -u
nvcc=$1 include=$2 file=$3
shift 3
expected=$(sed -n 's|^// expect: ||p' "$file" | head -1)
if said=$("$nvcc" -std=c++17 -arch=sm_90 -I"$include" "$@" -cubin -o /dev/null "$file" 2>&1); then
    echo "$file compiles, and must not"
    exit 1
fi
case $said in
*"$expected"*) exit 0 ;;
esac
echo "$file: no \"$expected\" in:"
echo "$said"
exit 1
