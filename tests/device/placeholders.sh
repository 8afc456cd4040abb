#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# placeholders.sh NVCC INCLUDE DIRECTORY: the collector's backend writes the placeholders of the format and refuses targets
# before sm_90.
set -eu
nvcc=$1 include=$2 here=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nvcc" -std=c++17 -arch=sm_90 -DIKET_BACKEND_COLLECTOR -I"$include" -ptx -o "$work/out.ptx" "$here/everything.cu"
for line in 'mov.b32 r, %cluster_ctarank' 'mad.lo.u32 r, r, 0x1000000, 0x20' 'st.weak.shared.u32 \[r\], t' \
    'st.volatile.shared.u32 \[r+4\]' 'st.volatile.shared.u64 \[r+8\]' 'pmevent.mask 1;' 'pmevent.mask 31;' '__iket_meta_info\[48\]'; do
    grep -q "$line" "$work/out.ptx" || { echo "no $line"; exit 1; }
done
"$nvcc" -std=c++17 -arch=sm_90 -DIKET_BACKEND_COLLECTOR -DIKET_EXTENDED -I"$include" -ptx -o "$work/out.ptx" "$here/everything.cu"
for line in 'st.weak.shared.v2.u32 \[r\], {t, 64}' 'pmevent.mask 64;' 'st.volatile.shared.u32 \[r+8\]'; do
    grep -q "$line" "$work/out.ptx" || { echo "extended: no $line"; exit 1; }
done
if "$nvcc" -std=c++17 -arch=sm_80 -DIKET_BACKEND_COLLECTOR -I"$include" -cubin -o /dev/null "$here/everything.cu" 2> "$work/said"; then
    echo "sm_80 is not refused"
    exit 1
fi
grep -q 'needs sm_90 or later' "$work/said"
