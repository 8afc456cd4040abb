// SPDX-License-Identifier: Apache-2.0
// summary: per kernel and name how often, how long, how much of the warps' lifetime; and per kernel its launches.
//
// Replays the streams of a model and keeps a tally per name, so that it costs no memory per event: also the page's
// figures come from here.
#include <stdlib.h>
#include <string.h>

#include "analyze/include/iket/analyze.h"
#include "analyze/query.h"
#include "analyze/stats.h"
#include "common/array.h"

typedef enum group_kind { KIND_RANGE, KIND_TOKEN, KIND_MARKER } group_kind;

typedef struct group {
    uint32_t kernel, name; // strings
    group_kind kind;
    iket_tally durations;
    uint64_t count, launches, warps;
    uint32_t last_launch, last_location; // counted last
    iket_tally sms;
} group;

typedef struct kernel_facts {
    uint32_t kernel;
    uint64_t launches, warps, start, end;
    iket_wide lifetime;
    iket_tally durations, sms; // durations: of its launches
} kernel_facts;

typedef struct summary {
    const iket_trace *trace;
    const iket_selection *selection;
    group *groups;
    size_t group_count, group_capacity;
    uint32_t *slots; // open addressing over groups: index + 1
    size_t slot_count;
    kernel_facts *kernels;
    size_t kernel_count, kernel_capacity;
    uint32_t *kernel_of; // [string_count]: index into kernels + 1
} summary;

// ---- collecting -------------------------------------------------------------------------------------------------------

static size_t group_hash(uint32_t kernel, uint32_t name, group_kind kind) {
    return (size_t)((((uint64_t)kernel << 32 | name) * 4 + kind) * 0x9E3779B97F4A7C15u >> 24);
}

