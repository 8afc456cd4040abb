// SPDX-License-Identifier: Apache-2.0
// UTF-8 cleaning, decimal writers, the shortest digits of floats, payload values.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/utf8.h"
#include "decode/include/iket/trace.h"
#include "tests/unit/check.h"

static void clean_is(const char *bytes, size_t size, const char *wanted) {
    char *clean = iket_utf8_clean(bytes, size);
    CHECK(strcmp(clean, wanted) == 0, "'%s' instead of '%s'", clean, wanted);
    CHECK(iket_utf8_valid(clean, strlen(clean)), "'%s'", clean);
    free(clean);
}

static void test_utf8(void) {
#define BAD "\xEF\xBF\xBD"
    clean_is("plain", 5, "plain");
    clean_is("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    clean_is("a\xFFz", 3, "a" BAD "z");
    clean_is("\xC0\xAF", 2, BAD BAD);                 // overlong
    clean_is("\xE0\x80\xAF", 3, BAD BAD BAD);         // overlong
    clean_is("\xED\xA0\x80", 3, BAD BAD BAD);         // a surrogate
    clean_is("\xF4\x90\x80\x80", 4, BAD BAD BAD BAD); // past U+10FFFF
    clean_is("\xE2\x82", 2, BAD BAD);                 // cut off
    clean_is("a\0b", 3, "a" BAD "b");
    clean_is("", 0, "");
}

static void integer_is(uint64_t value, const char *wanted) {
    char text[IKET_TEXT_NUMBER];
    *iket_text_u64(text, value) = 0;
    CHECK(strcmp(text, wanted) == 0, "%s instead of %s", text, wanted);
}

static void test_integers(void) {
    integer_is(0, "0");
    integer_is(9, "9");
    integer_is(10, "10");
    integer_is(99, "99");
    integer_is(100, "100");
    integer_is(1796096489335662304, "1796096489335662304");
    integer_is(UINT64_MAX, "18446744073709551615");
    char text[IKET_TEXT_NUMBER];
    *iket_text_i64(text, INT64_MIN) = 0;
    CHECK(strcmp(text, "-9223372036854775808") == 0, "%s", text);
    *iket_text_i64(text, -1) = 0;
    CHECK(strcmp(text, "-1") == 0, "%s", text);
}

static void f32_is(float value, const char *wanted) {
    char text[IKET_TEXT_NUMBER];
    *iket_text_f32(text, value) = 0;
    CHECK(strcmp(text, wanted) == 0, "%s instead of %s", text, wanted);
}

static void f64_is(double value, const char *wanted) {
    char text[IKET_TEXT_NUMBER];
    *iket_text_f64(text, value) = 0;
    CHECK(strcmp(text, wanted) == 0, "%s instead of %s", text, wanted);
}

// Reads back to the same bits, and one digit less does not.
static void shortest(double value, int is_float) {
    char text[IKET_TEXT_NUMBER], fewer[400];
    *(is_float ? iket_text_f32(text, (float)value) : iket_text_f64(text, value)) = 0;
    double back = is_float ? (double)strtof(text, NULL) : strtod(text, NULL);
    CHECK(memcmp(&back, &value, sizeof back) == 0, "%s for %.17g", text, value);
    int digits = 0;
    for (const char *p = text; *p != 0 && *p != 'e'; p++) digits += *p >= '0' && *p <= '9' && (digits > 0 || *p != '0');
    if (digits < 2 || (strchr(text, '.') == NULL && strchr(text, 'e') == NULL)) return; // an integer in full
    snprintf(fewer, sizeof fewer, "%.*g", digits - 1, value);
    double other = is_float ? (double)strtof(fewer, NULL) : strtod(fewer, NULL);
    CHECK(other != value, "%s although %s is enough for %.17g", text, fewer, value);
}

static void test_floats(void) {
    f32_is(0.0f, "0");
    f32_is(-0.0f, "-0.0");
    f32_is(-3.25f, "-3.25");
    f32_is(0.1f, "0.1");
    f32_is(16777216.0f, "16777216");
    f32_is(NAN, "\"NaN\"");
    f32_is(INFINITY, "\"Infinity\"");
    f32_is(-INFINITY, "\"-Infinity\"");
    f64_is(0.1, "0.1");
    f64_is(-0.0, "-0.0");
    f64_is(1.0 / 3.0, "0.3333333333333333");
    static const double hard[] = {FLT_MAX, FLT_MIN, 1.401298464324817e-45, 8388609.0, 1.17549421e-38, 9.5e-5, 1e10, 33554434.0};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) shortest((double)(float)hard[i], 1);
    static const double harder[] = {DBL_MAX, DBL_MIN, 5e-324, 9007199254740993.0, 2.2250738585072011e-308, 1e23, 123456789.125, 4.35, 0.3};
    for (size_t i = 0; i < sizeof harder / sizeof *harder; i++) shortest(harder[i], 0);
    uint64_t state = 88172645463325252u; // xorshift: the same values in every run
    for (int i = 0; i < 20000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t low = (uint32_t)state;
        double d;
        float f;
        memcpy(&d, &state, sizeof d);
        memcpy(&f, &low, sizeof f);
        if (isfinite(f)) shortest((double)f, 1);
        if (isfinite(d)) shortest(d, 0);
    }
}

static void payload_is(uint8_t type, uint64_t bits, const char *wanted) {
    char text[IKET_PAYLOAD_TEXT];
    size_t length = iket_payload_text((iket_payload){bits, type}, text);
    CHECK(strcmp(text, wanted) == 0 && length == strlen(wanted), "%s instead of %s", text, wanted);
}

static void test_payloads(void) {
    payload_is(IKET_PAYLOAD_I8, 251, "-5");
    payload_is(IKET_PAYLOAD_U8, 251, "251");
    payload_is(IKET_PAYLOAD_I16, 0x8000, "-32768");
    payload_is(IKET_PAYLOAD_I32, 4294967264, "-32");
    payload_is(IKET_PAYLOAD_U32, 4294967264, "4294967264");
    payload_is(IKET_PAYLOAD_I64, UINT64_C(0x8000000000000000), "-9223372036854775808");
    payload_is(IKET_PAYLOAD_U64, UINT64_MAX, "18446744073709551615");
    payload_is(IKET_PAYLOAD_POINTER, UINT64_C(0x7f0000001000), "139637976731648");
    payload_is(IKET_PAYLOAD_F32, 3226468352, "-3.25");
    payload_is(IKET_PAYLOAD_F64, UINT64_C(4591870180066957722), "0.1");
    CHECK(iket_payload_type_name(8) == NULL && iket_payload_type_name(17) == NULL && iket_payload_type_name(12) == NULL, "unknown types have no name");
}

int main(void) {
    test_utf8();
    test_integers();
    test_floats();
    test_payloads();
    return check_failures();
}
