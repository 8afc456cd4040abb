// SPDX-License-Identifier: Apache-2.0
// ranges.h: the Range field of a request, resolved against the size of the file that it asks for.
#ifndef IKET_SERVE_RANGES_H
#define IKET_SERVE_RANGES_H

#include <stddef.h>
#include <stdint.h>

enum { IKET_RANGES_MAX = 16 };

typedef struct iket_range_span {
    uint64_t first, last; // bytes first..last, both included, within the file
} iket_range_span;

typedef struct iket_ranges {
    iket_range_span spans[IKET_RANGES_MAX]; // in the order of the request
    size_t count;
} iket_ranges;

typedef enum iket_ranges_verdict {
    IKET_RANGES_NONE,          // no field, another unit, malformed, or more than is sane: send the whole file
    IKET_RANGES_SOME,          // 206
    IKET_RANGES_UNSATISFIABLE, // 416
} iket_ranges_verdict;

// `field` may be NULL. Spans past the end are dropped; more than IKET_RANGES_MAX spans, or spans that together are longer
// than the file (they overlap, and would make a small request cost more than the file), count as no field.
iket_ranges_verdict iket_ranges_parse(const char *field, uint64_t size, iket_ranges *ranges);

#endif
