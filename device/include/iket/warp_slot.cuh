// SPDX-License-Identifier: Apache-2.0
// warp_slot.cuh: how a warp gets a slot of the pool when it starts and what becomes of it when it ends. Off the path of
// events; pool_layout.h draws the data.
//
// Start: the first lane takes memory, from the main area while that lasts (size by the launch), then from what earlier
// warps gave back, then a slot of the reserve, of which there is one for each warp that the device can hold. It writes
// the identity before any event, so that a warp that never ends can be decoded.
// End: lanes may leave at different times. Each publishes what it has; the last ones move the lane regions down beside
// the first lane's records, zero what was moved, set the closed mark (release, system scope) and give back the rest.
#ifndef IKET_WARP_SLOT_CUH
#define IKET_WARP_SLOT_CUH

#include "event_path.cuh"
#include "free_list.cuh"
#include "kernel_filter.cuh"
#include "pool_layout.h"

namespace iket {
namespace detail {

__device__ __forceinline__ std::uint64_t globaltimer() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ std::uint64_t grid_id() {
    std::uint64_t id;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(id));
    return id;
}

__device__ __forceinline__ std::uint32_t cluster_cta_rank() {
    std::uint32_t rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

__device__ __forceinline__ std::uint32_t warp_in_cta() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
}

__device__ __forceinline__ std::uint32_t lane_index() {
    std::uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

__device__ __forceinline__ std::uint32_t round_up_16(std::uint32_t bytes) { return (bytes + 15) & ~15u; }

// The bytes that a warp of this launch asks for.
__device__ __forceinline__ std::uint32_t slot_wanted(const iket_control *control) {
    if (control->first_lane_bytes != 0)
        return (IKET_PART_HEADER + control->first_lane_bytes + 2 * IKET_SPARE_BYTES + 32 * control->other_lane_bytes + 255) & ~255u;
    const std::uint64_t ctas = std::uint64_t(gridDim.x) * gridDim.y * gridDim.z;
    const std::uint64_t warps = ctas * ((blockDim.x * blockDim.y * blockDim.z + 31) / 32);
    const std::uint32_t at_once = warps < control->resident_warps ? std::uint32_t(warps) : control->resident_warps;
    const std::uint32_t share = std::uint32_t(control->main_bytes >> 8) / (at_once + control->borders);
    return share > control->slot_max >> 8 ? control->slot_max : share < control->slot_min >> 8 ? control->slot_min : share << 8;
}

// The bytes of a lane region in a part of this size.
__device__ __forceinline__ std::uint32_t lane_region_bytes(const iket_control *control, std::uint32_t part) {
#ifdef IKET_FORM_B
    return 0;
#else
    const std::uint32_t fits = (part - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 256) / 32 & ~15u;
    std::uint32_t bytes = control->other_lane_bytes;
    if (bytes == 0) {
        bytes = part / 96 & ~15u;
        bytes = bytes > IKET_LANE_REGION_MAX ? IKET_LANE_REGION_MAX : bytes < IKET_LANE_REGION_MIN ? IKET_LANE_REGION_MIN : bytes;
    }
    return bytes < fits ? bytes : fits;
#endif
}

// Stores after everything that was written before, for whoever reads the pool: the device's gathers, or the host once a
// device with a pinned pool can do nothing more. The narrower scope saves a microsecond.
__device__ __forceinline__ void store_release(const iket_control *control, unsigned char *to, std::uint32_t value) {
    if (control->host_memory != 0) asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
    else asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

// Writes the part's header, the magic last.
__device__ __forceinline__ void write_identity(const iket_control *control, unsigned char *part, std::uint32_t bytes, std::uint32_t lane_bytes, std::uint32_t buffer,
                                      std::uint64_t module_id, std::uint64_t kernel_id, std::uint32_t lanes, std::uint32_t flags,
                                      std::uint64_t start) {
#ifdef IKET_FORM_B
    flags |= IKET_PART_FORM_B;
#endif
    std::uint32_t sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    auto *words = reinterpret_cast<std::uint32_t *>(part);
    auto *longs = reinterpret_cast<std::uint64_t *>(part);
    words[1] = IKET_PART_HEADER | flags << 16;
    longs[1] = module_id;
    longs[2] = kernel_id;
    longs[3] = grid_id();
    longs[4] = start;
    longs[5] = 0;
    words[12] = blockIdx.x, words[13] = blockIdx.y, words[14] = blockIdx.z;
    words[15] = gridDim.x, words[16] = gridDim.y, words[17] = gridDim.z;
    words[18] = blockDim.x, words[19] = blockDim.y, words[20] = blockDim.z;
    words[21] = cluster_cta_rank();
    words[22] = warp_in_cta() | (__ffs(lanes) - 1u) << 16;
    words[23] = sm;
    words[24] = buffer;
    words[25] = 0, words[26] = 0;
    words[27] = lane_bytes / 16;
    words[28] = bytes;
    words[29] = 0, words[30] = 0;
    words[31] = __popc(lanes);
    store_release(control, part, IKET_CHUNK_MAGIC);
}

// Counts the warp among those that got no slot and returns index + 1 of its launch's entry.
__device__ __forceinline__ std::uint32_t enter_loss(iket_control *control) {
    const std::uint64_t key = grid_id() + 1;
    std::uint32_t at = 0;
#pragma unroll 1
    for (std::uint32_t i = 0; i < 64 && at == 0; i++) {
        const std::uint32_t place = 1 + std::uint32_t(key + i) % (IKET_LOSS_COUNT - 1);
        auto *slot = reinterpret_cast<unsigned long long *>(&control->losses[place].grid_key);
        const std::uint64_t found = atomicCAS(slot, 0ull, key);
        if (found == 0 || found == key) at = place;
    }
    atomicAdd(reinterpret_cast<unsigned long long *>(&control->losses[at].warps), 1ull);
    return at + 1;
}

// What a warp got.
struct claimed_slot {
    std::uint64_t address;  // of its part, or of its sink
    std::uint32_t bytes;    // 0: no slot
    std::uint32_t loss;     // index + 1 of the loss entry of a warp without a slot; 0: it does not record at all
};

__device__ __forceinline__ claimed_slot claim_for_warp(iket_control *control, const char *kernel_name, std::uint64_t module_id,
                                                       std::uint32_t lanes, std::uint32_t flags, std::uint64_t start) {
    if (!passes_filter(control, kernel_name, module_id)) return {0, 0, 0};
    const claimed_memory got = claim_memory(control, slot_wanted(control));
    if (got.bytes == 0) return {control->sinks + own_list() * IKET_SINK_BYTES, 0, enter_loss(control)};
    flags = control->keep_last != 0 ? flags | IKET_CHUNK_KEEPS_LAST : flags & ~IKET_CHUNK_EVEN;
    write_identity(control, reinterpret_cast<unsigned char *>(got.address), got.bytes, lane_region_bytes(control, got.bytes), got.buffer,
                   module_id, reinterpret_cast<std::uint64_t>(kernel_name), lanes, flags, start);
    return {got.address, got.bytes, 0};
}

// The first lane claims, all lanes get the result. Not inlined, so that a kernel carries the call and not the code; and
// called by all lanes, because a call that one lane makes alone was seen to leave the warp split in -rdc=true code.
__device__ __noinline__ inline claimed_slot claim_slot(iket_control *control, const char *kernel_name, std::uint64_t module_id,
                                                       std::uint32_t lanes, std::uint32_t flags, std::uint64_t start) {
    const std::uint32_t first = __ffs(lanes) - 1;
    claimed_slot slot = {0, 0, 0};
    if (lane_index() == first) slot = claim_for_warp(control, kernel_name, module_id, lanes, flags, start);
    __syncwarp(lanes);
    slot.address = __shfl_sync(lanes, slot.address, first);
    slot.bytes = __shfl_sync(lanes, slot.bytes, first);
    slot.loss = __shfl_sync(lanes, slot.loss, first);
    return slot;
}

// The lane's registers for a region of so many bytes.
__device__ __forceinline__ void take_region(lane_state &lane, std::uint64_t address, std::uint32_t bytes, bool keep_last) {
    lane.base = std::uint32_t(address) + (keep_last ? bytes : 0);
    lane.high = std::uint32_t(address >> 32);
    lane.offset = lane.least = keep_last ? 0u - bytes : 0;
    lane.limit = keep_last ? 0xFFFFFFFFu : bytes;
    lane.step = keep_last ? 16 : 8;
}

// Gives the lanes that are here together their regions. flags are the chunk's: how large the module's records are.
__device__ __forceinline__ void start_warp(iket_control *control, const char *kernel_name, std::uint64_t module_id,
                                           std::uint32_t flags, lane_state &lane) {
    const std::uint64_t start = globaltimer();
    const std::uint32_t lanes = __activemask();
    const std::uint32_t self = lane_index(), first = __ffs(lanes) - 1;
    const claimed_slot slot = claim_slot(control, kernel_name, module_id, lanes, flags, start);
    if (slot.bytes == 0 && slot.loss == 0) return;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lane.below));
    if (slot.bytes == 0) {
        lane.slot = slot.loss << 2 | IKET_SLOT_LOSS;
        take_region(lane, slot.address, 0, false);
        return;
    }
    const std::uint32_t lane_bytes = lane_region_bytes(control, slot.bytes);
    const std::uint32_t first_bytes = (slot.bytes - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 32 * lane_bytes) & ~15u;
    const bool keep_last = control->keep_last != 0;
    lane.slot = std::uint32_t(slot.address) | IKET_SLOT_PART;
#ifdef IKET_FORM_B
    if (self == first) lane.gate = 0;
    take_region(lane, slot.address + IKET_PART_HEADER, first_bytes, keep_last);
#else
    const bool leads = self == first;
    const std::uint32_t place = leads ? 0 : first_bytes + IKET_SPARE_BYTES + self * lane_bytes + IKET_LANE_HEADER;
    take_region(lane, slot.address + IKET_PART_HEADER + place,
                leads ? first_bytes : lane_bytes - IKET_LANE_HEADER - IKET_SPARE_BYTES, keep_last);
#endif
}

}  // namespace detail
}  // namespace iket

#endif
