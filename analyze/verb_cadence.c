// SPDX-License-Identifier: Apache-2.0
// cadence: the time from one start to the next of the same name on a warp; and, with --producer and --consumer, how long
// before a consumer's range starts its producer's range was done.
//
//     producer  |-load 0-|  |-load 1-|                  lead of 0: + (done before it is wanted)
//     consumer                |-mma 0-|-mma 1-|         lead of 1: - (the consumer started before it was done)
#include <stdlib.h>
#include <string.h>

#include "analyze/groups.h"
#include "analyze/stats.h"
#include "common/array.h"
#include "decode/include/iket/select.h"

enum { KERNEL_AND_NAME = IKET_BY_KERNEL | IKET_BY_NAME };

// ---- start to start -------------------------------------------------------------------------------------------------------

typedef struct group {
    iket_tally steps;
    uint64_t last;          // start of the last one on the warp at hand
    uint32_t last_location; // + 1; 0: none yet
    uint64_t starts;
} group;

typedef struct cadence {
    unsigned by;
    iket_roles roles;
    const iket_columns *sets;
    size_t set_count;
    iket_keys keys;
    group *items;
    size_t capacity;
    uint32_t *order; // scratch: a location's ranges by start
    size_t order_capacity;
} cadence;

static int by_start(const void *a, const void *b, void *context) {
    const iket_columns *c = context;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (c->start[x] != c->start[y]) return c->start[x] < c->start[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

// The selected ranges of a location in the order of their starts, over all its streams.
static int order_ranges(cadence *k, const iket_columns *c, size_t location, size_t *count, iket_error *err) {
    size_t first = c->first_range[location], last = c->first_range[location + 1];
    *count = 0;
    IKET_TRY(IKET_RESERVE(k->order, (size_t)0, k->order_capacity, last - first, err));
    for (size_t i = first; i < last; i++) {
        if (c->flags[i] & IKET_RANGE_SELECTED) k->order[(*count)++] = (uint32_t)i;
    }
    if (*count > 1) qsort_r(k->order, *count, sizeof *k->order, by_start, (void *)(uintptr_t)c);
    return 0;
}

static int add_location(cadence *k, uint32_t set, size_t location, iket_error *err) {
    const iket_columns *c = &k->sets[set];
    size_t count;
    IKET_TRY(order_ranges(k, c, location, &count, err));
    for (size_t i = 0; i < count; i++) {
        uint32_t range = k->order[i];
        iket_key key = iket_key_of_range(k->by, &k->roles, c, set, range);
        uint32_t index = iket_keys_find(&k->keys, &key, err);
        if (index == IKET_UNKNOWN) return -1;
        IKET_TRY(iket_follow((void **)&k->items, &k->capacity, k->keys.count, sizeof *k->items, err));
        group *g = &k->items[index];
        if (g->last_location == location + 1) IKET_TRY(iket_tally_add(&g->steps, c->start[range] - g->last, 1, err));
        g->last = c->start[range];
        g->last_location = (uint32_t)location + 1;
        g->starts++;
    }
    return 0;
}

static int by_total(const void *a, const void *b, void *context) {
    const cadence *k = context;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (k->items[x].steps.total != k->items[y].steps.total) return k->items[x].steps.total > k->items[y].steps.total ? -1 : 1;
    return iket_key_order(k->sets, &k->keys.items[x], &k->keys.items[y]);
}

enum { STARTS = IKET_KEY_COLUMNS, COUNT, MEAN, MIN, P50, P90, P99, MAX, COLUMNS };

static const iket_column value_columns[COLUMNS - STARTS] = {
    {"starts", NULL, 0},
    {"count", "steps", IKET_COLUMN_TABLE},
    {"mean_ns", "mean", IKET_COLUMN_DURATION},
    {"min_ns", "min", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"p90_ns", "p90", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    {"max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
};

static int give_steps(cadence *k, iket_report *report, iket_error *err) {
    iket_column columns[COLUMNS];
    iket_key_columns(k->by, columns);
    memcpy(columns + STARTS, value_columns, sizeof value_columns);
    columns[IKET_KEY_KERNEL].flags &= ~(unsigned)IKET_COLUMN_TABLE;
    uint32_t *order = malloc((k->keys.count + 1) * sizeof *order);
    if (order == NULL) return iket_fail(err, "out of memory (%zu groups)", k->keys.count);
    for (size_t i = 0; i < k->keys.count; i++) order[i] = (uint32_t)i;
    qsort_r(order, k->keys.count, sizeof *order, by_total, k);
    int result = iket_report_section(report, "rows", columns, COLUMNS, 50, err);
    for (size_t i = 0; i < k->keys.count && result == 0; i++) {
        group *g = &k->items[order[i]];
        iket_stats s = iket_tally_stats(&g->steps);
        char cta[40];
        iket_cell cells[COLUMNS];
        iket_key_cells(k->by, &k->roles, k->sets, &k->keys.items[order[i]], cells, cta);
        for (size_t n = STARTS; n < COLUMNS; n++) cells[n] = iket_cell_none();
        cells[STARTS] = iket_cell_uint(g->starts);
        cells[COUNT] = iket_cell_uint(s.count);
        if (s.count > 0) {
            cells[MEAN] = iket_cell_ratio(s.total, s.count, 1);
            cells[MIN] = iket_cell_uint(s.min);
            cells[P50] = iket_cell_uint(s.p50);
            cells[P90] = iket_cell_uint(s.p90);
            cells[P99] = iket_cell_uint(s.p99);
            cells[MAX] = iket_cell_uint(s.max);
        }
        result = iket_report_row(report, cells, err) < 0 ? -1 : 0;
    }
    free(order);
    return result;
}

// ---- lead -----------------------------------------------------------------------------------------------------------------

// A producer's or consumer's range within a CTA.
typedef struct instance {
    uint64_t bits, start, end;
    uint32_t warp; // of a consumer: its location
    uint32_t range;
} instance;

typedef struct instances {
    instance *items;
    size_t count, capacity;
} instances;

typedef struct leads {
    iket_tally tally;  // of the lead + 2^63, so that it sorts with its sign
    uint64_t unmatched;
    int by_payload, by_occurrence; // how instances were matched
} leads;

static int add_instance(instances *list, const iket_columns *c, uint32_t range, iket_error *err) {
    IKET_TRY(IKET_RESERVE(list->items, list->count, list->capacity, 1, err));
    list->items[list->count++] = (instance){c->bits[range], c->start[range], c->end[range], c->location[range], range};
    return 0;
}

// By payload, then by start: the n-th of a payload is the n-th in such a run.
static int by_payload(const void *a, const void *b) {
    const instance *x = a, *y = b;
    if (x->bits != y->bits) return x->bits < y->bits ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

// Consumers warp by warp: each consumer warp takes what was produced once.
static int by_warp(const void *a, const void *b) {
    const instance *x = a, *y = b;
    if (x->warp != y->warp) return x->warp < y->warp ? -1 : 1;
    return by_payload(a, b);
}

// The producers' n-th instance of this payload, NULL: there are fewer.
static const instance *find_producer(const instances *producers, uint64_t bits, size_t n) {
    size_t low = 0, high = producers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (producers->items[middle].bits < bits) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (n >= producers->count - low || producers->items[low + n].bits != bits) return NULL;
    return &producers->items[low + n];
}

// One CTA: the n-th consumer instance of a payload follows the n-th producer instance of it.
static int match(leads *l, instances *producers, instances *consumers, iket_error *err) {
    if (producers->count > 1) qsort(producers->items, producers->count, sizeof *producers->items, by_payload);
    if (consumers->count > 1) qsort(consumers->items, consumers->count, sizeof *consumers->items, by_warp);
    size_t nth = 0;
    for (size_t i = 0; i < consumers->count; i++) {
        const instance *c = &consumers->items[i];
        nth = i > 0 && c[-1].warp == c->warp && c[-1].bits == c->bits ? nth + 1 : 0;
        const instance *p = find_producer(producers, c->bits, nth);
        if (p == NULL) {
            l->unmatched++;
            continue;
        }
        IKET_TRY(iket_tally_add(&l->tally, c->start - p->end + ((uint64_t)1 << 63), 1, err));
    }
    return 0;
}

// The names that one option means, as --range has it; the caller frees the mask. 0, 1: no such range, -1: error.
static int names_of(uint8_t **names, const iket_trace *trace, const char *option, const char *text, iket_error *err) {
    iket_selector selector = {0};
    iket_selection selection;
    int result = iket_selector_set(&selector, IKET_SELECT_RANGE, text, err);
    if (result == 0) result = iket_selection_resolve(&selection, &selector, trace, err);
    if (result == 0) {
        *names = selection.ranges;
        selection.ranges = NULL;
        iket_selection_clear(&selection);
    } else {
        iket_fail_context(err, "--%s", option);
    }
    iket_selector_clear(&selector);
    return result;
}

// The locations from `first` that are of one launch and CTA; returns the one behind them.
static size_t cta_end(const iket_trace *trace, size_t first) {
    const iket_location *l = &trace->locations[first];
    size_t i = first + 1;
    while (i < trace->location_count && trace->locations[i].launch == l->launch && memcmp(trace->locations[i].cta, l->cta, sizeof l->cta) == 0) i++;
    return i;
}

static int match_trace(leads *l, const iket_columns *c, const uint8_t *producer, const uint8_t *consumer, iket_error *err) {
    instances producers = {0}, consumers = {0};
    int result = 0;
    for (size_t first = 0, end; first < c->trace->location_count && result == 0; first = end) {
        int payloads = 1;
        end = cta_end(c->trace, first);
        producers.count = consumers.count = 0;
        for (size_t i = c->first_range[first]; i < c->first_range[end] && result == 0; i++) {
            if (!(c->flags[i] & IKET_RANGE_SELECTED)) continue;
            int is_producer = producer[c->name[i]], is_consumer = consumer[c->name[i]];
            if ((is_producer || is_consumer) && c->payload_type[i] == IKET_PAYLOAD_NONE) payloads = 0;
            if (is_producer) result = add_instance(&producers, c, (uint32_t)i, err);
            if (is_consumer && result == 0) result = add_instance(&consumers, c, (uint32_t)i, err);
        }
        if (consumers.count == 0 || result != 0) continue;
        for (size_t i = 0; !payloads && i < producers.count; i++) producers.items[i].bits = 0;
        for (size_t i = 0; !payloads && i < consumers.count; i++) consumers.items[i].bits = 0;
        l->by_payload |= payloads;
        l->by_occurrence |= !payloads;
        result = match(l, &producers, &consumers, err);
    }
    free(producers.items);
    free(consumers.items);
    return result;
}

// The signed sum of all leads, from the shifted tally.
static iket_cell mean_of(const iket_tally *t) {
    iket_wide zero = ((iket_wide)1 << 63) * t->count;
    int negative = t->total < zero;
    iket_cell cell = iket_cell_ratio(negative ? zero - t->total : t->total - zero, t->count, 1);
    cell.negative = negative;
    return cell;
}

static iket_cell lead_cell(uint64_t shifted) { return iket_cell_int((int64_t)(shifted - ((uint64_t)1 << 63))); }

enum { L_INPUT, L_PRODUCER, L_CONSUMER, L_MATCHED, L_COUNT, L_UNMATCHED, L_LATE, L_MEAN, L_MIN, L_P50, L_P90, L_P99, L_MAX, L_COLUMNS };

static const iket_column lead_columns[L_COLUMNS] = {
    [L_INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [L_PRODUCER] = {"producer", NULL, IKET_COLUMN_TABLE},
    [L_CONSUMER] = {"consumer", NULL, IKET_COLUMN_TABLE},
    [L_MATCHED] = {"matched_by", NULL, 0},
    [L_COUNT] = {"count", NULL, IKET_COLUMN_TABLE},
    [L_UNMATCHED] = {"unmatched", NULL, 0},
    [L_LATE] = {"late_pct", "late%", IKET_COLUMN_TABLE},
    [L_MEAN] = {"mean_ns", "mean", IKET_COLUMN_DURATION},
    [L_MIN] = {"min_ns", "min", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [L_P50] = {"p50_ns", "p50", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [L_P90] = {"p90_ns", "p90", IKET_COLUMN_DURATION},
    [L_P99] = {"p99_ns", "p99", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [L_MAX] = {"max_ns", "max", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
};

static int give_lead(const iket_query *q, const iket_columns *c, leads *l, iket_error *err) {
    iket_stats s = iket_tally_stats(&l->tally);
    uint64_t late = 0;
    for (size_t i = 0; i < l->tally.used && l->tally.entries[i].value < (uint64_t)1 << 63; i++) late += l->tally.entries[i].count;
    iket_cell cells[L_COLUMNS];
    memset(cells, 0, sizeof cells); // empty
    cells[L_INPUT] = iket_cell_text(c->input);
    cells[L_PRODUCER] = iket_cell_text(q->options->producer);
    cells[L_CONSUMER] = iket_cell_text(q->options->consumer);
    cells[L_MATCHED] = iket_cell_text(l->by_payload && l->by_occurrence ? "payload, occurrence" : l->by_payload ? "payload" : l->by_occurrence ? "occurrence" : NULL);
    cells[L_COUNT] = iket_cell_uint(s.count);
    cells[L_UNMATCHED] = iket_cell_uint(l->unmatched);
    if (s.count > 0) {
        cells[L_LATE] = iket_cell_ratio(late, s.count, 100);
        cells[L_MEAN] = mean_of(&l->tally);
        cells[L_MIN] = lead_cell(s.min);
        cells[L_P50] = lead_cell(s.p50);
        cells[L_P90] = lead_cell(s.p90);
        cells[L_P99] = lead_cell(s.p99);
        cells[L_MAX] = lead_cell(s.max);
    }
    return iket_report_row(q->report, cells, err) < 0 ? -1 : 0;
}

static int run_leads(const iket_query *q, const iket_columns *sets, iket_error *err) {
    IKET_TRY(iket_report_section(q->report, "rows", lead_columns, L_COLUMNS, 0, err));
    for (size_t i = 0; i < q->input_count; i++) {
        const iket_columns *c = &sets[i];
        if (c->trace == NULL) continue;
        leads l = {0};
        uint8_t *producer = NULL, *consumer = NULL;
        int result = names_of(&producer, c->trace, "producer", q->options->producer, err);
        if (result == 0) result = names_of(&consumer, c->trace, "consumer", q->options->consumer, err);
        if (result == 0) result = match_trace(&l, c, producer, consumer, err);
        if (result == 0) result = give_lead(q, c, &l, err);
        iket_tally_free(&l.tally);
        free(producer);
        free(consumer);
        if (result != 0) return result;
    }
    return 0;
}

// ---- the verb -------------------------------------------------------------------------------------------------------------

static int run(cadence *k, iket_query *q, iket_error *err) {
    if (q->options->producer != NULL) return run_leads(q, k->sets, err);
    for (uint32_t set = 0; set < k->set_count; set++) {
        const iket_columns *c = &k->sets[set];
        for (size_t i = 0; c->trace != NULL && i < c->trace->location_count; i++) IKET_TRY(add_location(k, set, i, err));
    }
    return give_steps(k, q->report, err);
}

int iket_verb_cadence(iket_query *q, iket_error *err) {
    cadence k = {.set_count = q->input_count};
    iket_columns *sets = NULL;
    if ((q->options->producer == NULL) != (q->options->consumer == NULL)) return iket_fail(err, "--producer and --consumer go together");
    int result = iket_by_parse(q->options->by, KERNEL_AND_NAME, &k.by, err);
    if (result == 0) result = iket_roles_parse(&k.roles, q->options->roles, err);
    k.by |= IKET_BY_NAME;
    if (result == 0) result = iket_query_load(q, &sets, err);
    k.sets = sets;
    if (result == 0) result = run(&k, q, err);
    for (size_t i = 0; i < k.keys.count && i < k.capacity; i++) iket_tally_free(&k.items[i].steps);
    free(k.items);
    free(k.order);
    iket_keys_free(&k.keys);
    iket_roles_free(&k.roles);
    iket_query_unload(q, sets);
    return result;
}
