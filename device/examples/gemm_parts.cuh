// SPDX-License-Identifier: Apache-2.0
// gemm_parts.cuh: what a warp-specialised matrix product is made of on sm_90a: barriers, tensor copies, wgmma, the store of
// a tile, and the map of a matrix for the copy engine. Nothing here knows of events.
#ifndef IKET_GEMM_PARTS_CUH
#define IKET_GEMM_PARTS_CUH

#include "check.h"

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

constexpr int tile_m = 128, tile_n = 256, tile_k = 64, stages = 2, threads = 384;
constexpr unsigned stage_bytes = (tile_m + tile_n) * tile_k * sizeof(half);

struct __align__(1024) shared_tiles {
    half a[stages][tile_m * tile_k];
    half b[stages][tile_n * tile_k];
    std::uint64_t full[stages];
    std::uint64_t empty[stages];
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

static __device__ __forceinline__ void copy_tile(half *to, const CUtensorMap &map, int k, int row, std::uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(to)), "l"(&map), "r"(k), "r"(row), "r"(shared_address(barrier)) : "memory");
}

// A matrix in shared memory as wgmma sees it: rows of 128 bytes, swizzled, groups of eight rows 1024 bytes apart.
static __device__ __forceinline__ std::uint64_t descriptor(const half *matrix) {
    return (shared_address(matrix) & 0x3FFFF) >> 4 | std::uint64_t(1) << 16 | std::uint64_t(1024 >> 4) << 32 | std::uint64_t(1) << 62;
}

#define SUM8(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])

// sum += A B^T for 64 x 128 x 16.
static __device__ __forceinline__ void multiply(float (&sum)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
                 : SUM8(0), SUM8(8), SUM8(16), SUM8(24), SUM8(32), SUM8(40), SUM8(48), SUM8(56)
                 : "l"(a), "l"(b));
}
#undef SUM8

static __device__ __forceinline__ void multiply_stage(const half *a, const half *b, float (&left)[64], float (&right)[64]) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int inner = 0; inner < tile_k; inner += 16) {
        multiply(left, descriptor(a + inner), descriptor(b + inner));
        multiply(right, descriptor(a + inner), descriptor(b + 128 * tile_k + inner));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\n wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// A thread's values lie in pairs: eight columns apart, and eight rows apart.
static __device__ __forceinline__ void store_half(const float (&sum)[64], float *out, int n) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4, column = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; i += 4) {
        float *at = out + std::size_t(row) * n + column + i * 2;
        *reinterpret_cast<float2 *>(at) = {sum[i], sum[i + 1]};
        *reinterpret_cast<float2 *>(at + std::size_t(8) * n) = {sum[i + 2], sum[i + 3]};
    }
}

// The map of a matrix with rows of k halves, copied in boxes of so many rows by 64 halves.
inline CUtensorMap map_of(const half *matrix, int rows, int k, unsigned box_rows) {
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
    const cuuint64_t size[2] = {cuuint64_t(k), cuuint64_t(rows)}, pitch[1] = {cuuint64_t(k) * sizeof(half)};
    const cuuint32_t box[2] = {tile_k, box_rows}, step[2] = {1, 1};
    CUtensorMap map;
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<half *>(matrix), size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        std::exit(2);
    return map;
}

#endif
