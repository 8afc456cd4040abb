// SPDX-License-Identifier: Apache-2.0
// longest.c: the longest events of a selection, in a heap of as many as are wanted: its root is the one to go next.
#include <stdlib.h>

#include "levels/question.h"
#include "levels/scope.h"

enum { MOST = 1000 };

typedef struct heap {
    struct entry {
        uint64_t length, event;
    } entries[MOST];
    size_t count, limit;
} heap;

// Whether a goes before b: it is shorter, or of equal length and later.
static int is_less(const struct entry *a, const struct entry *b) { return a->length != b->length ? a->length < b->length : a->event > b->event; }

static void sink_down(heap *h, struct entry entry) {
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && is_less(&h->entries[child + 1], &h->entries[child])) child++;
        if (!is_less(&h->entries[child], &entry)) break;
        h->entries[at] = h->entries[child];
        at = child;
    }
    h->entries[at] = entry;
}

static void offer(heap *h, struct entry entry) {
    if (h->count == h->limit) {
        if (is_less(&h->entries[0], &entry)) sink_down(h, entry);
        return;
    }
    size_t at = h->count++;
    for (; at > 0 && is_less(&entry, &h->entries[(at - 1) / 2]); at = (at - 1) / 2) h->entries[at] = h->entries[(at - 1) / 2];
    h->entries[at] = entry;
}

static int longest_first(const void *a, const void *b) { return is_less(a, b) ? 1 : -1; }

static void put_longest(iket_sink *sink, const iket_levels *levels, heap *h) {
    uint64_t events[MOST];
    qsort(h->entries, h->count, sizeof h->entries[0], longest_first);
    iket_sink_text(sink, "{\"version\":1,\"events\":[");
    for (size_t i = 0; i < h->count; i++) {
        events[i] = h->entries[i].event;
        if (i > 0) iket_sink_text(sink, ",");
        iket_levels_put(sink, events[i]);
    }
    iket_sink_text(sink, "],\"lane\":[");
    for (size_t i = 0; i < h->count; i++) {
        if (i > 0) iket_sink_text(sink, ",");
        iket_levels_put(sink, iket_levels_lane_of(levels, events[i]));
    }
    iket_sink_text(sink, "]");
    iket_levels_put_columns(sink, levels, events, h->count);
    iket_sink_text(sink, "}\n");
}

iket_levels_status iket_levels_longest(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    iket_levels_scope scope;
    iket_levels_intervals events = {.count = 0};
    uint64_t limit = 8;
    heap h = {.count = 0};
    iket_levels_status status = iket_levels_scope_open(&scope, levels, question, err);
    if (status == IKET_LEVELS_OK) status = iket_levels_whole(question, "limit", 1, MOST, &limit, err);
    if (status == IKET_LEVELS_OK && iket_levels_scope_events(&scope, levels, IKET_LEVELS_TOUCHES, &events, err) != 0) status = IKET_LEVELS_FAILED;
    h.limit = limit;
    if (status == IKET_LEVELS_OK) {
        for (size_t k = 0; k < events.count; k++) {
            for (uint64_t i = events.list[k].from; i < events.list[k].to; i++) {
                if (iket_levels_scope_has(&scope, levels->cls[i])) offer(&h, (struct entry){levels->end[i] - levels->start[i], i});
            }
        }
        put_longest(sink, levels, &h);
    }
    free(events.list);
    iket_levels_scope_clear(&scope);
    return status;
}
