// SPDX-License-Identifier: Apache-2.0
// The text of a float: what the least precision of %g gives that reads back to the same value, which is tried out here.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "tests/unit/check.h"

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void check_f32(float value) {
    char got[IKET_TEXT_NUMBER], wanted[IKET_TEXT_NUMBER];
    if (!isfinite(value) || value == 0) return;
    *iket_text_f32(got, value) = 0;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(wanted, sizeof wanted, "%.*g", digits, (double)value);
        if (strtof(wanted, NULL) == value) break;
    }
    CHECK(strcmp(got, wanted) == 0, "%a: %s instead of %s", (double)value, got, wanted);
}

static void check_f64(double value) {
    char got[IKET_TEXT_NUMBER], wanted[IKET_TEXT_NUMBER];
    if (!isfinite(value) || value == 0) return;
    *iket_text_f64(got, value) = 0;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(wanted, sizeof wanted, "%.*g", digits, value);
        if (strtod(wanted, NULL) == value) break;
    }
    CHECK(strcmp(got, wanted) == 0, "%a: %s instead of %s", value, got, wanted);
}

// The value, what lies next to it, and their negatives.
static void check_around(double value) {
    const float f = (float)value;
    check_f64(value);
    check_f64(-nextafter(value, 0));
    check_f64(nextafter(value, INFINITY));
    check_f32(f);
    check_f32(-nextafterf(f, 0));
    check_f32(nextafterf(f, INFINITY));
}

int main(void) {
    for (int e = -330; e <= 310; e++) check_around(pow(10, e));
    for (int e = -1080; e <= 1023; e++) check_around(ldexp(1, e));
    for (int i = 0; i < 2000; i++) {
        check_around(i);
        check_around(i / 8.0);
        check_around(i / 100.0);
        check_around(i * 1e5 + 0.5);
    }
    for (int i = 0; i < 30000; i++) {
        uint64_t bits = random_bits();
        uint32_t low = (uint32_t)random_bits();
        float f;
        double d;
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &low, sizeof f);
        check_f64(d);
        check_f32(f);
        int exponent = (int)(bits % 64) - 12; // of a common size
        check_f64(ldexp(1 + (double)(bits >> 12) / ldexp(1, 52), exponent));
        check_f32((float)ldexp(1 + (double)(low >> 9) / ldexp(1, 23), exponent));
        check_f64((double)(bits % 1000000) / 1000);
    }
    return check_failures();
}
