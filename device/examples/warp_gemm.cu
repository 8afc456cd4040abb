// SPDX-License-Identifier: Apache-2.0
// warp_gemm.cu: a warp-specialised matrix product C = A B, half in and float out, with its load, wait, product and
// epilogue annotated: what a timeline of a producer and its consumers looks like. sm_90 and later.
//
//   warp 8 (producer):      wait until a stage is empty | bulk copies of A and B rows into it, counted by its mbarrier
//   warps 0-7 (consumers):  wait until a stage is full  | tensor-core products | say that it is empty … | epilogue
//
// Two stages of 128 x 64 of A and 64 x 128 of B; rows are padded by 16 bytes so that fragments load without conflicts.
#include <iket/iket.cuh>

#include "check.h"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(load, range, int)
IKET_EVENT(wait, range, int)
IKET_EVENT(product, range, int)
IKET_EVENT(epilogue, range)
IKET_EVENTS_END

namespace wmma = nvcuda::wmma;

constexpr int tile_m = 128, tile_n = 128, tile_k = 64, stages = 2, consumers = 8;
constexpr int pitch_a = tile_k + 8, pitch_b = tile_n + 8;  // halves
constexpr unsigned stage_bytes = (tile_m * tile_k + tile_k * tile_n) * sizeof(half);

struct shared_tiles {
    half a[stages][tile_m * pitch_a];
    half b[stages][tile_k * pitch_b];
    alignas(8) std::uint64_t full[stages];
    alignas(8) std::uint64_t empty[stages];
};

static __device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

static __device__ __forceinline__ void barrier_init(std::uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

static __device__ __forceinline__ void barrier_arrive(std::uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

static __device__ __forceinline__ void barrier_expect(std::uint64_t *barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void barrier_wait(std::uint64_t *barrier, unsigned phase) {
    asm volatile("{\n .reg .pred done;\nagain:\n mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n @!done bra again;\n}"
                 ::"r"(shared_address(barrier)), "r"(phase) : "memory");
}

static __device__ __forceinline__ void copy_row(half *to, const half *from, unsigned bytes, std::uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}

static __device__ __forceinline__ void produce(iket::recorder &trace, shared_tiles &tiles, const half *a, const half *b, int n, int k) {
    const int lane = threadIdx.x % 32;
    for (int step = 0; step < k / tile_k; step++) {
        const int stage = step % stages;
        barrier_wait(&tiles.empty[stage], (step / stages & 1) ^ 1);
        trace.range_push(ev::load, step);
        if (lane == 0) barrier_expect(&tiles.full[stage], stage_bytes);
        __syncwarp();
        for (int row = lane; row < tile_m; row += 32)
            copy_row(&tiles.a[stage][row * pitch_a], a + std::size_t(blockIdx.y * tile_m + row) * k + step * tile_k,
                     tile_k * sizeof(half), &tiles.full[stage]);
        for (int row = lane; row < tile_k; row += 32)
            copy_row(&tiles.b[stage][row * pitch_b], b + std::size_t(step * tile_k + row) * n + blockIdx.x * tile_n,
                     tile_n * sizeof(half), &tiles.full[stage]);
        __syncwarp();
        trace.range_pop();
    }
}

using accumulator = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

static __device__ __forceinline__ void multiply_stage(const half *a, const half *b, accumulator (&sum)[4][2]) {
#pragma unroll
    for (int inner = 0; inner < tile_k; inner += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[4];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
#pragma unroll
        for (int i = 0; i < 4; i++) wmma::load_matrix_sync(left[i], a + i * 16 * pitch_a + inner, pitch_a);
#pragma unroll
        for (int j = 0; j < 2; j++) wmma::load_matrix_sync(right[j], b + inner * pitch_b + j * 16, pitch_b);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
}

static __device__ __forceinline__ void consume(iket::recorder &trace, shared_tiles &tiles, float *c, int n, int k) {
    const int warp = threadIdx.x / 32, row = warp / 4 * 64, column = warp % 4 * 32;
    accumulator sum[4][2];
#pragma unroll
    for (int i = 0; i < 8; i++) wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (int step = 0; step < k / tile_k; step++) {
        const int stage = step % stages;
        trace.range_push(ev::wait, step);
        barrier_wait(&tiles.full[stage], step / stages & 1);
        trace.range_pop();
        trace.range_push(ev::product, step);
        multiply_stage(&tiles.a[stage][row * pitch_a], &tiles.b[stage][column], sum);
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(&tiles.empty[stage]);
        __syncwarp();
        trace.range_pop();
    }
    auto scope = trace.range(ev::epilogue);
    float *out = c + std::size_t(blockIdx.y * tile_m + row) * n + blockIdx.x * tile_n + column;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) wmma::store_matrix_sync(out + std::size_t(i * 16) * n + j * 16, sum[i][j], n, wmma::mem_row_major);
}

static __global__ void __launch_bounds__(32 * (consumers + 1)) gemm_kernel(const half *a, const half *b, float *c, int n, int k) {
    extern __shared__ __align__(128) unsigned char memory[];
    shared_tiles &tiles = *reinterpret_cast<shared_tiles *>(memory);
    IKET_KERNEL(trace);
    if (threadIdx.x == 0)
        for (int stage = 0; stage < stages; stage++) {
            barrier_init(&tiles.full[stage], 1);
            barrier_init(&tiles.empty[stage], consumers);
        }
    __syncthreads();
    if (threadIdx.x / 32 == consumers) produce(trace, tiles, a, b, n, k);
    else consume(trace, tiles, c, n, k);
}

static void launch(const half *a, const half *b, float *c, int m, int n, int k) {
    CHECK_CUDA(cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(shared_tiles))));
    gemm_kernel<<<dim3(n / tile_n, m / tile_m), 32 * (consumers + 1), sizeof(shared_tiles)>>>(a, b, c, n, k);
    CHECK_CUDA(cudaGetLastError());
}

template <typename Work>
static float least_time(Work work) {
    cudaEvent_t start, end;
    float best = 1e9f;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&end));
    for (int run = 0; run < 10; run++) {
        float milliseconds;
        CHECK_CUDA(cudaEventRecord(start));
        work();
        CHECK_CUDA(cudaEventRecord(end));
        CHECK_CUDA(cudaEventSynchronize(end));
        CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
        best = std::min(best, milliseconds);
    }
    CHECK_CUDA(cudaEventDestroy(start));
    CHECK_CUDA(cudaEventDestroy(end));
    return best;
}

