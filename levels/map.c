// SPDX-License-Identifier: Apache-2.0
#include "levels/map.h"

static int allocate(iket_levels_map *map, size_t slots, iket_error *err) {
    *map = (iket_levels_map){.keys = calloc(slots, sizeof *map->keys), .values = calloc(slots, sizeof *map->values), .slots = slots};
    if (map->keys != NULL && map->values != NULL) return 0;
    iket_levels_map_free(map);
    return iket_fail(err, "out of memory (%zu numbers)", slots);
}

static int grow(iket_levels_map *map, iket_error *err) {
    iket_levels_map wider;
    if (map->slots > SIZE_MAX / 64) return iket_fail(err, "out of memory (%zu numbers)", map->slots);
    IKET_TRY(allocate(&wider, map->slots == 0 ? 64 : map->slots * 2, err));
    for (size_t i = 0; i < map->slots; i++) {
        if (map->values[i] == 0) continue;
        size_t at = iket_levels_map_slot(&wider, map->keys[i]);
        wider.keys[at] = map->keys[i];
        wider.values[at] = map->values[i];
    }
    wider.count = map->count;
    iket_levels_map_free(map);
    *map = wider;
    return 0;
}

int iket_levels_map_set(iket_levels_map *map, uint64_t key, uint32_t value, iket_error *err) {
    if (map->count * 2 >= map->slots) IKET_TRY(grow(map, err));
    size_t at = iket_levels_map_slot(map, key);
    if (map->values[at] == 0) map->count++;
    map->keys[at] = key;
    map->values[at] = value + 1;
    return 0;
}

int iket_levels_map_copy(iket_levels_map *to, const iket_levels_map *from, iket_error *err) {
    *to = (iket_levels_map){0};
    if (from->slots == 0) return 0;
    IKET_TRY(allocate(to, from->slots, err));
    memcpy(to->keys, from->keys, from->slots * sizeof *to->keys);
    memcpy(to->values, from->values, from->slots * sizeof *to->values);
    to->count = from->count;
    return 0;
}

void iket_levels_map_free(iket_levels_map *map) {
    free(map->keys);
    free(map->values);
    *map = (iket_levels_map){0};
}
