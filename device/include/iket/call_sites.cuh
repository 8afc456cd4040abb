// SPDX-License-Identifier: Apache-2.0
// call_sites.cuh: what a kernel writes, the same for every backend, and the messages for what it must not write.
//
// A backend B gives begin-of-warp state in its constructor and two functions: emit<Id>(live) and emit<Id>(live, bits),
// which record one event unless live is false. Everything here is checked at compile time.
#ifndef IKET_CALL_SITES_CUH
#define IKET_CALL_SITES_CUH

#include "declare.cuh"

namespace iket {

// An open token range of one event. Tokens of the same event can be assigned to one another, so that a loop can carry
// one; a sentinel is a token that was never started, and its end records nothing.
template <typename Enumerator>
struct token {
    bool live;
};

namespace detail {

constexpr unsigned pop_id = 31;

template <typename Enumerator, kind Kind>
__host__ __device__ constexpr bool declared_as() {
    if constexpr (is_event<Enumerator>::value) return event_of<Enumerator>::event_kind == Kind;
    else return false;
}

template <typename Enumerator, typename... Payload>
__host__ __device__ constexpr bool carries() {
    if constexpr (!is_event<Enumerator>::value || sizeof...(Payload) > 1) return false;
    else if constexpr (sizeof...(Payload) == 0) return event_of<Enumerator>::payload == payload_none;
    else return ((event_of<Enumerator>::payload == payload_type_of<Payload>()) && ...);
}

// Says what is wrong with a call; false lets the call go on without a second message.
template <typename Enumerator, kind Kind, typename... Payload>
__host__ __device__ constexpr bool call_is_right() {
    constexpr bool known = is_event<Enumerator>::value;
    constexpr bool right_kind = !known || declared_as<Enumerator, Kind>();
    constexpr bool right_payload = !known || !right_kind || carries<Enumerator, Payload...>();
    static_assert(known, "iket: this is not an event that IKET_EVENT declares");
    static_assert(right_kind || Kind != kind::marker, "iket: mark takes an event that is declared as marker");
    static_assert(right_kind || Kind != kind::range, "iket: range_push and range take an event that is declared as range");
    static_assert(right_kind || Kind != kind::token, "iket: range_start and sentinel_token take an event that is declared as token");
    static_assert(right_payload, "iket: the payload is not of the type that the event was declared with");
    return known && right_kind && right_payload;
}

template <typename T>
struct is_token : std::false_type {};
template <typename Enumerator>
struct is_token<token<Enumerator>> : std::true_type {
    using enumerator = Enumerator;
};

}  // namespace detail

// A range that ends with its block.
template <typename Recorder>
class scoped_range {
public:
    __device__ __forceinline__ explicit scoped_range(Recorder &recorder) : recorder_(recorder) {}
    __device__ __forceinline__ ~scoped_range() { recorder_.range_pop(); }
    scoped_range(const scoped_range &) = delete;
    scoped_range &operator=(const scoped_range &) = delete;

private:
    Recorder &recorder_;
};

// The recorder of a warp: make one with IKET_KERNEL at kernel entry; each lane holds its share in registers. Pass it to
// functions by reference, and see that they are inlined: a reference that stays one puts the state into local memory.
// Every function records at most one event a call for the lanes that make the call together, with the payload of the
// first of them.
template <typename Backend>
class basic_recorder {
public:
    __device__ __forceinline__ explicit basic_recorder(const char *kernel_name) : backend_(kernel_name) {}
    basic_recorder(const basic_recorder &) = delete;
    basic_recorder &operator=(const basic_recorder &) = delete;

    // A point in time.
    template <typename Enumerator, typename... Payload>
    __device__ __forceinline__ void mark(Enumerator, Payload... payload) {
        if constexpr (detail::call_is_right<Enumerator, detail::kind::marker, Payload...>()) emit<Enumerator>(true, payload...);
    }

    // Opens a range on the stack of these lanes; range_pop closes the newest.
    template <typename Enumerator, typename... Payload>
    __device__ __forceinline__ void range_push(Enumerator, Payload... payload) {
        if constexpr (detail::call_is_right<Enumerator, detail::kind::range, Payload...>()) emit<Enumerator>(true, payload...);
    }
    __device__ __forceinline__ void range_pop() { backend_.template emit<detail::pop_id>(true); }

    // Opens a range now that ends with the block in which the result lives.
    template <typename Enumerator, typename... Payload>
    [[nodiscard]] __device__ __forceinline__ scoped_range<basic_recorder> range(Enumerator event, Payload... payload) {
        range_push(event, payload...);
        return scoped_range<basic_recorder>(*this);
    }

    // Opens a range that any later range_end of its token closes, in any order with others.
    template <typename Enumerator, typename... Payload>
    [[nodiscard]] __device__ __forceinline__ token<Enumerator> range_start(Enumerator, Payload... payload) {
        if constexpr (detail::call_is_right<Enumerator, detail::kind::token, Payload...>()) emit<Enumerator>(true, payload...);
        return {true};
    }

    // A token that was never started.
    template <typename Enumerator>
    [[nodiscard]] __device__ __forceinline__ token<Enumerator> sentinel_token(Enumerator) {
        static_assert(detail::declared_as<Enumerator, detail::kind::token>(),
                      "iket: range_start and sentinel_token take an event that is declared as token");
        return {false};
    }

    // Closes the token's range. The payload is of the type that the start had.
    template <typename Token, typename... Payload>
    __device__ __forceinline__ void range_end(Token token, Payload... payload) {
        static_assert(detail::is_token<Token>::value, "iket: range_end takes the token that range_start returned");
        if constexpr (detail::is_token<Token>::value) {
            using Enumerator = typename detail::is_token<Token>::enumerator;
            if constexpr (detail::call_is_right<Enumerator, detail::kind::token, Payload...>())
                emit<Enumerator>(token.live, payload...);
        }
    }

private:
    template <typename Enumerator, typename... Payload>
    __device__ __forceinline__ void emit(bool live, Payload... payload) {
        constexpr unsigned id = detail::event_of<Enumerator>::id;
        if constexpr (sizeof...(Payload) == 0) backend_.template emit<id>(live);
        else (backend_.template emit<id>(live, detail::payload_bits(payload)), ...);
    }

    Backend backend_;
};

}  // namespace iket

// The line at kernel entry: makes the warp's recorder under the given name. IKET_KERNEL_NAMED gives the kernel a name of
// its own, for instance to tell instances of a template apart (a string literal, at most 103 bytes).
#define IKET_KERNEL(name) ::iket::recorder name(__func__)
#define IKET_KERNEL_NAMED(name, kernel_name) ::iket::recorder name(kernel_name)

#endif
