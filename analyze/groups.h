// SPDX-License-Identifier: Apache-2.0
// groups.h: what --by and --roles mean: keys that events fall under, and the columns that show them.
#ifndef IKET_ANALYZE_GROUPS_H
#define IKET_ANALYZE_GROUPS_H

#include "analyze/columns.h"
#include "analyze/query.h"

enum { // parts of a key
    IKET_BY_NAME = 1,
    IKET_BY_KERNEL = 2,
    IKET_BY_LAUNCH = 4,
    IKET_BY_SM = 8,
    IKET_BY_CTA = 16,
    IKET_BY_WARP = 32,
    IKET_BY_ROLE = 64,
    IKET_BY_PAYLOAD = 128,
    IKET_BY_STAGES = 256, // times N: an integer payload counts as its remainder by N (--by payload%N)
    IKET_BY_PLACE = IKET_BY_KERNEL | IKET_BY_LAUNCH | IKET_BY_SM | IKET_BY_CTA | IKET_BY_WARP | IKET_BY_ROLE,
};

// Parses --by NAME,... (of which one may be payload%N, for the stages of a pipeline); NULL gives `otherwise`.
IKET_MUST_CHECK int iket_by_parse(const char *text, unsigned otherwise, unsigned *by, iket_error *err);

// Names of warps: "0-3=softmax,12=mma".
typedef struct iket_role {
    uint32_t first, last;
    uint32_t name; // index into names
} iket_role;

typedef struct iket_roles {
    iket_role *items;
    size_t count, capacity;
    char **names;
    size_t name_count, name_capacity;
} iket_roles;

IKET_MUST_CHECK int iket_roles_parse(iket_roles *roles, const char *text, iket_error *err); // NULL: no roles
void iket_roles_free(iket_roles *roles);

// The role of a warp: an index into names, IKET_UNKNOWN when it has none.
uint32_t iket_role_of(const iket_roles *roles, uint32_t warp);

// Parts that are not asked for are 0.
typedef struct iket_key {
    uint64_t bits;
    uint32_t set;     // index of the input
    uint32_t name, kernel, launch, sm, cta[3], warp, role;
    uint32_t kind;    // 0 stack range, 1 token range, 2 marker
    uint32_t payload_type;
} iket_key;

iket_key iket_key_of_place(unsigned by, const iket_roles *roles, const iket_columns *columns, uint32_t set, uint32_t location);
iket_key iket_key_of_range(unsigned by, const iket_roles *roles, const iket_columns *columns, uint32_t set, size_t range);

// The bits of an integer payload's remainder by the number of stages; of other payloads, and for 0 stages, its own.
uint64_t iket_payload_stage(iket_payload payload, unsigned stages);

// Distinct keys, in the order in which they were met. Zero-initialise.
typedef struct iket_keys {
    iket_key *items;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
} iket_keys;

// The index of the key, added when new; IKET_UNKNOWN: out of memory.
uint32_t iket_keys_find(iket_keys *keys, const iket_key *key, iket_error *err);
void iket_keys_free(iket_keys *keys);

// Makes an array that goes along with keys at least `count` zeroed elements long.
IKET_MUST_CHECK int iket_follow(void **items, size_t *capacity, size_t count, size_t size, iket_error *err);

// An order for keys that does not depend on how they were met.
int iket_key_order(const iket_columns *sets, const iket_key *a, const iket_key *b);

// The columns of a key stand first in a verb's table; those not in `by` are empty and no table shows them.
enum {
    IKET_KEY_INPUT, IKET_KEY_KERNEL, IKET_KEY_LAUNCH, IKET_KEY_GRAPH, IKET_KEY_SM, IKET_KEY_CTA, IKET_KEY_CTA_X, IKET_KEY_CTA_Y, IKET_KEY_CTA_Z,
    IKET_KEY_WARP, IKET_KEY_ROLE, IKET_KEY_KIND, IKET_KEY_NAME, IKET_KEY_PAYLOAD_TYPE, IKET_KEY_PAYLOAD, IKET_KEY_COLUMNS
};
void iket_key_columns(unsigned by, iket_column columns[IKET_KEY_COLUMNS]);

// `cta` has 40 bytes and must live as long as the cells.
void iket_key_cells(unsigned by, const iket_roles *roles, const iket_columns *sets, const iket_key *key, iket_cell cells[IKET_KEY_COLUMNS], char *cta);

#endif
