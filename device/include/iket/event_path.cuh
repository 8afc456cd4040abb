// SPDX-License-Identifier: Apache-2.0
// event_path.cuh: what one event executes. Everything here is measured; doc/recorder.md has the table.
//
// Nothing branches: a branch costs more than the event, and one that a single lane takes splits the warp. The text is
// PTX because only there a store is predicated for certain.
//
// Form A: each lane has a region of its own, and writes there the events that it leads (it is the first active lane).
//   address of the record = base + min(offset, limit)      a full region writes into its spare slot, at limit
//   offset += record size                                   also when full, up to 4 GiB - 16: the attempts are counted
// Form B: the first lane alone has a region. address = min(address + record size, limit); the leader counts, so that
// the events of groups without that lane are known as dropped.
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
    std::uint32_t base;    // form A: low half of the region's address; form B: of the next record's
    std::uint32_t high;    // high half of both
    std::uint32_t limit;   // form A: offset of the spare slot; form B: low half of its address
    std::uint32_t offset;  // form A: bytes of all events that this lane led; form B: not used
    std::uint32_t count;   // their number, kept where bytes do not tell it
    std::uint32_t gate;    // form A: the lanes below this one, form B: 0; all ones where nothing may be stored
    std::uint32_t below;   // the lanes below this one
    std::uint32_t slot;    // low half of the part's address; without a slot, index + 1 of the loss entry
};

// The records that exist. The number is the record's size unless narrow.
enum class record { narrow, wide, wide32, wide64, extended, extended32, extended64 };

__host__ __device__ constexpr unsigned record_bytes(record r) {
    return r == record::narrow ? 4 : r == record::wide64 || r == record::extended32 || r == record::extended64 ? 16 : 8;
}

// %0 offset/base  %1 count  %2 base/-  %3 high  %4 limit  %5 gate  %6 below  %7 id  %8 size  %9 payload
#define IKET_DETAIL_STORE_narrow "lop3.b32 t, t, 0xffffffe0, %7, 0xea;\n @s st.global.u32 [a], t;\n"
#define IKET_DETAIL_STORE_wide IKET_DETAIL_STORE_narrow
#define IKET_DETAIL_STORE_wide32 "lop3.b32 t, t, 0xffffffe0, %7, 0xea;\n @s st.global.v2.u32 [a], {t, %9};\n"
#define IKET_DETAIL_STORE_wide64 IKET_DETAIL_STORE_narrow " @s st.global.u64 [a+8], %9;\n"
#define IKET_DETAIL_STORE_extended "@s st.global.v2.u32 [a], {t, %7};\n"
#define IKET_DETAIL_STORE_extended32 IKET_DETAIL_STORE_extended " @s st.global.u32 [a+8], %9;\n"
#define IKET_DETAIL_STORE_extended64 IKET_DETAIL_STORE_extended " @s st.global.u64 [a+8], %9;\n"

#define IKET_DETAIL_FORM_A(store, counting)                                                                             \
    "{\n .reg .pred s, c;\n .reg .u32 m, k, t, l, n;\n .reg .u64 a;\n"                                                  \
    " activemask.b32 m;\n and.b32 k, m, %5;\n setp.eq.u32 s, k, 0;\n and.b32 k, m, %6;\n setp.eq.u32 c, k, 0;\n"        \
    " mov.u32 t, %%globaltimer_lo;\n min.u32 n, %0, %4;\n add.u32 l, %2, n;\n mov.b64 a, {l, %3};\n " store             \
    " selp.u32 n, %8, 0, c;\n add.u32 n, %0, n;\n min.u32 %0, n, 0xfffffff0;\n" counting "}"
#define IKET_DETAIL_FORM_B(store)                                                                                       \
    "{\n .reg .pred s, c;\n .reg .u32 m, k, t, n;\n .reg .u64 a;\n"                                                     \
    " activemask.b32 m;\n setp.eq.u32 s, %5, 0;\n mov.u32 t, %%globaltimer_lo;\n mov.b64 a, {%0, %3};\n " store         \
    " add.u32 %0, %0, %8;\n min.u32 %0, %0, %4;\n and.b32 k, m, %6;\n setp.eq.u32 c, k, 0;\n @c add.u32 %1, %1, 1;\n}"
#define IKET_DETAIL_COUNT " @c add.u32 %1, %1, 1;\n"

#ifdef IKET_FORM_B
#define IKET_DETAIL_CURSOR lane.base
#define IKET_DETAIL_TEXT(store) IKET_DETAIL_FORM_B(store)
#define IKET_DETAIL_TEXT_MIXED(store) IKET_DETAIL_FORM_B(store)
#else
#define IKET_DETAIL_CURSOR lane.offset
#define IKET_DETAIL_TEXT(store) IKET_DETAIL_FORM_A(store, "")
#define IKET_DETAIL_TEXT_MIXED(store) IKET_DETAIL_FORM_A(store, IKET_DETAIL_COUNT)
#endif

// One asm statement a record, in a module whose events bytes count (text) or not (text of mixed records).
#define IKET_DETAIL_RECORD(which, constraint)                                                                           \
    if constexpr (Record == record::which) {                                                                            \
        if constexpr (Mixed)                                                                                            \
            asm volatile(IKET_DETAIL_TEXT_MIXED(IKET_DETAIL_STORE_##which)                                              \
                         : "+r"(IKET_DETAIL_CURSOR), "+r"(lane.count)                                                   \
                         : "r"(lane.base), "r"(lane.high), "r"(lane.limit), "r"(gate), "r"(below), "n"(Id),             \
                           "n"(record_bytes(Record)), constraint(bits) : "memory");                                     \
        else                                                                                                            \
            asm volatile(IKET_DETAIL_TEXT(IKET_DETAIL_STORE_##which)                                                    \
                         : "+r"(IKET_DETAIL_CURSOR), "+r"(lane.count)                                                   \
                         : "r"(lane.base), "r"(lane.high), "r"(lane.limit), "r"(gate), "r"(below), "n"(Id),             \
                           "n"(record_bytes(Record)), constraint(bits) : "memory");                                     \
    }

// Records one event of the lanes that are here together. bits is 0 where the record has no payload. An event that is
// not live (the end of a token that was never started) neither stores nor counts.
template <record Record, bool Mixed, unsigned Id, typename Bits>
__device__ __forceinline__ void record_event(lane_state &lane, bool live, Bits bits) {
    const std::uint32_t gate = live ? lane.gate : 0xFFFFFFFFu;
    const std::uint32_t below = live ? lane.below : 0xFFFFFFFFu;
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
#undef IKET_DETAIL_TEXT_MIXED
#undef IKET_DETAIL_CURSOR
#undef IKET_DETAIL_COUNT
#undef IKET_DETAIL_FORM_A
#undef IKET_DETAIL_FORM_B

// The record of an event without payload, with one of 32 bits, with one of 64 bits.
template <typename Module>
__host__ __device__ constexpr record record_without() {
    return Module::extended ? record::extended : Module::shape.wide ? record::wide : record::narrow;
}
template <typename Module, typename Bits>
__host__ __device__ constexpr record record_with() {
    return sizeof(Bits) == 8 ? (Module::extended ? record::extended64 : record::wide64)
                             : (Module::extended ? record::extended32 : record::wide32);
}

}  // namespace detail
}  // namespace iket

#endif
