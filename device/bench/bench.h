// SPDX-License-Identifier: Apache-2.0
// bench.h: the loop of the recorder's benchmark, 4,000 turns of one dependent multiply-add, in all its forms.
#ifndef IKET_BENCH_H
#define IKET_BENCH_H

#include <cuda_runtime.h>

constexpr int bench_turns = 4000;

// A variant's kernels by events in the body: none, one, four.
struct bench_variant {
    const char *name;
    int record_bytes;     // 0: the variant needs no session
    const void *kernels[2];
    int events[2];
};

bench_variant form_a_plain();
bench_variant form_a_payload();
bench_variant form_b_plain();
bench_variant form_b_payload();

// A kernel's arguments: where results and cycles go, and memory for variants without a session.
struct bench_arguments {
    float *out;
    unsigned *cycles;  // a warp
    char *memory;      // bytes_a_warp for each
    int bytes_a_warp;
};

#endif
