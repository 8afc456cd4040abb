// SPDX-License-Identifier: Apache-2.0
// strings.h: texts that are kept once, numbered in the order in which they came; private to the builder.
//
//     text   g e m m 0 w a r p   3 0 ...        at   0 5 ...
#ifndef IKET_LEVELS_STRINGS_H
#define IKET_LEVELS_STRINGS_H

#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"
#include "levels/map.h"

typedef struct iket_levels_strings {
    char *text; // NUL-terminated, one behind the other
    size_t used, capacity;
    uint32_t *at;
    size_t count, at_capacity;
    uint32_t *slots; // by hash: index + 1, 0: free
    size_t slot_count;
} iket_levels_strings;

// The number of a text, which may be anything: what is no UTF-8 in it becomes U+FFFD. Adds it when it is new.
IKET_MUST_CHECK int iket_levels_strings_add(iket_levels_strings *strings, const char *text, size_t size, uint32_t *index, iket_error *err);

// The number of a valid, NUL-terminated text; IKET_LEVELS_NONE: it was never added.
uint32_t iket_levels_strings_find(const iket_levels_strings *strings, const char *text);

static inline const char *iket_levels_strings_get(const iket_levels_strings *strings, uint32_t index) { return strings->text + strings->at[index]; }

void iket_levels_strings_free(iket_levels_strings *strings);

#endif
