// SPDX-License-Identifier: Apache-2.0
#include "analyze/chart.h"

#include <string.h>

enum { LINEAR_BUCKETS = 12 };

void iket_bar(iket_wide value, iket_wide most, char text[IKET_BAR_TEXT]) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    int utf8 = iket_utf8_terminal();
    unsigned parts = utf8 ? 8 : 1;
    // Large values lose low bits, not the product.
    while (most > UINT64_MAX / 1024) {
        most >>= 8;
        value >>= 8;
    }
    unsigned filled = most == 0 ? 0 : (unsigned)((value * IKET_BAR_WIDTH * parts + most / 2) / most);
    if (filled == 0 && value > 0) filled = 1;
    char *at = text;
    for (; filled >= parts; filled -= parts) at = stpcpy(at, utf8 ? eighths[8] : "#");
    stpcpy(at, utf8 ? eighths[filled] : "");
}

static unsigned power_of(uint64_t value) { return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value); }

size_t iket_buckets(const iket_tally *t, iket_bucket buckets[IKET_BUCKETS_MAX]) {
    if (t->count == 0) return 0;
    uint64_t min = t->entries[0].value, max = t->entries[t->used - 1].value;
    int powers = max / 16 >= (min > 0 ? min : 1);
    uint64_t width = (max - min) / LINEAR_BUCKETS + 1;
    size_t count = powers ? power_of(max) - power_of(min) + 1 : (size_t)((max - min) / width) + 1;
    for (size_t i = 0; i < count; i++) {
        if (powers) {
            unsigned p = power_of(min) + (unsigned)i;
            buckets[i] = (iket_bucket){p == 0 ? 0 : (uint64_t)1 << (p - 1), p == 64 ? UINT64_MAX : ((uint64_t)1 << p) - 1, 0};
        } else {
            buckets[i] = (iket_bucket){min + width * i, i + 1 == count ? max : min + width * (i + 1) - 1, 0};
        }
    }
    for (size_t k = 0; k < t->used; k++) {
        uint64_t v = t->entries[k].value;
        size_t i = powers ? power_of(v) - power_of(min) : (size_t)((v - min) / width);
        buckets[i].count += t->entries[k].count;
    }
    return count;
}