static std::vector<half> random_matrix(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<half> matrix(count);
    for (auto &value : matrix) value = __float2half(values(generator));
    return matrix;
}

static double relative_difference(const std::vector<float> &got, const std::vector<float> &want) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < got.size(); i++) {
        difference += (double(got[i]) - want[i]) * (double(got[i]) - want[i]);
        size += double(want[i]) * want[i];
    }
    return std::sqrt(difference / size);
}

// Small by default, so that a trace of it is small; with an argument, that size and the share of cuBLAS's speed.
int main(int argc, char **argv) {
    const int size = argc > 1 ? std::atoi(argv[1]) : 256;
    if (size <= 0 || size % 128 != 0) {
        std::fprintf(stderr, "usage: warp_gemm [SIZE], a multiple of 128\n");
        return 2;
    }
    const std::size_t count = std::size_t(size) * size;
    const auto host_a = random_matrix(count, 1), host_b = random_matrix(count, 2);
    half *a, *b;
    float *c, *reference;
    CHECK_CUDA(cudaMalloc(&a, count * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&b, count * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&c, count * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&reference, count * sizeof(float)));
    CHECK_CUDA(cudaMemset(c, 0xFF, count * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(a, host_a.data(), count * sizeof(half), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(b, host_b.data(), count * sizeof(half), cudaMemcpyHostToDevice));
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 2;
    const float one = 1, zero = 0;
    const auto cublas = [&] {
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, b, CUDA_R_16F, size, a, CUDA_R_16F, size, &zero,
                     reference, CUDA_R_32F, size, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    };
    cublas();
    launch(a, b, c, size, size, size);
    std::vector<float> got(count), want(count);
    CHECK_CUDA(cudaMemcpy(got.data(), c, count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(want.data(), reference, count * sizeof(float), cudaMemcpyDeviceToHost));
    const double difference = relative_difference(got, want);
    if (argc > 1) {
        const float ours = least_time([&] { launch(a, b, c, size, size, size); }), theirs = least_time(cublas);
        std::printf("warp_gemm %d: %.3f ms (%.0f TFLOP/s), cuBLAS %.3f ms: %.0f %% of its speed\n", size, ours,
                    2e-9 * size * size * size / ours, theirs, 100 * theirs / ours);
    }
    cublasDestroy(handle);
    CHECK_CUDA(cudaFree(a));
    CHECK_CUDA(cudaFree(b));
    CHECK_CUDA(cudaFree(c));
    CHECK_CUDA(cudaFree(reference));
    std::printf("warp_gemm: relative difference from cuBLAS %.1e\n", difference);
    return verdict("warp_gemm", difference < 1e-3);
}
