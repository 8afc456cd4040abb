// SPDX-License-Identifier: Apache-2.0
// gather.cu: see gather.h. A block takes one list of buffers and owns it until each buffer is pushed back, so a warp that
// starts meanwhile finds the buffers of other lists; nothing waits.
#include "gather.h"

#include "environment.h"
#include "iket/free_list.cuh"

#include <cstddef>

using namespace iket::detail;

namespace {

constexpr unsigned block_threads = 128;

__device__ uint64_t time_now() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Several loads of a thread are on their way at a time, so that a block alone moves more than the bus does.
__device__ void copy(unsigned char *to, const unsigned char *from, uint32_t bytes) {
    constexpr uint32_t stride = block_threads * 16, batch = 4;
    uint32_t at = threadIdx.x * 16;
    for (; at + (batch - 1) * stride < bytes; at += batch * stride) {
        uint4 pieces[batch];
#pragma unroll
        for (uint32_t i = 0; i < batch; i++) pieces[i] = __ldcg(reinterpret_cast<const uint4 *>(from + at + i * stride));
#pragma unroll
        for (uint32_t i = 0; i < batch; i++) *reinterpret_cast<uint4 *>(to + at + i * stride) = pieces[i];
    }
    for (; at < bytes; at += stride) *reinterpret_cast<uint4 *>(to + at) = __ldcg(reinterpret_cast<const uint4 *>(from + at));
}

__device__ void zero(unsigned char *to, uint32_t bytes) {
    for (uint32_t at = threadIdx.x * 16; at < bytes; at += block_threads * 16)
        __stcg(reinterpret_cast<uint4 *>(to + at), uint4{0, 0, 0, 0});
}

// Space for a blob, the same answer for the whole block; null where it does not fit.
__device__ unsigned char *reserve(gather_result *result, unsigned char *staging, uint64_t capacity, uint32_t bytes) {
    __shared__ unsigned long long place;
    __syncthreads();
    if (threadIdx.x == 0) {
        place = atomicAdd(&result->next, static_cast<unsigned long long>(bytes));
        if (place + bytes > capacity) {
            atomicMax(&result->not_free, ~place);
            atomicAdd(&result->left, 1u);
            place = ~0ull;
        }
    }
    __syncthreads();
    return place == ~0ull ? nullptr : staging + place;
}

// Did an earlier buffer fill the staging area? Then the buffers of a list that has any are left where they are.
__device__ bool leave_list(const uint64_t *list, uint64_t capacity, gather_result *result) {
    __shared__ bool full;
    __syncthreads();
    if (threadIdx.x == 0) {
        full = *reinterpret_cast<volatile unsigned long long *>(&result->not_free) != 0 &&
               *reinterpret_cast<volatile unsigned long long *>(&result->next) >= capacity;
        if (full && uint32_t(*reinterpret_cast<const volatile uint64_t *>(list)) != 0) atomicAdd(&result->left, 1u);
    }
    __syncthreads();
    return full;
}

// Takes a whole list; its first buffer's index + 1 for the whole block. The counts of groups are put right by the caller.
__device__ uint32_t take_list(uint64_t *list) {
    __shared__ uint32_t first;
    __syncthreads();
    if (threadIdx.x == 0) {
        auto *head = reinterpret_cast<unsigned long long *>(list);
        unsigned long long seen = *reinterpret_cast<volatile unsigned long long *>(head), expected;
        do {
            expected = seen;
            seen = uint32_t(expected) == 0 ? expected : atomicCAS(head, expected, ((expected >> 32) + 1) << 32);
        } while (seen != expected);
        __threadfence();
        first = uint32_t(expected);
    }
    __syncthreads();
    return first;
}

__device__ void save_buffer(iket_control *control, uint32_t index, uint64_t *list, uint64_t *free_list,
                            unsigned char *staging, uint64_t capacity, uint32_t skip_round, gather_result *result) {
    volatile iket_buffer *buffer = buffer_at(control, index);
    const uint32_t fill = buffer->fill;
    unsigned char *memory = reinterpret_cast<unsigned char *>(buffer->address);
    const bool skip = fill == 0 || (skip_round != 0 && buffer->round == skip_round);
    unsigned char *blob = skip ? nullptr : reserve(result, staging, capacity, fill + uint32_t(sizeof(gather_blob)));
    if (blob != nullptr) {
        if (threadIdx.x == 0) *reinterpret_cast<gather_blob *>(blob) = {fill + uint32_t(sizeof(gather_blob)), fill, 0, 0, 0, 0, 0};
        copy(blob + sizeof(gather_blob), memory, fill);
        __syncthreads();
        zero(memory, fill);
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (blob != nullptr) {
        buffer->fill = 0;
        buffer->state = IKET_BUFFER_FREE;
    }
    push_buffer(control, blob != nullptr ? free_list : list, index);
}

__device__ void save_list(iket_control *control, uint64_t *list, uint64_t *free_list, unsigned char *staging,
                          uint64_t capacity, uint32_t skip_round, gather_result *result) {
    if (leave_list(list, capacity, result)) return;
    uint32_t next = take_list(list), taken = 0;
    while (next != 0) {
        const uint32_t index = next - 1;
        next = *reinterpret_cast<volatile uint32_t *>(&buffer_at(control, index)->next);
        __syncthreads();
        save_buffer(control, index, list, free_list, staging, capacity, skip_round, result);
        __syncthreads();
        taken++;
    }
    if (threadIdx.x == 0 && list == free_list) atomicSub(&control->free_count[(list - control->free_list) / IKET_LIST_LANES], taken);
}

__global__ void __launch_bounds__(block_threads) closed_kernel(iket_control *control, unsigned char *staging, uint64_t capacity,
                                                               uint32_t skip_round, gather_result *result) {
    uint64_t *full = &control->full_list[blockIdx.x], *free = &control->free_list[blockIdx.x];
    save_list(control, full, free, staging, capacity, skip_round, result);
    save_list(control, free, free, staging, capacity, skip_round, result);
}

// Bytes of the first lane's region up to the end of the tile in which records end.
__device__ uint32_t bytes_in_use(const unsigned char *records, uint32_t region) {
    const uint32_t tile = block_threads * 16;
    for (uint32_t at = 0; at < region; at += tile) {
        const uint32_t mine = at + threadIdx.x * 16;
        uint4 piece = {0, 0, 0, 0};
        if (mine < region) piece = __ldcg(reinterpret_cast<const uint4 *>(records + mine));
        if (__syncthreads_or((piece.x | piece.y | piece.z | piece.w) != 0) == 0) return at;
    }
    return region;
}

__device__ void save_open(iket_control *control, uint32_t index, unsigned char *staging, uint64_t capacity,
                          uint32_t round, gather_result *result) {
    volatile iket_buffer *buffer = buffer_at(control, index);
    const uint32_t fill = buffer->fill;
    const unsigned char *memory = reinterpret_cast<const unsigned char *>(buffer->address), *part = memory + fill;
    const auto *words = reinterpret_cast<const volatile uint32_t *>(part);
    const bool open = words[0] == IKET_CHUNK_MAGIC && (words[1] >> 16 & IKET_CHUNK_CLOSED) == 0;
    const uint32_t lane_bytes = open ? words[27] * 16 : 0;
    const uint32_t region = open ? (words[28] - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 32 * lane_bytes) & ~15u : 0;
    __syncthreads();
    const uint32_t first = open ? bytes_in_use(part + IKET_PART_HEADER, region) : 0;
    const uint32_t bytes = uint32_t(sizeof(gather_blob)) + fill + (open ? IKET_PART_HEADER + first + 32 * lane_bytes : 0);
    unsigned char *blob = reserve(result, staging, capacity, bytes), *to = blob + sizeof(gather_blob);
    if (blob == nullptr) return;
    copy(to, memory, fill);
    if (open) {
        copy(to + fill, part, IKET_PART_HEADER + first);
        copy(to + fill + IKET_PART_HEADER + first, part + IKET_PART_HEADER + region + IKET_SPARE_BYTES, 32 * lane_bytes);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0) return;
    const bool torn = buffer->state != IKET_BUFFER_ACTIVE || (open && (words[1] >> 16 & IKET_CHUNK_CLOSED) != 0);
    *reinterpret_cast<gather_blob *>(blob) = {bytes, fill, open, torn, first, lane_bytes, time_now()};
    if (torn) atomicAdd(&result->torn, 1u);
    else buffer->round = round;
}

__global__ void __launch_bounds__(block_threads) open_kernel(iket_control *control, unsigned char *staging, uint64_t capacity,
                                                             uint32_t round, gather_result *result) {
    const uint64_t made = *reinterpret_cast<volatile uint64_t *>(control->line_buffers);
    const uint32_t count = made < control->buffer_capacity ? uint32_t(made) : control->buffer_capacity;
    for (uint32_t index = blockIdx.x; index < count; index += gridDim.x) {
        volatile iket_buffer *buffer = buffer_at(control, index);
        const bool mine = buffer->state == IKET_BUFFER_ACTIVE && buffer->round != round;
        if (__syncthreads_and(mine) != 0) save_open(control, index, staging, capacity, round, result);
        __syncthreads();
    }
}

__global__ void count_kernel(iket_control *control, gather_result *result) {
    const uint64_t made = *reinterpret_cast<volatile uint64_t *>(control->line_buffers);
    const uint32_t count = made < control->buffer_capacity ? uint32_t(made) : control->buffer_capacity;
    for (uint32_t index = blockIdx.x * blockDim.x + threadIdx.x; index < count; index += gridDim.x * blockDim.x)
        if (*reinterpret_cast<volatile uint32_t *>(&buffer_at(control, index)->state) == IKET_BUFFER_ACTIVE)
            atomicAdd(&result->active, 1u);
}

__global__ void mark_kernel(gather_probe *probe) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(probe->time));
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(probe->grid_id));
    __threadfence_system();
}

