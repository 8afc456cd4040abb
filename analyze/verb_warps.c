// SPDX-License-Identifier: Apache-2.0
// warps: how long each warp lived, how late it began and how early it ended within its launch, and how much of it was
// work; then the same by launch, by role and by SM.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/groups.h"
#include "analyze/stats.h"
#include "analyze/timeline.h"

// A warp with its figures.
typedef struct warp {
    uint32_t set, location;
    uint64_t lifetime, start_skew, end_skew;
    iket_busy time;
} warp;

typedef struct warps {
    const iket_columns *sets;
    size_t set_count;
    iket_roles roles;
    warp *items;
    size_t count;
} warps;

static const iket_location *location_of(const warps *w, const warp *one) { return &w->sets[one->set].trace->locations[one->location]; }

static int collect(warps *w, const iket_query *q, iket_error *err) {
    const char *regex = q->options->wait != NULL ? q->options->wait : IKET_WAIT_DEFAULT;
    iket_timeline timeline = {0};
    size_t total = 0;
    for (size_t set = 0; set < w->set_count; set++) total += w->sets[set].trace != NULL ? w->sets[set].trace->location_count : 0;
    w->items = calloc(total + 1, sizeof *w->items);
    if (w->items == NULL) return iket_fail(err, "out of memory (%zu warps)", total);
    int result = 0;
    for (size_t set = 0; set < w->set_count && result == 0; set++) {
        const iket_columns *c = &w->sets[set];
        if (c->trace == NULL) continue;
        uint8_t *waits = iket_wait_names(c->trace, regex, err);
        if (waits == NULL) result = -1;
        for (size_t i = 0; i < c->trace->location_count && result == 0; i++) {
            const iket_location *l = &c->trace->locations[i];
            const iket_launch *launch = &c->trace->launches[l->launch];
            if (!c->selection.locations[i] || !iket_selection_overlaps(&c->selection, l->start, l->end)) continue;
            result = iket_timeline_build(&timeline, c, i, err);
            w->items[w->count++] = (warp){(uint32_t)set, (uint32_t)i, l->end - l->start, l->start - launch->start, launch->end - l->end, iket_timeline_busy(&timeline, c, waits)};
        }
        free(waits);
    }
    iket_timeline_free(&timeline);
    return result;
}

// ---- warps --------------------------------------------------------------------------------------------------------------

enum { LIFETIME = IKET_KEY_COLUMNS, START, START_SKEW, END_SKEW, BUSY, WAIT, IDLE, BUSY_SHARE, WAIT_SHARE, IDLE_SHARE, COLUMNS };

static const iket_column value_columns[COLUMNS - LIFETIME] = {
    {"lifetime_ns", "lifetime", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"start_ns", NULL, 0},
    {"start_skew_ns", "starts", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"end_skew_ns", "ends early", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"busy_ns", "busy", IKET_COLUMN_DURATION},
    {"wait_ns", "wait", IKET_COLUMN_DURATION},
    {"idle_ns", "idle", IKET_COLUMN_DURATION},
    {"busy_pct", "busy%", IKET_COLUMN_TABLE},
    {"wait_pct", "wait%", IKET_COLUMN_TABLE},
    {"idle_pct", "idle%", IKET_COLUMN_TABLE},
};

static int by_lifetime(const void *a, const void *b) {
    const warp *x = a, *y = b;
    if (x->lifetime != y->lifetime) return x->lifetime > y->lifetime ? -1 : 1;
    if (x->set != y->set) return x->set < y->set ? -1 : 1;
    return x->location < y->location ? -1 : x->location > y->location;
}

static unsigned place_parts(const warps *w) {
    return IKET_BY_KERNEL | IKET_BY_LAUNCH | IKET_BY_SM | IKET_BY_CTA | IKET_BY_WARP | (w->roles.count > 0 ? IKET_BY_ROLE : 0);
}

