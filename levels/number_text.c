// SPDX-License-Identifier: Apache-2.0
// number_text.c: floating-point payloads as the page's floatText() gives them: the fewest digits that read back to the same
// f32 (for a double that is one), else to the same double, laid out as ECMAScript does (1e+21, 0.000001, 1e-7).
#include "levels/number_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "levels/file.h"

enum { EXACT_DIGITS = 120, NARROW_DIGITS = 9 }; // an f32 has at most 112 decimal digits, and nine tell it from all others

// digits[0].digits[1]… * 10^exponent, above zero.
static char *put_digits(char *at, const char *digits, int count, int exponent) {
    while (count > 1 && digits[count - 1] == '0') count--;
    int point = exponent + 1; // digits before the point
    if (point > 21 || point < -5) {
        *at++ = digits[0];
        if (count > 1) *at++ = '.';
        memcpy(at, digits + 1, (size_t)count - 1);
        at += count - 1;
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        return iket_text_u64(at, (uint64_t)(exponent < 0 ? -exponent : exponent));
    }
    if (point <= 0) {
        memcpy(at, "0.", 2);
        memset(at + 2, '0', (size_t)-point);
        memcpy(at + 2 - point, digits, (size_t)count);
        return at + 2 - point + count;
    }
    for (int i = 0; i < count || i < point; i++) {
        if (i == point) *at++ = '.';
        *at++ = i < count ? digits[i] : '0';
    }
    return at;
}

// "d.ddde±xx" or "ddd.ddd" into digits and exponent; returns how many.
static int take_apart(const char *text, char *digits, int *exponent) {
    int count = 0, point = -1, zeros = 0;
    for (; isdigit((unsigned char)*text) || *text == '.'; text++) {
        if (*text == '.') {
            point = count + zeros;
        } else if (count == 0 && *text == '0') {
            zeros++;
        } else {
            digits[count++] = *text;
        }
    }
    if (point < 0) point = count + zeros;
    *exponent = point - zeros - 1 + (*text == 'e' ? (int)strtol(text + 1, NULL, 10) : 0);
    return count;
}

// Half a unit rounds up, in magnitude. Returns the exponent that it then has.
static int round_to(char *digits, int count, const char *exact, int exponent) {
    memcpy(digits, exact, (size_t)count);
    if (exact[count] < '5') return exponent;
    int i = count - 1;
    while (i >= 0 && digits[i] == '9') digits[i--] = '0';
    if (i >= 0) {
        digits[i]++;
        return exponent;
    }
    digits[0] = '1'; // 9.99 -> 10.0
    return exponent + 1;
}

static char *put_narrow(char *at, double value) {
    char text[EXACT_DIGITS + 16], exact[EXACT_DIGITS + 1], digits[NARROW_DIGITS + 1];
    int exponent, rounded;
    snprintf(text, sizeof text, "%.*e", EXACT_DIGITS - 1, value);
    take_apart(text, exact, &exponent);
    for (int count = 1;; count++) {
        rounded = round_to(digits, count, exact, exponent);
        snprintf(text, sizeof text, "%.*se%d", count, digits, rounded - count + 1);
        if (count == NARROW_DIGITS || (float)strtod(text, NULL) == (float)value) return put_digits(at, digits, count, rounded);
    }
}

static char *put_word(char *at, const char *word) {
    size_t length = strlen(word);
    memcpy(at, word, length);
    return at + length;
}

static char *put_double(char *at, double value) {
    if (isnan(value)) return put_word(at, "NaN");
    if (value == 0) return put_word(at, "0"); // a negative zero too
    if (value < 0) {
        *at++ = '-';
        value = -value;
    }
    if (isinf(value)) return put_word(at, "Infinity");
    if (value < 16777216 && value == floor(value)) return iket_text_u64(at, (uint64_t)value);
    if ((double)(float)value == value) return put_narrow(at, value);
    char text[IKET_TEXT_NUMBER + 1], digits[IKET_TEXT_NUMBER];
    int exponent;
    *iket_text_f64(text, value) = 0;
    int count = take_apart(text, digits, &exponent);
    return put_digits(at, digits, count, exponent);
}

char *iket_levels_payload_text(char *at, unsigned type, uint64_t bits) {
    double value;
    switch (type) {
    case IKET_LEVELS_INT: return iket_text_i64(at, (int64_t)bits);
    case IKET_LEVELS_DOUBLE: memcpy(&value, &bits, sizeof value); return put_double(at, value);
    case IKET_LEVELS_POINTER: return at + sprintf(at, "0x%llx", (unsigned long long)bits);
    default: return iket_text_u64(at, bits);
    }
}