__global__ void timer_kernel(uint64_t *step) {
    uint64_t least = ~0ull, last, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last));
    for (int seen = 0, turn = 0; seen < 64 && turn < 1000000; turn++) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now == last) continue;
        if (now - last < least) least = now - last;
        last = now;
        seen++;
    }
    *step = least;
}

// Launches without touching the program's last error.
template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream, Arguments... arguments) {
    void *list[] = {&arguments...};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks), dim3(threads), list, 0, stream);
}

// Constructed after this file's kernels are registered with CUDA: from then on sessions can be made.
struct runtime_loaded {
    runtime_loaded() { environment_runtime_loaded(); }
} const loaded;

}  // namespace

cudaError_t gather_closed(iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t skip_round,
                          gather_result *result, cudaStream_t stream) {
    return launch(closed_kernel, IKET_LIST_COUNT, block_threads, stream, control, staging, capacity, skip_round, result);
}

cudaError_t gather_open(iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t round, gather_result *result,
                        cudaStream_t stream) {
    return launch(open_kernel, 256, block_threads, stream, control, staging, capacity, round, result);
}

cudaError_t gather_count(iket_control *control, gather_result *result, cudaStream_t stream) {
    return launch(count_kernel, 64, 256, stream, control, result);
}

cudaError_t gather_mark(gather_probe *probe, cudaStream_t stream) { return launch(mark_kernel, 1, 1, stream, probe); }

cudaError_t gather_timer_step(uint64_t *step, cudaStream_t stream) { return launch(timer_kernel, 1, 1, stream, step); }
