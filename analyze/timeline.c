// SPDX-License-Identifier: Apache-2.0
#include "analyze/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

// A begin or an end of a range, clipped to the lifetime.
typedef struct iket_edge {
    uint64_t time;
    uint32_t range;
    uint8_t is_end;
} iket_edge;

// At one time ends come first: what begins there is innermost. The earlier record is the outer one: it begins first and
// ends last.
static int by_time(const void *a, const void *b) {
    const iket_edge *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->is_end != y->is_end) return x->is_end ? -1 : 1;
    int order = x->range < y->range ? -1 : x->range > y->range;
    return x->is_end ? -order : order;
}

static int add_edges(iket_timeline *t, const iket_columns *c, size_t location, size_t *count, iket_error *err) {
    const iket_location *l = &c->trace->locations[location];
    size_t first = c->first_range[location], last = c->first_range[location + 1];
    *count = 0;
    IKET_TRY(IKET_RESERVE(t->edges, (size_t)0, t->edge_capacity, 2 * (last - first), err));
    for (size_t i = first; i < last; i++) {
        uint64_t start = c->start[i] > l->start ? c->start[i] : l->start, end = c->end[i] < l->end ? c->end[i] : l->end;
        if (start >= end) continue; // no length, or outside the lifetime
        t->edges[(*count)++] = (iket_edge){start, (uint32_t)i, 0};
        t->edges[(*count)++] = (iket_edge){end, (uint32_t)i, 1};
    }
    if (*count > 1) qsort(t->edges, *count, sizeof *t->edges, by_time);
    return 0;
}

static int put(iket_timeline *t, uint64_t start, uint64_t end, uint32_t range, uint32_t before, iket_error *err) {
    if (start == end) return 0;
    iket_segment_of_time *last = t->count > 0 ? &t->items[t->count - 1] : NULL;
    if (last != NULL && last->range == range && range != IKET_UNKNOWN) {
        last->end = end;
        return 0;
    }
    IKET_TRY(IKET_RESERVE(t->items, t->count, t->capacity, 1, err));
    t->items[t->count++] = (iket_segment_of_time){start, end, range, range == IKET_UNKNOWN ? before : IKET_UNKNOWN};
    return 0;
}

int iket_timeline_build(iket_timeline *t, const iket_columns *c, size_t location, iket_error *err) {
    const iket_location *l = &c->trace->locations[location];
    size_t edges, open = 0;
    uint64_t now = l->start;
    uint32_t before = IKET_UNKNOWN;
    t->count = 0;
    IKET_TRY(add_edges(t, c, location, &edges, err));
    IKET_TRY(IKET_RESERVE(t->open, (size_t)0, t->open_capacity, edges / 2 + 1, err));
    for (size_t i = 0; i < edges; i++) {
        const iket_edge *e = &t->edges[i];
        IKET_TRY(put(t, now, e->time, open > 0 ? t->open[open - 1] : IKET_UNKNOWN, before, err));
        now = e->time;
        if (!e->is_end) {
            t->open[open++] = e->range;
            continue;
        }
        // Mostly the last; a token range may end below others.
        size_t at = open;
        while (at > 0 && t->open[at - 1] != e->range) at--;
        memmove(&t->open[at - 1], &t->open[at], (open - at) * sizeof *t->open);
        open--;
        before = e->range;
    }
    return put(t, now, l->end, IKET_UNKNOWN, before, err);
}

void iket_timeline_free(iket_timeline *t) {
    free(t->items);
    free(t->edges);
    free(t->open);
    *t = (iket_timeline){0};
}

uint8_t *iket_wait_names(const iket_trace *trace, const char *regex, iket_error *err) {
    regex_t compiled;
    int status = regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB);
    if (status != 0) {
        char why[128];
        regerror(status, &compiled, why, sizeof why);
        iket_fail(err, "--wait: '%s' is no regular expression: %s", regex, why);
        return NULL;
    }
    uint8_t *names = calloc(trace->string_count + 1, 1);
    if (names == NULL) iket_fail(err, "out of memory (%zu names)", trace->string_count);
    for (size_t i = 0; names != NULL && i < trace->string_count; i++) names[i] = regexec(&compiled, trace->strings[i], 0, NULL, 0) == 0;
    regfree(&compiled);
    return names;
}

iket_busy iket_timeline_busy(const iket_timeline *t, const iket_columns *c, const uint8_t *waits) {
    iket_busy b = {0, 0, 0};
    for (size_t i = 0; i < t->count; i++) {
        const iket_segment_of_time *s = &t->items[i];
        uint64_t *sum = s->range == IKET_UNKNOWN ? &b.idle : waits[c->name[s->range]] ? &b.wait : &b.busy;
        *sum += s->end - s->start;
    }
    return b;
}
