// SPDX-License-Identifier: Apache-2.0
// rows.h: the markers, ranges and lifetimes of an input one after another, with names and places resolved, in one pass.
//
// For what needs no model: a trace.json of any size is read as a stream (a mapped file's tables first, wherever they
// stand; from a pipe or gzip what cannot be named yet waits, packed, in memory up to a bound and then in $TMPDIR). Other
// inputs are opened as a model and replayed. Rows come in the input's own order: of a trace.json that of its arrays, of
// others warp by warp and there by time.
#ifndef IKET_ROWS_H
#define IKET_ROWS_H

#include "decode/include/iket/select.h"

enum { // bits
    IKET_ROW_MARKER = 1,
    IKET_ROW_RANGE = 2,
    IKET_ROW_LIFETIME = 4,
};

// The kinds of events that a selector leaves: with only --marker given no ranges, and the other way round. Lifetimes have
// no name: they are left by a selector without one.
unsigned iket_selector_kinds(const iket_selector *selector);

// Everything that it points to is valid during the call only.
typedef struct iket_row {
    unsigned kind;                 // IKET_ROW_*
    const char *name;              // "" for a lifetime
    const char *kernel;
    const char *graph_key;         // NULL: an eager launch
    const iket_launch *launch;     // its facts; string indices and counts in it mean nothing here
    const iket_location *location; // sm, tpc, gpc, cta, warp
    uint32_t lane;                 // owner lane, IKET_UNKNOWN where the input does not say
    uint64_t start, end;           // of a marker both are its time
    iket_payload payload;          // of the marker or of the event that began the range
    iket_payload end_payload;      // of the event that ended it
    uint32_t event_id, end_event_id; // IKET_UNKNOWN where the input does not say
    uint32_t range_id, range_scope, color;
    uint8_t range_type;            // IKET_RANGE_*
    uint8_t unclosed;
} iket_row;

// 0: go on; 1: enough; -1: failed, with err set.
typedef int (*iket_row_fn)(void *context, const iket_row *row, iket_error *err);

typedef struct iket_rows_options {
    iket_open_options open;
    unsigned kinds;                 // IKET_ROW_*; of them, those that the selector wants
    const iket_selector *selector;  // NULL: everything
    uint64_t memory;                // bytes of rows that may wait in memory
    iket_diagnostics *diagnostics;  // filled with the input's counters where it was read so far; may be NULL
} iket_rows_options;

// 0: done, all rows or as many as wanted; 1: a selector matches nothing, and err says what is there; -1: an error. Rows
// that came before an error were given. "-" is standard input.
IKET_MUST_CHECK int iket_rows_read(const char *path, const iket_rows_options *options, iket_row_fn row, void *context, iket_error *err);

#endif
