// SPDX-License-Identifier: Apache-2.0
// gather.cu: see gather.h. A block takes one list of buffers and owns it until each buffer is pushed back, so a warp that
// starts meanwhile finds the buffers of other lists; nothing waits.
#include "gather.h"
#include "iket/free_list.cuh"

#include <cstddef>

using namespace iket::detail;

namespace {

constexpr unsigned block_threads = 128;

__device__ void copy(unsigned char *to, const unsigned char *from, std::uint32_t bytes) {
    for (std::uint32_t at = threadIdx.x * 16; at < bytes; at += block_threads * 16)
        *reinterpret_cast<uint4 *>(to + at) = __ldcg(reinterpret_cast<const uint4 *>(from + at));
}

__device__ void zero(unsigned char *to, std::uint32_t bytes) {
    for (std::uint32_t at = threadIdx.x * 16; at < bytes; at += block_threads * 16)
        __stcg(reinterpret_cast<uint4 *>(to + at), uint4{0, 0, 0, 0});
}

// Space for a blob, the same answer for the whole block; null where it does not fit.
__device__ unsigned char *reserve(gather_result *result, unsigned char *staging, std::uint64_t capacity, std::uint32_t bytes) {
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

// Takes a whole list; its first buffer's index + 1 for the whole block.
__device__ std::uint32_t take_list(std::uint64_t *list) {
    __shared__ std::uint32_t first;
    __syncthreads();
    if (threadIdx.x == 0) {
        auto *head = reinterpret_cast<unsigned long long *>(list);
        unsigned long long seen = *reinterpret_cast<volatile unsigned long long *>(head), expected;
        do {
            expected = seen;
            seen = std::uint32_t(expected) == 0 ? expected : atomicCAS(head, expected, ((expected >> 32) + 1) << 32);
        } while (seen != expected);
        __threadfence();
        first = std::uint32_t(expected);
    }
    __syncthreads();
    return first;
}

__device__ void save_buffer(iket_control *control, std::uint32_t index, std::uint64_t *list, std::uint64_t *free_list,
                            unsigned char *staging, std::uint64_t capacity, std::uint32_t skip_round, gather_result *result) {
    volatile iket_buffer *buffer = buffer_at(control, index);
    const std::uint32_t fill = buffer->fill;
    unsigned char *memory = reinterpret_cast<unsigned char *>(buffer->address);
    const bool skip = fill == 0 || (skip_round != 0 && buffer->round == skip_round);
    unsigned char *blob = skip ? nullptr : reserve(result, staging, capacity, fill + std::uint32_t(sizeof(gather_blob)));
    if (blob != nullptr) {
        if (threadIdx.x == 0) *reinterpret_cast<gather_blob *>(blob) = {fill + std::uint32_t(sizeof(gather_blob)), fill, 0, 0, 0, 0, {0, 0}};
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

__global__ void __launch_bounds__(block_threads) closed_kernel(iket_control *control, unsigned char *staging, std::uint64_t capacity,
                                                               std::uint32_t skip_round, gather_result *result) {
    std::uint64_t *lists[2] = {&control->full_list[blockIdx.x], &control->free_list[blockIdx.x]};
    for (int i = 0; i < 2; i++) {
        std::uint32_t next = take_list(lists[i]);
        while (next != 0) {
            const std::uint32_t index = next - 1;
            next = *reinterpret_cast<volatile std::uint32_t *>(&buffer_at(control, index)->next);
            __syncthreads();
            save_buffer(control, index, lists[i], lists[1], staging, capacity, skip_round, result);
            __syncthreads();
        }
    }
}

// Bytes of the first lane's region up to the end of the tile in which records end.
__device__ std::uint32_t bytes_in_use(const unsigned char *records, std::uint32_t region) {
    const std::uint32_t tile = block_threads * 16;
    for (std::uint32_t at = 0; at < region; at += tile) {
        const std::uint32_t mine = at + threadIdx.x * 16;
        uint4 piece = {0, 0, 0, 0};
        if (mine < region) piece = __ldcg(reinterpret_cast<const uint4 *>(records + mine));
        if (__syncthreads_or((piece.x | piece.y | piece.z | piece.w) != 0) == 0) return at;
    }
    return region;
}

__device__ void save_open(iket_control *control, std::uint32_t index, unsigned char *staging, std::uint64_t capacity,
                          std::uint32_t round, gather_result *result) {
    volatile iket_buffer *buffer = buffer_at(control, index);
    const std::uint32_t fill = buffer->fill;
    const unsigned char *memory = reinterpret_cast<const unsigned char *>(buffer->address), *part = memory + fill;
    const auto *words = reinterpret_cast<const volatile std::uint32_t *>(part);
    const bool open = words[0] == IKET_CHUNK_MAGIC && (words[1] >> 16 & IKET_CHUNK_CLOSED) == 0;
    const std::uint32_t lane_bytes = open ? words[27] * 16 : 0;
    const std::uint32_t region = open ? (words[28] - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 32 * lane_bytes) & ~15u : 0;
    __syncthreads();
    const std::uint32_t first = open ? bytes_in_use(part + IKET_PART_HEADER, region) : 0;
    const std::uint32_t bytes = std::uint32_t(sizeof(gather_blob)) + fill + (open ? IKET_PART_HEADER + first + 32 * lane_bytes : 0);
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
    *reinterpret_cast<gather_blob *>(blob) = {bytes, fill, open, torn, first, lane_bytes, {0, 0}};
    if (torn) atomicAdd(&result->torn, 1u);
    else buffer->round = round;
}

__global__ void __launch_bounds__(block_threads) open_kernel(iket_control *control, unsigned char *staging, std::uint64_t capacity,
                                                             std::uint32_t round, gather_result *result) {
    const std::uint64_t made = *reinterpret_cast<volatile std::uint64_t *>(control->line_buffers);
    const std::uint32_t count = made < control->buffer_capacity ? std::uint32_t(made) : control->buffer_capacity;
    for (std::uint32_t index = blockIdx.x; index < count; index += gridDim.x) {
        volatile iket_buffer *buffer = buffer_at(control, index);
        const bool mine = buffer->state == IKET_BUFFER_ACTIVE && buffer->round != round;
        if (__syncthreads_and(mine) != 0) save_open(control, index, staging, capacity, round, result);
        __syncthreads();
    }
}

__global__ void count_kernel(iket_control *control, gather_result *result) {
    const std::uint64_t made = *reinterpret_cast<volatile std::uint64_t *>(control->line_buffers);
    const std::uint32_t count = made < control->buffer_capacity ? std::uint32_t(made) : control->buffer_capacity;
    for (std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x; index < count; index += gridDim.x * blockDim.x)
        if (*reinterpret_cast<volatile std::uint32_t *>(&buffer_at(control, index)->state) == IKET_BUFFER_ACTIVE)
            atomicAdd(&result->active, 1u);
}

__global__ void mark_kernel(gather_probe *probe) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(probe->time));
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(probe->grid_id));
    __threadfence_system();
}

__global__ void timer_kernel(std::uint64_t *step) {
    std::uint64_t least = ~0ull, last, now;
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

}  // namespace

cudaError_t gather_closed(iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t skip_round,
                          gather_result *result, cudaStream_t stream) {
    closed_kernel<<<IKET_LIST_COUNT, block_threads, 0, stream>>>(control, staging, capacity, skip_round, result);
    return cudaGetLastError();
}

cudaError_t gather_open(iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t round, gather_result *result,
                        cudaStream_t stream) {
    open_kernel<<<256, block_threads, 0, stream>>>(control, staging, capacity, round, result);
    return cudaGetLastError();
}

cudaError_t gather_count(iket_control *control, gather_result *result, cudaStream_t stream) {
    count_kernel<<<64, 256, 0, stream>>>(control, result);
    return cudaGetLastError();
}

cudaError_t gather_mark(gather_probe *probe, cudaStream_t stream) {
    mark_kernel<<<1, 1, 0, stream>>>(probe);
    return cudaGetLastError();
}

cudaError_t gather_timer_step(uint64_t *step, cudaStream_t stream) {
    timer_kernel<<<1, 1, 0, stream>>>(reinterpret_cast<std::uint64_t *>(step));
    return cudaGetLastError();
}
