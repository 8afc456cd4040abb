// SPDX-License-Identifier: Apache-2.0
// gemm_template.h: the matrix product with 0, 2, 8 or 32 events a tile and warp. Included by a unit for each form.
//
//   consumer, a tile:  wait ( … ) product ( wgmma … | markers )        2: the product alone
//   producer, a tile:  load ( copies | markers )
#include <iket/iket.cuh>

#include "../examples/gemm_parts.cuh"
#include "gemm.h"

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(GEMM_NAME(load), range, GEMM_PAYLOAD)
IKET_EVENT(GEMM_NAME(wait), range, GEMM_PAYLOAD)
IKET_EVENT(GEMM_NAME(product), range, GEMM_PAYLOAD)
IKET_EVENT(GEMM_NAME(point), marker, GEMM_PAYLOAD)
IKET_EVENTS_END

template <int Count>
static __device__ __forceinline__ void mark(iket::recorder &trace, GEMM_PAYLOAD value) {
#pragma unroll
    for (int i = 0; i < Count; i++) trace.mark(ev::GEMM_NAME(point), value);
}

template <int Count, bool Divergent>
static __device__ __forceinline__ void mark_all(iket::recorder &trace, GEMM_PAYLOAD value) {
    if constexpr (!Divergent) {
        mark<Count>(trace, value);
    } else {
        const int group = threadIdx.x % 32 / 8;
        if (group == 0) mark<Count / 4>(trace, value);
        else if (group == 1) mark<Count / 4>(trace, value + 1);
        else if (group == 2) mark<Count / 4>(trace, value + 2);
        else mark<Count / 4>(trace, value + 3);
        __syncwarp();
    }
}

template <int Events, bool Divergent>
static __device__ __forceinline__ void produce(iket::recorder &trace, shared_tiles &tiles, const CUtensorMap &a, const CUtensorMap &b, int k) {
    for (int step = 0; step < k / tile_k; step++) {
        const int stage = step % stages;
        barrier_wait(&tiles.empty[stage], (step / stages & 1) ^ 1);
        if constexpr (Events > 0) trace.range_push(ev::GEMM_NAME(load), GEMM_PAYLOAD(step));
        if (threadIdx.x % 32 == 0) {
            barrier_expect(&tiles.full[stage], stage_bytes);
            copy_tile(tiles.a[stage], a, step * tile_k, blockIdx.y * tile_m, &tiles.full[stage]);
            copy_tile(tiles.b[stage], b, step * tile_k, blockIdx.x * tile_n, &tiles.full[stage]);
        }
        __syncwarp();
        if constexpr (Events > 2) mark<Events - 2>(trace, GEMM_PAYLOAD(step));
        if constexpr (Events > 0) trace.range_pop();
    }
}

template <int Events, bool Divergent>
static __device__ __forceinline__ void consume(iket::recorder &trace, shared_tiles &tiles, float *c, int n, int k) {
    const int group = threadIdx.x / 128;
    float left[64] = {}, right[64] = {};
    for (int step = 0; step < k / tile_k; step++) {
        const int stage = step % stages;
        if constexpr (Events > 2) trace.range_push(ev::GEMM_NAME(wait), GEMM_PAYLOAD(step));
        barrier_wait(&tiles.full[stage], step / stages & 1);
        if constexpr (Events > 2) trace.range_pop();
        if constexpr (Events > 0) trace.range_push(ev::GEMM_NAME(product), GEMM_PAYLOAD(step));
        multiply_stage(&tiles.a[stage][group * 64 * tile_k], tiles.b[stage], left, right);
        if (threadIdx.x % 32 == 0) barrier_arrive(&tiles.empty[stage]);
        __syncwarp();
        if constexpr (Events > 4) mark_all<Events - 4, Divergent>(trace, GEMM_PAYLOAD(step));
        if constexpr (Events > 0) trace.range_pop();
    }
    float *out = c + std::size_t(blockIdx.y * tile_m + group * 64) * n + blockIdx.x * tile_n;
    store_half(left, out, n);
    store_half(right, out + 128, n);
}

template <int Events, bool Divergent>
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
    if (threadIdx.x >= 256 && threadIdx.x < 288) produce<Events, Divergent>(trace, tiles, a, b, k);
    else if (threadIdx.x < 256) consume<Events, Divergent>(trace, tiles, c, n, k);
}

std::vector<gemm_variant> GEMM_FUNCTION() {
    return {{0, false, (const void *)gemm_kernel<0, false>}, {2, false, (const void *)gemm_kernel<2, false>},
            {8, false, (const void *)gemm_kernel<8, false>}, {32, false, (const void *)gemm_kernel<32, false>},
            {8, true, (const void *)gemm_kernel<8, true>},   {32, true, (const void *)gemm_kernel<32, true>}};
}
