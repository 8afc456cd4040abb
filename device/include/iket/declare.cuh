// SPDX-License-Identifier: Apache-2.0
// declare.cuh: the events of a module, declared once at file scope, a line each.
//
//   IKET_EVENTS_BEGIN(ev)                       // a name for the namespace that the events live in
//   IKET_EVENT(hello, marker)                   // identifier, kind
//   IKET_EVENT(tile, range, int)                // … and payload type
//   IKET_EVENT(load, token, void, "load tile")  // … and a name that is not the identifier
//   IKET_EVENTS_END
//
// A line makes an enumerator of a type of its own, so that a call site carries kind and payload type at compile time and
// costs nothing at run time, and the byte arrays of IKET's metadata as extern "C" device symbols, from which tools that
// look at a cubin know the events. Ids are positions: the first event is 1 (64 with IKET_EXTENDED, which allows 4032
// events at records of twice the size). One block a translation unit; the units of one -rdc=true module share a header.
#ifndef IKET_DECLARE_CUH
#define IKET_DECLARE_CUH

#include "module.h"
#include "payload.cuh"

#include <utility>

#ifdef IKET_EXTENDED
#define IKET_DETAIL_EXTENDED true
#else
#define IKET_DETAIL_EXTENDED false
#endif

namespace iket {
namespace detail {

enum class kind : unsigned { marker = 0, range = 1, token = 4 };

__host__ __device__ constexpr unsigned first_id(bool extended) { return extended ? 64 : 1; }
__host__ __device__ constexpr unsigned last_id(bool extended) { return extended ? 4095 : 30; }

// What a call site knows of an event.
template <unsigned Id, kind Kind, typename Payload>
struct event {
    static constexpr unsigned id = Id;
    static constexpr kind event_kind = Kind;
    static constexpr unsigned payload = payload_type_of<Payload>();
};

template <typename Enumerator, typename = void>
struct is_event : std::false_type {};
template <typename Enumerator>
struct is_event<Enumerator, std::void_t<decltype(iket_describe(Enumerator{}))>> : std::true_type {};
template <typename Enumerator>
using event_of = decltype(iket_describe(Enumerator{}));

// The name's length when it may stand in 32 bytes as UTF-8, else 0.
__host__ __device__ constexpr unsigned name_length(const char *name) {
    unsigned length = 0;
    while (name[length] != 0) {
        const unsigned lead = static_cast<unsigned char>(name[length]);
        const unsigned more = lead < 0x80 ? 0 : lead >= 0xC2 && lead < 0xE0 ? 1 : lead >= 0xE0 && lead < 0xF0 ? 2
                            : lead >= 0xF0 && lead < 0xF5 ? 3 : 99;
        if (more == 99) return 0;
        for (unsigned i = 1; i <= more; i++) {
            const unsigned byte = static_cast<unsigned char>(name[length + i]);
            const unsigned low = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
            const unsigned high = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
            if (byte < low || byte > high) return 0;
        }
        length += 1 + more;
        if (length > 32) return 0;
    }
    return length;
}

__host__ __device__ constexpr std::uint32_t name_hash(const char *name) {
    std::uint32_t hash = 2166136261u;
    for (; *name != 0; name++) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
    return hash;
}

__host__ __device__ constexpr bool same_name(const char *a, const char *b) {
    while (*a != 0 && *a == *b) a++, b++;
    return *a == *b;
}

__host__ __device__ constexpr iket_event_declaration declaration(unsigned id, kind k, unsigned payload, const char *name, const char *identifier) {
    return {id, static_cast<std::uint32_t>(k), payload, k == kind::marker ? 0u : name_hash(name), name, identifier};
}

template <unsigned Count>
struct declaration_table {
    iket_event_declaration events[Count == 0 ? 1 : Count];
};

struct hash_place {
    std::uint32_t hash;
    unsigned place;
};

// Heap order, so that 4032 names are compared in a few steps each.
template <unsigned Count>
__host__ __device__ constexpr void sift(hash_place (&heap)[Count], unsigned root, unsigned end) {
    for (unsigned child = 2 * root + 1; child < end; child = 2 * root + 1) {
        if (child + 1 < end && heap[child].hash < heap[child + 1].hash) child++;
        if (heap[root].hash >= heap[child].hash) return;
        const hash_place swapped = heap[root];
        heap[root] = heap[child];
        heap[child] = swapped;
        root = child;
    }
}

template <unsigned Count>
__host__ __device__ constexpr bool names_differ(const declaration_table<Count> &table) {
    if constexpr (Count > 1) {
        hash_place heap[Count] = {};
        for (unsigned i = 0; i < Count; i++) heap[i] = {name_hash(table.events[i].name), i};
        for (unsigned i = Count / 2; i-- > 0;) sift(heap, i, Count);
        for (unsigned end = Count; end-- > 1;) {
            const hash_place largest = heap[0];
            heap[0] = heap[end];
            heap[end] = largest;
            sift(heap, 0, end);
        }
        for (unsigned i = 1; i < Count; i++)
            for (unsigned j = i; j-- > 0 && heap[j].hash == heap[i].hash;)
                if (same_name(table.events[heap[i].place].name, table.events[heap[j].place].name)) return false;
    }
    return true;
}

// Are the module's records wide: 8 bytes without payload? One aligned 8-byte store of time and payload costs less than
// two of 4 bytes; without payloads 4 bytes an event are fewer.
template <unsigned Count>
__host__ __device__ constexpr bool wide_records(const declaration_table<Count> &table, bool extended) {
    bool any = false;
    for (unsigned i = 0; i < Count; i++) any = any || table.events[i].payload_type != payload_none;
    return any && !extended;
}

// Has the module records of 8 and of 16 bytes? Of 16 are those with a payload of 64 bits, extended with any payload.
template <unsigned Count>
__host__ __device__ constexpr bool mixed_records(const declaration_table<Count> &table, bool extended) {
    bool any = false;
    for (unsigned i = 0; i < Count; i++) {
        const unsigned type = table.events[i].payload_type;
        const bool large = type == payload_i64 || type == payload_f64 || type == payload_pointer || type == payload_u64;
        any = any || (extended ? type != payload_none : large);
    }
    return any;
}

template <unsigned Bytes>
struct attributes {
    unsigned char bytes[Bytes];
};

template <unsigned Bytes>
__host__ __device__ constexpr void put32(attributes<Bytes> &to, unsigned offset, std::uint32_t value) {
    for (unsigned i = 0; i < 4; i++) to.bytes[offset + i] = static_cast<unsigned char>(value >> (8 * i));
}

template <unsigned Bytes>
__host__ __device__ constexpr void put_name(attributes<Bytes> &to, unsigned offset, const char *name) {
    const unsigned length = name_length(name);
    put32(to, offset, length);
    for (unsigned i = 0; i < length; i++) to.bytes[offset + 4 + i] = static_cast<unsigned char>(name[i]);
}

__host__ __device__ constexpr attributes<60> event_attributes(const iket_event_declaration &event, bool extended) {
    attributes<60> out = {};
    put32(out, 0, 60);
    put32(out, 4, event.event_id);
    put32(out, 8, extended ? 5 : 3);
    put32(out, 12, event.payload_type);
    put32(out, 16, event.event_pos);
    put32(out, 20, event.range_id);
    put_name(out, 24, event.name);
    return out;
}

__host__ __device__ constexpr attributes<72> range_attributes(const iket_event_declaration &event) {
    attributes<72> out = {};
    put32(out, 0, 72);
    put32(out, 8, event.range_id);
    put32(out, 12, 0xFFFFFFFFu);
    put32(out, 16, event.event_pos == 4 ? 1 : 2);
    put_name(out, 32, event.name);
    return out;
}

__host__ __device__ constexpr attributes<48> meta_info(bool extended) {
    attributes<48> out = {};
    put32(out, 0, 48);
    put32(out, 8, 5);
    put32(out, 12, extended ? 4095 : 31);
    put32(out, 16, 32);
    put32(out, 20, 60);
    put32(out, 24, 0xBABEF19Du);
    put32(out, 32, 3);
    return out;
}

}  // namespace detail
}  // namespace iket

