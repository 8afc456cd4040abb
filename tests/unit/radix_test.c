// SPDX-License-Identifier: Apache-2.0
// The radix sort: against a sort by comparison, with keys that differ in few bits and many, and in its order of equal keys.
#include "common/radix.h"

#include <stdlib.h>

#include "tests/unit/check.h"

enum { COUNT = 5000 };

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int by_key_then_index(const void *x, const void *y) {
    const iket_keyed *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void check_sort(uint64_t mask, uint64_t base, size_t count) {
    static iket_keyed items[COUNT], wanted[COUNT];
    uint64_t state = mask ^ count;
    for (size_t i = 0; i < count; i++) items[i] = wanted[i] = (iket_keyed){.key = base + (next_random(&state) & mask), .index = (uint32_t)i};
    qsort(wanted, count, sizeof *wanted, by_key_then_index);
    CHECK(iket_radix_sort(items, count, NULL) == 0, "sort");
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += items[i].key != wanted[i].key || items[i].index != wanted[i].index;
    CHECK(wrong == 0, "%zu of %zu at a wrong place, mask 0x%llx", wrong, count, (unsigned long long)mask);
}

int main(void) {
    static const uint64_t masks[] = {0, 1, 0x3FF, 0x7FF, 0xFFF, 0xFFFFF, UINT64_C(0x10000000000), UINT64_C(0x8000000000000001), UINT64_C(0xFFE0000000000000), UINT64_MAX};
    static const size_t counts[] = {0, 1, 2, 3, 100, COUNT};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            check_sort(masks[m], 0, counts[c]);
            check_sort(masks[m], UINT64_C(1796096489335662304), counts[c]);
        }
    }
    return check_failures();
}
