// SPDX-License-Identifier: Apache-2.0
// gaps: where no range is open in a warp's lifetime, by the range that ended before and the one that follows; and the
// ranges that are waits, by name.
#include <stdlib.h>
#include <string.h>

#include "analyze/groups.h"
#include "analyze/stats.h"
#include "analyze/timeline.h"

// Gaps between two names; IKET_UNKNOWN stands for the lifetime's start or end.
typedef struct gap {
    iket_tally lengths;
    uint64_t longest, longest_start;
    uint32_t longest_location;
} gap;

typedef struct gaps {
    const iket_columns *sets;
    size_t set_count;
    iket_keys keys;      // of gaps: kernel, name = after + 1, role = before + 1 (0: the lifetime's start, or end)
    gap *items;
    size_t capacity;
    iket_keys wait_keys; // kernel, name
    iket_tally *waits;   // each range's time without what is inside
    size_t wait_capacity;
    iket_keys kernels;
    iket_wide *lifetimes;
    size_t kernel_capacity;
} gaps;

static int add_gap(gaps *g, const iket_columns *c, iket_key key, uint32_t location, const iket_segment_of_time *segment, uint32_t next, iket_error *err) {
    key.name = segment->before == IKET_UNKNOWN ? 0 : c->name[segment->before] + 1;
    key.role = next == IKET_UNKNOWN ? 0 : c->name[next] + 1;
    uint32_t index = iket_keys_find(&g->keys, &key, err);
    if (index == IKET_UNKNOWN) return -1;
    IKET_TRY(iket_follow((void **)&g->items, &g->capacity, g->keys.count, sizeof *g->items, err));
    gap *one = &g->items[index];
    uint64_t length = segment->end - segment->start;
    if (length > one->longest) {
        one->longest = length;
        one->longest_start = segment->start;
        one->longest_location = location;
    }
    return iket_tally_add(&one->lengths, length, 1, err);
}

// The location's waits, each with the time in which nothing else was inside it.
static int add_waits(gaps *g, iket_key key, uint32_t location, const uint8_t *waits, iket_error *err) {
    const iket_columns *c = &g->sets[key.set];
    for (size_t i = c->first_range[location]; i < c->first_range[location + 1]; i++) {
        if (!waits[c->name[i]] || !(c->flags[i] & IKET_RANGE_SELECTED)) continue;
        key.name = c->name[i];
        uint32_t index = iket_keys_find(&g->wait_keys, &key, err);
        if (index == IKET_UNKNOWN) return -1;
        IKET_TRY(iket_follow((void **)&g->waits, &g->wait_capacity, g->wait_keys.count, sizeof *g->waits, err));
        IKET_TRY(iket_tally_add(&g->waits[index], iket_range_exclusive(c, i), 1, err));
    }
    return 0;
}

static int add_location(gaps *g, uint32_t set, uint32_t location, const iket_timeline *t, const uint8_t *waits, iket_error *err) {
    const iket_columns *c = &g->sets[set];
    const iket_location *l = &c->trace->locations[location];
    iket_key key = {.set = set, .kernel = c->trace->launches[l->launch].kernel};
    uint32_t kernel = iket_keys_find(&g->kernels, &key, err);
    if (kernel == IKET_UNKNOWN) return -1;
    IKET_TRY(iket_follow((void **)&g->lifetimes, &g->kernel_capacity, g->kernels.count, sizeof *g->lifetimes, err));
    g->lifetimes[kernel] += l->end - l->start;
    for (size_t i = 0; i < t->count; i++) {
        const iket_segment_of_time *s = &t->items[i];
        if (!iket_selection_overlaps(&c->selection, s->start, s->end)) continue;
        if (s->range == IKET_UNKNOWN) IKET_TRY(add_gap(g, c, key, location, s, i + 1 < t->count ? t->items[i + 1].range : IKET_UNKNOWN, err));
    }
    return add_waits(g, key, location, waits, err);
}

static int collect(gaps *g, const char *regex, iket_error *err) {
    iket_timeline timeline = {0};
    int result = 0;
    for (uint32_t set = 0; set < g->set_count && result == 0; set++) {
        const iket_columns *c = &g->sets[set];
        if (c->trace == NULL) continue;
        uint8_t *waits = iket_wait_names(c->trace, regex, err);
        if (waits == NULL) result = -1;
        for (size_t i = 0; i < c->trace->location_count && result == 0; i++) {
            if (!c->selection.locations[i]) continue;
            result = iket_timeline_build(&timeline, c, i, err);
            if (result == 0) result = add_location(g, set, (uint32_t)i, &timeline, waits, err);
        }
        free(waits);
    }
    iket_timeline_free(&timeline);
    return result;
}

// ---- the answer ---------------------------------------------------------------------------------------------------------

