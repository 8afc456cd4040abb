// SPDX-License-Identifier: Apache-2.0
// bench.cu: what an event costs, in cycles for one turn of a loop: iket-bench DIRECTORY. Prints a Markdown table of the
// empty loop, the floor in CUDA C++ (timer, id, store by lane 0, no bounds) and the recorder's forms, with the pool in
// device and in pinned memory, and what starting and ending a warp costs. The least of seven runs, the median of warps.
#include "bench.h"

#include <iket/recorder.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static void check(cudaError_t status, const char *call) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
    std::exit(2);
}
#define CHECK(call) check((call), #call)

static void check_session(int status, const iket_recorder_error &error) {
    if (status == 0) return;
    std::fprintf(stderr, "iket-bench: %s\n", error.message);
    std::exit(2);
}

template <bool Payload, int Offset, unsigned Id>
static __device__ __forceinline__ void floor_event(char *at, bool leads, unsigned value) {
    unsigned now;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(now));
    now = (now & ~31u) | Id;
    if (!leads) return;
    if constexpr (Payload) asm volatile("st.global.v2.u32 [%0+%3], {%1, %2};" ::"l"(at), "r"(now), "r"(value), "n"(Offset) : "memory");
    else asm volatile("st.global.u32 [%0+%2], %1;" ::"l"(at), "r"(now), "n"(Offset) : "memory");
}

template <int Events, bool Payload>
static __global__ void floor_kernel(bench_arguments arguments) {
    constexpr int size = Payload ? 8 : 4;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    char *at = arguments.memory + std::size_t(thread / 32) * arguments.bytes_a_warp;
    const bool leads = thread % 32 == 0;
    float x = float(thread);
    __syncthreads();
    const unsigned start = clock();
#pragma unroll 1
    for (int i = 0; i < bench_turns; i++) {
        x = x * 1.0001f + 1;
        if constexpr (Events >= 1) floor_event<Payload, 0, 1>(at, leads, i);
        if constexpr (Events == 4) {
            floor_event<Payload, size, 2>(at, leads, i);
            floor_event<Payload, 2 * size, 3>(at, leads, i);
            floor_event<Payload, 3 * size, 4>(at, leads, i);
        }
        at += Events * size;
    }
    const unsigned end = clock();
    arguments.out[thread] = x;
    if (thread % 32 == 0) arguments.cycles[thread / 32] = end - start;
}

static bench_variant empty_loop() { return {"empty loop", 0, {(const void *)floor_kernel<0, false>, nullptr}, {0, 0}}; }
static bench_variant floor_plain() { return {"floor", 0, {(const void *)floor_kernel<1, false>, (const void *)floor_kernel<4, false>}, {1, 4}}; }
static bench_variant floor_payload() {
    return {"floor, payload", 0, {(const void *)floor_kernel<1, true>, (const void *)floor_kernel<4, true>}, {1, 4}};
}

struct bench {
    std::string directory;
    bench_arguments arguments;
    int pool_place = IKET_POOL_DEVICE;

    iket_session *open(std::size_t first_lane, std::size_t warps) const {
        iket_session_options options = IKET_SESSION_OPTIONS_INIT;
        iket_session *session;
        iket_recorder_error error;
        options.output_dir = directory.c_str();
        options.pool_place = pool_place;
        options.first_lane_bytes = std::uint32_t(first_lane);
        options.pool_bytes = first_lane == 0 ? options.pool_bytes : std::max<std::size_t>(64u << 20, warps * (first_lane + 8192) * 3 / 2);
        check_session(iket_session_create(&session, &options, &error), error);
        check_session(iket_session_begin(session, &error), error);
        return session;
    }

    double once(const void *kernel, int ctas, int threads) const {
        void *list[] = {const_cast<bench_arguments *>(&arguments)};
        std::vector<unsigned> cycles(std::size_t(ctas) * threads / 32);
        CHECK(cudaLaunchKernel(kernel, dim3(ctas), dim3(threads), list, 0, nullptr));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(cycles.data(), arguments.cycles, cycles.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
        std::nth_element(cycles.begin(), cycles.begin() + cycles.size() / 2, cycles.end());
        return double(cycles[cycles.size() / 2]) / bench_turns;
    }

    double least(const bench_variant &variant, int which, int ctas, int threads) const {
        double best = 1e9;
        for (int run = 0; run < 7; run++) {
            iket_session *session = nullptr;
            if (variant.record_bytes != 0)
                session = open(std::size_t(bench_turns) * variant.events[which] * variant.record_bytes, std::size_t(ctas) * threads / 32);
            best = std::min(best, once(variant.kernels[which], ctas, threads));
            iket_recorder_error error;
            check_session(iket_session_destroy(session, &error), error);
        }
        return best;
    }

    void row(const bench_variant &variant) const {
        std::printf("| %s |", variant.name);
        for (const int threads : {32, 256, 1024})
            for (int which = 0; which < 2; which++)
                if (variant.kernels[which] != nullptr) std::printf(" %.0f |", least(variant, which, threads == 32 ? 1 : 132, threads));
                else std::printf(" |");
        cudaFuncAttributes attributes;
        CHECK(cudaFuncGetAttributes(&attributes, variant.kernels[0]));
        std::printf(" %d | %zu |\n", attributes.numRegs, attributes.localSizeBytes);
        std::fflush(stdout);
    }
};

float warp_cost(const std::string &directory, bool annotated, bool with_session);
void start_cost(const std::string &directory, unsigned warps);

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    bench run{argv[1], {}};
    const std::size_t warps = 132 * 32;
    run.arguments.bytes_a_warp = bench_turns * 4 * 8;
    CHECK(cudaMalloc(&run.arguments.out, warps * 32 * sizeof(float)));
    CHECK(cudaMalloc(&run.arguments.cycles, warps * sizeof(unsigned)));
    CHECK(cudaMalloc(&run.arguments.memory, warps * std::size_t(run.arguments.bytes_a_warp)));
    std::printf("| cycles a turn | 1 warp: 1 | 4 | 132 x 8 warps: 1 | 4 | 132 x 32 warps: 1 | 4 | registers | local bytes |\n");
    std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const auto &variant : {empty_loop(), floor_plain(), form_a_plain(), form_b_plain(), floor_payload(), form_a_payload(), form_b_payload()})
        run.row(variant);
    CHECK(cudaFree(run.arguments.memory));
    run.arguments.memory = nullptr;
    run.pool_place = IKET_POOL_PINNED;
    std::printf("\nThe same with the pool in pinned host memory:\n\n");
    run.row(form_a_plain());
    run.row(form_a_payload());
    std::printf("\n131,072 warps of a kernel that records 2 events a warp: %.3f ms not annotated, %.3f ms without a session, %.3f ms recorded\n",
                warp_cost(run.directory, false, false), warp_cost(run.directory, true, false), warp_cost(run.directory, true, true));
    for (const unsigned warps : {1u, 12u, 32u}) start_cost(run.directory, warps);
    return 0;
}
