// SPDX-License-Identifier: Apache-2.0
// ranges: durations under any combination of keys; inclusive, and exclusive (without the stack ranges inside).
#include <stdlib.h>
#include <string.h>

#include "analyze/chart.h"
#include "analyze/groups.h"
#include "analyze/stats.h"

enum {
    COUNT = IKET_KEY_COLUMNS, TOTAL, SHARE, MEAN, MIN, P50, P90, P99, MAX, SELF_TOTAL, SELF_SHARE, SELF_MEAN, SELF_P50, SELF_P99, SELF_MAX, COLUMNS
};

static const iket_column value_columns[COLUMNS - COUNT] = {
    {"count", NULL, IKET_COLUMN_TABLE},
    {"total_ns", "total", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"share_pct", "share%", IKET_COLUMN_TABLE},
    {"mean_ns", "mean", IKET_COLUMN_DURATION},
    {"min_ns", "min", IKET_COLUMN_DURATION},
    {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"p90_ns", "p90", IKET_COLUMN_DURATION},
    {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"exclusive_total_ns", "self", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"exclusive_share_pct", "self%", IKET_COLUMN_TABLE},
    {"exclusive_mean_ns", "self mean", IKET_COLUMN_DURATION},
    {"exclusive_p50_ns", "self p50", IKET_COLUMN_DURATION},
    {"exclusive_p99_ns", "self p99", IKET_COLUMN_DURATION},
    {"exclusive_max_ns", "self max", IKET_COLUMN_DURATION},
};

typedef struct group {
    iket_tally inclusive, exclusive;
} group;

typedef struct ranges {
    unsigned by;
    iket_roles roles;
    const iket_columns *sets;
    size_t set_count;
    iket_keys keys;       // of groups
    group *groups;
    size_t group_capacity;
    iket_keys places;     // of the keys' places
    iket_wide *lifetimes; // [places.count]: of the warps there
    size_t place_capacity;
    uint32_t *order;      // groups by weight
} ranges;

static int collect_places(ranges *r, uint32_t set, iket_error *err) {
    const iket_columns *c = &r->sets[set];
    for (size_t i = 0; i < c->trace->location_count; i++) {
        if (!c->selection.locations[i]) continue;
        iket_key key = iket_key_of_place(r->by & IKET_BY_PLACE, &r->roles, c, set, (uint32_t)i);
        uint32_t place = iket_keys_find(&r->places, &key, err);
        if (place == IKET_UNKNOWN) return -1;
        IKET_TRY(iket_follow((void **)&r->lifetimes, &r->place_capacity, r->places.count, sizeof *r->lifetimes, err));
        r->lifetimes[place] += c->trace->locations[i].end - c->trace->locations[i].start;
    }
    return 0;
}

static int collect_ranges(ranges *r, uint32_t set, iket_error *err) {
    const iket_columns *c = &r->sets[set];
    for (size_t i = 0; i < c->range_count; i++) {
        if (!(c->flags[i] & IKET_RANGE_SELECTED)) continue;
        iket_key key = iket_key_of_range(r->by, &r->roles, c, set, i);
        uint32_t g = iket_keys_find(&r->keys, &key, err);
        if (g == IKET_UNKNOWN) return -1;
        IKET_TRY(iket_follow((void **)&r->groups, &r->group_capacity, r->keys.count, sizeof *r->groups, err));
        IKET_TRY(iket_tally_add(&r->groups[g].inclusive, iket_range_duration(c, i), 1, err));
        IKET_TRY(iket_tally_add(&r->groups[g].exclusive, iket_range_exclusive(c, i), 1, err));
    }
    return 0;
}

static int by_weight(const void *a, const void *b, void *context) {
    const ranges *r = context;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    iket_wide left = r->groups[x].inclusive.total, right = r->groups[y].inclusive.total;
    if (left != right) return left > right ? -1 : 1;
    return iket_key_order(r->sets, &r->keys.items[x], &r->keys.items[y]);
}

static int sort_groups(ranges *r, iket_error *err) {
    r->order = malloc((r->keys.count + 1) * sizeof *r->order);
    if (r->order == NULL) return iket_fail(err, "out of memory (%zu groups)", r->keys.count);
    for (size_t i = 0; i < r->keys.count; i++) r->order[i] = (uint32_t)i;
    qsort_r(r->order, r->keys.count, sizeof *r->order, by_weight, r);
    return 0;
}

static iket_wide lifetime_of(ranges *r, const iket_key *key) {
    iket_key place = *key;
    place.name = place.kind = place.payload_type = 0;
    place.bits = 0;
    uint32_t index = iket_keys_find(&r->places, &place, NULL);
    return index < r->place_capacity ? r->lifetimes[index] : 0;
}

