// SPDX-License-Identifier: Apache-2.0
// event_path.cuh: what one event executes. Everything here is measured; doc/recorder.md has the table.
//
// Nothing branches: a branch costs more than the event, and one that a single lane takes splits the warp. The text is
// PTX because only there a store is predicated for certain.
//
// Form A: each lane has a region of its own, and writes there the events that it leads (it is the first active lane).
// Form B: the first lane alone has a region; the other lanes only count what they lead, so that the events of groups
// without the first lane are known as dropped.
//   address of the record = base + offset
//   offset = min(offset + record size, limit), so that a full region writes into its spare slot, at limit, for ever
//   count += 1 in the lane that leads, also when full: the attempts are counted exactly
// Records of 4 bytes in form A do without the count, which many warps at once would notice: there the offset runs on past
// the limit, up to 4 GiB - 16, the address is base + min(offset, limit), and offset / 4 is the count.
//
// Lanes without a slot have gate != 0: their stores are predicated off, and they go on counting. Where nothing records
// at all, below is all ones as well.
#ifndef IKET_EVENT_PATH_CUH
#define IKET_EVENT_PATH_CUH

#include <cstdint>

namespace iket {
namespace detail {

// A lane's registers. No part of the pool crosses a multiple of 4 GiB, so the high half of an address never changes.
struct lane_state {
    std::uint32_t base;    // low half of the region's address
    std::uint32_t high;    // high half
    std::uint32_t limit;   // offset of the spare slot
    std::uint32_t offset;  // of the next record; narrow in form A: bytes of all events that this lane led
    std::uint32_t count;   // events that this lane led, dropped ones included; narrow in form A: not used
    std::uint32_t gate;    // form A: the lanes below this one, form B: 0; all ones where nothing may be stored
    std::uint32_t below;   // the lanes below this one
    std::uint32_t slot;    // low half of the part's address; without a slot, index + 1 of the loss entry
};

// The records that exist. The number is the record's size unless narrow.
enum class record { narrow, wide, wide32, wide64, extended, extended32, extended64 };

__host__ __device__ constexpr unsigned record_bytes(record r) {
    return r == record::narrow ? 4 : r == record::wide64 || r == record::extended32 || r == record::extended64 ? 16 : 8;
}

// %0 offset  %1 count  %2 base  %3 high  %4 limit  %5 gate  %6 below  %7 id  %8 size  %9 payload
#define IKET_DETAIL_STORE_narrow "lop3.b32 t, t, 0xffffffe0, %7, 0xea;\n @s st.global.u32 [a], t;\n"
#define IKET_DETAIL_STORE_wide IKET_DETAIL_STORE_narrow
#define IKET_DETAIL_STORE_wide32 "lop3.b32 t, t, 0xffffffe0, %7, 0xea;\n @s st.global.v2.u32 [a], {t, %9};\n"
#define IKET_DETAIL_STORE_wide64 IKET_DETAIL_STORE_narrow " @s st.global.u64 [a+8], %9;\n"
#define IKET_DETAIL_STORE_extended "@s st.global.v2.u32 [a], {t, %7};\n"
#define IKET_DETAIL_STORE_extended32 IKET_DETAIL_STORE_extended " @s st.global.u32 [a+8], %9;\n"
#define IKET_DETAIL_STORE_extended64 IKET_DETAIL_STORE_extended " @s st.global.u64 [a+8], %9;\n"

#ifdef IKET_FORM_B
#define IKET_DETAIL_TEXT(store)                                                                                         \
    "{\n .reg .pred s, c;\n .reg .u32 m, k, t, l, n;\n .reg .u64 a;\n"                                                  \
    " activemask.b32 m;\n setp.eq.u32 s, %5, 0;\n mov.u32 t, %%globaltimer_lo;\n"                                       \
    " add.u32 l, %2, %0;\n mov.b64 a, {l, %3};\n " store                                                                \
    " add.u32 n, %0, %8;\n min.u32 %0, n, %4;\n and.b32 k, m, %6;\n setp.eq.u32 c, k, 0;\n @c add.u32 %1, %1, 1;\n}"
#define IKET_DETAIL_TEXT_narrow IKET_DETAIL_TEXT
#else
#define IKET_DETAIL_TEXT(store)                                                                                         \
    "{\n .reg .pred s, c;\n .reg .u32 m, k, t, l, n;\n .reg .u64 a;\n"                                                  \
    " activemask.b32 m;\n and.b32 k, m, %5;\n setp.eq.u32 s, k, 0;\n and.b32 k, m, %6;\n setp.eq.u32 c, k, 0;\n"        \
    " mov.u32 t, %%globaltimer_lo;\n add.u32 l, %2, %0;\n mov.b64 a, {l, %3};\n " store                                 \
    " add.u32 n, %0, %8;\n min.u32 n, n, %4;\n @c mov.u32 %0, n;\n @c add.u32 %1, %1, 1;\n}"
#define IKET_DETAIL_TEXT_narrow(store)                                                                                  \
    "{\n .reg .pred s, c;\n .reg .u32 m, k, t, l, n;\n .reg .u64 a;\n"                                                  \
    " activemask.b32 m;\n and.b32 k, m, %5;\n setp.eq.u32 s, k, 0;\n and.b32 k, m, %6;\n setp.eq.u32 c, k, 0;\n"        \
    " mov.u32 t, %%globaltimer_lo;\n min.u32 n, %0, %4;\n add.u32 l, %2, n;\n mov.b64 a, {l, %3};\n " store             \
    " selp.u32 n, %8, 0, c;\n add.u32 n, %0, n;\n min.u32 %0, n, 0xfffffff0;\n}"
#endif

#define IKET_DETAIL_TEXT_wide IKET_DETAIL_TEXT
#define IKET_DETAIL_TEXT_wide32 IKET_DETAIL_TEXT
#define IKET_DETAIL_TEXT_wide64 IKET_DETAIL_TEXT
#define IKET_DETAIL_TEXT_extended IKET_DETAIL_TEXT
#define IKET_DETAIL_TEXT_extended32 IKET_DETAIL_TEXT
#define IKET_DETAIL_TEXT_extended64 IKET_DETAIL_TEXT

#define IKET_DETAIL_RECORD(which, constraint)                                                                           \
    if constexpr (Record == record::which)                                                                              \
        asm volatile(IKET_DETAIL_TEXT_##which(IKET_DETAIL_STORE_##which)                                                    \
                     : "+r"(lane.offset), "+r"(lane.count)                                                              \
                     : "r"(lane.base), "r"(lane.high), "r"(lane.limit), "r"(gate), "r"(below), "n"(Id),                 \
                       "n"(record_bytes(Record)), constraint(bits) : "memory");

// Records one event of the lanes that are here together. bits is 0 where the record has no payload. An event that is
// not live (the end of a token that was never started) neither stores nor counts.
template <record Record, unsigned Id, typename Bits>
__device__ __forceinline__ void record_event(lane_state &lane, bool live, Bits bits) {
    const std::uint32_t gate = live ? lane.gate : 0xFFFFFFFFu;
    const std::uint32_t below = live ? lane.below : 0xFFFFFFFFu;
    const std::uint32_t before = lane.offset;
    IKET_DETAIL_RECORD(narrow, "r")
    IKET_DETAIL_RECORD(wide, "r")
    IKET_DETAIL_RECORD(wide32, "r")
    IKET_DETAIL_RECORD(extended, "r")
    IKET_DETAIL_RECORD(extended32, "r")
    IKET_DETAIL_RECORD(wide64, "l")
    IKET_DETAIL_RECORD(extended64, "l")
    lane.offset = live ? lane.offset : before;
}

#undef IKET_DETAIL_RECORD
#undef IKET_DETAIL_TEXT

// The events that a lane led, in a module with or without narrow records.
template <bool Narrow>
__device__ __forceinline__ std::uint32_t events_led(const lane_state &lane) {
#ifdef IKET_FORM_B
    return lane.count;
#else
    return Narrow ? lane.offset / 4 : lane.count;
#endif
}

// The bytes of its region that they take; the last record may reach into the spare slot.
__device__ __forceinline__ std::uint32_t bytes_used(const lane_state &lane) {
    return lane.offset < lane.limit ? lane.offset : lane.limit;
}

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
