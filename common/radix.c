// SPDX-License-Identifier: Apache-2.0
#include "common/radix.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static void sort_digit(const iket_keyed *from, iket_keyed *to, size_t count, unsigned low) {
    size_t first[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++) first[from[i].key >> low & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = first[d];
        first[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) to[first[from[i].key >> low & (DIGITS - 1)]++] = from[i];
}

int iket_radix_sort(iket_keyed *items, size_t count, iket_error *err) {
    uint64_t differ = 0;
    int sorted = 1;
    for (size_t i = 1; i < count; i++) {
        differ |= items[i].key ^ items[0].key;
        sorted &= items[i - 1].key <= items[i].key;
    }
    if (sorted) return 0;
    iket_keyed *spare = malloc(count * sizeof *spare), *from = items, *to = spare;
    if (spare == NULL) return iket_fail(err, "out of memory (%zu keys)", count);
    unsigned high = 64 - (unsigned)__builtin_clzll(differ);
    for (unsigned low = (unsigned)__builtin_ctzll(differ); low < high; low += DIGIT_BITS) {
        sort_digit(from, to, count, low);
        iket_keyed *filled = to;
        to = from;
        from = filled;
    }
    if (from != items) memcpy(items, from, count * sizeof *items);
    free(spare);
    return 0;
}
