// SPDX-License-Identifier: Apache-2.0
// pool.cu: how far the pool reaches: many warps, long warps, full pools, exact counts, advice that suffices.
#include <iket/iket.cuh>

#include "harness.h"

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(pool_tick, marker)
IKET_EVENT(pool_range, range)
IKET_EVENTS_END

static __global__ void ticks_kernel(int events) {
    IKET_KERNEL(trace);
#pragma unroll 1
    for (int i = 0; i < events; i++) trace.mark(ev::pool_tick);
}

// Lane 0 leaves at once, so that lane 1 leads everything.
static __global__ void other_lane_kernel(int events) {
    IKET_KERNEL(trace);
    if (threadIdx.x % 32 == 0) return;
#pragma unroll 1
    for (int i = 0; i < events; i++) trace.mark(ev::pool_tick);
}

static iket_session_report run_ticks(const std::string &directory, int ctas, int threads, int events, iket_session_options options) {
    session_guard session(directory, options);
    ticks_kernel<<<ctas, threads>>>(events);
    CUDA(cudaGetLastError());
    return session.finish();
}

static void check_balance(const std::string &directory, std::uint64_t warps, std::uint64_t events) {
    const read_dump dump = load_dump(directory);
    expect_equal(dump.events_stored() + dump.events_dropped(), warps * events, "stored + dropped");
    std::uint64_t seen = dump.chunks.size();
    for (const auto &loss : dump.losses) seen += loss.warps;
    expect_equal(seen, warps, "warps with and without a slot");
}

static void run_many_warps(const std::string &directory) {
    const auto report = run_ticks(directory, 32768, 128, 20, IKET_SESSION_OPTIONS_INIT);
    expect_equal(report.dropped_events, 0u, "dropped");
    expect_equal(report.warps, 131072u, "warps");
    check_balance(directory, 131072, 20);
}

static void run_long_warps(const std::string &directory) {
    const auto report = run_ticks(directory, 132, 256, 50000, IKET_SESSION_OPTIONS_INIT);
    expect_equal(report.dropped_events, 0u, "dropped");
    expect_equal(report.warps, 1056u, "warps");
    expect_equal(report.record_bytes, 1056u * 50000ull * 4, "record bytes");
}

// The same wherever the pool lies: seventeen in a row, so that one of them crosses a multiple of 4 GiB.
static void run_long_warps_anywhere(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.overwrite = 1;
    std::vector<void *> spacers;
    std::uint64_t dropped = 0;
    for (int turn = 0; turn < 17; turn++) {
        dropped += run_ticks(directory, 132, 256, 50000, options).dropped_events;
        void *spacer;
        CUDA(cudaMalloc(&spacer, std::size_t(256) << 20));
        spacers.push_back(spacer);
    }
    for (void *spacer : spacers) CUDA(cudaFree(spacer));
    expect_equal(dropped, 0u, "dropped");
}

// Both, one after the other and then the first again, without a drain: memory that was divided serves large warps too.
static void run_mixed_launches(const std::string &directory) {
    session_guard session(directory);
    ticks_kernel<<<32768, 128>>>(20);
    ticks_kernel<<<132, 256>>>(1000);
    ticks_kernel<<<32768, 128>>>(20);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    expect_equal(report.dropped_events, 0u, "dropped");
    expect_equal(report.warps, 2u * 131072 + 1056, "warps");
}

static void run_full_pool(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.pool_bytes = 1 << 20;
    const auto report = run_ticks(directory, 1024, 256, 300, options);
    expect(report.warps_without_slot > 0, "the pool was not full");
    expect(report.sufficient_pool_bytes > options.pool_bytes && report.advice[0] != 0, "no advice");
    check_balance(directory, 8192, 300);
}

static void run_advice(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.pool_bytes = 8 << 20;
    options.overwrite = 1;
    const auto report = run_ticks(directory, 264, 128, 5000, options);
    expect(report.dropped_events > 0, "nothing was dropped");
    options.pool_bytes = report.sufficient_pool_bytes;
    const auto again = run_ticks(directory, 264, 128, 5000, options);
    expect_equal(again.dropped_events, 0u, "dropped with the pool that the message advised");
}

// Exactly full drops nothing; one event more drops one.
static void run_capacity(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.first_lane_bytes = 4096;
    options.overwrite = 1;
    run_ticks(directory, 1, 32, 100000, options);
    const read_dump full = load_dump(directory);
    const int capacity = int(full.chunks.at(0).used / 4);
    expect(capacity >= 1024, "the slot holds less than was asked for");
    expect_equal(full.chunks.at(0).dropped, 100000u - unsigned(capacity), "dropped of 100,000");
    expect_equal(run_ticks(directory, 1, 32, capacity, options).dropped_events, 0u, "dropped at capacity");
    expect_equal(run_ticks(directory, 1, 32, capacity + 1, options).dropped_events, 1u, "dropped at capacity + 1");
}

static void run_other_lane(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.overwrite = 1;
    std::uint64_t advised = 0;
    for (int turn = 0; turn < 2; turn++) {
        options.other_lane_bytes = std::uint32_t(advised);
        session_guard session(directory, options);
        other_lane_kernel<<<8, 64>>>(1000);
        CUDA(cudaGetLastError());
        const auto report = session.finish();
        const read_dump dump = load_dump(directory);
        expect_equal(dump.events_stored() + dump.events_dropped(), 16000u, "stored + dropped");
        expect_equal(dump.chunks.size(), 32u, "streams");
        expect((report.dropped_events > 0) == (turn == 0), "dropped with what the message advised");
        advised = report.sufficient_other_lane_bytes;
    }
}

// Parts beside and at multiples of 4 GiB, which a pool of this size must have: addresses are computed in 32 bits.
static void run_borders(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.pool_bytes = std::size_t(17) << 30;
    const auto report = run_ticks(directory, 132, 256, 10, options);
    expect_equal(report.warps, 1056u, "warps");
    expect_equal(report.record_bytes, 1056u * 10 * 4, "record bytes");
    check_balance(directory, 1056, 10);
}

static void run_pinned(const std::string &directory) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.pool_place = IKET_POOL_PINNED;
    const auto report = run_ticks(directory, 2048, 128, 20, options);
    expect_equal(report.dropped_events, 0u, "dropped");
    check_balance(directory, 8192, 20);
}

std::vector<test_case> pool_cases() {
    return {{"many_warps", run_many_warps}, {"long_warps", run_long_warps},   {"long_warps_anywhere", run_long_warps_anywhere}, {"mixed_launches", run_mixed_launches},
            {"full_pool", run_full_pool},   {"advice", run_advice},           {"capacity", run_capacity},
            {"other_lane", run_other_lane}, {"pinned_pool", run_pinned},
            {"borders", run_borders}};
}
