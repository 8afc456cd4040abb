// SPDX-License-Identifier: Apache-2.0
// window.c: the events of lanes at a resolution. Per lane a binary search finds the first event in the window, and after a
// slice narrower than a pixel the next one looked at is the first that ends past that pixel, by steps that double: the
// cost is of pixels, not of events.
//
//     pixel        │    0    │    1    │    2    │    3    │
//     lane        ─┼─▬ ▬ ▬ ▬─┼▬▬─▬▬────┼───▬▬▬▬▬▬▬▬▬▬▬─────┼─
//     sent           ▬         ▬▬          ▬▬▬▬▬▬▬▬▬▬▬
#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "levels/question.h"
#include "levels/scope.h"

enum { MOST_EXACT = 100000, MOST_EVENTS = 1000000 };

typedef struct window {
    const iket_levels *levels;
    const iket_levels_scope *scope;
    double from, ns_per_pixel; // 0: every event
    uint64_t *events;          // owned
    size_t count, capacity, most;
} window;

static iket_levels_status add_event(window *w, uint64_t event, iket_error *err) {
    if (w->count == w->most) {
        iket_fail(err, "more than %zu events are in this window (%s)", w->most,
                  w->ns_per_pixel > 0 ? "ask for fewer lanes or more ns_per_pixel" : "ask for less, or give ns_per_pixel");
        return IKET_LEVELS_TOO_MUCH;
    }
    if (IKET_RESERVE(w->events, w->count, w->capacity, 1, err) != 0) return IKET_LEVELS_FAILED;
    w->events[w->count++] = event;
    return IKET_LEVELS_OK;
}

// The first event from i on that is to be looked at after event i was sent.
static uint64_t next_event(const window *w, uint64_t i, uint64_t limit) {
    const iket_levels *levels = w->levels;
    if (w->ns_per_pixel <= 0 || (double)(levels->end[i] - levels->start[i]) >= w->ns_per_pixel || i + 1 >= limit) return i + 1;
    double pixel = floor(((double)levels->start[i] - w->from) / w->ns_per_pixel), past = w->from + (pixel + 1) * w->ns_per_pixel;
    if (past >= 18446744073709549568.0) return limit; // the greatest double below 2^64
    return iket_levels_gallop(levels->end, i + 1, limit, past < 0 ? 0 : (uint64_t)past + 1);
}

// The lane's events that touch the window, and its neighbours on both sides.
static iket_levels_status add_lane(window *w, uint64_t lane, iket_error *err) {
    const iket_levels *levels = w->levels;
    uint64_t first = levels->lane_first[lane], limit = levels->lane_first[lane + 1], i = first;
    if (w->scope->has_from) i = iket_levels_search(levels->end, first, limit, iket_levels_at(&w->scope->from));
    uint64_t after = iket_levels_after(&w->scope->to), before = i;
    while (before > first && !iket_levels_scope_has(w->scope, levels->cls[before - 1])) before--;
    if (before > first) IKET_LEVELS_TRY(add_event(w, before - 1, err));
    while (i < limit) {
        if (!iket_levels_scope_has(w->scope, levels->cls[i])) {
            i++;
            continue;
        }
        IKET_LEVELS_TRY(add_event(w, i, err));
        if (levels->start[i] >= after) break;
        i = next_event(w, i, limit);
    }
    return IKET_LEVELS_OK;
}

static void put_list(iket_sink *sink, const char *name, const uint64_t *list, size_t count) {
    iket_sink_printf(sink, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) iket_sink_text(sink, ",");
        iket_levels_put(sink, list[i]);
    }
    iket_sink_text(sink, "]");
}

static void put_window(const window *w, const uint64_t *at, iket_sink *sink) {
    const iket_levels_intervals *lanes = &w->scope->lanes;
    uint64_t count = 0;
    iket_sink_text(sink, "{\"version\":1,\"from\":");
    iket_levels_put_double(sink, w->scope->has_from ? w->scope->from.value : 0);
    iket_sink_text(sink, ",\"to\":");
    iket_levels_put_double(sink, w->scope->has_to ? w->scope->to.value : (double)w->levels->header->span);
    iket_sink_text(sink, ",\"ns_per_pixel\":");
    iket_levels_put_double(sink, w->ns_per_pixel);
    iket_sink_text(sink, ",\"lanes\":[");
    for (size_t k = 0; k < lanes->count; k++) {
        for (uint64_t lane = lanes->list[k].from; lane < lanes->list[k].to; lane++) {
            if (count++ > 0) iket_sink_text(sink, ",");
            iket_levels_put(sink, lane);
        }
    }
    iket_sink_text(sink, "]");
    put_list(sink, "at", at, count + 1);
    put_list(sink, "event", w->events, w->count);
    iket_levels_put_columns(sink, w->levels, w->events, w->count);
    iket_sink_text(sink, "}\n");
}

// at[k]: where the k-th lane's events begin; one more.
static iket_levels_status collect(window *w, uint64_t **at, iket_error *err) {
    const iket_levels_intervals *lanes = &w->scope->lanes;
    uint64_t count = 0;
    for (size_t k = 0; k < lanes->count; k++) count += lanes->list[k].to - lanes->list[k].from;
    *at = calloc(count + 1, sizeof **at);
    if (*at == NULL) {
        iket_fail(err, "out of memory (%llu lanes)", (unsigned long long)count);
        return IKET_LEVELS_FAILED;
    }
    count = 0;
    for (size_t k = 0; k < lanes->count; k++) {
        for (uint64_t lane = lanes->list[k].from; lane < lanes->list[k].to; lane++) {
            IKET_LEVELS_TRY(add_lane(w, lane, err));
            (*at)[++count] = w->count;
        }
    }
    return IKET_LEVELS_OK;
}

iket_levels_status iket_levels_window(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    iket_levels_scope scope;
    iket_levels_moment pixel = {0, 0, 0};
    uint64_t *at = NULL;
    iket_levels_status status = iket_levels_scope_open(&scope, levels, question, err);
    window w = {.levels = levels, .scope = &scope, .from = scope.has_from ? scope.from.value : 0};
    if (status == IKET_LEVELS_OK) status = iket_levels_time(question, "ns_per_pixel", &pixel, err);
    if (status == IKET_LEVELS_OK && (pixel.value < 0 || (pixel.value > 0 && pixel.value < 1e-6))) {
        iket_fail(err, "ns_per_pixel is below 0 or too small (0: every event)");
        status = IKET_LEVELS_BAD_ARGUMENT;
    }
    w.ns_per_pixel = pixel.value;
    w.most = pixel.value > 0 ? MOST_EVENTS : MOST_EXACT;
    if (status == IKET_LEVELS_OK) status = collect(&w, &at, err);
    if (status == IKET_LEVELS_OK) put_window(&w, at, sink);
    free(at);
    free(w.events);
    iket_levels_scope_clear(&scope);
    return status;
}
