// SPDX-License-Identifier: Apache-2.0
// free_list.cuh: the buffers of the pool as lists that any warp takes from and gives to without a lock.
//
// A list's head is tag << 32 | index + 1; each change counts the tag up, so that a head that was taken and put back
// while a warp looked at it is not mistaken for the one it saw. There is a list for each place that a warp can have on an
// SM: a warp that starts finds what the warp before it in its place just gave back, and nobody else is at that head.
// With one list an SM, 131,072 short warps took 2.0 ms instead of what doc/recorder.md says now.
#ifndef IKET_FREE_LIST_CUH
#define IKET_FREE_LIST_CUH

#include "pool_layout.h"

#include <cstddef>
#include <cstdint>

namespace iket {
namespace detail {

struct claimed_memory {
    std::uint64_t address;
    std::uint32_t bytes;   // 0: there was none
    std::uint32_t buffer;
};

__device__ __forceinline__ iket_buffer *buffer_at(const iket_control *control, std::uint32_t index) {
    return reinterpret_cast<iket_buffer *>(control->buffers) + index;
}

// Puts a buffer into a list. Of a free list the group's count goes up first, so that a count of 0 means an empty group.
__device__ __forceinline__ void push_buffer(iket_control *control, std::uint64_t *list, std::uint32_t index) {
    auto *head = reinterpret_cast<unsigned long long *>(list);
    volatile std::uint32_t *next = &buffer_at(control, index)->next;
    const std::ptrdiff_t place = list - control->free_list;
    if (place >= 0 && place < IKET_LIST_COUNT) atomicAdd(&control->free_count[place / IKET_LIST_LANES], 1u);
    unsigned long long seen = *reinterpret_cast<volatile unsigned long long *>(head), expected;
    do {
        *next = std::uint32_t(seen);
        __threadfence();
        expected = seen;
        seen = atomicCAS(head, expected, ((expected >> 32) + 1) << 32 | (index + 1));
    } while (seen != expected);
}

// Takes from a free list: index + 1, or 0 where it is empty.
__device__ __forceinline__ std::uint32_t pop_buffer(iket_control *control, std::uint32_t list) {
    auto *head = reinterpret_cast<unsigned long long *>(&control->free_list[list]);
    unsigned long long seen = *reinterpret_cast<volatile unsigned long long *>(head);
    while (std::uint32_t(seen) != 0) {
        const std::uint32_t next = *reinterpret_cast<volatile std::uint32_t *>(&buffer_at(control, std::uint32_t(seen) - 1)->next);
        const unsigned long long expected = seen;
        seen = atomicCAS(head, expected, ((expected >> 32) + 1) << 32 | next);
        if (seen == expected) {
            atomicSub(&control->free_count[list / IKET_LIST_LANES], 1u);
            __threadfence();
            return std::uint32_t(expected);
        }
    }
    return 0;
}

__device__ __forceinline__ std::uint32_t own_list() {
    std::uint32_t sm, place;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    asm("mov.u32 %0, %%warpid;" : "=r"(place));
    return sm % IKET_LIST_GROUPS * IKET_LIST_LANES + place % IKET_LIST_LANES;
}

// Makes a buffer of memory that nobody has. Memory that crosses a multiple of 4 GiB, or ends at one, gives its larger
// side: addresses within a part are computed in 32 bits.
__device__ __forceinline__ claimed_memory new_buffer(iket_control *control, std::uint64_t address, std::uint32_t bytes, std::uint32_t state) {
    const std::uint64_t end = address + bytes, border = end & ~0xFFFFFFFFull;
    if ((address ^ end) >> 32 != 0) {
        const bool upper = end - border > border - address;
        bytes = upper ? std::uint32_t(end - border) : std::uint32_t(border - address) - 256;
        address = upper ? border : address;
    }
    if (bytes < IKET_SLOT_MIN) return {0, 0, 0};
    const std::uint64_t index = atomicAdd(reinterpret_cast<unsigned long long *>(control->line_buffers), 1ull);
    if (index >= control->buffer_capacity) return {0, 0, 0};
    *buffer_at(control, std::uint32_t(index)) = {address, bytes, 0, 0, state, 0, 0};
    return {address, bytes, std::uint32_t(index)};
}

// Takes the next bytes of an area. What is left of it at its end is taken too when it makes a slot; the larger side of a
// multiple of 4 GiB is left to those that look through the lists, and the bytes behind it are taken.
__device__ __forceinline__ claimed_memory carve(iket_control *control, std::uint64_t *line, std::uint64_t area, std::uint64_t area_bytes,
                                       std::uint32_t wanted) {
#pragma unroll 1
    while (*reinterpret_cast<volatile std::uint64_t *>(line) < area_bytes) {
        const std::uint64_t at = atomicAdd(reinterpret_cast<unsigned long long *>(line), static_cast<unsigned long long>(wanted));
        if (at >= area_bytes) break;
        const std::uint64_t left = area_bytes - at;
        const std::uint32_t bytes = left < wanted ? std::uint32_t(left) : wanted;
        const claimed_memory got = new_buffer(control, area + at, bytes, IKET_BUFFER_ACTIVE);
        if (got.bytes == bytes || left <= wanted) return got;
        if (got.bytes == 0) continue;
        buffer_at(control, got.buffer)->state = IKET_BUFFER_FREE;
        push_buffer(control, &control->free_list[own_list()], got.buffer);
    }
    return {0, 0, 0};
}

// Uses what is free in a buffer that came off a list; twice as much as wanted is divided.
__device__ __forceinline__ claimed_memory reuse(iket_control *control, std::uint32_t index, std::uint32_t wanted) {
    iket_buffer *buffer = buffer_at(control, index);
    volatile iket_buffer *fresh = buffer;
    const std::uint64_t address = fresh->address + fresh->fill;
    const std::uint32_t bytes = fresh->size - fresh->fill;
    fresh->state = IKET_BUFFER_ACTIVE;
    if (bytes / 2 < wanted) return {address, bytes, index};
    const claimed_memory rest = new_buffer(control, address + wanted, bytes - wanted, IKET_BUFFER_FREE);
    if (rest.bytes == 0) return {address, bytes, index};
    fresh->size = fresh->fill + wanted;
    push_buffer(control, &control->free_list[own_list()], rest.buffer);
    return {address, wanted, index};
}

// Takes from any list of a group that has buffers.
__device__ __forceinline__ std::uint32_t pop_from_group(iket_control *control, std::uint32_t group) {
    const auto *heads = reinterpret_cast<const volatile uint4 *>(&control->free_list[group * IKET_LIST_LANES]);
#pragma unroll 1
    for (std::uint32_t i = 0; i < IKET_LIST_LANES; i += 4) {
        const std::uint32_t a = heads[i / 2].x, b = heads[i / 2].z, c = heads[i / 2 + 1].x, d = heads[i / 2 + 1].z;
        if ((a | b | c | d) == 0) continue;
        const std::uint32_t list = group * IKET_LIST_LANES + i + (a != 0 ? 0 : b != 0 ? 1 : c != 0 ? 2 : 3);
        const std::uint32_t found = pop_buffer(control, list);
        if (found != 0) return found;
    }
    return 0;
}

// Looks through the groups, its own first, whose counts are read four at a time.
__device__ __forceinline__ std::uint32_t steal_buffer(iket_control *control, std::uint32_t own) {
    const auto *counts = reinterpret_cast<const volatile uint4 *>(control->free_count);
    const std::uint32_t mine = own / IKET_LIST_LANES / 4;
#pragma unroll 1
    for (std::uint32_t i = 0; i < IKET_LIST_GROUPS / 4; i++) {
        const std::uint32_t four = (mine + i) % (IKET_LIST_GROUPS / 4);
        const std::uint32_t a = counts[four].x, b = counts[four].y, c = counts[four].z, d = counts[four].w;
        if ((a | b | c | d) == 0) continue;
        const std::uint32_t found = pop_from_group(control, four * 4 + (a != 0 ? 0 : b != 0 ? 1 : c != 0 ? 2 : 3));
        if (found != 0) return found;
    }
    return 0;
}

__device__ __forceinline__ claimed_memory claim_memory(iket_control *control, std::uint32_t wanted) {
    const claimed_memory fresh = carve(control, control->line_main, control->main_address, control->main_bytes, wanted);
    if (fresh.bytes != 0) return fresh;
    const std::uint32_t own = own_list();
    std::uint32_t found = pop_buffer(control, own);
    if (found == 0) found = steal_buffer(control, own);
    if (found != 0) return reuse(control, found - 1, wanted);
    return carve(control, control->line_reserve, control->reserve_address, control->reserve_bytes, IKET_SLOT_MIN);
}

// Gives the buffer back after a part of so many bytes was closed in it.
__device__ __forceinline__ void release_buffer(iket_control *control, std::uint32_t index, std::uint32_t closed) {
    volatile iket_buffer *buffer = buffer_at(control, index);
    const std::uint32_t fill = buffer->fill + closed;
    const bool room = buffer->size - fill >= IKET_SLOT_MIN;
    buffer->fill = fill;
    buffer->state = room ? IKET_BUFFER_FREE : IKET_BUFFER_FULL;
    const std::uint32_t own = own_list();
    push_buffer(control, room ? &control->free_list[own] : &control->full_list[own], index);
}

}  // namespace detail
}  // namespace iket

#endif
