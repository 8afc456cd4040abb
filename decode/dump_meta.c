// SPDX-License-Identifier: Apache-2.0
// dump_meta.c: a META section: the byte arrays that a module declares its events with, as they stand in device memory.
#include <stdio.h>
#include <stdlib.h>

#include "decode/dump.h"
#include "decode/schema.h"

enum { ARRAY_NAME_MAX = 32, EVENT_NAME = 28, RANGE_FIXED = 32, META_INFO_FIXED = 28, HASH_NAME = 17 };

typedef struct symbol {
    const char *name;
    size_t name_size;
    const uint8_t *data;
    size_t data_size;
} symbol;

static int starts_with(const symbol *s, const char *prefix) {
    size_t length = strlen(prefix);
    return s->name_size >= length && memcmp(s->name, prefix, length) == 0;
}

// Reads the symbol at *at and moves on. 1: *s is filled; 0: it leads past `end`.
static int next_symbol(const uint8_t **at, const uint8_t *end, symbol *s) {
    size_t left = (size_t)(end - *at);
    if (left < 8) return 0;
    uint64_t name = iket_u32(*at), data = iket_u32(*at + 4), whole = 8 + name + data;
    if (whole > left) return 0;
    *s = (symbol){.name = (const char *)*at + 8, .name_size = name, .data = *at + 8 + name, .data_size = data};
    whole = (whole + 3) & ~UINT64_C(3);
    *at += whole < left ? whole : left;
    return 1;
}

// A name of the shape h and 16 hexadecimal digits stands for a longer one.
static int is_hash(const char *name, size_t size) {
    return size == HASH_NAME && name[0] == 'h' && strspn(name + 1, "0123456789abcdefABCDEF") >= HASH_NAME - 1;
}

// The text of the string symbol for a hashed name; 0 where the module has none.
static int find_long_name(const uint8_t *at, const uint8_t *end, size_t count, const char *hash, const char **text, size_t *size) {
    char wanted[80];
    symbol s;
    snprintf(wanted, sizeof wanted, "__iket_string_decl_evt_%.17s_str", hash);
    for (size_t i = 0; i < count && next_symbol(&at, end, &s); i++) {
        if (s.name_size != strlen(wanted) || memcmp(s.name, wanted, s.name_size) != 0) continue;
        const uint8_t *data = s.data;
        size_t left = s.data_size;
        if (left > 4 && iket_u32(data) == s.data_size) { // it starts with its own size, as the other arrays do
            data += 4;
            left -= 4;
        }
        *text = (const char *)data;
        *size = strnlen((const char *)data, left);
        return *size > 0;
    }
    return 0;
}

static int add_event(iket_schema *schema, const symbol *s, const uint8_t *first, const uint8_t *end, size_t count, iket_error *err) {
    const uint8_t *d = s->data;
    size_t length = iket_u32(d + 24);
    if (length > ARRAY_NAME_MAX) length = ARRAY_NAME_MAX;
    if (length > s->data_size - EVENT_NAME) length = s->data_size - EVENT_NAME;
    char short_name[ARRAY_NAME_MAX + 1] = {0};
    memcpy(short_name, d + EVENT_NAME, length);
    length = strnlen(short_name, length); // some producers count padding
    const char *name = short_name;
    if (is_hash(name, length)) (void)find_long_name(first, end, count, short_name, &name, &length);
    iket_event_facts e = {
        .event_id = iket_u32(d + 4), .method = iket_u32(d + 8), .payload_type = iket_u32(d + 12), .pos = iket_u32(d + 16), .range_id = iket_u32(d + 20),
        .name = name, .name_size = length,
    };
    for (size_t i = 0; i < schema->event_count; i++) { // the same array may have been collected twice
        const iket_event_facts *o = &schema->events[i];
        if (o->event_id == e.event_id && o->method == e.method && o->payload_type == e.payload_type && o->pos == e.pos && o->range_id == e.range_id &&
            o->name_size == e.name_size && memcmp(o->name, e.name, e.name_size) == 0) {
            return 0;
        }
    }
    return iket_schema_event(schema, &e, err);
}

// 1: the array is too short for what it is.
static int add_symbol(iket_schema *schema, const symbol *s, const uint8_t *first, const uint8_t *end, size_t count, iket_error *err) {
    if (starts_with(s, "__iket_evt_decl_")) {
        if (s->data_size < EVENT_NAME) return 1;
        return add_event(schema, s, first, end, count, err);
    }
    if (starts_with(s, "__iket_range_decl_")) {
        if (s->data_size < RANGE_FIXED) return 1;
        iket_range_facts r = {.scope = iket_u32(s->data + 4), .range_id = iket_u32(s->data + 8), .color = iket_u32(s->data + 12), .type = iket_u32(s->data + 16)};
        return iket_schema_range(schema, &r, err);
    }
    if (starts_with(s, "__iket_meta_info")) {
        if (s->data_size < META_INFO_FIXED) return 1;
        if (iket_u32(s->data + 24) != 0xBABEF19Du) {
            return iket_fail(err, "%s: byte 0x%zx: __iket_meta_info has the magic 0x%08X, not 0xBABEF19D (not the schema of an IKET module; give --meta)", schema->name,
                             (size_t)(s->data - schema->trace->backing->input.data), iket_u32(s->data + 24));
        }
        schema->version_major = iket_u32(s->data + 4);
        schema->version_minor = iket_u32(s->data + 8);
    }
    return 0;
}

static int module_exists(const iket_trace *trace, uint64_t id) {
    for (size_t i = 0; i < trace->module_count; i++) {
        if (trace->modules[i].id == id) return 1;
    }
    return 0;
}

int iket_dump_meta(iket_dump *dump, const uint8_t *payload, size_t size, iket_error *err) {
    const uint8_t *at = payload, *end = payload + size;
    int damaged = 0;
    while (!damaged && at < end) {
        if (end - at < 16) return 1; // no whole module
        uint64_t module_id = iket_u64(at);
        uint32_t bytes = iket_u32(at + 8), count = iket_u32(at + 12);
        const uint8_t *first = at + 16;
        if (bytes > (size_t)(end - first)) {
            damaged = 1;
            bytes = (uint32_t)(end - first);
        }
        const uint8_t *symbols_end = first + bytes, *next = first;
        iket_schema schema;
        symbol s;
        iket_schema_begin(&schema, dump->trace, dump->trace->path, module_id);
        int result = 0;
        for (uint32_t i = 0; i < count && result >= 0; i++) {
            if (!next_symbol(&next, symbols_end, &s)) {
                damaged = 1;
                break;
            }
            result = add_symbol(&schema, &s, first, symbols_end, count, err);
            if (result > 0) damaged = 1;
        }
        if (result < 0 || module_exists(dump->trace, module_id)) { // a module that is written again says the same
            iket_schema_drop(&schema);
        } else {
            result = iket_schema_end(&schema, err);
        }
        if (result < 0) return -1;
        at = symbols_end;
        size_t padded = (16 + (size_t)bytes + 7) / 8 * 8 - 16;
        at = padded < (size_t)(end - first) ? first + padded : end;
    }
    return damaged;
}
