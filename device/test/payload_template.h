// SPDX-License-Identifier: Apache-2.0
// payload_template.h: every payload type at its extremes, as marker, range and token. Included by a unit for each record
// method; PAYLOAD_NAME makes names of its own, PAYLOAD_CASES is the function that lists the cases.
#include <iket/iket.cuh>

#include "harness.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#define PAYLOAD_TYPES(F)                                                                                                \
    F(i8, signed char) F(u8, unsigned char) F(boolean, bool) F(i16, short) F(u16, unsigned short) F(i32, int)           \
    F(u32, unsigned) F(i64, long long) F(u64, unsigned long long) F(f32, float) F(f64, double)

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(PAYLOAD_NAME(none), marker)
IKET_EVENT(PAYLOAD_NAME(i8), marker, signed char)
IKET_EVENT(PAYLOAD_NAME(u8), marker, unsigned char)
IKET_EVENT(PAYLOAD_NAME(boolean), marker, bool)
IKET_EVENT(PAYLOAD_NAME(i16), marker, short)
IKET_EVENT(PAYLOAD_NAME(u16), marker, unsigned short)
IKET_EVENT(PAYLOAD_NAME(i32), marker, int)
IKET_EVENT(PAYLOAD_NAME(u32), marker, unsigned)
IKET_EVENT(PAYLOAD_NAME(i64), marker, long long)
IKET_EVENT(PAYLOAD_NAME(u64), marker, unsigned long long)
IKET_EVENT(PAYLOAD_NAME(f32), marker, float)
IKET_EVENT(PAYLOAD_NAME(f64), marker, double)
IKET_EVENT(PAYLOAD_NAME(pointer), marker, const int *)
IKET_EVENT(PAYLOAD_NAME(stack), range, double)
IKET_EVENT(PAYLOAD_NAME(open), token, short, "token of " PAYLOAD_TEXT)
IKET_EVENTS_END

struct extremes {
#define FIELD(name, type) type name[4];
    PAYLOAD_TYPES(FIELD)
#undef FIELD
};

static __global__ void payload_kernel(const extremes *values) {
    IKET_KERNEL(trace);
    for (int i = 0; i < 4; i++) {
        trace.mark(ev::PAYLOAD_NAME(none));
#define RECORD(name, type) trace.mark(ev::PAYLOAD_NAME(name), values->name[i]);
        PAYLOAD_TYPES(RECORD)
#undef RECORD
    }
    trace.mark(ev::PAYLOAD_NAME(pointer), reinterpret_cast<const int *>(values));
    auto open = trace.range_start(ev::PAYLOAD_NAME(open), short(-7));
    { auto stack = trace.range(ev::PAYLOAD_NAME(stack), -0.0); }
    trace.range_end(open, short(-8));
    auto never = trace.sentinel_token(ev::PAYLOAD_NAME(open));
    trace.range_end(never, short(-9));
}

template <typename T>
static void fill_integer(T (&values)[4]) {
    values[0] = std::numeric_limits<T>::min(), values[1] = std::numeric_limits<T>::max(), values[2] = 0, values[3] = 1;
}
template <typename T>
static void fill_float(T (&values)[4]) {
    values[0] = std::numeric_limits<T>::quiet_NaN(), values[1] = -std::numeric_limits<T>::infinity();
    values[2] = std::numeric_limits<T>::denorm_min(), values[3] = std::numeric_limits<T>::max();
}

// The record's bits: narrow types zero-extended.
template <typename T>
static std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

static void check_payloads(const read_dump &dump, const extremes &values, const void *pointer) {
    const read_chunk &chunk = dump.chunks.at(0);
    std::size_t at = 0;
    const auto next = [&](const char *what) -> const read_event & {
        expect(at < chunk.events.size(), std::string("no event for ") + what);
        return chunk.events[at++];
    };
    for (int i = 0; i < 4; i++) {
        expect_equal(next("none").payload_bytes, 0u, "none carries a payload");
#define CHECK(name, type) expect_equal(next(#name).payload, bits_of(values.name[i]), #name);
        PAYLOAD_TYPES(CHECK)
#undef CHECK
    }
    expect_equal(next("pointer").payload, bits_of(pointer), "pointer");
    expect_equal(next("start").payload, 0xFFF9u, "payload of the token's start");
    expect_equal(next("push").payload, 0x8000000000000000ull, "payload of the push");
    expect_equal(next("pop").id, 31u, "pop");
    expect_equal(next("end").payload, 0xFFF8u, "payload of the token's end");
    expect_equal(at, chunk.events.size(), "events");
}

static void run_payloads(const std::string &directory) {
    extremes values;
    fill_integer(values.i8), fill_integer(values.u8), fill_integer(values.i16), fill_integer(values.u16), fill_integer(values.i32);
    fill_integer(values.u32), fill_integer(values.i64), fill_integer(values.u64), fill_float(values.f32), fill_float(values.f64);
    values.boolean[0] = false, values.boolean[1] = true, values.boolean[2] = false, values.boolean[3] = true;
    extremes *device;
    CUDA(cudaMalloc(&device, sizeof values));
    CUDA(cudaMemcpy(device, &values, sizeof values, cudaMemcpyHostToDevice));
    session_guard session(directory);
    payload_kernel<<<1, 32>>>(device);
    CUDA(cudaGetLastError());
    session.finish();
    CUDA(cudaFree(device));
    check_payloads(load_dump(directory), values, device);
}

std::vector<test_case> PAYLOAD_CASES() { return {{PAYLOAD_TEXT, run_payloads}}; }
