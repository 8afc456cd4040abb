// SPDX-License-Identifier: Apache-2.0
// build_join.c: what few events have, put together from the threads of the second pass.
#include <stdlib.h>
#include <string.h>

#include "levels/place.h"

static int by_event(const void *x, const void *y) {
    const iket_levels_note *a = x, *b = y;
    if (a->event != b->event) return a->event < b->event ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

int iket_levels_join_notes(iket_levels_builder *b, const iket_levels_part *parts, size_t count, iket_error *err) {
    iket_levels_note *notes = b->columns.note;
    uint64_t used = 0;
    iket_memory texts = {0};
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        memmove(notes + used, notes + parts[i].note_first, parts[i].note_count * sizeof *notes);
        for (uint64_t k = used; k < used + parts[i].note_count; k++) {
            if (notes[k].kind == IKET_LEVELS_NOTE_EXTRA) notes[k].bits += texts.used;
        }
        used += parts[i].note_count;
        if (parts[i].texts.used > 0) result = iket_memory_flush(&texts, parts[i].texts.data, parts[i].texts.used, err);
    }
    qsort(notes, used, sizeof *notes, by_event);
    b->header.note.count = used;
    if (result == 0) result = iket_levels_append(b, &b->header.note_text, texts.data, texts.used, 1, err);
    b->note_texts = texts; // the tables are made from them
    return result;
}

// As the page does it: the event that leaves is the last one that named the arrow; arrows come by the events they reach.
int iket_levels_join_arrows(iket_levels_builder *b, const iket_levels_part *parts, size_t count, iket_error *err) {
    iket_levels_map place = {0};
    iket_levels_ends left = {0};
    uint64_t *pairs = NULL;
    size_t lefts = 0, reached = 0;
    for (size_t i = 0; i < count; i++) {
        lefts += parts[i].left.count;
        reached += parts[i].reached.count;
    }
    left.items = malloc((lefts + 1) * sizeof *left.items);
    pairs = malloc((2 * reached + 1) * sizeof *pairs);
    int result = left.items == NULL || pairs == NULL || lefts >= UINT32_MAX ? iket_fail(err, "out of memory (%zu arrows)", lefts + reached) : 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        for (size_t k = 0; k < parts[i].left.count && result == 0; k++) {
            left.items[left.count] = parts[i].left.items[k];
            result = iket_levels_map_set(&place, left.items[left.count].id, (uint32_t)left.count, err);
            left.count++;
        }
    }
    for (size_t i = 0; i < count && result == 0; i++) {
        for (size_t k = 0; k < parts[i].reached.count; k++) {
            uint32_t from = iket_levels_map_get(&place, parts[i].reached.items[k].id);
            if (from == IKET_LEVELS_NONE) continue;
            pairs[2 * b->arrow_count] = left.items[from].event;
            pairs[2 * b->arrow_count++ + 1] = parts[i].reached.items[k].event;
        }
    }
    if (result == 0) result = iket_levels_append(b, &b->header.arrow, pairs, 2 * b->arrow_count, sizeof *pairs, err);
    iket_levels_map_free(&place);
    free(left.items);
    free(pairs);
    return result;
}
