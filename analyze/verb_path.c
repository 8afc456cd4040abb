// SPDX-License-Identifier: Apache-2.0
// path: the chain of ranges that decided when a launch was done, over the edges of an iket.dag file.
//
//     load 0 ----> mma 0 ----> mma 1 ----> epilogue      walked backwards from the region that ended last: to the
//          load 1 -------/                               predecessor that ended last, by an edge or on the same warp
//
// A step is what a region added to the path: from the end of its predecessor (or its own start, if later) to its end.
// What lies between the predecessor's end and a later start is slack: nothing of the file explains it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "analyze/groups.h"
#include "common/array.h"

#define BY_ORDER IKET_UNKNOWN // instead of an edge: the region before on the same warp

typedef struct step {
    uint32_t range, from; // from: IKET_UNKNOWN for the first
    uint32_t edge;
} step;

// Sums over the steps of all paths.
typedef struct share {
    uint64_t count;
    iket_wide time, slack;
} share;

// The names that the file's edges tie together, and what all paths are made of.
typedef struct totals {
    const char **regions; // borrowed from the dag
    size_t region_count;
    share *by_region;     // [region_count]
    share *by_edge;       // [dag->edge_count + 1], the last one: by order
} totals;

typedef struct path {
    const iket_dag *dag;
    totals *totals;
    const iket_columns *columns;
    iket_ties ties;
    uint32_t *regions;  // [string_count]: a region's index + 1; 0: no region
    uint32_t *previous; // [range_count]: the region that ended before it on the same warp
    step *steps;        // backwards
    size_t step_count, step_capacity;
} path;

static int is_region(const path *p, size_t range) { return (p->columns->flags[range] & IKET_RANGE_SELECTED) && p->regions[p->columns->name[range]]; }

// Whether a ended before b: the order in which the walk goes back.
static int ends_before(const iket_columns *c, uint32_t a, uint32_t b) {
    if (c->end[a] != c->end[b]) return c->end[a] < c->end[b];
    return c->start[a] != c->start[b] ? c->start[a] < c->start[b] : a < b;
}

static int by_end(const void *a, const void *b, void *context) {
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y ? 0 : ends_before(context, x, y) ? -1 : 1;
}

// For each region the one on its warp that ended last before it starts.
static int find_previous(path *p, iket_error *err) {
    const iket_columns *c = p->columns;
    uint32_t *order = malloc((c->range_count + 1) * sizeof *order);
    p->previous = malloc((c->range_count + 1) * sizeof *p->previous);
    if (order == NULL || p->previous == NULL) {
        free(order);
        return iket_fail(err, "out of memory (%zu ranges)", c->range_count);
    }
    for (size_t l = 0; l < c->trace->location_count; l++) {
        size_t count = 0;
        for (size_t i = c->first_range[l]; i < c->first_range[l + 1]; i++) {
            p->previous[i] = IKET_UNKNOWN;
            if (is_region(p, i)) order[count++] = (uint32_t)i;
        }
        if (count > 1) qsort_r(order, count, sizeof *order, by_end, (void *)(uintptr_t)c);
        for (size_t i = c->first_range[l]; i < c->first_range[l + 1]; i++) {
            if (!is_region(p, i)) continue;
            size_t low = 0, high = count; // the first that ends after the start
            while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (c->end[order[middle]] <= c->start[i]) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            while (low > 0 && !ends_before(c, order[low - 1], (uint32_t)i)) low--;
            if (low > 0) p->previous[i] = order[low - 1];
        }
    }
    free(order);
    return 0;
}

