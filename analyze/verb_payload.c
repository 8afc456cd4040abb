// SPDX-License-Identifier: Apache-2.0
// payload: which values the payloads of each name had, how often, and what the ranges with each value took.
#include <stdlib.h>
#include <string.h>

#include "analyze/chart.h"
#include "analyze/groups.h"

enum { KEY_PARTS = IKET_BY_NAME | IKET_BY_PAYLOAD };

typedef struct payloads {
    unsigned by;
    iket_roles roles;
    const iket_columns *sets;
    size_t set_count;
    iket_keys keys;
    iket_tally *durations; // of ranges
    size_t duration_capacity;
    uint64_t *counts;
    size_t count_capacity;
    uint32_t *order;
} payloads;

static int add(payloads *p, const iket_key *key, int has_duration, uint64_t duration, iket_error *err) {
    uint32_t index = iket_keys_find(&p->keys, key, err);
    if (index == IKET_UNKNOWN) return -1;
    IKET_TRY(iket_follow((void **)&p->durations, &p->duration_capacity, p->keys.count, sizeof *p->durations, err));
    IKET_TRY(iket_follow((void **)&p->counts, &p->count_capacity, p->keys.count, sizeof *p->counts, err));
    p->counts[index]++;
    return has_duration ? iket_tally_add(&p->durations[index], duration, 1, err) : 0;
}

static int collect(payloads *p, uint32_t set, iket_error *err) {
    const iket_columns *c = &p->sets[set];
    for (size_t i = 0; i < c->range_count; i++) {
        if (!(c->flags[i] & IKET_RANGE_SELECTED) || c->payload_type[i] == IKET_PAYLOAD_NONE) continue;
        iket_key key = iket_key_of_range(p->by, &p->roles, c, set, i);
        IKET_TRY(add(p, &key, 1, iket_range_duration(c, i), err));
    }
    for (size_t i = 0; i < c->marker_count; i++) {
        if (!c->marker_selected[i] || c->marker_type[i] == IKET_PAYLOAD_NONE) continue;
        iket_key key = iket_key_of_place(p->by, &p->roles, c, set, c->marker_location[i]);
        key.name = c->marker_name[i];
        key.kind = 2;
        key.bits = iket_payload_stage((iket_payload){c->marker_bits[i], c->marker_type[i]}, p->by / IKET_BY_STAGES);
        key.payload_type = c->marker_type[i];
        IKET_TRY(add(p, &key, 0, 0, err));
    }
    return 0;
}

// A payload as a number whose order is the value's, with its sign.
static uint64_t rank_of(const iket_key *key) {
    iket_payload payload = {key->bits, (uint8_t)key->payload_type};
    const uint64_t top = (uint64_t)1 << 63;
    switch (key->payload_type) {
    case IKET_PAYLOAD_I8:
    case IKET_PAYLOAD_I16:
    case IKET_PAYLOAD_I32:
    case IKET_PAYLOAD_I64: return (uint64_t)iket_payload_signed(payload) ^ top;
    case IKET_PAYLOAD_F32: {
        uint32_t bits = (uint32_t)key->bits;
        return bits >> 31 ? ~bits : bits | 0x80000000u;
    }
    case IKET_PAYLOAD_F64: return key->bits & top ? ~key->bits : key->bits | top;
    default: return key->bits;
    }
}

// Groups other than the value by their order, then by value.
static int by_value(const void *a, const void *b, void *context) {
    const payloads *p = context;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    iket_key left = p->keys.items[x], right = p->keys.items[y];
    uint64_t i = rank_of(&left), k = rank_of(&right);
    left.bits = right.bits = 0;
    int order = iket_key_order(p->sets, &left, &right);
    return order != 0 ? order : i < k ? -1 : i > k;
}

enum { COUNT = IKET_KEY_COLUMNS, TOTAL, MIN, P50, P90, P99, MAX, BAR, COLUMNS };

