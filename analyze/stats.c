// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const iket_tally_entry *entries, size_t slots, uint64_t value) {
    size_t at = (size_t)((value * 0x9E3779B97F4A7C15u) >> 32) & (slots - 1);
    while (entries[at].count != 0 && entries[at].value != value) at = (at + 1) & (slots - 1);
    return at;
}

static int grow(iket_tally *t, iket_error *err) {
    size_t slots = t->slots == 0 ? 8 : t->slots * 2;
    iket_tally_entry *entries = calloc(slots, sizeof *entries);
    if (entries == NULL) return iket_fail(err, "out of memory (%zu different values)", slots);
    for (size_t i = 0; i < t->slots; i++) {
        if (t->entries[i].count != 0) entries[slot_of(entries, slots, t->entries[i].value)] = t->entries[i];
    }
    free(t->entries);
    t->entries = entries;
    t->slots = slots;
    return 0;
}

int iket_tally_add(iket_tally *t, uint64_t value, uint64_t times, iket_error *err) {
    if (times == 0) return 0;
    if ((t->used + 1) * 4 > t->slots * 3) IKET_TRY(grow(t, err));
    iket_tally_entry *e = &t->entries[slot_of(t->entries, t->slots, value)];
    if (e->count == 0) {
        e->value = value;
        t->used++;
    }
    e->count += times;
    t->count += times;
    t->total += (iket_wide)value * times;
    return 0;
}

static int by_value(const void *a, const void *b) {
    const iket_tally_entry *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

void iket_tally_sort(iket_tally *t) {
    size_t used = 0;
    for (size_t i = 0; i < t->slots; i++) {
        if (t->entries[i].count != 0) t->entries[used++] = t->entries[i];
    }
    if (used > 1) qsort(t->entries, used, sizeof *t->entries, by_value);
    t->slots = used;
}

uint64_t iket_tally_percentile(const iket_tally *t, unsigned percent) {
    // rank = ceil(percent * count / 100), from 1
    uint64_t rank = t->count / 100 * percent + (t->count % 100 * percent + 99) / 100, passed = 0;
    if (rank == 0) rank = 1;
    for (size_t i = 0; i < t->used; i++) {
        passed += t->entries[i].count;
        if (passed >= rank) return t->entries[i].value;
    }
    return 0;
}

void iket_tally_free(iket_tally *t) {
    free(t->entries);
    *t = (iket_tally){0};
}

iket_stats iket_tally_stats(iket_tally *t) {
    iket_stats s = {.count = t->count, .total = t->total};
    if (t->count == 0) return s;
    iket_tally_sort(t);
    s.min = t->entries[0].value;
    s.max = t->entries[t->used - 1].value;
    s.p50 = iket_tally_percentile(t, 50);
    s.p90 = iket_tally_percentile(t, 90);
    s.p99 = iket_tally_percentile(t, 99);
    return s;
}