static int grow_slots(summary *s, iket_error *err) {
    size_t wanted = s->slot_count == 0 ? 256 : s->slot_count * 2;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return iket_fail(err, "out of memory (%zu names)", wanted);
    for (size_t i = 0; i < s->group_count; i++) {
        const group *g = &s->groups[i];
        size_t at = group_hash(g->kernel, g->name, g->kind) & (wanted - 1);
        while (slots[at] != 0) at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(s->slots);
    s->slots = slots;
    s->slot_count = wanted;
    return 0;
}

// NULL: out of memory.
static group *find_group(summary *s, uint32_t kernel, uint32_t name, group_kind kind, iket_error *err) {
    if ((s->group_count + 1) * 2 > s->slot_count && grow_slots(s, err) != 0) return NULL;
    size_t at = group_hash(kernel, name, kind) & (s->slot_count - 1);
    for (; s->slots[at] != 0; at = (at + 1) & (s->slot_count - 1)) {
        group *g = &s->groups[s->slots[at] - 1];
        if (g->kernel == kernel && g->name == name && g->kind == kind) return g;
    }
    if (IKET_RESERVE(s->groups, s->group_count, s->group_capacity, 1, err) != 0) return NULL;
    s->groups[s->group_count] = (group){.kernel = kernel, .name = name, .kind = kind, .last_launch = IKET_UNKNOWN, .last_location = IKET_UNKNOWN};
    s->slots[at] = (uint32_t)s->group_count + 1;
    return &s->groups[s->group_count++];
}

static kernel_facts *find_kernel(summary *s, uint32_t kernel, iket_error *err) {
    if (s->kernel_of[kernel] == 0) {
        if (IKET_RESERVE(s->kernels, s->kernel_count, s->kernel_capacity, 1, err) != 0) return NULL;
        s->kernels[s->kernel_count++] = (kernel_facts){.kernel = kernel, .start = UINT64_MAX};
        s->kernel_of[kernel] = (uint32_t)s->kernel_count;
    }
    return &s->kernels[s->kernel_of[kernel] - 1];
}

static int add_event(summary *s, uint32_t location, const iket_event *event, iket_error *err) {
    const iket_location *at = &s->trace->locations[location];
    uint64_t start = event->kind == IKET_EVENT_END ? event->begin.time : event->time;
    const uint8_t *mask = event->kind == IKET_EVENT_END ? s->selection->ranges : s->selection->markers;
    if (!mask[event->decl->name] || !iket_selection_overlaps(s->selection, start, event->time)) return 0;
    group_kind kind = event->kind == IKET_EVENT_MARKER ? KIND_MARKER : event->decl->range_type == IKET_RANGE_TOKEN ? KIND_TOKEN : KIND_RANGE;
    group *g = find_group(s, s->trace->launches[at->launch].kernel, event->decl->name, kind, err);
    if (g == NULL) return -1;
    g->count++;
    if (kind != KIND_MARKER) IKET_TRY(iket_tally_add(&g->durations, event->time - start, 1, err));
    if (g->last_location == location) return 0;
    g->last_location = location;
    g->warps++;
    if (at->sm != IKET_UNKNOWN) IKET_TRY(iket_tally_add(&g->sms, at->sm, 1, err));
    g->launches += g->last_launch != at->launch;
    g->last_launch = at->launch;
    return 0;
}

static int add_stream(summary *s, uint32_t location, uint32_t stream, iket_error *err) {
    iket_cursor cursor;
    iket_event event;
    int more = 1, result = iket_cursor_open(&cursor, s->trace, stream, err);
    while (result == 0 && (more = iket_cursor_next(&cursor, &event, err)) > 0) {
        if (event.kind != IKET_EVENT_BEGIN) result = add_event(s, location, &event, err);
    }
    iket_cursor_close(&cursor);
    return more < 0 ? -1 : result;
}

static int add_launch(summary *s, const iket_launch *launch, iket_error *err) {
    uint64_t start = UINT64_MAX, end = 0, warps = 0;
    kernel_facts *k = find_kernel(s, launch->kernel, err);
    if (k == NULL) return -1;
    for (uint32_t i = 0; i < launch->location_count; i++) {
        uint32_t index = launch->first_location + i;
        const iket_location *l = &s->trace->locations[index];
        if (!s->selection->locations[index]) continue;
        if (l->start < start) start = l->start;
        if (l->end > end) end = l->end;
        warps++;
        k->lifetime += l->end - l->start;
        if (l->sm != IKET_UNKNOWN) IKET_TRY(iket_tally_add(&k->sms, l->sm, 1, err));
        for (uint32_t stream = 0; stream < l->stream_count; stream++) IKET_TRY(add_stream(s, index, l->first_stream + stream, err));
    }
    if (warps == 0) return 0;
    k->launches++;
    k->warps += warps;
    if (start < k->start) k->start = start;
    if (end > k->end) k->end = end;
    return iket_tally_add(&k->durations, end - start, 1, err);
}

static void free_summary(summary *s) {
    for (size_t i = 0; i < s->group_count; i++) {
        iket_tally_free(&s->groups[i].durations);
        iket_tally_free(&s->groups[i].sms);
    }
    for (size_t i = 0; i < s->kernel_count; i++) {
        iket_tally_free(&s->kernels[i].durations);
        iket_tally_free(&s->kernels[i].sms);
    }
    free(s->groups);
    free(s->slots);
    free(s->kernels);
    free(s->kernel_of);
}

// Frees what it collected on failure.
static int summarize(summary *s, const iket_trace *trace, const iket_selection *selection, iket_error *err) {
    *s = (summary){.trace = trace, .selection = selection, .kernel_of = calloc(trace->string_count + 1, sizeof *s->kernel_of)};
    int result = s->kernel_of != NULL ? 0 : iket_fail(err, "out of memory (%zu names)", trace->string_count);
    for (size_t i = 0; i < trace->launch_count && result == 0; i++) {
        if (selection->launches[i]) result = add_launch(s, &trace->launches[i], err);
    }
    if (result != 0) free_summary(s);
    return result;
}

// ---- the answer -------------------------------------------------------------------------------------------------------

// What hurts most first: ranges by their total, then markers by their count; names settle the rest.
typedef struct order_key {
    const summary *summary;
    const char *input;
    size_t group;
    uint32_t set;
} order_key;

static int by_weight(const void *a, const void *b) {
    const order_key *x = a, *y = b;
    const group *g = &x->summary->groups[x->group], *h = &y->summary->groups[y->group];
    if ((g->kind == KIND_MARKER) != (h->kind == KIND_MARKER)) return g->kind == KIND_MARKER ? 1 : -1;
    if (g->durations.total != h->durations.total) return g->durations.total > h->durations.total ? -1 : 1;
    if (g->count != h->count) return g->count > h->count ? -1 : 1;
    int order = strcmp(x->summary->trace->strings[g->name], y->summary->trace->strings[h->name]);
    if (order == 0) order = strcmp(x->summary->trace->strings[g->kernel], y->summary->trace->strings[h->kernel]);
    if (order == 0) order = g->kind < h->kind ? -1 : g->kind > h->kind;
    return order != 0 ? order : x->set < y->set ? -1 : x->set > y->set;
}

enum { INPUT, KERNEL, KIND, NAME, COUNT, TOTAL, SHARE, MEAN, MIN, P50, P90, P99, MAX, LAUNCHES, WARPS, SMS, COLUMNS };

static const iket_column columns[COLUMNS] = {
    [INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [KERNEL] = {"kernel", NULL, 0},
    [KIND] = {"kind", NULL, IKET_COLUMN_TABLE},
    [NAME] = {"name", NULL, IKET_COLUMN_TABLE},
    [COUNT] = {"count", NULL, IKET_COLUMN_TABLE},
    [TOTAL] = {"total_ns", "total", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [SHARE] = {"share_pct", "share%", IKET_COLUMN_TABLE},
    [MEAN] = {"mean_ns", "mean", IKET_COLUMN_DURATION},
    [MIN] = {"min_ns", "min", IKET_COLUMN_DURATION},
    [P50] = {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [P90] = {"p90_ns", "p90", IKET_COLUMN_DURATION},
    [P99] = {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [MAX] = {"max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [LAUNCHES] = {"launches", NULL, 0},
    [WARPS] = {"warps", NULL, IKET_COLUMN_TABLE},
    [SMS] = {"sms", NULL, 0},
};

static int give_group(iket_report *report, const order_key *key, iket_error *err) {
    static const char *const kinds[] = {[KIND_RANGE] = "range", [KIND_TOKEN] = "token", [KIND_MARKER] = "marker"};
    const summary *s = key->summary;
    group *g = &s->groups[key->group];
    iket_stats stats = iket_tally_stats(&g->durations);
    iket_cell cells[COLUMNS];
    memset(cells, 0, sizeof cells); // empty
    cells[INPUT] = iket_cell_text(key->input);
    cells[KERNEL] = iket_cell_text(s->trace->strings[g->kernel]);
    cells[KIND] = iket_cell_text(kinds[g->kind]);
    cells[NAME] = iket_cell_text(s->trace->strings[g->name]);
    cells[COUNT] = iket_cell_uint(g->count);
    cells[LAUNCHES] = iket_cell_uint(g->launches);
    cells[WARPS] = iket_cell_uint(g->warps);
    cells[SMS] = iket_cell_uint(g->sms.used);
    if (g->kind != KIND_MARKER) {
        cells[TOTAL] = iket_cell_uint(stats.total);
        cells[SHARE] = iket_cell_ratio(stats.total, s->kernels[s->kernel_of[g->kernel] - 1].lifetime, 100);
        cells[MEAN] = iket_cell_ratio(stats.total, stats.count, 1);
        cells[MIN] = iket_cell_uint(stats.min);
        cells[P50] = iket_cell_uint(stats.p50);
        cells[P90] = iket_cell_uint(stats.p90);
        cells[P99] = iket_cell_uint(stats.p99);
        cells[MAX] = iket_cell_uint(stats.max);
    }
    return iket_report_row(report, cells, err);
}

static int give_rows(iket_report *report, const summary *sets, const char *const *inputs, size_t set_count, iket_error *err) {
    size_t total = 0, n = 0;
    for (size_t i = 0; i < set_count; i++) total += sets[i].group_count;
    order_key *keys = calloc(total + 1, sizeof *keys);
    if (keys == NULL) return iket_fail(err, "out of memory (%zu names)", total);
    for (size_t i = 0; i < set_count; i++) {
        for (size_t k = 0; k < sets[i].group_count; k++) keys[n++] = (order_key){&sets[i], inputs[i], k, (uint32_t)i};
    }
    qsort(keys, total, sizeof *keys, by_weight);
    int result = iket_report_section(report, "rows", columns, COLUMNS, 0, err);
    for (size_t i = 0; i < total && result == 0; i++) result = give_group(report, &keys[i], err);
    free(keys);
    return result < 0 ? -1 : 0;
}

enum { K_INPUT, K_KERNEL, K_LAUNCHES, K_WARPS, K_SMS, K_SPAN, K_P50, K_MAX, K_LIFETIME, K_COLUMNS };

static const iket_column kernel_columns[K_COLUMNS] = {
    [K_INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [K_KERNEL] = {"kernel", NULL, IKET_COLUMN_TABLE},
    [K_LAUNCHES] = {"launches", NULL, IKET_COLUMN_TABLE},
    [K_WARPS] = {"warps", NULL, IKET_COLUMN_TABLE},
    [K_SMS] = {"sms", NULL, IKET_COLUMN_TABLE},
    [K_SPAN] = {"span_ns", "span", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [K_P50] = {"launch_p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [K_MAX] = {"launch_max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [K_LIFETIME] = {"lifetime_ns", NULL, IKET_COLUMN_DURATION},
};

static int give_kernels(iket_report *report, const summary *sets, const char *const *inputs, size_t set_count, iket_error *err) {
    IKET_TRY(iket_report_section(report, "kernels", kernel_columns, K_COLUMNS, 0, err));
    for (size_t i = 0; i < set_count; i++) {
        for (size_t k = 0; k < sets[i].kernel_count; k++) {
            kernel_facts *f = &sets[i].kernels[k];
            if (f->launches == 0) continue;
            iket_stats stats = iket_tally_stats(&f->durations);
            iket_cell cells[K_COLUMNS];
            memset(cells, 0, sizeof cells); // empty
            cells[K_INPUT] = iket_cell_text(inputs[i]);
            cells[K_KERNEL] = iket_cell_text(sets[i].trace->strings[f->kernel]);
            cells[K_LAUNCHES] = iket_cell_uint(f->launches);
            cells[K_WARPS] = iket_cell_uint(f->warps);
            cells[K_SMS] = iket_cell_uint(f->sms.used);
            cells[K_SPAN] = iket_cell_uint(f->end - f->start);
            cells[K_P50] = iket_cell_uint(stats.p50);
            cells[K_MAX] = iket_cell_uint(stats.max);
            cells[K_LIFETIME] = iket_cell_uint(f->lifetime);
            IKET_TRY(iket_report_row(report, cells, err));
        }
    }
    return 0;
}

static int give(iket_report *report, const summary *sets, const char *const *inputs, size_t set_count, iket_error *err) {
    IKET_TRY(give_rows(report, sets, inputs, set_count, err));
    return give_kernels(report, sets, inputs, set_count, err);
}

static int run_all(iket_query *q, summary *sets, const char **inputs, size_t *matched, iket_error *err) {
    int nothing = 0;
    IKET_TRY(iket_query_open(q, err));
    for (size_t i = 0; i < q->input_count; i++) {
        iket_selection selection;
        int result = iket_selection_resolve(&selection, &q->options->selector, q->traces[i], err);
        if (result != 0) iket_fail_context(err, "%s", q->inputs[i].name);
        if (result < 0) return -1;
        nothing |= result;
        if (result > 0) continue;
        result = summarize(&sets[*matched], q->traces[i], &selection, err);
        iket_selection_clear(&selection);
        if (result != 0) return -1;
        sets[*matched].selection = NULL;
        inputs[(*matched)++] = q->inputs[i].name;
    }
    if (*matched == 0) return nothing;
    return give(q->report, sets, inputs, *matched, err);
}

int iket_verb_summary(iket_query *q, iket_error *err) {
    summary *sets = calloc(q->input_count + 1, sizeof *sets);
    const char **inputs = calloc(q->input_count + 1, sizeof *inputs);
    size_t matched = 0;
    int result = sets != NULL && inputs != NULL ? run_all(q, sets, inputs, &matched, err) : iket_fail(err, "out of memory");
    for (size_t i = 0; i < matched; i++) free_summary(&sets[i]);
    free(sets);
    free(inputs);
    return result;
}

int iket_analyze_summary_json(const iket_trace *trace, iket_sink *sink, iket_error *err) {
    static const iket_selector everything = {0};
    static const iket_report_options options = {.format = IKET_FORMAT_JSON};
    iket_selection selection;
    summary s;
    iket_report *report;
    if (iket_selection_resolve(&selection, &everything, trace, err) != 0) return -1;
    int result = summarize(&s, trace, &selection, err);
    iket_selection_clear(&selection);
    if (result != 0) return -1;
    const char *slash = strrchr(trace->path, '/'), *input = slash != NULL ? slash + 1 : trace->path;
    result = iket_report_open(&report, &options, "summary", sink, err);
    if (result == 0) {
        result = give(report, &s, &input, 1, err);
        if (iket_report_close(report, err) != 0) result = -1;
    }
    free_summary(&s);
    return result;
}
