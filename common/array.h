// SPDX-License-Identifier: Apache-2.0
// array.h: growing a plain array. The owner keeps {pointer, count, capacity}; growth doubles, so that appending costs
// no allocation per element.
#ifndef IKET_COMMON_ARRAY_H
#define IKET_COMMON_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"

// Makes room for `needed` elements of `size` bytes. Returns the (moved) array, or NULL with the old one still valid.
static inline void *iket_array_grow(void *items, size_t *capacity, size_t needed, size_t size) {
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2) return NULL;
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / size) return NULL;
    void *moved = realloc(items, wanted * size);
    if (moved != NULL) *capacity = wanted;
    return moved;
}

// Makes room for `extra` more elements behind `count`; evaluates to 0, or to -1 with "out of memory" in err.
#define IKET_RESERVE(items, count, capacity, extra, err)                                                               \
    ((count) + (extra) <= (capacity) ? 0 : iket_array_reserve((void **)&(items), &(capacity), (count) + (extra), sizeof *(items), (err)))

static inline int iket_array_reserve(void **items, size_t *capacity, size_t needed, size_t size, iket_error *err) {
    void *moved = iket_array_grow(*items, capacity, needed, size);
    if (moved == NULL) return iket_fail(err, "out of memory (%zu elements of %zu bytes)", needed, size);
    *items = moved;
    return 0;
}

#endif
