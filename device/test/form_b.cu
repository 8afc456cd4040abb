// SPDX-License-Identifier: Apache-2.0
// form_b.cu: form B keeps the events of groups with the first lane and counts those of the others.
#define IKET_FORM_B
#define DIVERGENCE_NAME(name) form_b_##name
#define DIVERGENCE_INNER "form_b_inner"
#include "divergence_template.h"

static void run_form_b(const std::string &directory) {
    const unsigned ctas = 64, threads = 112;
    unsigned *out;
    CUDA(cudaMalloc(&out, ctas * threads * sizeof *out));
    session_guard session(directory);
    divergence_kernel<<<ctas, threads>>>(7, out);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    CUDA(cudaFree(out));
    expect(report.sufficient_pool_bytes == 0 && std::string(report.advice).find("IKET_FORM_B") != std::string::npos, "advice");
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), std::size_t(ctas * ((threads + 31) / 32)), "one stream a warp");
    for (const auto &chunk : dump.chunks) {
        const auto model = model_of(7, chunk.cta[0] * threads + chunk.warp * 32, std::min(32u, threads - chunk.warp * 32));
        std::size_t others = 0;
        for (unsigned lane = 1; lane < 32; lane++) others += model[lane].size();
        expect(chunk.lane == 0 && what_was_recorded(dump, chunk) == model[0], "lane 0 has other events than it led");
        expect_equal(chunk.dropped, others, "events of groups without lane 0");
    }
}

// What the first lane led goes round its ring; what the others led is dropped and only DONE can say so.
static void run_keep_last(const std::string &directory) {
    const unsigned ctas = 64, threads = 112;
    unsigned *out;
    CUDA(cudaMalloc(&out, ctas * threads * sizeof *out));
    session_guard session(directory, small_rings());
    divergence_kernel<<<ctas, threads>>>(9, out);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    CUDA(cudaFree(out));
    const read_dump dump = load_dump(directory);
    std::uint64_t others = 0;
    for (const auto &chunk : dump.chunks) {
        const auto model = model_of(9, chunk.cta[0] * threads + chunk.warp * 32, std::min(32u, threads - chunk.warp * 32));
        for (unsigned lane = 1; lane < 32; lane++) others += model[lane].size();
        expect(chunk.lane == 0 && is_end_of(model[0], what_was_recorded(dump, chunk), chunk.overwritten), "lane 0 has other events than the end of what it led");
    }
    expect_equal(report.dropped_events, others, "events of groups without lane 0");
    expect_equal(dump.done_dropped, others, "dropped in DONE");
}

std::vector<test_case> form_b_cases() {
    return {{"form_b", run_form_b}, {"form_b_token", run_token}, {"form_b_keep_last", run_keep_last}};
}
