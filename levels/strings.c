// SPDX-License-Identifier: Apache-2.0
#include "levels/strings.h"

#include <string.h>

#include "common/array.h"
#include "common/utf8.h"

static size_t hash_of(const char *text, size_t size) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001B3);
    return (size_t)(hash ^ hash >> 29);
}

static size_t slot_of(const iket_levels_strings *s, const char *text, size_t size) {
    size_t at = hash_of(text, size) & (s->slot_count - 1);
    while (s->slots[at] != 0 && strcmp(iket_levels_strings_get(s, s->slots[at] - 1), text) != 0) at = (at + 1) & (s->slot_count - 1);
    return at;
}

static int grow_slots(iket_levels_strings *s, iket_error *err) {
    size_t count = s->slot_count == 0 ? 64 : s->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return iket_fail(err, "out of memory (%zu names)", count);
    free(s->slots);
    s->slots = slots;
    s->slot_count = count;
    for (uint32_t i = 0; i < s->count; i++) {
        const char *text = iket_levels_strings_get(s, i);
        s->slots[slot_of(s, text, strlen(text))] = i + 1;
    }
    return 0;
}

static int add_clean(iket_levels_strings *s, const char *text, size_t size, uint32_t *index, iket_error *err) {
    if (s->count * 2 >= s->slot_count) IKET_TRY(grow_slots(s, err));
    size_t slot = slot_of(s, text, size);
    if (s->slots[slot] == 0) {
        if (s->used + size + 1 > UINT32_MAX) return iket_fail(err, "the names of the trace are over 4 GB long");
        IKET_TRY(IKET_RESERVE(s->text, s->used, s->capacity, size + 1, err));
        IKET_TRY(IKET_RESERVE(s->at, s->count, s->at_capacity, 1, err));
        memcpy(s->text + s->used, text, size + 1);
        s->at[s->count++] = (uint32_t)s->used;
        s->used += size + 1;
        s->slots[slot] = (uint32_t)s->count;
    }
    *index = s->slots[slot] - 1;
    return 0;
}

int iket_levels_strings_add(iket_levels_strings *s, const char *text, size_t size, uint32_t *index, iket_error *err) {
    char *clean = iket_utf8_clean(text, size);
    if (clean == NULL) return iket_fail(err, "out of memory (a name of %zu bytes)", size);
    int result = add_clean(s, clean, strlen(clean), index, err);
    free(clean);
    return result;
}

uint32_t iket_levels_strings_find(const iket_levels_strings *s, const char *text) {
    return s->slot_count == 0 ? IKET_LEVELS_NONE : s->slots[slot_of(s, text, strlen(text))] - 1;
}

void iket_levels_strings_free(iket_levels_strings *s) {
    free(s->text);
    free(s->at);
    free(s->slots);
    *s = (iket_levels_strings){0};
}
