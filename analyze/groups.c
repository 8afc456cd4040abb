// SPDX-License-Identifier: Apache-2.0
#include "analyze/groups.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/options.h"

static const struct {
    const char *name;
    unsigned part;
} parts[] = {{"name", IKET_BY_NAME}, {"kernel", IKET_BY_KERNEL}, {"launch", IKET_BY_LAUNCH}, {"sm", IKET_BY_SM},
             {"cta", IKET_BY_CTA},   {"warp", IKET_BY_WARP},     {"role", IKET_BY_ROLE},     {"payload", IKET_BY_PAYLOAD}};

// %N behind payload.
static int parse_stages(const char **at, unsigned part, unsigned *by, iket_error *err) {
    enum { MOST_STAGES = 1 << 20 };
    char *end = NULL;
    unsigned long stages = isdigit((unsigned char)(*at)[1]) ? strtoul(*at + 1, &end, 10) : 0;
    if (part != IKET_BY_PAYLOAD || stages == 0 || stages > MOST_STAGES || (*end != 0 && *end != ',')) {
        return iket_fail(err, "--by: only an integer payload has a remainder: payload%%N, N from 1 to %d", MOST_STAGES);
    }
    *by += (unsigned)stages * IKET_BY_STAGES;
    *at = end;
    return 0;
}

int iket_by_parse(const char *text, unsigned otherwise, unsigned *by, iket_error *err) {
    *by = otherwise;
    if (text == NULL) return 0;
    *by = 0;
    for (const char *word = text;; word++) {
        size_t size = strcspn(word, ",%"), i = 0;
        while (i < sizeof parts / sizeof parts[0] && !(strlen(parts[i].name) == size && memcmp(parts[i].name, word, size) == 0)) i++;
        if (i == sizeof parts / sizeof parts[0]) {
            return iket_fail(err, "--by: '%.*s' is nothing to group by (name, kernel, launch, sm, cta, warp, role, payload)", (int)(size < 60 ? size : 60), word);
        }
        *by |= parts[i].part;
        word += size;
        if (*word == '%') IKET_TRY(parse_stages(&word, parts[i].part, by, err));
        if (*word == 0) return 0;
    }
}

// ---- roles --------------------------------------------------------------------------------------------------------------

static int role_name(iket_roles *roles, const char *text, size_t size, uint32_t *name, iket_error *err) {
    for (size_t i = 0; i < roles->name_count; i++) {
        if (strlen(roles->names[i]) == size && memcmp(roles->names[i], text, size) == 0) {
            *name = (uint32_t)i;
            return 0;
        }
    }
    IKET_TRY(IKET_RESERVE(roles->names, roles->name_count, roles->name_capacity, 1, err));
    char *copy = strndup(text, size);
    if (copy == NULL) return iket_fail(err, "out of memory");
    *name = (uint32_t)roles->name_count;
    roles->names[roles->name_count++] = copy;
    return 0;
}

static int warp_number(const char **at, uint32_t *number) {
    char *end;
    if (!isdigit((unsigned char)**at)) return -1;
    unsigned long value = strtoul(*at, &end, 10);
    if (value >= IKET_UNKNOWN) return -1;
    *number = (uint32_t)value;
    *at = end;
    return 0;
}

// FIRST[-LAST] items up to '=', then a name up to ',' or the end.
int iket_roles_parse(iket_roles *roles, const char *text, iket_error *err) {
    size_t named = 0;
    *roles = (iket_roles){0};
    for (const char *at = text; at != NULL && *at != 0;) {
        iket_role role;
        if (warp_number(&at, &role.first) != 0) break;
        role.last = role.first;
        if (*at == '-') {
            at++;
            if (warp_number(&at, &role.last) != 0 || role.last < role.first) break;
        }
        IKET_TRY(IKET_RESERVE(roles->items, roles->count, roles->capacity, 1, err));
        roles->items[roles->count++] = role;
        if (*at == ',') {
            at++;
            continue;
        }
        if (*at != '=') break;
        size_t size = strcspn(++at, ",");
        uint32_t name = 0;
        if (size == 0) break;
        IKET_TRY(role_name(roles, at, size, &name, err));
        while (named < roles->count) roles->items[named++].name = name;
        at += size;
        if (*at == 0) return 0;
        at++;
    }
    if (text == NULL) return 0;
    return iket_fail(err, "--roles: '%s' is no list of warps and their roles (write 0-3=softmax,12=mma)", text);
}

void iket_roles_free(iket_roles *roles) {
    for (size_t i = 0; i < roles->name_count; i++) free(roles->names[i]);
    free(roles->names);
    free(roles->items);
    *roles = (iket_roles){0};
}

uint32_t iket_role_of(const iket_roles *roles, uint32_t warp) {
    for (size_t i = 0; i < roles->count; i++) {
        if (warp >= roles->items[i].first && warp <= roles->items[i].last) return roles->items[i].name;
    }
    return IKET_UNKNOWN;
}

// ---- keys ---------------------------------------------------------------------------------------------------------------

