// SPDX-License-Identifier: Apache-2.0
// timeline.h: what a warp is in at each moment of its lifetime.
//
//     lifetime   |------------------------------------------|
//     ranges        |--tile--------------|   |-wait--|
//                       |-mma-|
//     segments   idle tile  mma   tile     idle  wait   idle
//
// The innermost range is the one that began last of those that are open, stack and token ranges of all lanes together. A
// range without length (shorter than the timer's step) takes no part.
#ifndef IKET_ANALYZE_TIMELINE_H
#define IKET_ANALYZE_TIMELINE_H

#include <regex.h>

#include "analyze/columns.h"

typedef struct iket_segment_of_time {
    uint64_t start, end;
    uint32_t range;  // the innermost; IKET_UNKNOWN: none is open
    uint32_t before; // when none is open: the range that ended last, IKET_UNKNOWN at the lifetime's start
} iket_segment_of_time;

typedef struct iket_timeline {
    iket_segment_of_time *items;
    size_t count, capacity;
    struct iket_edge *edges; // its own memory, used again
    size_t edge_capacity;
    uint32_t *open;
    size_t open_capacity;
} iket_timeline;

// Fills the timeline of one location from all its ranges; it covers the lifetime without holes (nothing without one).
IKET_MUST_CHECK int iket_timeline_build(iket_timeline *timeline, const iket_columns *columns, size_t location, iket_error *err);
void iket_timeline_free(iket_timeline *timeline);

// Which names are waits: --wait REGEX, or this.
#define IKET_WAIT_DEFAULT "(^|_)(wait|acquire|sync|barrier)"

// One byte a string of the trace: 1: a wait. The caller frees it. NULL: the expression is bad, or memory.
uint8_t *iket_wait_names(const iket_trace *trace, const char *regex, iket_error *err);

// Of one location.
typedef struct iket_busy {
    uint64_t busy, wait, idle; // together the lifetime
} iket_busy;
iket_busy iket_timeline_busy(const iket_timeline *timeline, const iket_columns *columns, const uint8_t *waits);

#endif
