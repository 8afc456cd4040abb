// SPDX-License-Identifier: Apache-2.0
// payload.c: the values of the payload types of doc/FORMAT.md section 1.
#include <string.h>

#include "common/text.h"
#include "decode/include/iket/trace.h"

static const struct {
    const char *name;
    unsigned size;
} types[] = {
    [IKET_PAYLOAD_NONE] = {"none", 0}, [IKET_PAYLOAD_I8] = {"i8", 1},   [IKET_PAYLOAD_U8] = {"u8", 1},
    [IKET_PAYLOAD_I16] = {"i16", 2},   [IKET_PAYLOAD_U16] = {"u16", 2}, [IKET_PAYLOAD_I32] = {"i32", 4},
    [IKET_PAYLOAD_U32] = {"u32", 4},   [IKET_PAYLOAD_I64] = {"i64", 8}, [IKET_PAYLOAD_F32] = {"f32", 4},
    [IKET_PAYLOAD_F64] = {"f64", 8},   [IKET_PAYLOAD_POINTER] = {"pointer", 8}, [IKET_PAYLOAD_U64] = {"u64", 8},
};

const char *iket_payload_type_name(unsigned type) { return type < sizeof types / sizeof *types ? types[type].name : NULL; }

unsigned iket_payload_size(unsigned type) { return type < sizeof types / sizeof *types ? types[type].size : 0; }

int64_t iket_payload_signed(iket_payload payload) {
    switch (payload.type) {
    case IKET_PAYLOAD_I8: return (int8_t)payload.bits;
    case IKET_PAYLOAD_I16: return (int16_t)payload.bits;
    case IKET_PAYLOAD_I32: return (int32_t)payload.bits;
    default: return (int64_t)payload.bits;
    }
}

static float as_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

static double as_double(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

double iket_payload_double(iket_payload payload) {
    return payload.type == IKET_PAYLOAD_F32 ? (double)as_float(payload.bits) : as_double(payload.bits);
}

size_t iket_payload_text(iket_payload payload, char text[IKET_PAYLOAD_TEXT]) {
    char *end;
    switch (payload.type) {
    case IKET_PAYLOAD_I8:
    case IKET_PAYLOAD_I16:
    case IKET_PAYLOAD_I32:
    case IKET_PAYLOAD_I64: end = iket_text_i64(text, iket_payload_signed(payload)); break;
    case IKET_PAYLOAD_F32: end = iket_text_f32(text, as_float(payload.bits)); break;
    case IKET_PAYLOAD_F64: end = iket_text_f64(text, as_double(payload.bits)); break;
    default: end = iket_text_u64(text, payload.bits);
    }
    *end = 0;
    return (size_t)(end - text);
}
