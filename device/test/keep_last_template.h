// SPDX-License-Identifier: Apache-2.0
// keep_last_template.h: a session that keeps the last events: what is left of a stream is the end of what it led, for
// every number of events round the ring's size. Included by a unit for each size of records; KEEP_NAME makes names of its
// own, KEEP_PAYLOAD is the payload's type, KEEP_TEXT the case's name, KEEP_CASES the function that lists the cases.
#include <iket/iket.cuh>

#include "harness.h"

#include <algorithm>
#include <unistd.h>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(KEEP_NAME(tick), marker, KEEP_PAYLOAD)
IKET_EVENT(KEEP_NAME(span), range)
IKET_EVENTS_END

// The payload of event k, with something in its upper half where it has one.
static __host__ __device__ KEEP_PAYLOAD payload_of(unsigned k) {
    const std::uint64_t twice = std::uint64_t(k) << 32 | k;
    return static_cast<KEEP_PAYLOAD>(twice);
}

// Events 0, 1, 2 … of a stream: a marker, a push, a marker, a pop.
static __device__ __forceinline__ void record(iket::recorder &trace, unsigned k) {
    if (k % 2 == 0) trace.mark(ev::KEEP_NAME(tick), payload_of(k));
    else if (k % 4 == 1) trace.range_push(ev::KEEP_NAME(span));
    else trace.range_pop();
}

// A warp of CTA c records counts[c] events. After the first pause_after of them it waits.
static __global__ void counted_kernel(const unsigned *counts, unsigned pause_after, unsigned long long pause) {
    IKET_KERNEL(trace);
#pragma unroll 1
    for (unsigned k = 0; k < counts[blockIdx.x]; k++) {
        if (k == pause_after && pause != 0) {
            const unsigned long long start = iket::detail::globaltimer();
            while (iket::detail::globaltimer() - start < pause) __nanosleep(100000);
        }
        record(trace, k);
    }
}

static void run_counts(const std::vector<unsigned> &counts, unsigned threads, unsigned pause_after = 0, unsigned long long pause = 0) {
    unsigned *device;
    CUDA(cudaMalloc(&device, counts.size() * sizeof counts[0]));
    CUDA(cudaMemcpy(device, counts.data(), counts.size() * sizeof counts[0], cudaMemcpyHostToDevice));
    counted_kernel<<<unsigned(counts.size()), threads>>>(device, pause_after, pause);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaFree(device));
}

static iket_session_options keep_last_options() {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.first_lane_bytes = 4096;
    options.keep = IKET_KEEP_LAST;
    options.overwrite = 1;
    return options;
}

// The records that a first lane's region holds.
static unsigned capacity(const std::string &directory) {
    session_guard session(directory, keep_last_options());
    run_counts({100000}, 32);
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 1u, "streams");
    return unsigned(dump.chunks[0].events.size());
}

// Is the chunk the end of a stream of so many events?
static void check_end(const read_dump &dump, const read_chunk &chunk, unsigned led, unsigned kept) {
    const std::string where = "CTA " + std::to_string(chunk.cta[0]) + " of " + std::to_string(led) + " events";
    expect(chunk.keeps_last && chunk.dropped == 0, where + ": flags");
    expect_equal(chunk.events.size(), std::size_t(kept), where + ": kept");
    for (unsigned i = 0; i < kept; i++) {
        const unsigned k = led - kept + i;
        const auto &event = chunk.events[i];
        const std::string &name = dump.name(chunk, event), want = k % 2 == 0 ? KEEP_TICK : k % 4 == 1 ? KEEP_SPAN : "(pop)";
        expect(name == want, where + ": event " + std::to_string(k) + " is " + name);
        expect(k % 2 != 0 || event.payload == std::uint64_t(payload_of(k)), where + ": payload of event " + std::to_string(k));
    }
}

