// SPDX-License-Identifier: Apache-2.0
// overview.h: what can be told of a trace while it is read for the first time; private to the builder.
//
// What the warps of each SM do is summed in bins of time whose width doubles when the time passes the last one. A slice is
// an edge up and an edge down, so that one whose end is not yet read counts as well:
//
//     sum    ▁▃        the part of the bin behind the edge        a bin's time: its sum + width * all steps up to it
//     step     1
#ifndef IKET_LEVELS_OVERVIEW_H
#define IKET_LEVELS_OVERVIEW_H

#include "common/sink.h"
#include "levels/names.h"

enum { IKET_LEVELS_OVERVIEW_BINS = 256, IKET_LEVELS_OVERVIEW_LAUNCHES = 200 };

typedef struct iket_levels_curve {
    int64_t sum[IKET_LEVELS_OVERVIEW_BINS], step[IKET_LEVELS_OVERVIEW_BINS + 1]; // the last step is behind the last bin: it counts once bins are halved
} iket_levels_curve;

typedef struct iket_levels_overview {
    struct iket_levels_overview_row {
        iket_levels_curve alive, busy;
    } *rows;              // by iket_levels_track.sm
    size_t row_count, row_capacity;
    unsigned shift;       // a bin is 2^shift ns wide
    uint64_t limit;       // past the last bin
    struct iket_levels_overview_class {
        uint64_t count, total;
    } *classes;
    size_t class_count, class_capacity;
    struct iket_levels_overview_launch {
        uint32_t track, cls;
        uint64_t start, end; // end 0: not yet
    } launches[IKET_LEVELS_OVERVIEW_LAUNCHES];
    size_t listed;
    uint64_t launch_count, events, now;
} iket_levels_overview;

// A slice's begin, or (begin 0) its end; `depth` is its own.
IKET_MUST_CHECK int iket_levels_overview_edge(iket_levels_overview *overview, const iket_levels_names *names, uint32_t track, uint32_t depth, uint32_t cls, uint64_t start, uint64_t time,
                                              int begin, iket_error *err);
IKET_MUST_CHECK int iket_levels_overview_instant(iket_levels_overview *overview, uint32_t cls, uint64_t time, iket_error *err);

// Appends ,"events":… and what follows it in the answer "facts".
void iket_levels_overview_put(const iket_levels_overview *overview, const iket_levels_names *names, iket_sink *sink);

void iket_levels_overview_free(iket_levels_overview *overview);

#endif
