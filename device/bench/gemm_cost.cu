// SPDX-License-Identifier: Apache-2.0
// gemm_cost.cu: what recording costs a matrix product that is bound by arithmetic: iket-bench-gemm DIRECTORY [SIZE]. Times
// as ratios to the kernel that is not annotated: annotated without a session, and recorded, with 0 to 32 events a tile.
// All variants take turns; a ratio is the median over the rounds of the variant's median to the bare kernel's of that round.
#include "../examples/gemm_parts.cuh"
#include "gemm.h"

#include <iket/recorder.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

enum class mode { no_session, keep_first, keep_last };

struct gemm_case {
    std::string name;
    gemm_variant variant;
    mode how;
    std::vector<float> ratios;
};

struct gemm {
    std::string directory;
    int size;
    CUtensorMap a, b;
    float *c;

    iket_session *open(mode how) const {
        iket_session_options options = IKET_SESSION_OPTIONS_INIT;
        iket_session *session = nullptr;
        iket_recorder_error error;
        if (how == mode::no_session) return nullptr;
        options.output_dir = directory.c_str();
        options.pool_bytes = std::size_t(2) << 30;
        options.keep = how == mode::keep_last ? IKET_KEEP_LAST : IKET_KEEP_FIRST;
        options.first_lane_bytes = how == mode::keep_last ? 4096 : 0;  // goes round
        if (iket_session_create(&session, &options, &error) != 0 || iket_session_begin(session, &error) != 0) {
            std::fprintf(stderr, "iket-bench-gemm: %s\n", error.message);
            std::exit(2);
        }
        return session;
    }

    void launch(const void *kernel) const {
        const int shared = int(sizeof(shared_tiles)) + 1024;
        int n = size, k = size;
        void *list[] = {const_cast<CUtensorMap *>(&a), const_cast<CUtensorMap *>(&b), const_cast<float **>(&c), &n, &k};
        CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
        CHECK_CUDA(cudaLaunchKernel(kernel, dim3(size / tile_n, size / tile_m), dim3(threads), list, shared, nullptr));
    }

    // Milliseconds, the median of five launches after one.
    float time(const void *kernel, mode how) const {
        iket_session *session = open(how);
        std::vector<float> times;
        cudaEvent_t start, end;
        CHECK_CUDA(cudaEventCreate(&start));
        CHECK_CUDA(cudaEventCreate(&end));
        for (int run = 0; run < 6; run++) {
            float milliseconds;
            CHECK_CUDA(cudaEventRecord(start));
            launch(kernel);
            CHECK_CUDA(cudaEventRecord(end));
            CHECK_CUDA(cudaEventSynchronize(end));
            CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
            if (run > 0) times.push_back(milliseconds);
        }
        CHECK_CUDA(cudaEventDestroy(start));
        CHECK_CUDA(cudaEventDestroy(end));
        if (iket_session_destroy(session, nullptr) != 0) std::exit(2);
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }
};

static float median(std::vector<float> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static std::vector<gemm_case> all_cases() {
    std::vector<gemm_case> cases;
    const auto add = [&](const std::string &name, const std::vector<gemm_variant> &variants, mode how) {
        for (const auto &variant : variants) cases.push_back({name + (variant.divergent ? ", divergent" : ""), variant, how, {}});
    };
    add("form A, no session", gemm_a(), mode::no_session);
    add("form B, no session", gemm_b(), mode::no_session);
    add("form A", gemm_a(), mode::keep_first);
    add("form A, keep last", gemm_a(), mode::keep_last);
    add("form A, 64-bit payloads", gemm_a_64(), mode::keep_first);
    add("form A, 64-bit payloads, keep last", gemm_a_64(), mode::keep_last);
    add("form B", gemm_b(), mode::keep_first);
    add("form B, keep last", gemm_b(), mode::keep_last);
    return cases;
}

static void print(const std::vector<gemm_case> &cases) {
    std::vector<std::string> order;
    std::map<std::string, std::map<int, float>> rows;
    for (const auto &one : cases) {
        if (rows.find(one.name) == rows.end()) order.push_back(one.name);
        rows[one.name][one.variant.events] = median(one.ratios);
    }
    std::printf("| events a tile and warp | 0 | 2 | 8 | 32 |\n| --- | --- | --- | --- | --- |\n");
    for (const auto &name : order) {
        std::printf("| %s |", name.c_str());
        for (const int events : {0, 2, 8, 32}) {
            const auto found = rows[name].find(events);
            if (found == rows[name].end()) std::printf(" |");
            else std::printf(" %.3f |", found->second);
        }
        std::printf("\n");
    }
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    gemm run{argv[1], argc > 2 ? std::atoi(argv[2]) : 4096, {}, {}, nullptr};
    const std::size_t count = std::size_t(run.size) * run.size;
    std::vector<half> values(count);
    unsigned state = 1;
    for (auto &value : values) state = state * 1664525u + 1013904223u, value = __float2half(float(int(state >> 8) - (1 << 23)) / float(1 << 23));
    half *a, *b;
    CHECK_CUDA(cudaMalloc(&a, count * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&b, count * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&run.c, count * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(a, values.data(), count * sizeof(half), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(b, values.data(), count * sizeof(half), cudaMemcpyHostToDevice));
    run.a = map_of(a, run.size, run.size, tile_m), run.b = map_of(b, run.size, run.size, tile_n);
    std::vector<gemm_case> cases = all_cases();
    const void *bare = gemm_off()[0].kernel;
    std::vector<float> bare_times;
    for (int round = 0; round < 7; round++) {
        const float base = run.time(bare, mode::no_session);
        bare_times.push_back(base);
        for (auto &one : cases) one.ratios.push_back(run.time(one.variant.kernel, one.how) / base);
        bare_times.push_back(run.time(bare, mode::no_session));
    }
    std::printf("matrix product of %d, not annotated: %.4f ms (from %.4f to %.4f over the rounds)\n\n", run.size, median(bare_times),
                *std::min_element(bare_times.begin(), bare_times.end()), *std::max_element(bare_times.begin(), bare_times.end()));
    print(cases);
    return 0;
}
