// SPDX-License-Identifier: Apache-2.0
// everything.cu: every call site, compiled for each architecture and backend without a warning.
#include <iket/iket.cuh>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(point, marker)
IKET_EVENT(place, marker, const float *, "Ort: größer als ∅")
IKET_EVENT(small_value, marker, signed char)
IKET_EVENT(large_value, marker, unsigned long)
IKET_EVENT(span, range)
IKET_EVENT(span_value, range, float)
IKET_EVENT(pass, token)
IKET_EVENT(pass_value, token, double)
IKET_EVENTS_END

__device__ __forceinline__ float inner(iket::recorder &trace, float x) {
    auto scope = trace.range(ev::span_value, x);
    return x * x;
}

template <typename T>
__global__ void everything(T *data, int turns) {
    IKET_KERNEL_NAMED(trace, sizeof(T) == 4 ? "everything_float" : "everything_double");
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    trace.mark(ev::point);
    trace.mark(ev::place, reinterpret_cast<const float *>(data));
    if (i < 0) return;
    auto open = trace.sentinel_token(ev::pass);
    auto valued = trace.range_start(ev::pass_value, 1.0);
    for (int turn = 0; turn < turns; turn++) {
        trace.range_end(open);
        open = trace.range_start(ev::pass);
        trace.range_push(ev::span);
        data[i] = T(inner(trace, float(data[i])));
        trace.mark(ev::small_value, static_cast<signed char>(turn));
        trace.range_pop();
    }
    trace.range_end(open);
    trace.range_end(valued, 2.0);
    trace.mark(ev::large_value, static_cast<unsigned long>(i));
}

template __global__ void everything<float>(float *, int);
template __global__ void everything<double>(double *, int);