typedef struct order_context {
    const iket_keys *keys;
    const iket_columns *sets;
    const iket_wide *totals;
} order_context;

static int by_total(const void *a, const void *b, void *context) {
    const order_context *o = context;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (o->totals[x] != o->totals[y]) return o->totals[x] > o->totals[y] ? -1 : 1;
    const iket_key *k = &o->keys->items[x], *m = &o->keys->items[y];
    if (k->set != m->set) return k->set < m->set ? -1 : 1;
    const uint32_t left[] = {k->kernel, k->name, k->role}, right[] = {m->kernel, m->name, m->role};
    for (size_t i = 0; i < 3; i++) {
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

// The keys' indices, greatest total first; the caller frees them.
static uint32_t *ordered(const iket_keys *keys, const iket_columns *sets, const iket_wide *totals, iket_error *err) {
    uint32_t *order = malloc((keys->count + 1) * sizeof *order);
    if (order == NULL) {
        iket_fail(err, "out of memory (%zu groups)", keys->count);
        return NULL;
    }
    order_context context = {keys, sets, totals};
    for (size_t i = 0; i < keys->count; i++) order[i] = (uint32_t)i;
    qsort_r(order, keys->count, sizeof *order, by_total, &context);
    return order;
}

static iket_wide lifetime_of(gaps *g, const iket_key *key) {
    iket_key kernel = {.set = key->set, .kernel = key->kernel};
    return g->lifetimes[iket_keys_find(&g->kernels, &kernel, NULL)];
}

enum { INPUT, KERNEL, AFTER, BEFORE, COUNT, TOTAL, SHARE, MIN, P50, P90, P99, MAX, MAX_TS, MAX_LAUNCH, MAX_GRAPH, MAX_SM, MAX_X, MAX_Y, MAX_Z, MAX_WARP, COLUMNS };

static const iket_column columns[COLUMNS] = {
    [INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [KERNEL] = {"kernel", NULL, 0},
    [AFTER] = {"after", NULL, IKET_COLUMN_TABLE},
    [BEFORE] = {"before", NULL, IKET_COLUMN_TABLE},
    [COUNT] = {"count", NULL, IKET_COLUMN_TABLE},
    [TOTAL] = {"total_ns", "total", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [SHARE] = {"share_pct", "share%", IKET_COLUMN_TABLE},
    [MIN] = {"min_ns", "min", IKET_COLUMN_DURATION},
    [P50] = {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [P90] = {"p90_ns", "p90", IKET_COLUMN_DURATION},
    [P99] = {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [MAX] = {"max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [MAX_TS] = {"max_ts_ns", NULL, 0},
    [MAX_LAUNCH] = {"max_launch", NULL, 0},
    [MAX_GRAPH] = {"max_graph", NULL, 0},
    [MAX_SM] = {"max_sm", "on SM", IKET_COLUMN_TABLE},
    [MAX_X] = {"max_cta_x", NULL, 0},
    [MAX_Y] = {"max_cta_y", NULL, 0},
    [MAX_Z] = {"max_cta_z", NULL, 0},
    [MAX_WARP] = {"max_warp", "warp", IKET_COLUMN_TABLE},
};

static int give_gaps(gaps *g, iket_report *report, iket_error *err) {
    iket_wide *totals = calloc(g->keys.count + 1, sizeof *totals);
    for (size_t i = 0; totals != NULL && i < g->keys.count; i++) totals[i] = g->items[i].lengths.total;
    uint32_t *order = totals != NULL ? ordered(&g->keys, g->sets, totals, err) : NULL;
    int result = order != NULL ? iket_report_section(report, "rows", columns, COLUMNS, 30, err) : iket_fail(err, "out of memory (%zu groups)", g->keys.count);
    for (size_t i = 0; i < g->keys.count && result == 0; i++) {
        const iket_key *key = &g->keys.items[order[i]];
        gap *one = &g->items[order[i]];
        const iket_columns *c = &g->sets[key->set];
        const iket_location *l = &c->trace->locations[one->longest_location];
        const iket_launch *launch = &c->trace->launches[l->launch];
        iket_stats s = iket_tally_stats(&one->lengths);
        iket_cell cells[COLUMNS];
        cells[INPUT] = iket_cell_text(c->input);
        cells[KERNEL] = iket_cell_text(c->trace->strings[key->kernel]);
        cells[AFTER] = iket_cell_text(key->name == 0 ? "(start)" : c->trace->strings[key->name - 1]);
        cells[BEFORE] = iket_cell_text(key->role == 0 ? "(end)" : c->trace->strings[key->role - 1]);
        cells[COUNT] = iket_cell_uint(s.count);
        cells[TOTAL] = iket_cell_uint(s.total);
        cells[SHARE] = iket_cell_ratio(s.total, lifetime_of(g, key), 100);
        cells[MIN] = iket_cell_uint(s.min);
        cells[P50] = iket_cell_uint(s.p50);
        cells[P90] = iket_cell_uint(s.p90);
        cells[P99] = iket_cell_uint(s.p99);
        cells[MAX] = iket_cell_uint(s.max);
        cells[MAX_TS] = iket_cell_uint(one->longest_start);
        cells[MAX_LAUNCH] = iket_cell_uint(launch->ordinal);
        cells[MAX_GRAPH] = iket_cell_text(iket_launch_graph(c, launch));
        cells[MAX_SM] = iket_cell_u32(l->sm);
        cells[MAX_X] = iket_cell_uint(l->cta[0]);
        cells[MAX_Y] = iket_cell_uint(l->cta[1]);
        cells[MAX_Z] = iket_cell_uint(l->cta[2]);
        cells[MAX_WARP] = iket_cell_uint(l->warp);
        result = iket_report_row(report, cells, err) < 0 ? -1 : 0;
    }
    free(totals);
    free(order);
    return result;
}

enum { W_INPUT, W_KERNEL, W_NAME, W_COUNT, W_TOTAL, W_SHARE, W_P50, W_P90, W_P99, W_MAX, W_COLUMNS };

static const iket_column wait_columns[W_COLUMNS] = {
    [W_INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [W_KERNEL] = {"kernel", NULL, 0},
    [W_NAME] = {"name", NULL, IKET_COLUMN_TABLE},
    [W_COUNT] = {"count", NULL, IKET_COLUMN_TABLE},
    [W_TOTAL] = {"total_ns", "total", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [W_SHARE] = {"share_pct", "share%", IKET_COLUMN_TABLE},
    [W_P50] = {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [W_P90] = {"p90_ns", "p90", IKET_COLUMN_DURATION},
    [W_P99] = {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [W_MAX] = {"max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
};

static int give_waits(gaps *g, iket_report *report, iket_error *err) {
    iket_wide *totals = calloc(g->wait_keys.count + 1, sizeof *totals);
    for (size_t i = 0; totals != NULL && i < g->wait_keys.count; i++) totals[i] = g->waits[i].total;
    uint32_t *order = totals != NULL ? ordered(&g->wait_keys, g->sets, totals, err) : NULL;
    int result = order != NULL ? iket_report_section(report, "waits", wait_columns, W_COLUMNS, 0, err) : iket_fail(err, "out of memory (%zu groups)", g->wait_keys.count);
    for (size_t i = 0; i < g->wait_keys.count && result == 0; i++) {
        const iket_key *key = &g->wait_keys.items[order[i]];
        iket_stats s = iket_tally_stats(&g->waits[order[i]]);
        iket_cell cells[W_COLUMNS];
        cells[W_INPUT] = iket_cell_text(g->sets[key->set].input);
        cells[W_KERNEL] = iket_cell_text(g->sets[key->set].trace->strings[key->kernel]);
        cells[W_NAME] = iket_cell_text(g->sets[key->set].trace->strings[key->name]);
        cells[W_COUNT] = iket_cell_uint(s.count);
        cells[W_TOTAL] = iket_cell_uint(s.total);
        cells[W_SHARE] = iket_cell_ratio(s.total, lifetime_of(g, key), 100);
        cells[W_P50] = iket_cell_uint(s.p50);
        cells[W_P90] = iket_cell_uint(s.p90);
        cells[W_P99] = iket_cell_uint(s.p99);
        cells[W_MAX] = iket_cell_uint(s.max);
        result = iket_report_row(report, cells, err) < 0 ? -1 : 0;
    }
    free(totals);
    free(order);
    return result;
}

static int run(gaps *g, iket_query *q, iket_error *err) {
    const char *regex = q->options->wait != NULL ? q->options->wait : IKET_WAIT_DEFAULT;
    IKET_TRY(collect(g, regex, err));
    iket_report_fact(q->report, "wait", iket_cell_text(regex));
    IKET_TRY(give_gaps(g, q->report, err));
    return give_waits(g, q->report, err);
}

int iket_verb_gaps(iket_query *q, iket_error *err) {
    gaps g = {.set_count = q->input_count};
    iket_columns *sets = NULL;
    int result = iket_query_load(q, &sets, err);
    g.sets = sets;
    if (result == 0) result = run(&g, q, err);
    for (size_t i = 0; i < g.keys.count && i < g.capacity; i++) iket_tally_free(&g.items[i].lengths);
    for (size_t i = 0; i < g.wait_keys.count && i < g.wait_capacity; i++) iket_tally_free(&g.waits[i]);
    free(g.items);
    free(g.waits);
    free(g.lifetimes);
    iket_keys_free(&g.keys);
    iket_keys_free(&g.wait_keys);
    iket_keys_free(&g.kernels);
    iket_query_unload(q, sets);
    return result;
}
