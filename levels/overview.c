// SPDX-License-Identifier: Apache-2.0
#include "levels/overview.h"

#include <string.h>

#include "common/array.h"

enum { BINS = IKET_LEVELS_OVERVIEW_BINS, FIRST_SHIFT = 4 };

// ---- bins -----------------------------------------------------------------------------------------------------------

// Two bins become one. A step between the two is a step behind them, and its part of the second one.
static void halve(iket_levels_curve *c, unsigned shift) {
    iket_levels_curve wide = {0};
    for (size_t i = 0; i < BINS; i++) {
        wide.sum[i / 2] += c->sum[i];
        if (i % 2 == 0) {
            wide.step[i / 2] += c->step[i];
        } else {
            wide.sum[i / 2] += c->step[i] * (INT64_C(1) << shift);
            wide.step[i / 2 + 1] += c->step[i]; // i / 2 + 1 is at most half of the bins
        }
    }
    wide.step[BINS / 2] += c->step[BINS];
    *c = wide;
}

static void widen(iket_levels_overview *o, uint64_t time) {
    if (o->shift == 0) o->shift = FIRST_SHIFT;
    for (; time >> o->shift >= BINS; o->shift++) {
        for (size_t i = 0; i < o->row_count; i++) {
            halve(&o->rows[i].alive, o->shift);
            halve(&o->rows[i].busy, o->shift);
        }
    }
    o->limit = (uint64_t)BINS << o->shift;
}

static inline void reach(iket_levels_overview *o, uint64_t time) {
    if (time >= o->limit) widen(o, time);
    o->now = time; // events come in the order of time
}

static void add_edge(iket_levels_curve *c, unsigned shift, uint64_t time, int64_t sign) {
    size_t bin = (size_t)(time >> shift);
    c->sum[bin] += sign * (int64_t)(((uint64_t)(bin + 1) << shift) - time);
    c->step[bin + 1] += sign;
}

static int add_to_row(iket_levels_overview *o, uint32_t sm, uint32_t depth, uint64_t time, int begin, iket_error *err) {
    if (sm >= o->row_count) {
        IKET_TRY(IKET_RESERVE(o->rows, o->row_count, o->row_capacity, sm + 1 - o->row_count, err));
        memset(o->rows + o->row_count, 0, (sm + 1 - o->row_count) * sizeof *o->rows);
        o->row_count = sm + 1;
    }
    add_edge(depth == 0 ? &o->rows[sm].alive : &o->rows[sm].busy, o->shift, time, begin ? 1 : -1);
    return 0;
}

// ---- events ---------------------------------------------------------------------------------------------------------

static int add_classes(iket_levels_overview *o, uint32_t cls, iket_error *err) {
    IKET_TRY(IKET_RESERVE(o->classes, o->class_count, o->class_capacity, cls + 1 - o->class_count, err));
    memset(o->classes + o->class_count, 0, (cls + 1 - o->class_count) * sizeof *o->classes);
    o->class_count = cls + 1;
    return 0;
}

static void add_launch(iket_levels_overview *o, uint32_t track, uint32_t cls, uint64_t time, int begin) {
    if (begin) {
        if (o->listed < IKET_LEVELS_OVERVIEW_LAUNCHES) o->launches[o->listed++] = (struct iket_levels_overview_launch){.track = track, .cls = cls, .start = time};
        o->launch_count++;
        return;
    }
    for (size_t i = o->listed; i > 0; i--) {
        if (o->launches[i - 1].track != track) continue;
        o->launches[i - 1].end = time;
        return;
    }
}

int iket_levels_overview_edge(iket_levels_overview *o, const iket_levels_names *names, uint32_t track, uint32_t depth, uint32_t cls, uint64_t start, uint64_t time, int begin,
                              iket_error *err) {
    const iket_levels_track *at = &names->tracks[track];
    if (at->kind <= IKET_LEVELS_KERNEL || at->kind > IKET_LEVELS_DIAGNOSTICS) return 0; // an overview for Perfetto
    if (cls >= o->class_count) IKET_TRY(add_classes(o, cls, err));
    reach(o, time);
    if (begin) {
        o->events++;
        o->classes[cls].count++;
    } else {
        o->classes[cls].total += time - start;
    }
    if (at->kind == IKET_LEVELS_NODE_LAUNCH && depth == 0) add_launch(o, track, cls, time, begin);
    return at->kind == IKET_LEVELS_WARP && depth < 2 && at->sm != IKET_LEVELS_NONE ? add_to_row(o, at->sm, depth, time, begin, err) : 0;
}

int iket_levels_overview_instant(iket_levels_overview *o, uint32_t cls, uint64_t time, iket_error *err) {
    if (cls >= o->class_count) IKET_TRY(add_classes(o, cls, err));
    reach(o, time);
    o->events++;
    o->classes[cls].count++;
    return 0;
}

void iket_levels_overview_free(iket_levels_overview *o) {
    free(o->rows);
    free(o->classes);
    *o = (iket_levels_overview){0};
}