iket_key iket_key_of_place(unsigned by, const iket_roles *roles, const iket_columns *c, uint32_t set, uint32_t location) {
    const iket_location *l = &c->trace->locations[location];
    iket_key key = {.set = set};
    if (by & IKET_BY_KERNEL) key.kernel = c->trace->launches[l->launch].kernel;
    if (by & IKET_BY_LAUNCH) key.launch = l->launch;
    if (by & IKET_BY_SM) key.sm = l->sm;
    if (by & IKET_BY_CTA) memcpy(key.cta, l->cta, sizeof key.cta);
    if (by & IKET_BY_WARP) key.warp = l->warp;
    if (by & IKET_BY_ROLE) key.role = iket_role_of(roles, l->warp);
    return key;
}

uint64_t iket_payload_stage(iket_payload payload, unsigned stages) {
    if (stages == 0 || payload.type == IKET_PAYLOAD_F32 || payload.type == IKET_PAYLOAD_F64) return payload.bits;
    int is_signed = payload.type == IKET_PAYLOAD_I8 || payload.type == IKET_PAYLOAD_I16 || payload.type == IKET_PAYLOAD_I32 || payload.type == IKET_PAYLOAD_I64;
    int64_t value = is_signed ? iket_payload_signed(payload) : 0;
    if (value >= 0) return payload.bits % stages;
    uint64_t rest = (0 - (uint64_t)value) % stages;
    return rest == 0 ? 0 : stages - rest;
}

iket_key iket_key_of_range(unsigned by, const iket_roles *roles, const iket_columns *c, uint32_t set, size_t range) {
    iket_key key = iket_key_of_place(by, roles, c, set, c->location[range]);
    if (by & IKET_BY_NAME) {
        key.name = c->name[range];
        key.kind = c->flags[range] & IKET_RANGE_IS_TOKEN ? 1 : 0;
    }
    if (by & IKET_BY_PAYLOAD) {
        key.bits = iket_payload_stage(iket_range_payload(c, range), by / IKET_BY_STAGES);
        key.payload_type = c->payload_type[range];
    }
    return key;
}

static size_t key_hash(const iket_key *k) {
    const uint32_t words[] = {k->set, k->name, k->kernel, k->launch, k->sm, k->cta[0], k->cta[1], k->cta[2], k->warp, k->role, k->kind, k->payload_type};
    uint64_t h = k->bits * 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) h = (h ^ words[i]) * 0x9E3779B97F4A7C15u ^ h >> 29;
    return (size_t)(h >> 16);
}

static int same_key(const iket_key *a, const iket_key *b) {
    return a->bits == b->bits && a->set == b->set && a->name == b->name && a->kernel == b->kernel && a->launch == b->launch && a->sm == b->sm &&
           memcmp(a->cta, b->cta, sizeof a->cta) == 0 && a->warp == b->warp && a->role == b->role && a->kind == b->kind && a->payload_type == b->payload_type;
}

static int grow(iket_keys *keys, iket_error *err) {
    size_t wanted = keys->slot_count == 0 ? 256 : keys->slot_count * 2;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return iket_fail(err, "out of memory (%zu groups)", wanted);
    for (size_t i = 0; i < keys->count; i++) {
        size_t at = key_hash(&keys->items[i]) & (wanted - 1);
        while (slots[at] != 0) at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(keys->slots);
    keys->slots = slots;
    keys->slot_count = wanted;
    return 0;
}

uint32_t iket_keys_find(iket_keys *keys, const iket_key *key, iket_error *err) {
    if ((keys->count + 1) * 2 > keys->slot_count && grow(keys, err) != 0) return IKET_UNKNOWN;
    size_t at = key_hash(key) & (keys->slot_count - 1);
    for (; keys->slots[at] != 0; at = (at + 1) & (keys->slot_count - 1)) {
        if (same_key(&keys->items[keys->slots[at] - 1], key)) return keys->slots[at] - 1;
    }
    if (IKET_RESERVE(keys->items, keys->count, keys->capacity, 1, err) != 0) return IKET_UNKNOWN;
    keys->items[keys->count] = *key;
    keys->slots[at] = (uint32_t)keys->count + 1;
    return (uint32_t)keys->count++;
}

void iket_keys_free(iket_keys *keys) {
    free(keys->items);
    free(keys->slots);
    *keys = (iket_keys){0};
}

int iket_follow(void **items, size_t *capacity, size_t count, size_t size, iket_error *err) {
    if (count <= *capacity) return 0;
    size_t wanted = *capacity < 64 ? 64 : *capacity * 2;
    char *moved = realloc(*items, wanted * size);
    if (moved == NULL) return iket_fail(err, "out of memory (%zu groups)", wanted);
    memset(moved + *capacity * size, 0, (wanted - *capacity) * size);
    *items = moved;
    *capacity = wanted;
    return 0;
}

int iket_key_order(const iket_columns *sets, const iket_key *a, const iket_key *b) {
    if (a->set != b->set) return a->set < b->set ? -1 : 1;
    char *const *strings = sets[a->set].trace->strings;
    int order = strcmp(strings[a->kernel], strings[b->kernel]);
    if (order == 0) order = strcmp(strings[a->name], strings[b->name]);
    if (order != 0) return order;
    const uint32_t left[] = {a->kind, a->launch, a->role, a->sm, a->cta[2], a->cta[1], a->cta[0], a->warp, a->payload_type};
    const uint32_t right[] = {b->kind, b->launch, b->role, b->sm, b->cta[2], b->cta[1], b->cta[0], b->warp, b->payload_type};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    }
    return a->bits < b->bits ? -1 : a->bits > b->bits;
}