static int give_rows(ranges *r, iket_report *report, iket_error *err) {
    iket_column columns[COLUMNS];
    iket_key_columns(r->by, columns);
    memcpy(columns + COUNT, value_columns, sizeof value_columns);
    IKET_TRY(iket_report_section(report, "rows", columns, COLUMNS, 50, err));
    for (size_t i = 0; i < r->keys.count; i++) {
        const iket_key *key = &r->keys.items[r->order[i]];
        group *g = &r->groups[r->order[i]];
        iket_stats all = iket_tally_stats(&g->inclusive), self = iket_tally_stats(&g->exclusive);
        iket_wide lifetime = lifetime_of(r, key);
        char cta[40];
        iket_cell cells[COLUMNS];
        iket_key_cells(r->by, &r->roles, r->sets, key, cells, cta);
        cells[COUNT] = iket_cell_uint(all.count);
        cells[TOTAL] = iket_cell_uint(all.total);
        cells[SHARE] = iket_cell_ratio(all.total, lifetime, 100);
        cells[MEAN] = iket_cell_ratio(all.total, all.count, 1);
        cells[MIN] = iket_cell_uint(all.min);
        cells[P50] = iket_cell_uint(all.p50);
        cells[P90] = iket_cell_uint(all.p90);
        cells[P99] = iket_cell_uint(all.p99);
        cells[MAX] = iket_cell_uint(all.max);
        cells[SELF_TOTAL] = iket_cell_uint(self.total);
        cells[SELF_SHARE] = iket_cell_ratio(self.total, lifetime, 100);
        cells[SELF_MEAN] = iket_cell_ratio(self.total, self.count, 1);
        cells[SELF_P50] = iket_cell_uint(self.p50);
        cells[SELF_P99] = iket_cell_uint(self.p99);
        cells[SELF_MAX] = iket_cell_uint(self.max);
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

// The distribution of each group's durations.
static int give_histograms(ranges *r, iket_report *report, iket_error *err) {
    enum { FROM = IKET_KEY_COLUMNS, TO, TIMES, BAR, HIST_COLUMNS };
    iket_column columns[HIST_COLUMNS];
    iket_key_columns(r->by, columns);
    columns[FROM] = (iket_column){"from_ns", "from", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION};
    columns[TO] = (iket_column){"to_ns", "to", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION};
    columns[TIMES] = (iket_column){"count", NULL, IKET_COLUMN_TABLE};
    columns[BAR] = (iket_column){"bar", "", IKET_COLUMN_TABLE | IKET_COLUMN_SHORT | IKET_COLUMN_LEFT};
    IKET_TRY(iket_report_section(report, "histogram", columns, HIST_COLUMNS, 100, err));
    for (size_t i = 0; i < r->keys.count; i++) {
        iket_bucket buckets[IKET_BUCKETS_MAX];
        size_t count = iket_buckets(&r->groups[r->order[i]].inclusive, buckets);
        uint64_t most = 0;
        for (size_t b = 0; b < count; b++) most = buckets[b].count > most ? buckets[b].count : most;
        for (size_t b = 0; b < count; b++) {
            char cta[40], bar[IKET_BAR_TEXT];
            iket_cell cells[HIST_COLUMNS];
            iket_bar(buckets[b].count, most, bar);
            iket_key_cells(r->by, &r->roles, r->sets, &r->keys.items[r->order[i]], cells, cta);
            cells[FROM] = iket_cell_uint(buckets[b].from);
            cells[TO] = iket_cell_uint(buckets[b].to);
            cells[TIMES] = iket_cell_uint(buckets[b].count);
            cells[BAR] = iket_cell_text(bar);
            IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
        }
    }
    return 0;
}

static int run(ranges *r, iket_query *q, iket_error *err) {
    for (uint32_t set = 0; set < r->set_count; set++) {
        if (r->sets[set].trace == NULL) continue;
        IKET_TRY(collect_places(r, set, err));
        IKET_TRY(collect_ranges(r, set, err));
    }
    IKET_TRY(sort_groups(r, err));
    IKET_TRY(give_rows(r, q->report, err));
    return q->options->hist ? give_histograms(r, q->report, err) : 0;
}

int iket_verb_ranges(iket_query *q, iket_error *err) {
    ranges r = {.set_count = q->input_count};
    iket_columns *sets = NULL;
    int result = iket_by_parse(q->options->by, IKET_BY_NAME, &r.by, err);
    if (result == 0) result = iket_roles_parse(&r.roles, q->options->roles, err);
    if (result == 0) result = iket_query_load(q, &sets, err);
    r.sets = sets;
    if (result == 0) result = run(&r, q, err);
    for (size_t i = 0; i < r.keys.count && r.groups != NULL && i < r.group_capacity; i++) {
        iket_tally_free(&r.groups[i].inclusive);
        iket_tally_free(&r.groups[i].exclusive);
    }
    free(r.groups);
    free(r.lifetimes);
    free(r.order);
    iket_keys_free(&r.keys);
    iket_keys_free(&r.places);
    iket_roles_free(&r.roles);
    iket_query_unload(q, sets);
    return result;
}
