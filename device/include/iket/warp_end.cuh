// SPDX-License-Identifier: Apache-2.0
// warp_end.cuh: what becomes of a slot when its warp ends. See warp_slot.cuh for the whole and pool_layout.h for the data.
#ifndef IKET_WARP_END_CUH
#define IKET_WARP_END_CUH

#include "warp_slot.cuh"

namespace iket {
namespace detail {

// A part and how it is divided while its warp runs.
struct part_view {
    unsigned char *base;
    std::uint32_t first_bytes;
    std::uint32_t lane_bytes;
    std::uint32_t bytes;

    __device__ explicit part_view(unsigned char *part) : base(part) {
        const volatile std::uint32_t *words = reinterpret_cast<std::uint32_t *>(part);
        lane_bytes = words[27] * 16;
        bytes = words[28];
        first_bytes = (bytes - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 32 * lane_bytes) & ~15u;
    }
    __device__ std::uint32_t region(std::uint32_t lane) const {
        return IKET_PART_HEADER + first_bytes + IKET_SPARE_BYTES + lane * lane_bytes;
    }
    __device__ volatile std::uint32_t *words(std::uint32_t offset) const {
        return reinterpret_cast<volatile std::uint32_t *>(base + offset);
    }
};

// Moves 16-byte pieces down; the lanes of the group do it together, reading all before they write.
__device__ __forceinline__ void move_down(const part_view &part, std::uint32_t to, std::uint32_t from, std::uint32_t bytes,
                                 std::uint32_t group, std::uint32_t rank, std::uint32_t size) {
#pragma unroll 1
    for (std::uint32_t at = 0; at < bytes; at += 16 * size) {
        const std::uint32_t mine = at + 16 * rank;
        uint4 piece = {};
        if (mine < bytes) piece = __ldcg(reinterpret_cast<const uint4 *>(part.base + from + mine));
        __syncwarp(group);
        if (mine < bytes) __stcg(reinterpret_cast<uint4 *>(part.base + to + mine), piece);
        __syncwarp(group);
    }
}

__device__ __forceinline__ void clear(const part_view &part, std::uint32_t from, std::uint32_t to, std::uint32_t rank, std::uint32_t size) {
#pragma unroll 1
    for (std::uint32_t at = from + 16 * rank; at < to; at += 16 * size)
        __stcg(reinterpret_cast<uint4 *>(part.base + at), uint4{0, 0, 0, 0});
}

// Packs the lane regions behind the first lane's records, clears what they leave, and returns the part's bytes.
__device__ __forceinline__ std::uint32_t pack_part(const part_view &part, std::uint32_t first_used, std::uint32_t leaders,
                                          std::uint32_t group) {
    const std::uint32_t size = __popc(group), rank = __popc(group & ((1u << lane_index()) - 1));
    std::uint32_t end = IKET_PART_HEADER + round_up_16(first_used);
#pragma unroll 1
    for (std::uint32_t left = leaders; left != 0; left &= left - 1) {
        const std::uint32_t region = part.region(__ffs(left) - 1);
        const std::uint32_t bytes = IKET_LANE_HEADER + round_up_16(part.words(region)[1]);
        __syncwarp(group);
        move_down(part, end, region, bytes, group, rank, size);
        end += bytes;
    }
    const std::uint32_t spare = IKET_PART_HEADER + part.first_bytes;
    clear(part, end > spare ? end : spare, spare + IKET_SPARE_BYTES, rank, size);
#pragma unroll 1
    for (std::uint32_t left = leaders; left != 0; left &= left - 1) {
        const std::uint32_t region = part.region(__ffs(left) - 1);
        clear(part, end > region ? end : region, region + part.lane_bytes, rank, size);
    }
    return end;
}

// What a lane leaves in its region.
struct lane_result {
    std::uint32_t events;  // that it led
    std::uint32_t next;    // byte where its next record would go
    std::uint32_t used;    // bytes; the last record may reach into the spare slot
};

// A ring whose last record is there is used whole. Record is the size of its records.
template <unsigned Record>
__device__ __forceinline__ lane_result result_of(const lane_state &lane) {
    const std::uint32_t next = lane.offset - lane.least;
    if (lane.least == 0) return {lane.count, next, next};
    const std::uint64_t end = std::uint64_t(lane.high) << 32 | lane.base;
    const volatile std::uint32_t *last = reinterpret_cast<const volatile std::uint32_t *>(end - Record);
    const bool full = (last[0] | (Record > 4 ? last[1] : 0)) != 0;
    return {lane.count, next, full ? 0 - lane.least : next};
}

// Writes what the lanes that leave together have; true when no lane of the warp is left.
template <unsigned Record>
__device__ __forceinline__ bool publish(unsigned char *address, const lane_state &lane, std::uint32_t group, std::uint32_t *leaders) {
    const part_view part(address);
    const bool first = lane_index() == part.words(88)[0] >> 16;
    const lane_result result = result_of<Record>(lane);
    const bool leads = !first && result.events != 0;
#ifdef IKET_FORM_B
    if (leads) atomicAdd(reinterpret_cast<std::uint32_t *>(part.base + 120), result.events);
    const std::uint32_t mask = 0;
#else
    if (leads) {
        volatile std::uint32_t *header = part.words(part.region(lane_index()));
        header[0] = lane_index(), header[1] = result.used, header[2] = result.events, header[3] = result.next;
    }
    const std::uint32_t mask = __ballot_sync(group, leads);
#endif
    if (first) part.words(100)[0] = result.used, part.words(104)[0] = result.events, part.words(116)[0] = result.next;
    *leaders = mask;
    if (group == 0xFFFFFFFFu) {
        __syncwarp(group);
        return true;
    }
    __threadfence();
    __syncwarp(group);
    const std::uint32_t chief = __ffs(group) - 1;
    unsigned long long before = 0;
    if (lane_index() == chief)
        before = atomicAdd(reinterpret_cast<unsigned long long *>(part.base + 120),
                           static_cast<unsigned long long>(mask) - (static_cast<unsigned long long>(__popc(group)) << 32));
    before = __shfl_sync(group, before, chief);
    __threadfence();
#ifndef IKET_FORM_B
    *leaders |= std::uint32_t(before);
#endif
    return std::uint32_t(before >> 32) == std::uint32_t(__popc(group));
}

// Packs the part, sets its closed mark and gives back what is left of its memory. What the lanes wrote comes before the
// mark: __syncwarp puts it before the storing lane's release. Not inlined, see claim_slot.
__device__ __noinline__ inline void close_part(iket_control *control, unsigned char *address, std::uint32_t leaders,
                                               std::uint32_t group, std::uint64_t now) {
    const part_view part(address);
    volatile std::uint32_t *words = part.words(0);
    const std::uint32_t used = words[25], buffer = words[24], flags = words[1];
    const std::uint32_t closed = pack_part(part, used, leaders, group);
    __syncwarp(group);
    if (lane_index() != std::uint32_t(__ffs(group) - 1)) return;
    *reinterpret_cast<volatile std::uint64_t *>(part.base + 40) = now;
    words[28] = closed;
#ifndef IKET_FORM_B
    words[30] = leaders;
#endif
    words[31] = part.first_bytes;
    store_release(control, part.base + 4, flags | (IKET_CHUNK_CLOSED | IKET_CHUNK_LAST) << 16);
    release_buffer(control, buffer, closed);
}

// Ends the warp for the lanes that are here together. The registers are not used afterwards. Record is the size of the
// records of a ring.
template <unsigned Record>
__device__ __forceinline__ void end_warp(iket_control *control, const lane_state &lane) {
    if (lane.slot == 0) return;
    const std::uint64_t now = globaltimer();
    if ((lane.slot & IKET_SLOT_LOSS) != 0) {
        if (lane.count != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&control->losses[(lane.slot >> 2) - 1].events),
                      static_cast<unsigned long long>(lane.count));
        return;
    }
    const std::uint32_t group = __activemask();
    unsigned char *part = reinterpret_cast<unsigned char *>(std::uint64_t(lane.high) << 32 | (lane.slot - IKET_SLOT_PART));
    std::uint32_t leaders = 0;
    if (publish<Record>(part, lane, group, &leaders)) close_part(control, part, leaders, group, now);
}

}  // namespace detail
}  // namespace iket

#endif