void iket_key_columns(unsigned by, iket_column columns[IKET_KEY_COLUMNS]) {
    static const struct {
        iket_column column;
        unsigned part;
    } all[IKET_KEY_COLUMNS] = {
        [IKET_KEY_INPUT] = {{"input", NULL, IKET_COLUMN_INPUT}, 0},
        [IKET_KEY_KERNEL] = {{"kernel", NULL, 0}, IKET_BY_KERNEL},
        [IKET_KEY_LAUNCH] = {{"launch", NULL, 0}, IKET_BY_LAUNCH},
        [IKET_KEY_GRAPH] = {{"graph", NULL, 0}, 0},
        [IKET_KEY_SM] = {{"sm", NULL, 0}, IKET_BY_SM},
        [IKET_KEY_CTA] = {{"cta", NULL, IKET_COLUMN_SHORT}, IKET_BY_CTA},
        [IKET_KEY_CTA_X] = {{"cta_x", NULL, 0}, 0},
        [IKET_KEY_CTA_Y] = {{"cta_y", NULL, 0}, 0},
        [IKET_KEY_CTA_Z] = {{"cta_z", NULL, 0}, 0},
        [IKET_KEY_WARP] = {{"warp", NULL, 0}, IKET_BY_WARP},
        [IKET_KEY_ROLE] = {{"role", NULL, 0}, IKET_BY_ROLE},
        [IKET_KEY_KIND] = {{"kind", NULL, 0}, 0},
        [IKET_KEY_NAME] = {{"name", NULL, 0}, IKET_BY_NAME},
        [IKET_KEY_PAYLOAD_TYPE] = {{"payload_type", NULL, 0}, 0},
        [IKET_KEY_PAYLOAD] = {{"payload", NULL, 0}, IKET_BY_PAYLOAD},
    };
    for (size_t i = 0; i < IKET_KEY_COLUMNS; i++) {
        columns[i] = all[i].column;
        if (by & all[i].part) columns[i].flags |= IKET_COLUMN_TABLE;
    }
}

void iket_key_cells(unsigned by, const iket_roles *roles, const iket_columns *sets, const iket_key *key, iket_cell cells[IKET_KEY_COLUMNS], char *cta) {
    static const char *const kinds[] = {"range", "token", "marker"};
    const iket_columns *c = &sets[key->set];
    for (size_t i = 0; i < IKET_KEY_COLUMNS; i++) cells[i] = iket_cell_none();
    cells[IKET_KEY_INPUT] = iket_cell_text(c->input);
    if (by & IKET_BY_KERNEL) cells[IKET_KEY_KERNEL] = iket_cell_text(c->trace->strings[key->kernel]);
    if (by & IKET_BY_LAUNCH) {
        cells[IKET_KEY_LAUNCH] = iket_cell_uint(c->trace->launches[key->launch].ordinal);
        cells[IKET_KEY_GRAPH] = iket_cell_text(iket_launch_graph(c, &c->trace->launches[key->launch]));
    }
    if (by & IKET_BY_SM) cells[IKET_KEY_SM] = iket_cell_u32(key->sm);
    if (by & IKET_BY_CTA) {
        snprintf(cta, 40, "%u,%u,%u", key->cta[0], key->cta[1], key->cta[2]);
        cells[IKET_KEY_CTA] = iket_cell_text(cta);
        cells[IKET_KEY_CTA_X] = iket_cell_uint(key->cta[0]);
        cells[IKET_KEY_CTA_Y] = iket_cell_uint(key->cta[1]);
        cells[IKET_KEY_CTA_Z] = iket_cell_uint(key->cta[2]);
    }
    if (by & IKET_BY_WARP) cells[IKET_KEY_WARP] = iket_cell_uint(key->warp);
    if (by & IKET_BY_ROLE) cells[IKET_KEY_ROLE] = iket_cell_text(key->role == IKET_UNKNOWN ? NULL : roles->names[key->role]);
    if (by & IKET_BY_NAME) {
        cells[IKET_KEY_KIND] = iket_cell_text(kinds[key->kind]);
        cells[IKET_KEY_NAME] = iket_cell_text(c->trace->strings[key->name]);
    }
    if (by & IKET_BY_PAYLOAD) {
        iket_payload payload = {key->bits, (uint8_t)key->payload_type};
        cells[IKET_KEY_PAYLOAD_TYPE] = iket_cell_text(payload.type == IKET_PAYLOAD_NONE ? NULL : iket_payload_type_name(payload.type));
        cells[IKET_KEY_PAYLOAD] = iket_cell_payload(payload);
    }
}