static int give_warps(warps *w, iket_report *report, iket_error *err) {
    iket_column columns[COLUMNS];
    unsigned by = place_parts(w);
    iket_key_columns(by & ~(unsigned)IKET_BY_KERNEL, columns);
    memcpy(columns + LIFETIME, value_columns, sizeof value_columns);
    IKET_TRY(iket_report_section(report, "rows", columns, COLUMNS, 15, err));
    qsort(w->items, w->count, sizeof *w->items, by_lifetime);
    for (size_t i = 0; i < w->count; i++) {
        const warp *one = &w->items[i];
        iket_key key = iket_key_of_place(by, &w->roles, &w->sets[one->set], one->set, one->location);
        char cta[40];
        iket_cell cells[COLUMNS];
        iket_key_cells(by, &w->roles, w->sets, &key, cells, cta);
        cells[LIFETIME] = iket_cell_uint(one->lifetime);
        cells[START] = iket_cell_uint(location_of(w, one)->start);
        cells[START_SKEW] = iket_cell_uint(one->start_skew);
        cells[END_SKEW] = iket_cell_uint(one->end_skew);
        cells[BUSY] = iket_cell_uint(one->time.busy);
        cells[WAIT] = iket_cell_uint(one->time.wait);
        cells[IDLE] = iket_cell_uint(one->time.idle);
        cells[BUSY_SHARE] = iket_cell_ratio(one->time.busy, one->lifetime, 100);
        cells[WAIT_SHARE] = iket_cell_ratio(one->time.wait, one->lifetime, 100);
        cells[IDLE_SHARE] = iket_cell_ratio(one->time.idle, one->lifetime, 100);
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

// ---- by launch, role, SM ------------------------------------------------------------------------------------------------

typedef struct group {
    iket_tally lifetimes, starts, ends;
    iket_wide busy, wait, idle;
} group;

typedef struct groups {
    iket_keys keys;
    group *items;
    size_t capacity;
    uint32_t *order;
} groups;

static void free_groups(groups *g) {
    for (size_t i = 0; g->items != NULL && i < g->keys.count && i < g->capacity; i++) {
        iket_tally_free(&g->items[i].lifetimes);
        iket_tally_free(&g->items[i].starts);
        iket_tally_free(&g->items[i].ends);
    }
    free(g->items);
    free(g->order);
    iket_keys_free(&g->keys);
}

static int gather(groups *g, const warps *w, unsigned by, iket_error *err) {
    g->capacity = w->count + 1;
    g->items = calloc(g->capacity, sizeof *g->items);
    if (g->items == NULL) return iket_fail(err, "out of memory (%zu warps)", w->count);
    for (size_t i = 0; i < w->count; i++) {
        const warp *one = &w->items[i];
        iket_key key = iket_key_of_place(by, &w->roles, &w->sets[one->set], one->set, one->location);
        uint32_t index = iket_keys_find(&g->keys, &key, err);
        if (index == IKET_UNKNOWN) return -1;
        group *of = &g->items[index];
        IKET_TRY(iket_tally_add(&of->lifetimes, one->lifetime, 1, err));
        IKET_TRY(iket_tally_add(&of->starts, one->start_skew, 1, err));
        IKET_TRY(iket_tally_add(&of->ends, one->end_skew, 1, err));
        of->busy += one->time.busy;
        of->wait += one->time.wait;
        of->idle += one->time.idle;
    }
    return 0;
}

typedef struct order_context {
    const groups *groups;
    const iket_columns *sets;
    int by_total; // else by key
} order_context;

static int group_order(const void *a, const void *b, void *context) {
    const order_context *o = context;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    const group *g = &o->groups->items[x], *h = &o->groups->items[y];
    if (o->by_total && g->lifetimes.total != h->lifetimes.total) return g->lifetimes.total > h->lifetimes.total ? -1 : 1;
    return iket_key_order(o->sets, &o->groups->keys.items[x], &o->groups->keys.items[y]);
}

static int sort_groups(groups *g, const warps *w, int by_total, iket_error *err) {
    order_context context = {g, w->sets, by_total};
    g->order = malloc((g->keys.count + 1) * sizeof *g->order);
    if (g->order == NULL) return iket_fail(err, "out of memory");
    for (size_t i = 0; i < g->keys.count; i++) g->order[i] = (uint32_t)i;
    qsort_r(g->order, g->keys.count, sizeof *g->order, group_order, &context);
    return 0;
}

// The role that decides a launch: the one whose median warp lives longest; of equals the one with the longest warp.
static void find_critical(groups *g, size_t *critical) {
    *critical = g->keys.count;
    for (size_t i = 0; i < g->keys.count; i++) {
        if (g->keys.items[i].role == IKET_UNKNOWN) continue;
        iket_stats a = iket_tally_stats(&g->items[i].lifetimes);
        if (*critical == g->keys.count) {
            *critical = i;
            continue;
        }
        iket_stats b = iket_tally_stats(&g->items[*critical].lifetimes);
        if (a.p50 > b.p50 || (a.p50 == b.p50 && a.max > b.max)) *critical = i;
    }
}

enum {
    G_WARPS = IKET_KEY_COLUMNS, G_TOTAL, G_P50, G_P99, G_MAX, G_START_P50, G_START_MAX, G_END_P50, G_END_MAX, G_BUSY, G_WAIT, G_IDLE, G_EXTRA, G_COLUMNS
};

static const iket_column group_value_columns[G_COLUMNS - G_WARPS] = {
    {"warps", NULL, IKET_COLUMN_TABLE},
    {"lifetime_ns", "total", IKET_COLUMN_DURATION},
    {"lifetime_p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"lifetime_p99_ns", "p99", IKET_COLUMN_DURATION},
    {"lifetime_max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"start_skew_p50_ns", "starts p50", IKET_COLUMN_DURATION},
    {"start_skew_max_ns", "last start", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"end_skew_p50_ns", "ends p50", IKET_COLUMN_DURATION},
    {"end_skew_max_ns", "ends early", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"busy_pct", "busy%", IKET_COLUMN_TABLE},
    {"wait_pct", "wait%", IKET_COLUMN_TABLE},
    {"idle_pct", "idle%", 0},
};

static int give_groups(groups *g, const warps *w, unsigned by, const char *section, iket_column extra, const iket_cell *extra_cells, uint64_t few, iket_report *report,
                       iket_error *err) {
    iket_column columns[G_COLUMNS];
    iket_key_columns(by, columns);
    memcpy(columns + G_WARPS, group_value_columns, sizeof group_value_columns);
    columns[G_EXTRA] = extra;
    IKET_TRY(iket_report_section(report, section, columns, G_COLUMNS, few, err));
    for (size_t i = 0; i < g->keys.count; i++) {
        group *of = &g->items[g->order[i]];
        iket_stats life = iket_tally_stats(&of->lifetimes), start = iket_tally_stats(&of->starts), end = iket_tally_stats(&of->ends);
        char cta[40];
        iket_cell cells[G_COLUMNS];
        iket_key_cells(by, &w->roles, w->sets, &g->keys.items[g->order[i]], cells, cta);
        cells[G_WARPS] = iket_cell_uint(life.count);
        cells[G_TOTAL] = iket_cell_uint(life.total);
        cells[G_P50] = iket_cell_uint(life.p50);
        cells[G_P99] = iket_cell_uint(life.p99);
        cells[G_MAX] = iket_cell_uint(life.max);
        cells[G_START_P50] = iket_cell_uint(start.p50);
        cells[G_START_MAX] = iket_cell_uint(start.max);
        cells[G_END_P50] = iket_cell_uint(end.p50);
        cells[G_END_MAX] = iket_cell_uint(end.max);
        cells[G_BUSY] = iket_cell_ratio(of->busy, life.total, 100);
        cells[G_WAIT] = iket_cell_ratio(of->wait, life.total, 100);
        cells[G_IDLE] = iket_cell_ratio(of->idle, life.total, 100);
        cells[G_EXTRA] = extra_cells[g->order[i]];
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

typedef struct sm_sums {
    iket_wide most, total;
    uint64_t count;
} sm_sums;

// max / mean of the SMs' summed warp lifetimes for each launch: 1 is even.
static int imbalances(const warps *w, groups *launches, iket_cell *cells, iket_error *err) {
    groups sms = {0};
    sm_sums *sums = calloc(launches->keys.count + 1, sizeof *sums);
    int result = sums != NULL ? gather(&sms, w, IKET_BY_KERNEL | IKET_BY_LAUNCH | IKET_BY_SM, err) : iket_fail(err, "out of memory");
    for (size_t i = 0; i < sms.keys.count && result == 0; i++) {
        iket_key launch = sms.keys.items[i];
        launch.sm = 0;
        sm_sums *s = &sums[iket_keys_find(&launches->keys, &launch, err)];
        iket_wide lifetime = sms.items[i].lifetimes.total;
        s->most = lifetime > s->most ? lifetime : s->most;
        s->total += lifetime;
        s->count++;
    }
    for (size_t i = 0; i < launches->keys.count && result == 0; i++) cells[i] = iket_cell_ratio(sums[i].most * sums[i].count, sums[i].total, 1);
    free(sums);
    free_groups(&sms);
    return result;
}

static int give_section(const warps *w, unsigned by, const char *section, iket_report *report, iket_error *err) {
    groups g = {0};
    int is_launch = by == (IKET_BY_KERNEL | IKET_BY_LAUNCH), is_role = (by & IKET_BY_ROLE) != 0;
    int result = gather(&g, w, by, err);
    iket_cell *extra = calloc(g.keys.count + 1, sizeof *extra);
    if (result == 0 && extra == NULL) result = iket_fail(err, "out of memory");
    if (result == 0) result = sort_groups(&g, w, !is_launch, err);
    iket_column column = {is_launch ? "sm_imbalance" : is_role ? "critical" : "lifetime_share_pct", is_launch ? "SM max/mean" : is_role ? NULL : "share%", IKET_COLUMN_TABLE};
    if (result == 0 && is_launch) result = imbalances(w, &g, extra, err);
    if (result == 0 && is_role) {
        size_t critical;
        find_critical(&g, &critical);
        for (size_t i = 0; i < g.keys.count; i++) extra[i] = iket_cell_bool(i == critical);
    } else if (result == 0 && !is_launch) {
        iket_wide total = 0;
        for (size_t i = 0; i < g.keys.count; i++) total += g.items[i].lifetimes.total;
        for (size_t i = 0; i < g.keys.count; i++) extra[i] = iket_cell_ratio(g.items[i].lifetimes.total, total, 100);
    }
    if (result == 0) result = give_groups(&g, w, by, section, column, extra, is_launch ? 10 : is_role ? 0 : 5, report, err);
    free(extra);
    free_groups(&g);
    return result;
}

static int run(warps *w, iket_query *q, iket_error *err) {
    IKET_TRY(collect(w, q, err));
    iket_report_fact(q->report, "wait", iket_cell_text(q->options->wait != NULL ? q->options->wait : IKET_WAIT_DEFAULT));
    IKET_TRY(give_warps(w, q->report, err));
    IKET_TRY(give_section(w, IKET_BY_KERNEL | IKET_BY_LAUNCH, "launches", q->report, err));
    if (w->roles.count > 0) IKET_TRY(give_section(w, IKET_BY_ROLE, "roles", q->report, err));
    return give_section(w, IKET_BY_SM, "sms", q->report, err);
}

int iket_verb_warps(iket_query *q, iket_error *err) {
    warps w = {.set_count = q->input_count};
    iket_columns *sets = NULL;
    int result = iket_roles_parse(&w.roles, q->options->roles, err);
    if (result == 0) result = iket_query_load(q, &sets, err);
    w.sets = sets;
    if (result == 0) result = run(&w, q, err);
    free(w.items);
    iket_roles_free(&w.roles);
    iket_query_unload(q, sets);
    return result;
}
