// SPDX-License-Identifier: Apache-2.0
#include "common/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char two_digits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960"
    "61626364656667686970717273747576777879808182838485868788899091929394959697989900";

static char *put_2_digits(char *at, uint32_t value) {
    memcpy(at, two_digits + value * 2, 2);
    return at + 2;
}

static char *put_4_digits(char *at, uint32_t value) { return put_2_digits(put_2_digits(at, value / 100), value % 100); }

char *iket_text_8_digits(char *at, uint32_t value) { return put_4_digits(put_4_digits(at, value / 10000), value % 10000); }

// Below 10^8, without leading zeros.
static char *put_short(char *at, uint32_t value) {
    if (value < 100) {
        if (value >= 10) return put_2_digits(at, value);
        *at = (char)('0' + value);
        return at + 1;
    }
    if (value < 10000) return put_2_digits(put_short(at, value / 100), value % 100);
    return put_4_digits(put_short(at, value / 10000), value % 10000);
}

char *iket_text_u64(char *at, uint64_t value) {
    const uint64_t low = 100000000;
    if (value < low) return put_short(at, (uint32_t)value);
    if (value < low * low) return iket_text_8_digits(put_short(at, (uint32_t)(value / low)), (uint32_t)(value % low));
    at = put_short(at, (uint32_t)(value / (low * low)));
    return iket_text_8_digits(iket_text_8_digits(at, (uint32_t)(value / low % low)), (uint32_t)(value % low));
}

char *iket_text_i64(char *at, int64_t value) {
    if (value >= 0) return iket_text_u64(at, (uint64_t)value);
    *at++ = '-';
    return iket_text_u64(at, 0 - (uint64_t)value);
}

static char *special(char *at, double value) {
    const char *word = isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    size_t length = strlen(word);
    memcpy(at, word, length);
    return at + length;
}

// An integer 0 has no sign in JSON, so that a negative zero must look like a fraction.
static char *negative_zero(char *at) {
    memcpy(at, "-0.0", 4);
    return at + 4;
}

char *iket_text_f32(char *at, float value) {
    if (!isfinite(value)) return special(at, (double)value);
    if (value == 0 && signbit(value)) return negative_zero(at);
    for (int digits = 1;; digits++) {
        int length = snprintf(at, IKET_TEXT_NUMBER, "%.*g", digits, (double)value);
        if (digits >= 9 || strtof(at, NULL) == value) return at + length;
    }
}

char *iket_text_f64(char *at, double value) {
    if (!isfinite(value)) return special(at, value);
    if (value == 0 && signbit(value)) return negative_zero(at);
    for (int digits = 1;; digits++) {
        int length = snprintf(at, IKET_TEXT_NUMBER, "%.*g", digits, value);
        if (digits >= 17 || strtod(at, NULL) == value) return at + length;
    }
}

void iket_json_string(iket_sink *sink, const char *text) {
    iket_sink_write(sink, "\"", 1);
    const char *plain = text;
    for (const char *p = text; *p != 0; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        iket_sink_write(sink, plain, (size_t)(p - plain));
        plain = p + 1;
        if (c == '"' || c == '\\') {
            iket_sink_printf(sink, "\\%c", c);
        } else {
            iket_sink_printf(sink, "\\u%04x", c);
        }
    }
    iket_sink_text(sink, plain);
    iket_sink_write(sink, "\"", 1);
}
