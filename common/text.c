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

// ---- the fewest digits ----------------------------------------------------------------------------------------------
// What `%.*g` gives with the least precision that reads back to the same value. Values of common size are done in 128-bit
// integers, exactly: with all numbers times `den`,
//
//     low ──── num ──── high      what reads back to num / den = m * 2^e: halfway to its neighbours, ends included for even m
//              ▲ c * den          the candidate c of d digits, num / den rounded half to even
//
// Others are tried out.

__extension__ typedef unsigned __int128 u128;

enum { LEAST_EXPONENT = -3, POWERS = 20 };

static const uint64_t power_of_10[POWERS] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
    UINT64_C(10000000000), UINT64_C(100000000000), UINT64_C(1000000000000), UINT64_C(10000000000000), UINT64_C(100000000000000),
    UINT64_C(1000000000000000), UINT64_C(10000000000000000), UINT64_C(100000000000000000), UINT64_C(1000000000000000000), UINT64_C(10000000000000000000)};

// digits * 10^(exponent + 1 - count) as %g writes it.
static char *put_general(char *at, uint64_t digits, int count, int exponent) {
    while (count > 1 && digits % 10 == 0) {
        digits /= 10;
        count--;
    }
    char text[24];
    iket_text_u64(text, digits);
    if (exponent < -4 || exponent >= count) {
        *at++ = text[0];
        if (count > 1) {
            *at++ = '.';
            memcpy(at, text + 1, (size_t)count - 1);
            at += count - 1;
        }
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        return put_2_digits(at, (uint32_t)(exponent < 0 ? -exponent : exponent)); // of two digits within the range below
    }
    if (exponent < 0) {
        memcpy(at, "0.000", 5);
        at += 1 - exponent;
        memcpy(at, text, (size_t)count);
        return at + count;
    }
    memcpy(at, text, (size_t)exponent + 1);
    at += exponent + 1;
    if (count == exponent + 1) return at;
    *at++ = '.';
    memcpy(at, text + exponent + 1, (size_t)(count - exponent - 1));
    return at + count - exponent - 1;
}

// value is m * 2^e, above 0; narrow: its lower neighbour is only half as far as its upper. NULL: not of common size.
static char *put_shortest(char *at, double value, uint64_t m, int e, int narrow, int most) {
    if (!(value >= 1e-3 && value < 1e15)) return NULL;
    int exponent = LEAST_EXPONENT;
    while (exponent < 14 && value >= (exponent + 1 < 0 ? 1 / (double)power_of_10[-exponent - 1] : (double)power_of_10[exponent + 1])) exponent++;
    for (int count = 1; count <= most; count++) {
        int scale = count - 1 - exponent; // c is value * 10^scale
        u128 unit = scale > 0 ? power_of_10[scale] : 1, den = scale < 0 ? power_of_10[-scale] : 1;
        if (e > 2) {
            unit <<= e - 2;
        } else {
            den <<= 2 - e;
        }
        u128 num = unit * (m * 4), low = unit * (m * 4 - (narrow ? 1 : 2)), high = unit * (m * 4 + 2);
        u128 c = scale < 0 ? num / den : num >> (2 - e > 0 ? 2 - e : 0), rest = num - c * den;
        if (rest * 2 > den || (rest * 2 == den && (c & 1))) c++;
        u128 back = c * den;
        if (m % 2 == 0 ? back < low || back > high : back <= low || back >= high) continue;
        uint64_t digits = (uint64_t)c;
        if (digits >= power_of_10[count]) return put_general(at, digits / 10, count, exponent + 1);
        if (digits < power_of_10[count - 1]) return NULL; // (the exponent was one too large)
        return put_general(at, digits, count, exponent);
    }
    return NULL;
}

char *iket_text_f32(char *at, float value) {
    if (!isfinite(value)) return special(at, (double)value);
    if (value == 0 && signbit(value)) return negative_zero(at);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t m = (bits & 0x7FFFFF) | 0x800000, biased = bits >> 23 & 0xFF;
    char *sign = at;
    if (biased != 0) {
        if (value < 0) *sign++ = '-';
        char *end = put_shortest(sign, fabs((double)value), m, (int)biased - 150, m == 0x800000 && biased > 1, 9);
        if (end != NULL) return end;
    }
    for (int digits = 1;; digits++) {
        int length = snprintf(at, IKET_TEXT_NUMBER, "%.*g", digits, (double)value);
        if (digits >= 9 || strtof(at, NULL) == value) return at + length;
    }
}

char *iket_text_f64(char *at, double value) {
    if (!isfinite(value)) return special(at, value);
    if (value == 0 && signbit(value)) return negative_zero(at);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52, biased = bits >> 52 & 0x7FF;
    char *sign = at;
    if (biased != 0) {
        if (value < 0) *sign++ = '-';
        char *end = put_shortest(sign, fabs(value), m, (int)biased - 1075, m == UINT64_C(1) << 52 && biased > 1, 17);
        if (end != NULL) return end;
    }
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
