// SPDX-License-Identifier: Apache-2.0
// columns.h: one input as plain arrays, the model that every verb replays.
//
//     location 0: stream 0: range 0  range 1  range 2 ...   by begin, outer before inner
//                 stream 1: range 3 ...
//     location 1: ...
//
// Built in one replay; everything of the selected warps is kept, and flagged where names and times are selected too, so
// that a verb can see a range's surroundings. It costs 65 bytes a range, 29 a marker.
#ifndef IKET_ANALYZE_COLUMNS_H
#define IKET_ANALYZE_COLUMNS_H

#include "common/error.h"
#include "decode/include/iket/select.h"
#include "decode/include/iket/trace.h"

enum {
    IKET_RANGE_SELECTED = 1,
    IKET_RANGE_IS_TOKEN = 2,
    IKET_RANGE_UNCLOSED = 4,
    IKET_RANGE_HAS_CHILD = 8, // a stack range with a stack range inside
};

typedef struct iket_columns {
    const char *input;         // the input's name, borrowed
    const iket_trace *trace;   // borrowed
    iket_selection selection;  // owned

    size_t range_count, range_capacity;
    uint64_t *start, *end;
    uint64_t *children;        // time covered by the stack ranges directly inside
    uint64_t *bits, *end_bits; // payloads
    uint32_t *name;            // index into trace->strings
    uint32_t *location, *stream;
    uint32_t *parent;          // index of the stack range around a stack range; IKET_UNKNOWN: none
    uint32_t *depth;
    uint8_t *payload_type, *end_payload_type, *flags;

    size_t marker_count, marker_capacity;
    uint64_t *marker_time, *marker_bits;
    uint32_t *marker_name, *marker_location;
    uint8_t *marker_type, *marker_selected;

    size_t *first_range, *first_marker; // [location_count + 1]
} iket_columns;

// 0; 1: the selector matches nothing; -1: an error.
IKET_MUST_CHECK int iket_columns_build(iket_columns *columns, const char *input, const iket_trace *trace, const iket_selector *selector, iket_error *err);

void iket_columns_free(iket_columns *columns);

static inline uint64_t iket_range_duration(const iket_columns *c, size_t i) { return c->end[i] - c->start[i]; }

// Its time without the stack ranges inside it.
static inline uint64_t iket_range_exclusive(const iket_columns *c, size_t i) { return c->end[i] - c->start[i] - c->children[i]; }

static inline iket_payload iket_range_payload(const iket_columns *c, size_t i) { return (iket_payload){c->bits[i], c->payload_type[i]}; }

static inline const char *iket_range_name(const iket_columns *c, size_t i) { return c->trace->strings[c->name[i]]; }

static inline const iket_launch *iket_location_launch(const iket_columns *c, size_t location) { return &c->trace->launches[c->trace->locations[location].launch]; }

static inline const char *iket_launch_kernel(const iket_columns *c, const iket_launch *launch) { return c->trace->strings[launch->kernel]; }

static inline const char *iket_launch_graph(const iket_columns *c, const iket_launch *launch) {
    return launch->graph_key == IKET_UNKNOWN ? NULL : c->trace->strings[launch->graph_key];
}

#endif