static void run_counts_case(const std::string &directory) {
    const unsigned full = capacity(directory);
    expect(full >= 4096 / 16, "the region holds less than was asked for");
    const std::vector<unsigned> counts = {0, 1, 7, full - 1, full, full + 1, full + 2, 2 * full - 1, 2 * full, 2 * full + 1, 9 * full + 5, 100000};
    session_guard session(directory, keep_last_options());
    run_counts(counts, 64);
    const auto report = session.finish();
    const read_dump dump = load_dump(directory);
    std::uint64_t overwritten = 0;
    expect_equal(dump.chunks.size(), 2 * counts.size(), "streams");
    for (const auto &chunk : dump.chunks) {
        const unsigned led = counts.at(chunk.cta[0]), kept = std::min(led, full);
        check_end(dump, chunk, led, kept);
        expect(chunk.closed, "open");
        expect_equal(chunk.overwritten, led - kept, "overwritten of " + std::to_string(led));
        overwritten += led - kept;
    }
    expect_equal(report.overwritten_events, overwritten, "the report's overwritten events");
    expect_equal(report.dropped_events, 0u, "dropped");
    expect(report.advice[0] == 0, "advice for what was meant to be overwritten");
}

// The first record that is kept lies more than 2^32 ns after the claim.
static void run_pause_case(const std::string &directory) {
    const unsigned long long pause = 4600000000ull;
    session_guard session(directory, keep_last_options());
    run_counts({3000, 5000}, 32, 1000, pause);
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 2u, "streams");
    for (const auto &chunk : dump.chunks) {
        check_end(dump, chunk, chunk.cta[0] == 0 ? 3000 : 5000, unsigned(chunk.events.size()));
        expect(chunk.overwritten > 1000, "what was before the pause is still there");
        expect(chunk.events.front().time >= chunk.start + pause, "the first kept record is dated before the pause");
        expect(chunk.end - chunk.events.back().time < 100000000u, "the last record is dated long before the end");
    }
}

// Records, says so, waits for the host, and records more.
static __global__ void waiting_kernel(const unsigned *counts, volatile int *go_on, volatile int *ready) {
    IKET_KERNEL(trace);
    for (unsigned k = 0; k < counts[blockIdx.x]; k++) record(trace, k);
    __threadfence_system();
    if (threadIdx.x % 32 == 0) atomicAdd(const_cast<int *>(ready), 1);
    while (*go_on == 0) __nanosleep(1000);
    record(trace, counts[blockIdx.x]);
}

// Open rings, full and not; then the same warps closed, with a drain beside them.
static void run_open_case(const std::string &directory) {
    const unsigned full = capacity(directory);
    const std::vector<unsigned> counts = {0, 5, full - 1, full, full + 1, 3 * full + full / 2, 20000};
    unsigned *device;
    int *flags;
    CUDA(cudaHostAlloc(&flags, 8, cudaHostAllocMapped));
    flags[0] = flags[1] = 0;
    CUDA(cudaMalloc(&device, counts.size() * sizeof counts[0]));
    CUDA(cudaMemcpy(device, counts.data(), counts.size() * sizeof counts[0], cudaMemcpyHostToDevice));
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, waiting_kernel));
    session_guard session(directory, keep_last_options());
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    waiting_kernel<<<unsigned(counts.size()), 32, 0, stream>>>(device, flags, flags + 1);
    for (int i = 0; i < 5000 && static_cast<volatile int *>(flags)[1] < int(counts.size()); i++) usleep(1000);
    session.drain();
    const auto report = session.finish(IKET_FINISH_PARTIAL, false);
    static_cast<volatile int *>(flags)[0] = 1;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(flags));
    expect_equal(report.running_warps, counts.size(), "warps in the snapshot");
    const read_dump dump = load_dump(directory);
    for (const auto &chunk : dump.chunks) {
        const unsigned led = counts.at(chunk.cta[0]);
        check_end(dump, chunk, led, std::min(led, full));
        expect(!chunk.closed, "closed");
        // A ring that is full and one that went round look the same.
        expect_equal(chunk.overwritten, led >= full ? 1u : 0u, "overwritten of an open stream");
    }
}

std::vector<test_case> KEEP_CASES() {
    return {{KEEP_TEXT, run_counts_case}, {KEEP_TEXT "_pause", run_pause_case}, {KEEP_TEXT "_open", run_open_case}};
}
