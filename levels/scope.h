// SPDX-License-Identifier: Apache-2.0
// scope.h: the part of a trace that the selectors of a question choose.
//
//     rows   launch, kernel, sm, cta, warp, role, under, lanes   ->  intervals of lanes
//     time   time, or from and to                                ->  two moments
//     names  name, class                                         ->  classes
#ifndef IKET_LEVELS_SCOPE_H
#define IKET_LEVELS_SCOPE_H

#include "levels/question.h"

typedef struct iket_levels_scope {
    iket_levels_intervals lanes; // ascending, apart
    int all_lanes;               // every lane: nothing chose rows
    int32_t cls;                 // the only class that counts; -1: all do, or those in `classes`
    uint8_t *classes;            // [65536] 1: counts; NULL: all do
    iket_levels_moment from, to; // far away where they were not given
    int has_from, has_to;
} iket_levels_scope;

// Reads the selectors. The caller clears the scope whatever the result.
iket_levels_status iket_levels_scope_open(iket_levels_scope *scope, const iket_levels *levels, const iket_levels_question *question, iket_error *err);

void iket_levels_scope_clear(iket_levels_scope *scope);

static inline int iket_levels_scope_is_whole(const iket_levels_scope *scope) {
    return scope->all_lanes && scope->classes == NULL && !scope->has_from && !scope->has_to;
}

// Whether a class counts.
static inline int iket_levels_scope_has(const iket_levels_scope *scope, uint16_t cls) { return scope->classes == NULL || scope->classes[cls]; }

enum iket_levels_edge {
    IKET_LEVELS_TOUCHES,  // end >= from and start <= to
    IKET_LEVELS_OVERLAPS, // the same without what began before `from` and ends at it
};

// The events of the scope by rows and time, classes left aside, as intervals.
IKET_MUST_CHECK int iket_levels_scope_events(const iket_levels_scope *scope, const iket_levels *levels, enum iket_levels_edge edge, iket_levels_intervals *events, iket_error *err);

// How many events of it count, at most `most` + 1.
uint64_t iket_levels_scope_count(const iket_levels_scope *scope, const iket_levels *levels, const iket_levels_intervals *events, uint64_t most);

#endif
