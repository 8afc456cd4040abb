// SPDX-License-Identifier: Apache-2.0
// form_template.h: the loop with the recorder's events. Included by a unit for each form, with and without payload.
#include <iket/iket.cuh>

#include "bench.h"

IKET_EVENTS_BEGIN(ev)
#if BENCH_PAYLOAD
IKET_EVENT(BENCH_NAME(a), marker, int)
IKET_EVENT(BENCH_NAME(b), marker, int)
IKET_EVENT(BENCH_NAME(c), marker, int)
IKET_EVENT(BENCH_NAME(d), marker, int)
#define BENCH_MARK(name) trace.mark(ev::BENCH_NAME(name), i)
#else
IKET_EVENT(BENCH_NAME(a), marker)
IKET_EVENT(BENCH_NAME(b), marker)
IKET_EVENT(BENCH_NAME(c), marker)
IKET_EVENT(BENCH_NAME(d), marker)
#define BENCH_MARK(name) trace.mark(ev::BENCH_NAME(name))
#endif
IKET_EVENTS_END

template <int Events>
static __global__ void loop_kernel(bench_arguments arguments) {
    IKET_KERNEL(trace);
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    float x = float(thread);
    __syncthreads();
    const unsigned start = clock();
#pragma unroll 1
    for (int i = 0; i < bench_turns; i++) {
        x = x * 1.0001f + 1;
        BENCH_MARK(a);
        if constexpr (Events == 4) {
            BENCH_MARK(b);
            BENCH_MARK(c);
            BENCH_MARK(d);
        }
    }
    const unsigned end = clock();
    arguments.out[thread] = x;
    if (thread % 32 == 0) arguments.cycles[thread / 32] = end - start;
}

bench_variant BENCH_FUNCTION() {
    return {BENCH_TEXT, BENCH_PAYLOAD ? 8 : 4, {(const void *)loop_kernel<1>, (const void *)loop_kernel<4>}, {1, 4}};
}