static const iket_column value_columns[COLUMNS - COUNT] = {
    {"count", NULL, IKET_COLUMN_TABLE},
    {"total_ns", "total", IKET_COLUMN_DURATION},
    {"min_ns", "min", IKET_COLUMN_DURATION},
    {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"p90_ns", "p90", IKET_COLUMN_DURATION},
    {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"max_ns", "max", IKET_COLUMN_DURATION},
    {"bar", "p50, or count of markers", IKET_COLUMN_TABLE | IKET_COLUMN_SHORT | IKET_COLUMN_LEFT},
};

// What fills a bar of this group: the greatest median (or, of markers, count) among the values of the same name.
static uint64_t weight_of(payloads *p, uint32_t index) {
    return p->durations[index].count > 0 ? iket_tally_stats(&p->durations[index]).p50 : p->counts[index];
}

static int same_name(const payloads *p, uint32_t a, uint32_t b) {
    iket_key x = p->keys.items[a], y = p->keys.items[b];
    x.bits = y.bits = 0;
    return iket_key_order(p->sets, &x, &y) == 0;
}

static int give_value(payloads *p, uint32_t index, uint64_t most, iket_report *report, iket_error *err) {
    iket_stats s = iket_tally_stats(&p->durations[index]);
    char cta[40], bar[IKET_BAR_TEXT];
    iket_cell cells[COLUMNS];
    iket_key_cells(p->by, &p->roles, p->sets, &p->keys.items[index], cells, cta);
    for (size_t i = COUNT; i < COLUMNS; i++) cells[i] = iket_cell_none();
    cells[COUNT] = iket_cell_uint(p->counts[index]);
    if (s.count > 0) {
        cells[TOTAL] = iket_cell_uint(s.total);
        cells[MIN] = iket_cell_uint(s.min);
        cells[P50] = iket_cell_uint(s.p50);
        cells[P90] = iket_cell_uint(s.p90);
        cells[P99] = iket_cell_uint(s.p99);
        cells[MAX] = iket_cell_uint(s.max);
    }
    iket_bar(weight_of(p, index), most, bar);
    cells[BAR] = iket_cell_text(bar);
    return iket_report_row(report, cells, err) < 0 ? -1 : 0;
}

static int give(payloads *p, iket_report *report, iket_error *err) {
    iket_column columns[COLUMNS];
    iket_key_columns(p->by, columns);
    memcpy(columns + COUNT, value_columns, sizeof value_columns);
    p->order = malloc((p->keys.count + 1) * sizeof *p->order);
    if (p->order == NULL) return iket_fail(err, "out of memory (%zu values)", p->keys.count);
    for (size_t i = 0; i < p->keys.count; i++) p->order[i] = (uint32_t)i;
    qsort_r(p->order, p->keys.count, sizeof *p->order, by_value, p);
    IKET_TRY(iket_report_section(report, "rows", columns, COLUMNS, 60, err));
    for (size_t first = 0, end; first < p->keys.count; first = end) {
        uint64_t most = 0;
        for (end = first; end < p->keys.count && same_name(p, p->order[first], p->order[end]); end++) {
            uint64_t weight = weight_of(p, p->order[end]);
            most = weight > most ? weight : most;
        }
        for (size_t i = first; i < end; i++) IKET_TRY(give_value(p, p->order[i], most, report, err));
    }
    return 0;
}

int iket_verb_payload(iket_query *q, iket_error *err) {
    payloads p = {.set_count = q->input_count};
    iket_columns *sets = NULL;
    int result = iket_by_parse(q->options->by, KEY_PARTS, &p.by, err);
    p.by |= KEY_PARTS;
    if (result == 0) result = iket_roles_parse(&p.roles, q->options->roles, err);
    if (result == 0) result = iket_query_load(q, &sets, err);
    p.sets = sets;
    for (uint32_t i = 0; i < p.set_count && result == 0; i++) {
        if (sets[i].trace != NULL) result = collect(&p, i, err);
    }
    if (result == 0) result = give(&p, q->report, err);
    for (size_t i = 0; i < p.keys.count && i < p.duration_capacity; i++) iket_tally_free(&p.durations[i]);
    free(p.durations);
    free(p.counts);
    free(p.order);
    iket_keys_free(&p.keys);
    iket_roles_free(&p.roles);
    iket_query_unload(q, sets);
    return result;
}