// In one -rdc=true module a shared header must not define an array twice: there they are inline, else one a unit.
#ifdef __CUDACC_RDC__
#define IKET_DETAIL_ARRAY inline __device__ __attribute__((used))
#else
#define IKET_DETAIL_ARRAY __device__ __attribute__((used))
#endif

#if defined(IKET_DISABLE)
#define IKET_DETAIL_ARRAYS_event(identifier, line)
#define IKET_DETAIL_ARRAYS_marker(identifier, line)
#define IKET_DETAIL_ARRAYS_range(identifier, line)
#define IKET_DETAIL_ARRAYS_token(identifier, line)
#define IKET_DETAIL_META
#else
#define IKET_DETAIL_ARRAYS_event(identifier, line)                                                                      \
    extern "C" {                                                                                                        \
    IKET_DETAIL_ARRAY ::iket::detail::attributes<60> __iket_evt_decl_##identifier##_##line##_attrs =                    \
        ::iket::detail::event_attributes(iket_events::iket_at<iket_events::identifier##_iket_event>::event, IKET_DETAIL_EXTENDED);                \
    }
#define IKET_DETAIL_ARRAYS_range(identifier, line)                                                                      \
    IKET_DETAIL_ARRAYS_event(identifier, line)                                                                          \
    extern "C" {                                                                                                        \
    IKET_DETAIL_ARRAY ::iket::detail::attributes<72> __iket_range_decl_##identifier##_##line##_attrs =                  \
        ::iket::detail::range_attributes(iket_events::iket_at<iket_events::identifier##_iket_event>::event);                                      \
    }
#define IKET_DETAIL_ARRAYS_marker(identifier, line) IKET_DETAIL_ARRAYS_event(identifier, line)
#define IKET_DETAIL_ARRAYS_token(identifier, line) IKET_DETAIL_ARRAYS_range(identifier, line)
#define IKET_DETAIL_META                                                                                                \
    extern "C" {                                                                                                        \
    IKET_DETAIL_ARRAY ::iket::detail::attributes<48> __iket_meta_info = ::iket::detail::meta_info(IKET_DETAIL_EXTENDED); \
    }
#endif

#define IKET_EVENTS_BEGIN(space)                                                                                        \
    namespace iket_events {                                                                                             \
    enum : unsigned { iket_counter_base = __COUNTER__ };                                                                \
    template <unsigned Position>                                                                                        \
    struct iket_position;                                                                                               \
    template <typename Enumerator>                                                                                      \
    struct iket_at;                                                                                                     \
    }                                                                                                                   \
    namespace space = ::iket_events;

#define IKET_EVENT(...) IKET_DETAIL_PICK(__VA_ARGS__, IKET_DETAIL_EVENT4, IKET_DETAIL_EVENT3, IKET_DETAIL_EVENT2, IKET_DETAIL_EVENT1, ~)(__VA_ARGS__)
#define IKET_DETAIL_PICK(a, b, c, d, chosen, ...) chosen
#define IKET_DETAIL_EVENT1(identifier) static_assert(sizeof(#identifier) == 0, "iket: IKET_EVENT(" #identifier ") needs a kind: marker, range or token");
#define IKET_DETAIL_EVENT2(identifier, kind) IKET_DETAIL_EVENT4(identifier, kind, void, #identifier)
#define IKET_DETAIL_EVENT3(identifier, kind, payload) IKET_DETAIL_EVENT4(identifier, kind, payload, #identifier)
#define IKET_DETAIL_EVENT4(identifier, kind, payload, name) IKET_DETAIL_EVENT5(identifier, kind, payload, name, __LINE__)
#define IKET_DETAIL_EVENT5(identifier, kind, payload, name, line) IKET_DETAIL_EVENT6(identifier, kind, payload, name, line)
#define IKET_DETAIL_EVENT6(identifier_, kind_, payload_, name_, line_)                                                  \
    namespace iket_events {                                                                                             \
    enum identifier_##_iket_event : unsigned {                                                                          \
        identifier_ = __COUNTER__ - iket_counter_base - 1 + ::iket::detail::first_id(IKET_DETAIL_EXTENDED)              \
    };                                                                                                                  \
    static_assert(unsigned(identifier_) <= ::iket::detail::last_id(IKET_DETAIL_EXTENDED),                               \
                  "iket: more events than the record method can tell apart (30; with IKET_EXTENDED defined, 4032)");    \
    static_assert(::iket::detail::payload_type_of<payload_>() != ::iket::detail::payload_unknown,                       \
                  "iket: the payload of " #identifier_ " must be an integer, bool, float, double or a pointer");        \
    static_assert(::iket::detail::name_length(name_) != 0,                                                              \
                  "iket: the name of " #identifier_ " must be 1 to 32 bytes of UTF-8");                                 \
    ::iket::detail::event<unsigned(identifier_), ::iket::detail::kind::kind_, payload_> iket_describe(identifier_##_iket_event); \
    template <>                                                                                                         \
    struct iket_at<identifier_##_iket_event> {                                                                          \
        static constexpr ::iket_event_declaration event = ::iket::detail::declaration(                                  \
            unsigned(identifier_), ::iket::detail::kind::kind_, ::iket::detail::payload_type_of<payload_>(), name_, #identifier_); \
    };                                                                                                                  \
    template <>                                                                                                         \
    struct iket_position<unsigned(identifier_) - ::iket::detail::first_id(IKET_DETAIL_EXTENDED)>                        \
        : iket_at<identifier_##_iket_event> {};                                                                         \
    }                                                                                                                   \
    IKET_DETAIL_ARRAYS_##kind_(identifier_, line_)

#define IKET_EVENTS_END                                                                                                 \
    namespace iket_events {                                                                                             \
    enum : unsigned { iket_event_count = __COUNTER__ - iket_counter_base - 1 };                                         \
    template <unsigned... Positions>                                                                                    \
    constexpr ::iket::detail::declaration_table<sizeof...(Positions)> iket_collect(                                     \
        std::integer_sequence<unsigned, Positions...>) {                                                                \
        return {{iket_position<Positions>::event...}};                                                                  \
    }                                                                                                                   \
    static constexpr ::iket::detail::declaration_table<iket_event_count> iket_table =                                   \
        iket_collect(std::make_integer_sequence<unsigned, iket_event_count>{});                                         \
    static_assert(::iket::detail::names_differ(iket_table), "iket: two events have the same name");                     \
    struct iket_module_traits {                                                                                         \
        static constexpr bool extended = IKET_DETAIL_EXTENDED;                                                          \
        static constexpr bool wide = ::iket::detail::wide_records(iket_table, IKET_DETAIL_EXTENDED);                    \
        static constexpr bool mixed = ::iket::detail::mixed_records(iket_table, IKET_DETAIL_EXTENDED);                  \
    };                                                                                                                  \
    }                                                                                                                   \
    IKET_DETAIL_META                                                                                                    \
    IKET_DETAIL_REGISTER                                                                                                \
    namespace iket {                                                                                                    \
    using recorder = IKET_DETAIL_RECORDER<::iket_events::iket_module_traits>;                                                    \
    }

#endif
