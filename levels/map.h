// SPDX-License-Identifier: Apache-2.0
// map.h: numbers of a trace file (track uuids, interning ids, flow ids) to indices; private to the builder.
//
// Open addressing, at most half full; an index is kept plus one, so that an empty slot is zero.
#ifndef IKET_LEVELS_MAP_H
#define IKET_LEVELS_MAP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define IKET_LEVELS_NONE UINT32_MAX

typedef struct iket_levels_map {
    uint64_t *keys;
    uint32_t *values;
    size_t slots, count; // slots: a power of two, or 0
} iket_levels_map;

static inline size_t iket_levels_map_slot(const iket_levels_map *map, uint64_t key) {
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->slots - 1);
    while (map->values[at] != 0 && map->keys[at] != key) at = (at + 1) & (map->slots - 1);
    return at;
}

// IKET_LEVELS_NONE: the key is not there.
static inline uint32_t iket_levels_map_get(const iket_levels_map *map, uint64_t key) {
    return map->slots == 0 ? IKET_LEVELS_NONE : map->values[iket_levels_map_slot(map, key)] - 1;
}

IKET_MUST_CHECK int iket_levels_map_set(iket_levels_map *map, uint64_t key, uint32_t value, iket_error *err);
IKET_MUST_CHECK int iket_levels_map_copy(iket_levels_map *to, const iket_levels_map *from, iket_error *err);
void iket_levels_map_free(iket_levels_map *map);

#endif
