// SPDX-License-Identifier: Apache-2.0
// kernel_filter.cuh: which warps record, by kernel name, CTA and warp; and the table through which the host learns the
// kernels' names, which no copy from device memory could give after a trap.
#ifndef IKET_KERNEL_FILTER_CUH
#define IKET_KERNEL_FILTER_CUH

#include "pool_layout.h"

#include <cstdint>

namespace iket {
namespace detail {

// Does the name match a pattern with * and ?
__device__ __forceinline__ bool matches(const volatile char *pattern, const char *name) {
    const volatile char *star = nullptr;
    const char *resume = nullptr;
#pragma unroll 1
    while (*name != 0) {
        if (*pattern == '*') star = pattern++, resume = name;
        else if (*pattern == '?' || *pattern == *name) pattern++, name++;
        else if (star != nullptr) pattern = star + 1, name = ++resume;
        else return false;
    }
#pragma unroll 1
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

__device__ __forceinline__ void publish_name(iket_kernel_entry *entry, const char *name, std::uint64_t module_id) {
    entry->module_id = module_id;
    std::uint32_t i = 0;
#pragma unroll 1
    for (; i < IKET_NAME_BYTES - 1 && name[i] != 0; i++) entry->name[i] = name[i];
    entry->name[i] = 0;
    asm volatile("st.release.sys.global.u32 [%0], 1;" ::"l"(&entry->published) : "memory");
}

// The kernel's entry, made and published by the first warp of it; null where the table is full.
__device__ __forceinline__ iket_kernel_entry *kernel_entry(iket_control *control, const char *name, std::uint64_t module_id) {
    const auto id = reinterpret_cast<unsigned long long>(name);
#pragma unroll 1
    for (std::uint32_t i = 0; i < IKET_NAME_COUNT; i++) {
        iket_kernel_entry *entry = &control->kernels[(std::uint32_t(id >> 2) + i) % IKET_NAME_COUNT];
        unsigned long long found = *reinterpret_cast<volatile unsigned long long *>(&entry->kernel_id);
        if (found == id) return entry;
        if (found == 0) found = atomicCAS(reinterpret_cast<unsigned long long *>(&entry->kernel_id), 0ull, id);
        if (found == 0) publish_name(entry, name, module_id);
        if (found == 0 || found == id) return entry;
    }
    return nullptr;
}

// Is this warp in the box, and its place in a CTA wanted? Everything is read before anything is looked at: one trip to
// memory instead of seven.
__device__ __forceinline__ bool in_box(const volatile iket_filter_state *filter) {
    const std::uint32_t warp = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
    const std::uint32_t mask = filter->warp_mask;
    const std::uint32_t low[3] = {filter->cta_low[0], filter->cta_low[1], filter->cta_low[2]};
    const std::uint32_t high[3] = {filter->cta_high[0], filter->cta_high[1], filter->cta_high[2]};
    return ((mask >> warp & 1) != 0) & (blockIdx.x >= low[0]) & (blockIdx.x <= high[0]) & (blockIdx.y >= low[1]) &
           (blockIdx.y <= high[1]) & (blockIdx.z >= low[2]) & (blockIdx.z <= high[2]);
}

// Does this warp record? The pattern is compared once a kernel and filter; its entry keeps the answer.
__device__ __forceinline__ bool passes_filter(iket_control *control, const char *name, std::uint64_t module_id) {
    const volatile iket_filter_state *filter = &control->filter;
    const std::uint32_t recording = *reinterpret_cast<volatile std::uint32_t *>(&control->recording);
    if (recording == IKET_RECORD_NONE || (recording == IKET_RECORD_FILTERED && !in_box(filter))) return false;
    iket_kernel_entry *entry = kernel_entry(control, name, module_id);
    if (recording == IKET_RECORD_ALL) return true;
    if (filter->pattern[0] == 0) return true;
    const std::uint32_t generation = filter->generation;
    const std::uint32_t kept = entry == nullptr ? 0 : *reinterpret_cast<volatile std::uint32_t *>(&entry->verdict);
    if (kept >> 1 == generation) return kept & 1;
    const bool passes = matches(filter->pattern, name);
    if (entry != nullptr) *reinterpret_cast<volatile std::uint32_t *>(&entry->verdict) = generation << 1 | passes;
    return passes;
}

}  // namespace detail
}  // namespace iket

#endif
