// SPDX-License-Identifier: Apache-2.0
// pftrace_bin.c: a bin of a batch: its records sorted by time, and turned into packets.
//
// What is sorted are keys {offset in the bin, task, place in the task's part}: by radix over the offset, which keeps the
// order of the parts where offsets are equal, and so that of the sources and of their records.
#include <stdlib.h>

#include "common/array.h"
#include "decode/pftrace_batch.h"
#include "decode/pftrace_event.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, KEY_SHIFT = 32, SMALL = 48 };

static void insert_sorted(uint64_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] >> KEY_SHIFT > key >> KEY_SHIFT; at--) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

// One stable pass over `bits` bits from `low` on.
static void sort_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned low, unsigned bits) {
    uint32_t first[DIGITS] = {0}, mask = (1u << bits) - 1, sum = 0;
    for (size_t i = 0; i < count; i++) first[from[i] >> low & mask]++;
    for (uint32_t d = 0; d <= mask; d++) {
        uint32_t here = first[d];
        first[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) to[first[from[i] >> low & mask]++] = from[i];
}

static void sort_keys(iket_pf_bin *bin) {
    uint64_t differ = 0;
    int sorted = 1;
    for (size_t i = 1; i < bin->count; i++) {
        differ |= bin->keys[i] ^ bin->keys[0];
        sorted &= bin->keys[i - 1] >> KEY_SHIFT <= bin->keys[i] >> KEY_SHIFT;
    }
    differ >>= KEY_SHIFT;
    if (sorted) return;
    if (bin->count <= SMALL) {
        insert_sorted(bin->keys, bin->count);
        return;
    }
    unsigned low = (unsigned)__builtin_ctzll(differ), high = 64 - (unsigned)__builtin_clzll(differ);
    unsigned passes = (high - low + DIGIT_BITS - 1) / DIGIT_BITS, bits = (high - low + passes - 1) / passes;
    for (; low < high; low += bits) {
        sort_digit(bin->keys, bin->spare, bin->count, KEY_SHIFT + low, bits);
        uint64_t *sorted_keys = bin->spare;
        bin->spare = bin->keys;
        bin->keys = sorted_keys;
    }
}

typedef struct mixed_context {
    const iket_pf_encoder *e;
    size_t bin;
} mixed_context;

// For a bin of a batch that was cut or begins with what was kept of one.
static int by_source(const void *x, const void *y, void *context) {
    const mixed_context *c = context;
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    if (a >> KEY_SHIFT != b >> KEY_SHIFT) return a < b ? -1 : 1;
    uint32_t s = c->e->sources[iket_pf_record_of(c->e, c->bin, a)->from >> IKET_PF_FROM_BITS]->id;
    uint32_t t = c->e->sources[iket_pf_record_of(c->e, c->bin, b)->from >> IKET_PF_FROM_BITS]->id;
    if (s != t) return s < t ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int gather_keys(const iket_pf_encoder *e, iket_pf_bin *bin, size_t index, iket_error *err) {
    size_t count = 0;
    for (size_t t = 0; t < e->task_count; t++) count += e->tasks[t].bins[index].count;
    if (count > bin->capacity) {
        size_t capacity = count + count / 4;
        free(bin->keys);
        free(bin->spare);
        bin->keys = malloc(capacity * sizeof *bin->keys);
        bin->spare = malloc(capacity * sizeof *bin->spare);
        bin->capacity = bin->keys == NULL || bin->spare == NULL ? 0 : capacity;
        if (bin->capacity == 0) return iket_fail(err, "out of memory (%zu events)", count);
    }
    if (count > UINT32_MAX) return iket_fail(err, "more than %u events in one span of time", UINT32_MAX);
    bin->count = 0;
    for (size_t t = 0; t < e->task_count; t++) {
        const iket_pf_bin_part *part = &e->tasks[t].bins[index];
        for (size_t i = 0; i < part->count; i++) bin->keys[bin->count++] = (uint64_t)(part->records[i].when >> IKET_PF_WHEN_BITS) << KEY_SHIFT | t << 27 | i;
    }
    return 0;
}

int iket_pf_sort_bin(void *context, size_t index, iket_error *err) {
    iket_pf_encoder *e = context;
    iket_pf_bin *bin = &e->bins[index];
    IKET_TRY(gather_keys(e, bin, index, err));
    if (bin->mixed) {
        qsort_r(bin->keys, bin->count, sizeof *bin->keys, by_source, &(mixed_context){e, index});
    } else {
        sort_keys(bin);
    }
    bin->mark_count = 0;
    for (size_t i = 0; i < bin->count; i++) {
        if ((iket_pf_record_of(e, index, bin->keys[i])->from & IKET_PF_IS_NEW) == 0) continue;
        IKET_TRY(IKET_RESERVE(bin->marks, bin->mark_count, bin->mark_capacity, 1, err));
        bin->marks[bin->mark_count++] = (iket_pf_mark){.at = i};
    }
    return 0;
}

// ---- packets --------------------------------------------------------------------------------------------------------

static int make_room(iket_pf_bytes *bytes, size_t size, iket_error *err) {
    IKET_TRY(IKET_RESERVE(bytes->data, bytes->used, bytes->capacity, size, err));
    return 0;
}

IKET_ALWAYS_INLINE uint8_t *put_record(const iket_pf_encoder *e, size_t task, const iket_pf_record *r, uint8_t *at, uint64_t delta) {
    unsigned type = r->when & 3, payload_class = r->when >> IKET_PF_CLASS_SHIFT & 7, category = IKET_PF_CAT_LIFETIME + (r->from & 3);
    uint32_t track = r->track;
    if (__builtin_expect(r->from & IKET_PF_IS_PENDING, 0)) track = iket_pf_uuid_of(e->sources[r->from >> IKET_PF_FROM_BITS], track);
    if (__builtin_expect(r->when & IKET_PF_IS_EXTRA, 0)) {
        const iket_pf_extra *x = &e->tasks[task].extras[r->bits];
        return iket_pf_put_event(at, delta, type, track, r->name, category, x->payload_class, x->payload_bits, x);
    }
    return iket_pf_put_event(at, delta, type, track, r->name, category, payload_class, r->bits, NULL);
}

// The records from `first` up to `end`, none of which is of type 0.
static int put_records(const iket_pf_encoder *e, size_t index, size_t first, size_t end, uint64_t *now, iket_pf_bytes *bytes, iket_error *err) {
    const iket_pf_bin *bin = &e->bins[index];
    uint64_t origin = e->start + ((uint64_t)index << e->shift);
    while (first < end) {
        size_t part = end - first < 4096 ? end - first : 4096;
        IKET_TRY(make_room(bytes, part * IKET_PF_EVENT_BYTES, err));
        uint8_t *at = bytes->data + bytes->used;
        for (; part > 0; part--, first++) {
            uint64_t key = bin->keys[first], time = origin + (key >> KEY_SHIFT);
            at = put_record(e, (uint32_t)key >> 27, iket_pf_record_of(e, index, key), at, time - *now);
            *now = time;
        }
        bytes->used = (size_t)(at - bytes->data);
    }
    return 0;
}

int iket_pf_encode_bin(void *context, size_t index, iket_error *err) {
    iket_pf_encoder *e = context;
    iket_pf_bin *bin = &e->bins[index];
    iket_pf_bytes *bytes = &e->bytes[e->turn][index];
    uint64_t now = bin->now;
    size_t at = 0;
    bytes->used = 0;
    for (size_t i = 0; i < bin->mark_count; i++) {
        const iket_pf_mark *mark = &bin->marks[i];
        IKET_TRY(put_records(e, index, at, mark->at, &now, bytes, err));
        at = mark->at;
        size_t size = mark->end - mark->first;
        IKET_TRY(make_room(bytes, size, err));
        if (size > 0) memcpy(bytes->data + bytes->used, e->side_bytes.data + mark->first, size);
        bytes->used += size;
        if ((iket_pf_record_of(e, index, bin->keys[at])->when & 3) != 0) continue;
        now = e->start + ((uint64_t)index << e->shift) + (bin->keys[at] >> KEY_SHIFT); // its packets are those bytes
        at++;
    }
    return put_records(e, index, at, bin->count, &now, bytes, err);
}
