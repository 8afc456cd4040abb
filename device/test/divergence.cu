// SPDX-License-Identifier: Apache-2.0
// divergence.cu: form A under divergence: each lane's stream has exactly the events that the lane led.
#define DIVERGENCE_NAME(name) form_a_##name
#define DIVERGENCE_INNER "form_a_inner"
#include "divergence_template.h"

static void run_divergence(const std::string &directory) {
    const unsigned ctas = 64, threads = 112;
    unsigned *out;
    CUDA(cudaMalloc(&out, ctas * threads * sizeof *out));
    session_guard session(directory);
    divergence_kernel<<<ctas, threads>>>(7, out);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    CUDA(cudaFree(out));
    expect_equal(report.dropped_events, 0u, "dropped");
    const read_dump dump = load_dump(directory);
    std::uint64_t expected = 0;
    std::map<std::pair<unsigned, unsigned>, std::vector<lane_model>> models;
    for (unsigned cta = 0; cta < ctas; cta++)
        for (unsigned warp = 0; warp < (threads + 31) / 32; warp++) {
            auto &model = models[{cta, warp}] = model_of(7, cta * threads + warp * 32, std::min(32u, threads - warp * 32));
            for (const auto &lane : model) expected += lane.size();
        }
    for (const auto &chunk : dump.chunks) {
        const auto &want = models.at({chunk.cta[0], chunk.warp}).at(chunk.lane);
        expect(what_was_recorded(dump, chunk) == want, "CTA " + std::to_string(chunk.cta[0]) + " warp " + std::to_string(chunk.warp) +
                                                           " lane " + std::to_string(chunk.lane) + " has other events than it led");
    }
    expect_equal(dump.events_stored(), expected, "events");
}

// A ring for each lane: each has the end of what the lane led.
static void run_keep_last(const std::string &directory) {
    const unsigned ctas = 64, threads = 112;
    unsigned *out;
    CUDA(cudaMalloc(&out, ctas * threads * sizeof *out));
    session_guard session(directory, small_rings());
    divergence_kernel<<<ctas, threads>>>(9, out);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    CUDA(cudaFree(out));
    expect_equal(report.dropped_events, 0u, "dropped");
    const read_dump dump = load_dump(directory);
    std::uint64_t led = 0, streams = 0;
    for (unsigned cta = 0; cta < ctas; cta++)
        for (unsigned warp = 0; warp < (threads + 31) / 32; warp++)
            for (const auto &lane : model_of(9, cta * threads + warp * 32, std::min(32u, threads - warp * 32))) {
                led += lane.size();
                streams += !lane.empty();
            }
    unsigned went_round = 0;
    for (const auto &chunk : dump.chunks) {
        const auto model = model_of(9, chunk.cta[0] * threads + chunk.warp * 32, std::min(32u, threads - chunk.warp * 32));
        expect(is_end_of(model.at(chunk.lane), what_was_recorded(dump, chunk), chunk.overwritten),
               "CTA " + std::to_string(chunk.cta[0]) + " warp " + std::to_string(chunk.warp) + " lane " + std::to_string(chunk.lane) +
                   " has other events than the end of what it led");
        went_round += chunk.lane != 0 && chunk.overwritten != 0;
    }
    expect_equal(dump.events_stored() + dump.events_overwritten(), led, "kept + overwritten");
    expect_equal(dump.chunks.size(), streams, "streams");
    expect(went_round > 20, "hardly any ring of another lane than the first went round");
}

std::vector<test_case> divergence_cases() {
    return {{"divergence", run_divergence}, {"divergence_token", run_token}, {"divergence_keep_last", run_keep_last}};
}