static size_t first_tie(const path *p, uint32_t target) {
    size_t low = 0, high = p->ties.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->ties.items[middle].target < target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// What a region waited for longest: an edge wins over mere order where both ended at once.
static step bound_of(const path *p, uint32_t range) {
    const iket_columns *c = p->columns;
    step s = {range, IKET_UNKNOWN, BY_ORDER};
    for (size_t i = first_tie(p, range); i < p->ties.count && p->ties.items[i].target == range; i++) {
        uint32_t source = p->ties.items[i].source;
        if (!ends_before(c, source, range) || (s.from != IKET_UNKNOWN && c->end[source] <= c->end[s.from])) continue;
        s.from = source;
        s.edge = p->ties.items[i].edge;
    }
    uint32_t before = p->previous[range];
    if (before != IKET_UNKNOWN && (s.from == IKET_UNKNOWN || c->end[before] > c->end[s.from])) {
        s.from = before;
        s.edge = BY_ORDER;
    }
    return s;
}

static uint64_t slack_of(const iket_columns *c, const step *s) {
    if (s->from == IKET_UNKNOWN) return c->start[s->range] - iket_location_launch(c, c->location[s->range])->start;
    return c->start[s->range] > c->end[s->from] ? c->start[s->range] - c->end[s->from] : 0;
}

static uint64_t time_of(const iket_columns *c, const step *s) {
    uint64_t from = s->from != IKET_UNKNOWN && c->end[s->from] > c->start[s->range] ? c->end[s->from] : c->start[s->range];
    return c->end[s->range] - from;
}

static void add_share(share *to, const iket_columns *c, const step *s) {
    to->count++;
    to->time += time_of(c, s);
    to->slack += slack_of(c, s);
}

// Fills steps backwards from the launch's last region; none where the launch has no region.
static int walk(path *p, const iket_launch *launch, iket_error *err) {
    const iket_columns *c = p->columns;
    uint32_t last = IKET_UNKNOWN;
    p->step_count = 0;
    if (launch->location_count == 0) return 0;
    for (size_t i = c->first_range[launch->first_location]; i < c->first_range[launch->first_location + launch->location_count]; i++) {
        if (is_region(p, i) && (last == IKET_UNKNOWN || ends_before(c, last, (uint32_t)i))) last = (uint32_t)i;
    }
    while (last != IKET_UNKNOWN) {
        step s = bound_of(p, last);
        IKET_TRY(IKET_RESERVE(p->steps, p->step_count, p->step_capacity, 1, err));
        p->steps[p->step_count++] = s;
        if (s.from != IKET_UNKNOWN) add_share(&p->totals->by_edge[s.edge == BY_ORDER ? p->dag->edge_count : s.edge], c, &s);
        add_share(&p->totals->by_region[p->regions[c->name[last]] - 1], c, &s);
        last = s.from;
    }
    return 0;
}

// ---- the answer ---------------------------------------------------------------------------------------------------------

enum { STEP = IKET_KEY_COLUMNS, TS, REL, DUR, ON_PATH, SLACK, FROM, FROM_WARP, LABEL, VIA, COLUMNS };

enum { PLACE = IKET_BY_KERNEL | IKET_BY_LAUNCH | IKET_BY_SM | IKET_BY_CTA | IKET_BY_WARP | IKET_BY_NAME | IKET_BY_PAYLOAD };

static const iket_column value_columns[COLUMNS - STEP] = {
    {"step", NULL, 0},
    {"start_ns", NULL, 0},
    {"at_ns", "at", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"dur_ns", "dur", IKET_COLUMN_DURATION},
    {"path_ns", "on path", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"slack_ns", "slack", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"bound_by", "bound by", IKET_COLUMN_TABLE},
    {"bound_by_warp", "of warp", IKET_COLUMN_TABLE},
    {"label", NULL, 0},
    {"via", NULL, IKET_COLUMN_TABLE},
};

static int give_steps(const path *p, const iket_columns *sets, uint32_t set, iket_report *report, iket_error *err) {
    static const iket_roles nobody = {0};
    const iket_columns *c = p->columns;
    for (size_t i = p->step_count; i > 0; i--) {
        const step *s = &p->steps[i - 1];
        const iket_dag_edge *edge = s->edge != BY_ORDER ? &p->dag->edges[s->edge] : NULL;
        iket_key key = iket_key_of_range(PLACE, &nobody, c, set, s->range);
        char cta[40];
        iket_cell cells[COLUMNS];
        iket_key_cells(PLACE, &nobody, sets, &key, cells, cta);
        cells[STEP] = iket_cell_uint(p->step_count - i);
        cells[TS] = iket_cell_uint(c->start[s->range]);
        cells[REL] = iket_cell_difference(c->start[s->range], iket_location_launch(c, c->location[s->range])->start);
        cells[DUR] = iket_cell_uint(iket_range_duration(c, s->range));
        cells[ON_PATH] = iket_cell_uint(time_of(c, s));
        cells[SLACK] = iket_cell_uint(slack_of(c, s));
        cells[FROM] = iket_cell_text(s->from == IKET_UNKNOWN ? NULL : iket_range_name(c, s->from));
        cells[FROM_WARP] = s->from == IKET_UNKNOWN ? iket_cell_none() : iket_cell_uint(c->trace->locations[c->location[s->from]].warp);
        cells[LABEL] = iket_cell_text(edge != NULL ? edge->label : NULL);
        cells[VIA] = iket_cell_text(s->from == IKET_UNKNOWN ? NULL : edge == NULL ? "order" : edge->via != NULL ? edge->via : "edge");
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

enum { E_SOURCE, E_TARGET, E_LABEL, E_VIA, E_COUNT, E_TIME, E_SLACK, E_COLUMNS };

static const iket_column edge_columns[E_COLUMNS] = {
    {"source", NULL, IKET_COLUMN_TABLE},
    {"target", NULL, IKET_COLUMN_TABLE},
    {"label", NULL, IKET_COLUMN_TABLE},
    {"via", NULL, IKET_COLUMN_TABLE},
    {"count", "bound", IKET_COLUMN_TABLE},
    {"path_ns", "on path", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"slack_ns", "slack", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
};

static int give_edges(const iket_dag *dag, const share *edges, iket_report *report, iket_error *err) {
    IKET_TRY(iket_report_section(report, "edges", edge_columns, E_COLUMNS, 0, err));
    for (size_t i = 0; i <= dag->edge_count; i++) {
        const iket_dag_edge *e = i < dag->edge_count ? &dag->edges[i] : NULL;
        iket_cell cells[E_COLUMNS];
        cells[E_SOURCE] = iket_cell_text(e != NULL ? e->source : NULL);
        cells[E_TARGET] = iket_cell_text(e != NULL ? e->target : NULL);
        cells[E_LABEL] = iket_cell_text(e != NULL ? e->label : NULL);
        cells[E_VIA] = iket_cell_text(e != NULL ? e->via : "order");
        cells[E_COUNT] = iket_cell_uint(edges[i].count);
        cells[E_TIME] = iket_cell_uint(edges[i].time);
        cells[E_SLACK] = iket_cell_uint(edges[i].slack);
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

enum { R_NAME, R_COUNT, R_TIME, R_SHARE, R_SLACK, R_COLUMNS };

static const iket_column region_columns[R_COLUMNS] = {
    {"name", NULL, IKET_COLUMN_TABLE},
    {"count", "steps", IKET_COLUMN_TABLE},
    {"path_ns", "on path", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"path_pct", "path%", IKET_COLUMN_TABLE},
    {"slack_ns", "slack before", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
};

static int give_regions(const totals *t, iket_report *report, iket_error *err) {
    iket_wide whole = 0;
    for (size_t i = 0; i < t->region_count; i++) whole += t->by_region[i].time + t->by_region[i].slack;
    IKET_TRY(iket_report_section(report, "regions", region_columns, R_COLUMNS, 0, err));
    for (size_t i = 0; i < t->region_count; i++) {
        iket_cell cells[R_COLUMNS];
        cells[R_NAME] = iket_cell_text(t->regions[i]);
        cells[R_COUNT] = iket_cell_uint(t->by_region[i].count);
        cells[R_TIME] = iket_cell_uint(t->by_region[i].time);
        cells[R_SHARE] = iket_cell_ratio(t->by_region[i].time, whole, 100);
        cells[R_SLACK] = iket_cell_uint(t->by_region[i].slack);
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

// The index of a name among the regions; region_count when it is none.
static size_t region_of(const totals *t, const char *name) {
    size_t i = 0;
    while (i < t->region_count && strcmp(t->regions[i], name) != 0) i++;
    return i;
}

static int start_totals(totals *t, const iket_dag *dag, iket_error *err) {
    t->regions = calloc(2 * dag->edge_count, sizeof *t->regions);
    t->by_region = calloc(2 * dag->edge_count, sizeof *t->by_region);
    t->by_edge = calloc(dag->edge_count + 1, sizeof *t->by_edge);
    if (t->regions == NULL || t->by_region == NULL || t->by_edge == NULL) return iket_fail(err, "out of memory (%zu edges)", dag->edge_count);
    for (size_t e = 0; e < dag->edge_count; e++) {
        const char *ends[] = {dag->edges[e].source, dag->edges[e].target};
        for (int i = 0; i < 2; i++) {
            if (region_of(t, ends[i]) == t->region_count) t->regions[t->region_count++] = ends[i];
        }
    }
    return 0;
}

static int prepare(path *p, size_t *found, iket_error *err) {
    const iket_trace *t = p->columns->trace;
    p->regions = calloc(t->string_count + 1, sizeof *p->regions);
    if (p->regions == NULL) return iket_fail(err, "out of memory (%zu names)", t->string_count);
    for (size_t i = 0; i < t->string_count; i++) {
        size_t region = region_of(p->totals, t->strings[i]);
        p->regions[i] = region < p->totals->region_count ? (uint32_t)region + 1 : 0;
    }
    for (size_t i = 0; i < p->columns->range_count; i++) *found += (size_t)is_region(p, i);
    IKET_TRY(iket_dag_match(p->dag, p->columns, &p->ties, err));
    return find_previous(p, err);
}

static int run_set(const iket_query *q, const iket_dag *dag, const iket_columns *sets, uint32_t set, totals *t, size_t *found, iket_error *err) {
    path p = {.dag = dag, .totals = t, .columns = &sets[set]};
    int result = prepare(&p, found, err);
    for (size_t i = 0; i < sets[set].trace->launch_count && result == 0; i++) {
        if (!sets[set].selection.launches[i]) continue;
        result = walk(&p, &sets[set].trace->launches[i], err);
        if (result == 0) result = give_steps(&p, sets, set, q->report, err);
    }
    free(p.ties.items);
    free(p.regions);
    free(p.previous);
    free(p.steps);
    return result;
}

static int run(const iket_query *q, const iket_dag *dag, const iket_columns *sets, totals *t, iket_error *err) {
    iket_column columns[COLUMNS];
    size_t found = 0;
    IKET_TRY(start_totals(t, dag, err));
    iket_key_columns(PLACE & ~(unsigned)(IKET_BY_KERNEL | IKET_BY_SM | IKET_BY_CTA), columns);
    memcpy(columns + STEP, value_columns, sizeof value_columns);
    if (dag->name != NULL) iket_report_fact(q->report, "dag", iket_cell_text(dag->name));
    IKET_TRY(iket_report_section(q->report, "rows", columns, COLUMNS, 40, err));
    for (uint32_t set = 0; set < q->input_count; set++) {
        if (sets[set].trace != NULL) IKET_TRY(run_set(q, dag, sets, set, t, &found, err));
    }
    IKET_TRY(give_regions(t, q->report, err));
    IKET_TRY(give_edges(dag, t->by_edge, q->report, err));
    if (found > 0) return 0;
    iket_fail(err, "%s: none of its regions is a range of the trace (its first edge goes from %s to %s)", q->options->dag, dag->edges[0].source, dag->edges[0].target);
    return 1;
}

int iket_verb_path(iket_query *q, iket_error *err) {
    iket_dag dag;
    totals t = {0};
    iket_columns *sets = NULL;
    if (q->options->dag == NULL) return iket_fail(err, "path needs --dag FILE, the kernel's iket.dag file");
    IKET_TRY(iket_dag_read(&dag, q->options->dag, err));
    int result = iket_query_load(q, &sets, err);
    if (result == 0) result = run(q, &dag, sets, &t, err);
    free(t.regions);
    free(t.by_region);
    free(t.by_edge);
    iket_query_unload(q, sets);
    iket_dag_free(&dag);
    return result;
}
