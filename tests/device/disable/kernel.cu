// SPDX-License-Identifier: Apache-2.0
// kernel.cu: a kernel with annotations, and with PLAIN the same kernel as if they had never been written.
#ifdef PLAIN
#define NOTE(text)
#else
#include <iket/iket.cuh>
#define NOTE(text) text

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(point, marker)
IKET_EVENT(value, marker, float)
IKET_EVENT(span, range)
IKET_EVENT(pass, token, int)
IKET_EVENTS_END
#endif

__global__ void kernel(float *data, int n) {
    NOTE(IKET_KERNEL(trace);)
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    NOTE(trace.mark(ev::point);)
    if (i >= n) return;
    float x = data[i];
    NOTE(auto pass = trace.range_start(ev::pass, i);)
    for (int turn = 0; turn < n; turn++) {
        NOTE(auto scope = trace.range(ev::span);)
        x = x * 1.5f + float(turn);
        NOTE(trace.mark(ev::value, x);)
    }
    NOTE(trace.range_end(pass, i);)
    data[i] = x;
}
