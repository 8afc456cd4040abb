// SPDX-License-Identifier: Apache-2.0
// divergence_template.h: nested divergence, loops of different trip counts and early return, against a host model of
// which lane leads. The model runs the same text in lockstep: a set of lanes, split by conditions and joined again.
#include <iket/iket.cuh>

#include "harness.h"

#include <algorithm>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(DIVERGENCE_NAME(site), marker, unsigned)
IKET_EVENT(DIVERGENCE_NAME(inner), range)
IKET_EVENT(DIVERGENCE_NAME(pass), token)
IKET_EVENTS_END

static __host__ __device__ unsigned mixed(unsigned x) {
    x ^= x >> 16, x *= 0x7FEB352Du, x ^= x >> 15, x *= 0x846CA68Bu;
    return x ^ x >> 16;
}

// What a thread does, from its seed: which branches, how many turns, whether it leaves early.
struct thread_plan {
    bool outer, inner, leaves;
    unsigned turns;
};
static __host__ __device__ thread_plan plan_of(unsigned seed, unsigned thread) {
    const unsigned h = mixed(seed * 65599u + thread);
    return {(h & 3) != 0, (h >> 2 & 1) != 0, (h >> 3 & 7) == 0, h >> 6 & 15};
}

static __global__ void divergence_kernel(unsigned seed, unsigned *out) {
    IKET_KERNEL(trace);
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const thread_plan plan = plan_of(seed, thread);
    trace.mark(ev::DIVERGENCE_NAME(site), lane);
    if (plan.outer) {
        trace.mark(ev::DIVERGENCE_NAME(site), 0x100 | lane);
        if (plan.inner) {
            trace.range_push(ev::DIVERGENCE_NAME(inner));
            trace.mark(ev::DIVERGENCE_NAME(site), 0x200 | lane);
            trace.range_pop();
        }
        trace.mark(ev::DIVERGENCE_NAME(site), 0x300 | lane);
    }
    if (plan.leaves) {
        out[thread] = 1;
        return;
    }
#pragma unroll 1
    for (unsigned turn = 0; turn < plan.turns; turn++) trace.mark(ev::DIVERGENCE_NAME(site), 0x400 | turn << 16 | lane);
    out[thread] = 2;
}

// A token that a loop carries: in the first turn it is a sentinel, whose end must record nothing.
static __global__ void token_kernel(int turns) {
    IKET_KERNEL(trace);
    auto pass = trace.sentinel_token(ev::DIVERGENCE_NAME(pass));
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
        trace.range_end(pass);
        pass = trace.range_start(ev::DIVERGENCE_NAME(pass));
    }
    trace.range_end(pass);
}

static void run_token(const std::string &directory) {
    session_guard session(directory);
    token_kernel<<<2, 64>>>(5);
    token_kernel<<<1, 32>>>(0);
    CUDA(cudaGetLastError());
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 5u, "warps");
    expect_equal(dump.events_stored(), 4u * 10, "starts and ends");
    expect_equal(dump.events_dropped(), 0u, "dropped");
}

// Per lane: the payloads that it must have left, ~0 standing for a pop and ~1 for a push.
using lane_model = std::vector<std::uint64_t>;

static unsigned leader(unsigned mask) { return unsigned(__builtin_ctz(mask)); }

static std::vector<lane_model> model_of(unsigned seed, unsigned first_thread, unsigned lanes) {
    std::vector<lane_model> model(32);
    const unsigned all = lanes == 32 ? ~0u : (1u << lanes) - 1;
    unsigned outer = 0, inner = 0, stay = 0;
    thread_plan plans[32] = {};
    for (unsigned lane = 0; lane < lanes; lane++) {
        plans[lane] = plan_of(seed, first_thread + lane);
        outer |= unsigned(plans[lane].outer) << lane;
        inner |= unsigned(plans[lane].outer && plans[lane].inner) << lane;
        stay |= unsigned(!plans[lane].leaves) << lane;
    }
    const auto lead = [&](unsigned mask, std::uint64_t base) {
        if (mask != 0) model[leader(mask)].push_back(base | leader(mask));
    };
    lead(all, 0);
    lead(outer, 0x100);
    if (inner != 0) model[leader(inner)].push_back(~1ull);
    lead(inner, 0x200);
    if (inner != 0) model[leader(inner)].push_back(~0ull);
    lead(outer, 0x300);
    for (unsigned turn = 0; turn < 16; turn++) {
        unsigned mask = 0;
        for (unsigned lane = 0; lane < lanes; lane++) mask |= unsigned((stay >> lane & 1) != 0 && turn < plans[lane].turns) << lane;
        lead(mask, 0x400 | turn << 16);
    }
    return model;
}

// Regions so small that the streams do not fit, of which the last events are kept.
static iket_session_options small_rings() {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.keep = IKET_KEEP_LAST;
    options.first_lane_bytes = 64;
    options.other_lane_bytes = 96;
    return options;
}

// Is got the end of model, and as many events as were overwritten before it?
static bool is_end_of(const lane_model &model, const lane_model &got, std::uint64_t overwritten) {
    return got.size() + overwritten == model.size() && std::equal(got.begin(), got.end(), model.end() - std::ptrdiff_t(got.size()));
}

static lane_model what_was_recorded(const read_dump &dump, const read_chunk &chunk) {
    lane_model got;
    for (const auto &event : chunk.events) {
        const bool push = event.id != 31 && dump.name(chunk, event) == DIVERGENCE_INNER;
        got.push_back(event.id == 31 ? ~0ull : push ? ~1ull : event.payload);
    }
    return got;
}
