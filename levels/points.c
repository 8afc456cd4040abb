// SPDX-License-Identifier: Apache-2.0
// points.c: the payloads of a class as points of a plot: a marker's over time, a range's duration by its payload.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "levels/question.h"
#include "levels/scope.h"

enum { MOST = 20000 };

typedef struct points {
    double *x, *y; // owned, [MOST + 1] each
    size_t count;
    uint64_t total, every;
} points;

// Rounded to a double: it is for a plot.
static double payload_of(const iket_levels *levels, uint64_t event) {
    uint64_t bits = levels->payload[event];
    double value;
    switch (levels->payload_type[event]) {
    case IKET_LEVELS_DOUBLE: memcpy(&value, &bits, sizeof value); return value;
    case IKET_LEVELS_INT: return (double)(int64_t)bits;
    default: return (double)bits;
    }
}

static void add_point(points *p, const iket_levels *levels, uint64_t event) {
    if (levels->payload_type[event] == IKET_LEVELS_NO_PAYLOAD || p->total++ % p->every != 0) return;
    double value = payload_of(levels, event);
    if (!isfinite(value) || p->count == MOST + 1) return;
    int instant = iket_levels_kind_of(levels, event) == IKET_LEVELS_MARKER;
    p->x[p->count] = instant ? (double)levels->start[event] : value;
    p->y[p->count++] = instant ? value : (double)(levels->end[event] - levels->start[event]);
}

static uint64_t count_class(const iket_levels *levels, uint16_t cls) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < levels->event_count; i++) count += levels->cls[i] == cls;
    return count;
}

static void put_axis(iket_sink *sink, const char *name, const double *values, size_t count) {
    iket_sink_printf(sink, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) iket_sink_text(sink, ",");
        iket_levels_put_double(sink, values[i]);
    }
    iket_sink_text(sink, "]");
}

static void put_points(iket_sink *sink, const points *p) {
    iket_sink_printf(sink, "{\"version\":1,\"every\":%llu,\"total\":%llu", (unsigned long long)p->every, (unsigned long long)p->total);
    put_axis(sink, "x", p->x, p->count);
    put_axis(sink, "y", p->y, p->count);
    iket_sink_text(sink, "}\n");
}

static iket_levels_status collect(points *p, const iket_levels *levels, const iket_levels_scope *scope, uint64_t limit, iket_error *err) {
    iket_levels_intervals events = {.count = 0};
    if (scope->cls < 0) {
        iket_fail(err, "a class is missing (class=N, or a name that only one class has)");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    p->x = malloc((MOST + 1) * sizeof *p->x);
    p->y = malloc((MOST + 1) * sizeof *p->y);
    int result = p->x == NULL || p->y == NULL ? iket_fail(err, "out of memory (%d points)", MOST) : iket_levels_scope_events(scope, levels, IKET_LEVELS_TOUCHES, &events, err);
    if (result == 0) {
        uint64_t all = count_class(levels, (uint16_t)scope->cls);
        p->every = all > limit ? (all + limit - 1) / limit : 1;
        for (size_t k = 0; k < events.count; k++) {
            for (uint64_t i = events.list[k].from; i < events.list[k].to; i++) {
                if (iket_levels_scope_has(scope, levels->cls[i])) add_point(p, levels, i);
            }
        }
    }
    free(events.list);
    return result == 0 ? IKET_LEVELS_OK : IKET_LEVELS_FAILED;
}

iket_levels_status iket_levels_points(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    iket_levels_scope scope;
    uint64_t limit = MOST;
    points p = {.count = 0};
    iket_levels_status status = iket_levels_scope_open(&scope, levels, question, err);
    if (status == IKET_LEVELS_OK) status = iket_levels_whole(question, "limit", 1, MOST, &limit, err);
    if (status == IKET_LEVELS_OK) status = collect(&p, levels, &scope, limit, err);
    if (status == IKET_LEVELS_OK) put_points(sink, &p);
    free(p.x);
    free(p.y);
    iket_levels_scope_clear(&scope);
    return status;
}
