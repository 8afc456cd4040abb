// SPDX-License-Identifier: Apache-2.0
// warp_cost.cu: what starting and ending a recorded warp costs: 131,072 warps that do little, with and without.
#include <iket/iket.cuh>
#include <iket/recorder.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(warp_cost_span, range)
IKET_EVENTS_END

static __global__ void plain_kernel(float *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * out[i] + 1;
}

static __global__ void annotated_kernel(float *out) {
    IKET_KERNEL(trace);
    auto scope = trace.range(ev::warp_cost_span);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * out[i] + 1;
}

static float run_once(bool annotated, float *out) {
    cudaEvent_t start, end;
    float milliseconds = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    cudaEventRecord(start);
    if (annotated) annotated_kernel<<<32768, 128>>>(out);
    else plain_kernel<<<32768, 128>>>(out);
    cudaEventRecord(end);
    if (cudaEventSynchronize(end) != cudaSuccess || cudaEventElapsedTime(&milliseconds, start, end) != cudaSuccess) std::exit(2);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return milliseconds;
}

// Milliseconds of one launch, the least of seven.
float warp_cost(const std::string &directory, bool annotated, bool with_session) {
    float *out, best = 1e9f;
    if (cudaMalloc(&out, 32768 * 128 * sizeof(float)) != cudaSuccess) std::exit(2);
    cudaMemset(out, 0, 32768 * 128 * sizeof(float));
    for (int run = 0; run < 7; run++) {
        iket_session_options options = IKET_SESSION_OPTIONS_INIT;
        iket_session *session = nullptr;
        iket_recorder_error error;
        options.output_dir = directory.c_str();
        if (with_session && (iket_session_create(&session, &options, &error) != 0 || iket_session_begin(session, &error) != 0)) std::exit(2);
        best = std::min(best, run_once(annotated, out));
        if (iket_session_destroy(session, &error) != 0) std::exit(2);
    }
    cudaFree(out);
    return best;
}
