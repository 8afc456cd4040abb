// SPDX-License-Identifier: Apache-2.0
// all_features.cu: markers with and without payload, a range around a whole block, a token range, divergence and a
// session of the program's own. 16 CTAs of 128 threads; without an argument the environment decides (IKET_OUTPUT_DIR).
#include <iket/iket.cuh>

#include "check.h"

#ifndef IKET_BACKEND_COLLECTOR
#include <iket/recorder.h>
#endif

#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(block_total, range)
IKET_EVENT(block_enter, marker, int)
IKET_EVENT(load_inputs, marker)
IKET_EVENT(store_index, marker, int)
IKET_EVENT(store_done, marker, float)
IKET_EVENT(block_exit, marker, int)
IKET_EVENT(odd_half, marker, unsigned)
IKET_EVENT(transfer, token)
IKET_EVENTS_END

__global__ void add_scale(const float *a, const float *b, float *out, int n) {
    IKET_KERNEL(trace);
    trace.range_push(ev::block_total);
    trace.mark(ev::block_enter, int(blockIdx.x));
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto transfer = trace.range_start(ev::transfer);
    trace.mark(ev::load_inputs);
    const float sum = i < n ? a[i] + b[i] : 0;
    trace.range_end(transfer);
    if (threadIdx.x % 32 >= 16) trace.mark(ev::odd_half, threadIdx.x);
    trace.mark(ev::store_index, i);
    if (i < n) out[i] = 0.5f * sum;
    trace.mark(ev::store_done, 0.5f * sum);
    trace.mark(ev::block_exit, int(blockIdx.x));
    trace.range_pop();
}

static bool run() {
    const int ctas = 16, threads = 128, n = ctas * threads;
    std::vector<float> a(n), b(n), out(n);
    for (int i = 0; i < n; i++) a[i] = float(i), b[i] = float(3 * i);
    float *da, *db, *dout;
    CHECK_CUDA(cudaMalloc(&da, n * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&db, n * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&dout, n * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    add_scale<<<ctas, threads>>>(da, db, dout, n);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(out.data(), dout, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(da));
    CHECK_CUDA(cudaFree(db));
    CHECK_CUDA(cudaFree(dout));
    bool right = true;
    for (int i = 0; i < n; i++) right = right && out[i] == 2.0f * float(i);
    return right;
}

#ifdef IKET_BACKEND_COLLECTOR
int main() { return verdict("all_features", run()); }
#else
static void stop_with(const iket_recorder_error &error) {
    std::fprintf(stderr, "all_features: %s\n", error.message);
    std::exit(2);
}

int main(int argc, char **argv) {
    if (argc < 2) return verdict("all_features", run());
    iket_recorder_error error;
    iket_session *session;
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.output_dir = argv[1];
    if (iket_session_create(&session, &options, &error) != 0 || iket_session_begin(session, &error) != 0) stop_with(error);
    const bool right = run();
    iket_session_report report;
    if (iket_session_finish(session, 0, &report, &error) != 0 || iket_session_destroy(session, &error) != 0) stop_with(error);
    std::printf("all_features: %llu warps, %llu chunks, %llu events dropped\n", static_cast<unsigned long long>(report.warps),
                static_cast<unsigned long long>(report.chunks), static_cast<unsigned long long>(report.dropped_events));
    return verdict("all_features", right);
}
#endif
