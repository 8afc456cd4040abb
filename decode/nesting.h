// SPDX-License-Identifier: Apache-2.0
// nesting.h: from the ranges and markers of one warp, each with its own start and end, back to a replay order.
//
//     outer  |------------------|
//     inner     |----|                     stream 0:  push outer, push inner, pop, pop
//     other             |-----------|      stream 1:  push other, pop        (it crosses outer's end)
//
// A trace.json has intervals, not records. By time alone the order is settled but for equal times: there ends come
// before begins, longer ranges begin before shorter ones, then the file's order holds, and markers come last. Stack ranges
// that would only partially overlap, and token ranges of one name that would overlap at all, go to a further stream.
#ifndef IKET_DECODE_NESTING_H
#define IKET_DECODE_NESTING_H

#include "decode/model.h"

typedef enum iket_interval_kind { IKET_INTERVAL_MARKER, IKET_INTERVAL_STACK, IKET_INTERVAL_TOKEN } iket_interval_kind;

typedef struct iket_interval {
    uint64_t start, end;         // of a marker: end is start
    uint64_t bits, end_bits;
    uint32_t decl;
    uint32_t location;           // index into the model's locations once they are ordered
    uint8_t kind;                // iket_interval_kind
    uint8_t payload_type, end_payload_type;
    uint8_t unclosed;
} iket_interval;

struct iket_nesting; // memory that is used again from warp to warp

struct iket_nesting *iket_nesting_new(size_t decl_count, iket_error *err); // NULL: out of memory
void iket_nesting_free(struct iket_nesting *nesting);

// Appends the streams of the location and their events; `items` (in the file's order) is put into another order.
IKET_MUST_CHECK int iket_nesting_add(struct iket_nesting *nesting, iket_trace *trace, uint32_t location, iket_interval *items, size_t count, iket_error *err);

#endif
