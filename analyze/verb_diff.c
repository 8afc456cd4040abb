// SPDX-License-Identifier: Apache-2.0
// diff: what changed from one trace (or folder of ranks) to another, name by name, and how sure that is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bootstrap.h"
#include "analyze/groups.h"
#include "common/array.h"

enum { RANGE, TOKEN, MARKER };

// What two traces call by the same words; their string tables differ, so texts are compared.
typedef struct entry {
    const char *name, *kernel; // kernel "" unless it is asked for
    int kind;
    uint64_t markers[2];
    iket_tally durations[2];
    iket_change median, total;
    const char *verdict;
} entry;

typedef struct diff {
    unsigned by;
    entry *items;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
} diff;

static size_t entry_hash(const char *name, const char *kernel, int kind) {
    uint64_t h = 1469598103934665603u + (uint64_t)kind;
    for (; *name != 0; name++) h = (h ^ (uint8_t)*name) * 1099511628211u;
    h = (h ^ 0xFF) * 1099511628211u;
    for (; *kernel != 0; kernel++) h = (h ^ (uint8_t)*kernel) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

static int grow(diff *d, iket_error *err) {
    size_t wanted = d->slot_count == 0 ? 256 : d->slot_count * 2;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return iket_fail(err, "out of memory (%zu names)", wanted);
    for (size_t i = 0; i < d->count; i++) {
        size_t at = entry_hash(d->items[i].name, d->items[i].kernel, d->items[i].kind) & (wanted - 1);
        while (slots[at] != 0) at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(d->slots);
    d->slots = slots;
    d->slot_count = wanted;
    return 0;
}

// NULL: out of memory.
static entry *find(diff *d, const char *name, const char *kernel, int kind, iket_error *err) {
    if ((d->count + 1) * 2 > d->slot_count && grow(d, err) != 0) return NULL;
    size_t at = entry_hash(name, kernel, kind) & (d->slot_count - 1);
    for (; d->slots[at] != 0; at = (at + 1) & (d->slot_count - 1)) {
        entry *e = &d->items[d->slots[at] - 1];
        if (e->kind == kind && strcmp(e->name, name) == 0 && strcmp(e->kernel, kernel) == 0) return e;
    }
    if (IKET_RESERVE(d->items, d->count, d->capacity, 1, err) != 0) return NULL;
    d->items[d->count] = (entry){.name = name, .kernel = kernel, .kind = kind};
    d->slots[at] = (uint32_t)d->count + 1;
    return &d->items[d->count++];
}

static int collect(diff *d, const iket_columns *c, size_t side, iket_error *err) {
    int with_kernel = (d->by & IKET_BY_KERNEL) != 0;
    for (size_t i = 0; i < c->range_count; i++) {
        if (!(c->flags[i] & IKET_RANGE_SELECTED)) continue;
        const char *kernel = with_kernel ? iket_launch_kernel(c, iket_location_launch(c, c->location[i])) : "";
        entry *e = find(d, iket_range_name(c, i), kernel, c->flags[i] & IKET_RANGE_IS_TOKEN ? TOKEN : RANGE, err);
        if (e == NULL) return -1;
        IKET_TRY(iket_tally_add(&e->durations[side], iket_range_duration(c, i), 1, err));
    }
    for (size_t i = 0; i < c->marker_count; i++) {
        if (!c->marker_selected[i]) continue;
        const char *kernel = with_kernel ? iket_launch_kernel(c, iket_location_launch(c, c->marker_location[i])) : "";
        entry *e = find(d, c->trace->strings[c->marker_name[i]], kernel, MARKER, err);
        if (e == NULL) return -1;
        e->markers[side]++;
    }
    return 0;
}

static uint64_t count_of(const entry *e, size_t side) { return e->kind == MARKER ? e->markers[side] : e->durations[side].count; }

static int judge(entry *e, iket_error *err) {
    iket_tally_sort(&e->durations[0]);
    iket_tally_sort(&e->durations[1]);
    if (count_of(e, 0) == 0 || count_of(e, 1) == 0) {
        e->verdict = count_of(e, 0) == 0 ? "new" : "gone";
        return 0;
    }
    e->verdict = e->kind == MARKER && e->markers[0] != e->markers[1] ? "changed" : "same";
    if (e->kind == MARKER) return 0;
    IKET_TRY(iket_bootstrap(&e->durations[0], &e->durations[1], &e->median, &e->total, err));
    if (e->median.low > 0 || (e->median.point == 0 && e->total.low > 0)) e->verdict = "slower";
    if (e->median.high < 0 || (e->median.point == 0 && e->total.high < 0)) e->verdict = "faster";
    return 0;
}

// The greatest change of total time first.
static int by_change(const void *a, const void *b) {
    const entry *x = a, *y = b;
    iket_wide dx = x->durations[0].total > x->durations[1].total ? x->durations[0].total - x->durations[1].total : x->durations[1].total - x->durations[0].total;
    iket_wide dy = y->durations[0].total > y->durations[1].total ? y->durations[0].total - y->durations[1].total : y->durations[1].total - y->durations[0].total;
    if (dx != dy) return dx > dy ? -1 : 1;
    int order = strcmp(x->name, y->name);
    if (order == 0) order = strcmp(x->kernel, y->kernel);
    return order != 0 ? order : x->kind - y->kind;
}

enum {
    KERNEL, KIND, NAME, COUNT_A, COUNT_B, P50_A, P50_B, P50_CHANGE, P50_LOW, P50_HIGH, TOTAL_A, TOTAL_B, TOTAL_CHANGE, TOTAL_LOW, TOTAL_HIGH, VERDICT, COLUMNS
};

static const iket_column columns[COLUMNS] = {
    [KERNEL] = {"kernel", NULL, 0},
    [KIND] = {"kind", NULL, 0},
    [NAME] = {"name", NULL, IKET_COLUMN_TABLE},
    [COUNT_A] = {"count_a", "n A", IKET_COLUMN_TABLE},
    [COUNT_B] = {"count_b", "n B", IKET_COLUMN_TABLE},
    [P50_A] = {"p50_a_ns", "p50 A", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [P50_B] = {"p50_b_ns", "p50 B", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [P50_CHANGE] = {"p50_change_pct", "p50%", IKET_COLUMN_TABLE},
    [P50_LOW] = {"p50_low_pct", "from%", IKET_COLUMN_TABLE},
    [P50_HIGH] = {"p50_high_pct", "to%", IKET_COLUMN_TABLE},
    [TOTAL_A] = {"total_a_ns", "total A", IKET_COLUMN_DURATION},
    [TOTAL_B] = {"total_b_ns", "total B", IKET_COLUMN_DURATION},
    [TOTAL_CHANGE] = {"total_change_pct", "total%", IKET_COLUMN_TABLE},
    [TOTAL_LOW] = {"total_low_pct", "total from%", 0},
    [TOTAL_HIGH] = {"total_high_pct", "total to%", 0},
    [VERDICT] = {"verdict", NULL, IKET_COLUMN_TABLE},
};

static iket_cell percent(int64_t thousandths) {
    return (iket_cell){.kind = IKET_CELL_FIXED, .number = (iket_wide)(thousandths < 0 ? -thousandths : thousandths), .negative = thousandths < 0};
}

static int give(diff *d, iket_report *report, iket_error *err) {
    static const char *const kinds[] = {"range", "token", "marker"};
    iket_column shown[COLUMNS];
    memcpy(shown, columns, sizeof shown);
    if (d->by & IKET_BY_KERNEL) shown[KERNEL].flags |= IKET_COLUMN_TABLE;
    IKET_TRY(iket_report_section(report, "rows", shown, COLUMNS, 0, err));
    for (size_t i = 0; i < d->count; i++) {
        const entry *e = &d->items[i];
        iket_cell cells[COLUMNS];
        memset(cells, 0, sizeof cells); // empty
        cells[KERNEL] = iket_cell_text(e->kernel[0] != 0 ? e->kernel : NULL);
        cells[KIND] = iket_cell_text(kinds[e->kind]);
        cells[NAME] = iket_cell_text(e->name);
        cells[COUNT_A] = iket_cell_uint(count_of(e, 0));
        cells[COUNT_B] = iket_cell_uint(count_of(e, 1));
        cells[VERDICT] = iket_cell_text(e->verdict);
        if (e->kind != MARKER) {
            cells[TOTAL_A] = iket_cell_uint(e->durations[0].total);
            cells[TOTAL_B] = iket_cell_uint(e->durations[1].total);
            if (e->durations[0].count > 0) cells[P50_A] = iket_cell_uint(iket_tally_percentile(&e->durations[0], 50));
            if (e->durations[1].count > 0) cells[P50_B] = iket_cell_uint(iket_tally_percentile(&e->durations[1], 50));
        }
        if (e->kind != MARKER && e->durations[0].count > 0 && e->durations[1].count > 0) {
            cells[P50_CHANGE] = percent(e->median.point);
            cells[P50_LOW] = percent(e->median.low);
            cells[P50_HIGH] = percent(e->median.high);
            cells[TOTAL_CHANGE] = percent(e->total.point);
            cells[TOTAL_LOW] = percent(e->total.low);
            cells[TOTAL_HIGH] = percent(e->total.high);
        }
        IKET_TRY(iket_report_row(report, cells, err) < 0 ? -1 : 0);
    }
    return 0;
}

// A change beyond the threshold that is surely one: its whole interval lies above 0.
static int is_beyond(const iket_change *c, uint64_t threshold) { return c->low > 0 && c->point > 0 && (uint64_t)c->point > threshold; }

// 1 and a line where a name became slower by more than --fail-over.
static int check_threshold(const diff *d, uint64_t threshold, iket_error *err) {
    char list[500] = "";
    size_t found = 0, used = 0;
    for (size_t i = 0; i < d->count; i++) {
        const entry *e = &d->items[i];
        int median = is_beyond(&e->median, threshold);
        if (!median && !is_beyond(&e->total, threshold)) continue;
        if (found++ >= 5) continue;
        int64_t point = median ? e->median.point : e->total.point;
        int n = snprintf(list + used, sizeof list - used, "%s%.60s (%s +%lld.%02lld %%)", found > 1 ? ", " : "", e->name, median ? "p50" : "total", (long long)(point / 1000),
                         (long long)(point % 1000 / 10));
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    if (found == 0) return 0;
    iket_fail(err, "%zu %s slower than --fail-over allows: %s%s", found, found == 1 ? "name is" : "names are", list, found > 5 ? " and more" : "");
    return 1;
}

static int run(diff *d, iket_query *q, const iket_columns *sets, iket_error *err) {
    for (size_t i = 0; i < q->input_count; i++) {
        if (sets[i].trace != NULL) IKET_TRY(collect(d, &sets[i], q->inputs[i].operand, err));
    }
    for (size_t i = 0; i < d->count; i++) IKET_TRY(judge(&d->items[i], err));
    // Sorting moves the entries, so the table by text is not used from here on.
    if (d->count > 1) qsort(d->items, d->count, sizeof *d->items, by_change);
    IKET_TRY(give(d, q->report, err));
    return q->options->has_fail_over ? check_threshold(d, q->options->fail_over, err) : 0;
}

int iket_verb_diff(iket_query *q, iket_error *err) {
    diff d = {0};
    iket_columns *sets = NULL;
    if (q->operand_count != 2) return iket_fail(err, "diff compares two traces or folders, not %zu", q->operand_count);
    int result = iket_by_parse(q->options->by, IKET_BY_NAME, &d.by, err);
    if (result == 0 && (d.by & ~(unsigned)(IKET_BY_NAME | IKET_BY_KERNEL)) != 0) result = iket_fail(err, "--by: diff groups by name and kernel only");
    if (result == 0) result = iket_query_load(q, &sets, err);
    if (result == 0) result = run(&d, q, sets, err);
    for (size_t i = 0; i < d.count; i++) {
        iket_tally_free(&d.items[i].durations[0]);
        iket_tally_free(&d.items[i].durations[1]);
    }
    free(d.items);
    free(d.slots);
    iket_query_unload(q, sets);
    return result;
}
