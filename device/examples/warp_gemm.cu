// SPDX-License-Identifier: Apache-2.0
// warp_gemm.cu: a warp-specialised matrix product C = A B^T, half in and float out, with its load, wait, product and
// epilogue annotated: what a timeline of a producer and its consumers looks like. sm_90a (wgmma).
//
//   warpgroup 2, warp 0 (producer):  wait until a stage is empty | tensor copies of A and B into it, counted by its mbarrier
//   warpgroups 0, 1 (consumers):     wait until a stage is full  | wgmma of 64 x 256 | say that it is empty … | epilogue
//
// Its parts are in gemm_parts.cuh. Two stages of 128 x 64 of A and 256 x 64 of B, both with K contiguous, in the 128-byte
// swizzle that copy engine and tensor cores share.
#include <iket/iket.cuh>

#include "gemm_parts.cuh"

#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(load, range, int)
IKET_EVENT(wait, range, int)
IKET_EVENT(product, range, int)
IKET_EVENT(epilogue, range)
IKET_EVENTS_END

static __device__ __forceinline__ void produce(iket::recorder &trace, shared_tiles &tiles, const CUtensorMap &a, const CUtensorMap &b, int k) {
    for (int step = 0; step < k / tile_k; step++) {
        const int stage = step % stages;
        barrier_wait(&tiles.empty[stage], (step / stages & 1) ^ 1);
        trace.range_push(ev::load, step);
        if (threadIdx.x % 32 == 0) {
            barrier_expect(&tiles.full[stage], stage_bytes);
            copy_tile(tiles.a[stage], a, step * tile_k, blockIdx.y * tile_m, &tiles.full[stage]);
            copy_tile(tiles.b[stage], b, step * tile_k, blockIdx.x * tile_n, &tiles.full[stage]);
        }
        __syncwarp();
        trace.range_pop();
    }
}

static __device__ __forceinline__ void consume(iket::recorder &trace, shared_tiles &tiles, float *c, int n, int k) {
    const int group = threadIdx.x / 128;
    float left[64] = {}, right[64] = {};
    for (int step = 0; step < k / tile_k; step++) {
        const int stage = step % stages;
        trace.range_push(ev::wait, step);
        barrier_wait(&tiles.full[stage], step / stages & 1);
        trace.range_pop();
        trace.range_push(ev::product, step);
        multiply_stage(&tiles.a[stage][group * 64 * tile_k], tiles.b[stage], left, right);
        if (threadIdx.x % 32 == 0) barrier_arrive(&tiles.empty[stage]);
        __syncwarp();
        trace.range_pop();
    }
    auto scope = trace.range(ev::epilogue);
    float *out = c + std::size_t(blockIdx.y * tile_m + group * 64) * n + blockIdx.x * tile_n;
    store_half(left, out, n);
    store_half(right, out + 128, n);
}

static __global__ void __launch_bounds__(threads, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int n, int k) {
    extern __shared__ unsigned char memory[];
    shared_tiles &tiles = *reinterpret_cast<shared_tiles *>((reinterpret_cast<std::uintptr_t>(memory) + 1023) & ~std::uintptr_t(1023));
    IKET_KERNEL(trace);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; stage++) {
            barrier_init(&tiles.full[stage], 1);
            barrier_init(&tiles.empty[stage], 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 256 && threadIdx.x < 288) produce(trace, tiles, a, b, k);
    else if (threadIdx.x < 256) consume(trace, tiles, c, n, k);
}

static void launch(const CUtensorMap &a, const CUtensorMap &b, float *c, int m, int n, int k) {
    const int shared = int(sizeof(shared_tiles)) + 1024;
    CHECK_CUDA(cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    gemm_kernel<<<dim3(n / tile_n, m / tile_m), threads, shared>>>(a, b, c, n, k);
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
    if (size <= 0 || size % 256 != 0) {
        std::fprintf(stderr, "usage: warp_gemm [SIZE], a multiple of 256\n");
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
        cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, size, size, size, &one, b, CUDA_R_16F, size, a, CUDA_R_16F, size, &zero,
                     reference, CUDA_R_32F, size, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    };
    const CUtensorMap map_a = map_of(a, size, size, tile_m), map_b = map_of(b, size, size, tile_n);
    cublas();
    launch(map_a, map_b, c, size, size, size);
    std::vector<float> got(count), want(count);
    CHECK_CUDA(cudaMemcpy(got.data(), c, count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(want.data(), reference, count * sizeof(float), cudaMemcpyDeviceToHost));
    const double difference = relative_difference(got, want);
    if (argc > 1) {
        const float ours = least_time([&] { launch(map_a, map_b, c, size, size, size); }), theirs = least_time(cublas);
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
