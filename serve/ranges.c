// SPDX-License-Identifier: Apache-2.0
#include "serve/ranges.h"

#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

// Reads digits, stopping at the greatest value rather than wrapping around. NULL: there is none.
static const char *read_number(const char *at, uint64_t *value) {
    if (*at < '0' || *at > '9') return NULL;
    uint64_t v = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        v = v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : v * 10 + digit;
    }
    *value = v;
    return at;
}

typedef struct {
    int satisfiable;
    iket_range_span span;
} one_range;

// One "first-last", "first-" or "-length". Returns what follows it, NULL where it is none of them.
static const char *read_range(const char *at, uint64_t size, one_range *range) {
    uint64_t first = 0, last = UINT64_MAX;
    if (*at == '-') {
        uint64_t length;
        at = read_number(at + 1, &length);
        if (at == NULL) return NULL;
        range->satisfiable = length > 0 && size > 0;
        first = length < size ? size - length : 0;
    } else {
        at = read_number(at, &first);
        if (at == NULL || *at++ != '-') return NULL;
        if (*at >= '0' && *at <= '9') at = read_number(at, &last);
        if (last < first) return NULL;
        range->satisfiable = first < size;
    }
    range->span.first = first;
    range->span.last = size > 0 && last >= size ? size - 1 : last;
    return skip_blanks(at);
}

iket_ranges_verdict iket_ranges_parse(const char *field, uint64_t size, iket_ranges *ranges) {
    ranges->count = 0;
    if (field == NULL || strncasecmp(field, "bytes=", 6) != 0) return IKET_RANGES_NONE;
    const char *at = skip_blanks(field + 6);
    uint64_t total = 0;
    size_t seen = 0, read = 0;
    while (*at != 0) {
        if (*at == ',') {
            at = skip_blanks(at + 1);
            continue;
        }
        one_range range;
        at = read_range(at, size, &range);
        if (at == NULL || (*at != ',' && *at != 0) || ++read > 4 * IKET_RANGES_MAX) return IKET_RANGES_NONE;
        if (!range.satisfiable) continue;
        if (++seen > IKET_RANGES_MAX) return IKET_RANGES_NONE;
        total += range.span.last - range.span.first + 1;
        if (total > size) return IKET_RANGES_NONE;
        ranges->spans[ranges->count++] = range.span;
    }
    if (read == 0) return IKET_RANGES_NONE;
    return ranges->count > 0 ? IKET_RANGES_SOME : IKET_RANGES_UNSATISFIABLE;
}
