// SPDX-License-Identifier: Apache-2.0
// The names and places of a trace.json: its two tables, and what older files write into every row, each kept once.
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "decode/trace_json.h"

enum { ID_LIMIT = 0x7FFFFFF0 }; // indices must leave room for the id's lowest bit

static uint32_t mix(uint32_t hash, uint32_t value) { return (hash ^ value) * 0x9E3779B1u ^ hash >> 15; }

static uint32_t text_hash(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text != 0; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash ^ hash >> 16;
}

static uint32_t place_hash(const iket_location *p) {
    const uint32_t words[] = {p->sm, p->tpc, p->gpc, p->cta[0], p->cta[1], p->cta[2], p->warp};
    uint32_t hash = 1;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) hash = mix(hash, words[i]);
    return hash ^ hash >> 16;
}

static int same_place(const iket_location *a, const iket_location *b) {
    return a->sm == b->sm && a->tpc == b->tpc && a->gpc == b->gpc && a->warp == b->warp && memcmp(a->cta, b->cta, sizeof a->cta) == 0;
}

// Makes a table of twice `count` slots, emptied; the caller puts everything in again. 0: as it was, 1: new, -1: memory.
static int grow_slots(uint32_t **slots, size_t *slot_count, size_t count, iket_error *err) {
    if (*slot_count >= 2 * (count + 1)) return 0;
    size_t wanted = *slot_count == 0 ? 64 : *slot_count * 2;
    uint32_t *moved = calloc(wanted, sizeof *moved);
    if (moved == NULL) return iket_fail(err, "out of memory (%zu names)", count);
    free(*slots);
    *slots = moved;
    *slot_count = wanted;
    return 1;
}

static void put_slot(uint32_t *slots, size_t slot_count, uint32_t hash, size_t index) {
    size_t at = hash & (slot_count - 1);
    while (slots[at] != 0) at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)index + 1;
}

static int too_many(size_t count, iket_error *err) {
    return count < ID_LIMIT ? 0 : iket_fail(err, "more than %d names or places", ID_LIMIT);
}

static int add_table_name(iket_json_names *names, char *text, uint32_t *id, iket_error *err) {
    IKET_TRY(IKET_RESERVE(names->table, names->table_count, names->table_capacity, 1, err));
    *id = (uint32_t)names->table_count * 2;
    names->table[names->table_count++] = text;
    return 0;
}

// 1: it is there, *id is its id; 0: it is not.
static int find_name(const iket_json_names *names, const char *text, uint32_t *id) {
    if (names->slot_count == 0) return 0;
    for (size_t at = text_hash(text) & (names->slot_count - 1); names->slots[at] != 0; at = (at + 1) & (names->slot_count - 1)) {
        if (strcmp(names->inlined[names->slots[at] - 1], text) != 0) continue;
        *id = (names->slots[at] - 1) * 2 + 1;
        return 1;
    }
    return 0;
}

static int add_inline_name(iket_json_names *names, char *text, uint32_t *id, iket_error *err) {
    IKET_TRY(IKET_RESERVE(names->inlined, names->inline_count, names->inline_capacity, 1, err));
    int grown = grow_slots(&names->slots, &names->slot_count, names->inline_count, err);
    if (grown < 0) return -1;
    for (size_t i = 0; grown && i < names->inline_count; i++) put_slot(names->slots, names->slot_count, text_hash(names->inlined[i]), i);
    put_slot(names->slots, names->slot_count, text_hash(text), names->inline_count);
    *id = (uint32_t)names->inline_count * 2 + 1;
    names->inlined[names->inline_count++] = text;
    return 0;
}

int iket_json_add_name(iket_json_names *names, const char *text, size_t size, int inlined, uint32_t *id, iket_error *err) {
    IKET_TRY(too_many(inlined ? names->inline_count : names->table_count, err));
    char *clean = iket_utf8_clean(text, size);
    if (clean == NULL) return iket_fail(err, "out of memory (a name)");
    if (inlined && find_name(names, clean, id)) {
        free(clean);
        return 0;
    }
    int result = inlined ? add_inline_name(names, clean, id, err) : add_table_name(names, clean, id, err);
    if (result != 0) free(clean);
    return result;
}

static int find_place(const iket_json_places *places, const iket_location *place, uint32_t *id) {
    if (places->slot_count == 0) return 0;
    for (size_t at = place_hash(place) & (places->slot_count - 1); places->slots[at] != 0; at = (at + 1) & (places->slot_count - 1)) {
        if (!same_place(&places->inlined[places->slots[at] - 1], place)) continue;
        *id = (places->slots[at] - 1) * 2 + 1;
        return 1;
    }
    return 0;
}

int iket_json_add_place(iket_json_places *places, const iket_location *place, int inlined, uint32_t *id, iket_error *err) {
    IKET_TRY(too_many(inlined ? places->inline_count : places->table_count, err));
    if (!inlined) {
        IKET_TRY(IKET_RESERVE(places->table, places->table_count, places->table_capacity, 1, err));
        *id = (uint32_t)places->table_count * 2;
        places->table[places->table_count++] = *place;
        return 0;
    }
    if (find_place(places, place, id)) return 0;
    IKET_TRY(IKET_RESERVE(places->inlined, places->inline_count, places->inline_capacity, 1, err));
    int grown = grow_slots(&places->slots, &places->slot_count, places->inline_count, err);
    if (grown < 0) return -1;
    for (size_t i = 0; grown && i < places->inline_count; i++) put_slot(places->slots, places->slot_count, place_hash(&places->inlined[i]), i);
    put_slot(places->slots, places->slot_count, place_hash(place), places->inline_count);
    *id = (uint32_t)places->inline_count * 2 + 1;
    places->inlined[places->inline_count++] = *place;
    return 0;
}

const char *iket_json_name(const iket_trace_json *doc, uint32_t id) {
    return id & 1 ? doc->names.inlined[id >> 1] : doc->names.table[id >> 1];
}

const iket_location *iket_json_location(const iket_trace_json *doc, uint32_t id) {
    return id & 1 ? &doc->places.inlined[id >> 1] : &doc->places.table[id >> 1];
}

void iket_json_free_tables(iket_json_names *names, iket_json_places *places) {
    for (size_t i = 0; i < names->table_count; i++) free(names->table[i]);
    for (size_t i = 0; i < names->inline_count; i++) free(names->inlined[i]);
    free(names->table);
    free(names->inlined);
    free(names->slots);
    free(places->table);
    free(places->inlined);
    free(places->slots);
}
