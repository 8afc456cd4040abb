// SPDX-License-Identifier: Apache-2.0
// gemm.h: the matrix product of device/examples with so many events a tile, in all its forms.
#ifndef IKET_BENCH_GEMM_H
#define IKET_BENCH_GEMM_H

#include <vector>

// A kernel of one form and number of events. Divergent: the markers of a tile stand in four branches that eight lanes
// each take.
struct gemm_variant {
    int events;
    bool divergent;
    const void *kernel;
};

std::vector<gemm_variant> gemm_off();
std::vector<gemm_variant> gemm_a();
std::vector<gemm_variant> gemm_a_64();
std::vector<gemm_variant> gemm_b();

#endif
