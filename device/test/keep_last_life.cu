// SPDX-License-Identifier: Apache-2.0
// keep_last_life.cu: rings of records of 4 bytes, many warps, full pools, warps that write while they are copied, traps.
#include <iket/iket.cuh>

#include "harness.h"

#include <algorithm>
#include <unistd.h>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(ring_even, marker)
IKET_EVENT(ring_odd, marker)
IKET_EVENTS_END

static __global__ void alternating_kernel(unsigned events) {
    IKET_KERNEL(trace);
#pragma unroll 1
    for (unsigned i = 0; i < events; i++) {
        if (i % 2 == 0) trace.mark(ev::ring_even);
        else trace.mark(ev::ring_odd);
    }
}

// Records until the host says stop.
static __global__ void restless_kernel(volatile int *stop, volatile int *ready) {
    IKET_KERNEL(trace);
    for (unsigned i = 0; *stop == 0; i++) {
        trace.mark(ev::ring_even);
        trace.mark(ev::ring_odd);
        if (i == 5000 && threadIdx.x % 32 == 0) atomicAdd(const_cast<int *>(ready), 1);
        __syncwarp();
    }
}

static iket_session_options options_of(std::size_t pool, std::uint32_t first_lane) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.pool_bytes = pool;
    options.first_lane_bytes = first_lane;
    options.keep = IKET_KEEP_LAST;
    return options;
}

// Do the events alternate, and end as so many must?
static void check_alternating(const read_dump &dump, const read_chunk &chunk) {
    for (std::size_t i = 1; i < chunk.events.size(); i++)
        expect(dump.name(chunk, chunk.events[i]) != dump.name(chunk, chunk.events[i - 1]), "an event is missing in between");
}

static void run_narrow(const std::string &directory) {
    session_guard session(directory, options_of(64 << 20, 1024));
    for (const unsigned events : {100u, 1000u, 1001u, 77777u}) alternating_kernel<<<4, 64>>>(events);
    CUDA(cudaGetLastError());
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 32u, "streams");
    expect_equal(dump.events_stored() + dump.events_overwritten(), 8u * (100 + 1000 + 1001 + 77777), "kept + overwritten");
    for (const auto &chunk : dump.chunks) {
        const std::size_t led = chunk.events.size() + chunk.overwritten;
        check_alternating(dump, chunk);
        expect(dump.name(chunk, chunk.events.back()) == (led % 2 == 1 ? "ring_even" : "ring_odd"), "the last event is another");
    }
}

// Memory follows events here as well: nothing is dropped and nothing overwritten.
static void run_many_warps(const std::string &directory) {
    session_guard session(directory, options_of(256 << 20, 0));
    alternating_kernel<<<32768, 128>>>(20);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    expect_equal(report.warps, 131072u, "warps");
    expect_equal(report.dropped_events + report.overwritten_events, 0u, "dropped or overwritten");
}

// Every event is kept, overwritten, or of a warp that got no slot.
static void run_full_pool(const std::string &directory) {
    session_guard session(directory, options_of(1 << 20, 0));
    alternating_kernel<<<1024, 256>>>(1500);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    expect(report.warps_without_slot > 0, "the pool was not full");
    const read_dump dump = load_dump(directory);
    expect_equal(dump.events_stored() + dump.events_overwritten() + dump.events_dropped(), 8192u * 1500, "kept + overwritten + dropped");
    for (const auto &chunk : dump.chunks) check_alternating(dump, chunk);
}

// Warps write while the snapshot copies their rings: what it has of each is a whole run of events.
static void run_restless(const std::string &directory) {
    int *flags;
    CUDA(cudaHostAlloc(&flags, 8, cudaHostAllocMapped));
    flags[0] = flags[1] = 0;
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, restless_kernel));
    session_guard session(directory, options_of(64 << 20, 4096));
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    restless_kernel<<<16, 64, 0, stream>>>(flags, flags + 1);
    for (int i = 0; i < 5000 && static_cast<volatile int *>(flags)[1] < 32; i++) usleep(1000);
    session.finish(IKET_FINISH_PARTIAL, false);
    static_cast<volatile int *>(flags)[0] = 1;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFreeHost(flags));
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 32u, "open chunks");
    for (const auto &chunk : dump.chunks) {
        check_alternating(dump, chunk);
        expect(chunk.overwritten == 1 && chunk.events.size() > 900, "hardly anything is left of a ring of 4096 bytes");
        expect(chunk.reference - chunk.events.back().time < 10000000u, "the newest record is old");
    }
}

static __global__ void ring_trap_kernel() {
    IKET_KERNEL(trace);
    for (unsigned i = 0; i < 3000; i++) {
        trace.mark(ev::ring_even);
        trace.mark(ev::ring_odd);
    }
    __threadfence_system();
    if (blockIdx.x == 3) __trap();
    for (int i = 0; i < 1000; i++) __nanosleep(1000000);
}

int run_ring_trap_child(const std::string &directory) {
    iket_session_options options = options_of(16 << 20, 2048);
    iket_session *session;
    iket_recorder_error error;
    iket_session_report report;
    options.output_dir = directory.c_str();
    options.pool_place = IKET_POOL_PINNED;
    if (iket_session_create(&session, &options, &error) != 0 || iket_session_begin(session, &error) != 0) return 3;
    ring_trap_kernel<<<4, 64>>>();
    if (cudaDeviceSynchronize() == cudaSuccess) return 4;
    return iket_session_finish(session, IKET_FINISH_PARTIAL, &report, &error) == 0 && report.running_warps > 0 ? 0 : 5;
}

static void run_trap(const std::string &directory) {
    expect_equal(run_self({"--ring-trap-child", directory.c_str()}), 0, "the child's status");
    const read_dump dump = load_dump(directory);
    unsigned whole = 0;
    for (const auto &chunk : dump.chunks) {
        check_alternating(dump, chunk);
        whole += chunk.overwritten == 1 && chunk.events.size() >= 512 && dump.name(chunk, chunk.events.back()) == "ring_odd";
        expect(chunk.events.empty() || chunk.events.back().time - chunk.start < 2000000000u, "a record is dated long after its warp began");
    }
    expect(whole >= 2, "no warp's last events survived the trap");
}

std::vector<test_case> keep_last_life_cases() {
    return {{"keep_last_narrow", run_narrow},     {"keep_last_many_warps", run_many_warps}, {"keep_last_full_pool", run_full_pool},
            {"keep_last_restless", run_restless}, {"keep_last_trap", run_trap}};
}
