// SPDX-License-Identifier: Apache-2.0
// event_path.cuh: what one event executes. Everything here is measured; doc/recorder.md has the table.
//
// Nothing branches: a branch costs more than the event, and one that a single lane takes splits the warp. The text is
// PTX because only there a store is predicated for certain.
//
// Form A: each lane has a region of its own, and writes there the events that it leads (it is the first active lane).
// Form B: the first lane alone has a region; the other lanes only count what they lead, so that the events of groups
// without the first lane are known as dropped.
//
//   address of the record = base + offset
//   offset = min(max(offset + record size, least), limit) and count += 1 in the lane that leads
//
//               base                offset                 least    limit
//   keep first  region's start      0, 1 record, …         0        the region's bytes, where the spare slot lies:
//                                                                   a full region writes there for ever
//   keep last   region's end        - bytes, …, - 1 record - bytes  2^32 - 1: the record behind the last has offset 0,
//                                                                   which max turns into the first; newest over oldest
//
// So one text does both, and the choice costs nothing: max joins the addition, min the predicated move. Keeping the last
// records needs records of one size: where a module has them of 8 and of 16 bytes, all take 16 there (step).
//
// count has the attempts, also of a full region. Lanes of a warp without a slot write into a sink of their place on the
// SM, which nobody reads, and count; so one predicate serves store and count. Where nothing records at all, below is all
// ones, and no lane leads.
#ifndef IKET_EVENT_PATH_CUH
#define IKET_EVENT_PATH_CUH

#include <cstdint>

namespace iket {
namespace detail {

// A lane's registers. No part of the pool crosses a multiple of 4 GiB, so the high half of an address never changes.
struct lane_state {
    std::uint32_t base;    // low half of the address from which offset counts
    std::uint32_t high;    // high half
    std::uint32_t offset;  // of the next record
    std::uint32_t least;
    std::uint32_t limit;
    std::uint32_t count;   // events that this lane led, dropped and overwritten ones included
    std::uint32_t below;   // the lanes below this one; all ones: this warp does not record
    std::uint32_t gate;    // form B: 0 in the first lane, which stores, else all ones
    std::uint32_t step;    // bytes of a record of 8 in a module that has records of 16
    std::uint32_t slot;    // low half of the part's address | IKET_SLOT_PART, or index + 1 of the loss entry << 2 | IKET_SLOT_LOSS
};

// The records that exist.
enum class record { narrow, wide, wide32, wide64, extended, extended32, extended64 };

__host__ __device__ constexpr unsigned record_bytes(record r) {
    return r == record::narrow ? 4 : r == record::wide64 || r == record::extended32 || r == record::extended64 ? 16 : 8;
}

// %0 offset  %1 count  %2 base  %3 high  %4 least  %5 limit  %6 below  %7 gate  %8 id  %9 bytes of the record  %10 payload
#define IKET_DETAIL_STORE_narrow " lop3.b32 t, t, 0xffffffe0, %8, 0xea;\n @s st.global.u32 [a], t;\n"
#define IKET_DETAIL_STORE_wide IKET_DETAIL_STORE_narrow
#define IKET_DETAIL_STORE_wide32 " lop3.b32 t, t, 0xffffffe0, %8, 0xea;\n @s st.global.v2.u32 [a], {t, %10};\n"
#define IKET_DETAIL_STORE_wide64 IKET_DETAIL_STORE_narrow " @s st.global.u64 [a+8], %10;\n"
#define IKET_DETAIL_STORE_extended " @s st.global.v2.u32 [a], {t, %8};\n"
#define IKET_DETAIL_STORE_extended32 IKET_DETAIL_STORE_extended " @s st.global.u32 [a+8], %10;\n"
#define IKET_DETAIL_STORE_extended64 IKET_DETAIL_STORE_extended " @s st.global.u64 [a+8], %10;\n"

// s: this lane stores; c: it leads, and counts. In form A that is one and the same.
#ifdef IKET_FORM_B
#define IKET_DETAIL_STORES " setp.eq.u32 s, %7, 0;\n"
#else
#define IKET_DETAIL_STORES " setp.eq.u32 s, m, 0;\n"
#endif
// The order is the one that was measured best of many (doc/performance.md): the leader test stands early, because 13 cycles
// pass from a predicate to the store that it guards.
#define IKET_DETAIL_TEXT(store)                                                                                         \
    "{\n .reg .pred s, c;\n .reg .u32 m, t, l, n;\n .reg .u64 a;\n"                                                     \
    " mov.u32 t, %%globaltimer_lo;\n activemask.b32 m;\n and.b32 m, m, %6;\n setp.eq.u32 c, m, 0;\n" IKET_DETAIL_STORES \
    " @c add.u32 %1, %1, 1;\n add.u32 l, %2, %0;\n mov.b64 a, {l, %3};\n"                                             \
    " add.u32 n, %0, %9;\n max.u32 n, n, %4;\n min.u32 n, n, %5;\n @s mov.u32 %0, n;\n" store "}"

#define IKET_DETAIL_RECORD(which, constraint)                                                                           \
    if constexpr (Record == record::which)                                                                              \
        asm volatile(IKET_DETAIL_TEXT(IKET_DETAIL_STORE_##which)                                                        \
                     : "+r"(lane.offset), "+r"(lane.count)                                                              \
                     : "r"(lane.base), "r"(lane.high), "r"(lane.least), "r"(lane.limit), "r"(below), "r"(gate), "n"(Id), \
                       "r"(bytes), constraint(bits) : "memory");

// Records one event of the lanes that are here together. bits is 0 where the record has no payload; Mixed says that the
// module has records of 8 and of 16 bytes. An event that is not live (the end of a token that was never started)
// neither stores nor counts.
template <record Record, unsigned Id, bool Mixed, typename Bits>
__device__ __forceinline__ void record_event(lane_state &lane, bool live, Bits bits) {
    const std::uint32_t below = live ? lane.below : 0xFFFFFFFFu;
    const std::uint32_t gate = live ? lane.gate : 0xFFFFFFFFu;
    const std::uint32_t bytes = Mixed && record_bytes(Record) == 8 ? lane.step : record_bytes(Record);
    IKET_DETAIL_RECORD(narrow, "r")
    IKET_DETAIL_RECORD(wide, "r")
    IKET_DETAIL_RECORD(wide32, "r")
    IKET_DETAIL_RECORD(extended, "r")
    IKET_DETAIL_RECORD(extended32, "r")
    IKET_DETAIL_RECORD(wide64, "l")
    IKET_DETAIL_RECORD(extended64, "l")
}

#undef IKET_DETAIL_RECORD
#undef IKET_DETAIL_TEXT

// The record of an event without payload, with one of 32 bits, with one of 64 bits.
template <typename Module>
__host__ __device__ constexpr record record_without() {
    return Module::extended ? record::extended : Module::wide ? record::wide : record::narrow;
}
template <typename Module, typename Bits>
__host__ __device__ constexpr record record_with() {
    return sizeof(Bits) == 8 ? (Module::extended ? record::extended64 : record::wide64)
                             : (Module::extended ? record::extended32 : record::wide32);
}

}  // namespace detail
}  // namespace iket

#endif
