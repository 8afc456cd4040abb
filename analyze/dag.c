// SPDX-License-Identifier: Apache-2.0
#include "analyze/dag.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum { MOST_BYTES = 16 << 20 };

// ---- the file -----------------------------------------------------------------------------------------------------------

static char *read_file(const char *path, iket_error *err) {
    FILE *in = fopen(path, "rb");
    char *text = malloc(MOST_BYTES + 1);
    if (in == NULL || text == NULL) {
        iket_fail(err, "%s: cannot be opened: %s", path, text == NULL ? "out of memory" : strerror(errno));
        if (in != NULL) fclose(in);
        free(text);
        return NULL;
    }
    size_t size = fread(text, 1, MOST_BYTES + 1, in);
    int failed = ferror(in);
    fclose(in);
    if (failed || size > MOST_BYTES) {
        iket_fail(err, "%s: %s", path, failed ? "cannot be read" : "is too large for an iket.dag file");
        free(text);
        return NULL;
    }
    text[size] = 0;
    return text;
}

// A copy of a string member; NULL where there is none or no memory.
static char *member(const cJSON *object, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(value) ? strdup(value->valuestring) : NULL;
}

static int add_edge(iket_dag *dag, const char *path, const cJSON *item, iket_error *err) {
    IKET_TRY(IKET_RESERVE(dag->edges, dag->edge_count, dag->edge_capacity, 1, err));
    iket_dag_edge *e = &dag->edges[dag->edge_count++];
    *e = (iket_dag_edge){member(item, "source"), member(item, "target"), member(item, "label"), member(item, "via")};
    if (e->source == NULL || e->target == NULL) return iket_fail(err, "%s: edge %zu lacks its source or target", path, dag->edge_count - 1);
    return 0;
}

int iket_dag_read(iket_dag *dag, const char *path, iket_error *err) {
    *dag = (iket_dag){0};
    char *text = read_file(path, err);
    if (text == NULL) return -1;
    const char *stop = NULL;
    cJSON *root = cJSON_ParseWithOpts(text, &stop, 1);
    int result = root != NULL ? 0 : iket_fail(err, "%s: byte 0x%zx: is no JSON", path, stop != NULL ? (size_t)(stop - text) : 0);
    const cJSON *edges = cJSON_GetObjectItemCaseSensitive(root, "edges"), *item;
    if (result == 0 && !cJSON_IsArray(edges)) result = iket_fail(err, "%s: has no `edges` (is it an iket.dag file?)", path);
    if (result == 0) dag->name = member(root, "name");
    cJSON_ArrayForEach(item, edges) {
        if (result == 0) result = add_edge(dag, path, item, err);
    }
    if (result == 0 && dag->edge_count == 0) result = iket_fail(err, "%s: has no edge", path);
    cJSON_Delete(root);
    free(text);
    if (result != 0) iket_dag_free(dag);
    return result;
}

void iket_dag_free(iket_dag *dag) {
    for (size_t i = 0; i < dag->edge_count; i++) {
        free(dag->edges[i].source);
        free(dag->edges[i].target);
        free(dag->edges[i].label);
        free(dag->edges[i].via);
    }
    free(dag->edges);
    free(dag->name);
    *dag = (iket_dag){0};
}

// ---- matching -----------------------------------------------------------------------------------------------------------

// One instance of a region in a CTA, with its place among the equal ones of its warp.
typedef struct instance {
    uint32_t range, location;
    uint64_t bits;
    size_t nth;
} instance;

typedef struct instances {
    instance *items;
    size_t count, capacity;
} instances;

typedef struct matcher {
    const iket_columns *columns;
    instances sources, targets;
    iket_ties *ties;
    uint32_t edge;
} matcher;

static int by_warp(const void *a, const void *b, void *context) {
    const iket_columns *c = context;
    const instance *x = a, *y = b;
    if (x->location != y->location) return x->location < y->location ? -1 : 1;
    if (x->bits != y->bits) return x->bits < y->bits ? -1 : 1;
    if (c->start[x->range] != c->start[y->range]) return c->start[x->range] < c->start[y->range] ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

// Sorts by warp, payload and start, and numbers the equal ones.
static void number(const iket_columns *c, instances *list) {
    if (list->count > 1) qsort_r(list->items, list->count, sizeof *list->items, by_warp, (void *)(uintptr_t)c);
    for (size_t i = 0; i < list->count; i++) {
        instance *one = &list->items[i];
        one->nth = i > 0 && one[-1].location == one->location && one[-1].bits == one->bits ? one[-1].nth + 1 : 0;
    }
}

// The first instance of a warp that is not before (payload, nth); the list's end where the warp has none.
static size_t find(const instances *list, uint32_t location, uint64_t bits, size_t nth) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const instance *i = &list->items[middle];
        int before = i->location != location ? i->location < location : i->bits != bits ? i->bits < bits : i->nth < nth;
        if (before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const instance *find_equal(const instances *list, uint32_t location, const instance *target) {
    size_t at = find(list, location, target->bits, target->nth);
    if (at == list->count) return NULL;
    const instance *i = &list->items[at];
    return i->location == location && i->bits == target->bits && i->nth == target->nth ? i : NULL;
}

static int tie(matcher *m, const instance *source, const instance *target, iket_error *err) {
    if (source == NULL || source->range == target->range) return 0;
    IKET_TRY(IKET_RESERVE(m->ties->items, m->ties->count, m->ties->capacity, 1, err));
    m->ties->items[m->ties->count++] = (iket_tie){source->range, target->range, m->edge};
    return 0;
}

static int match_cta(matcher *m, size_t first, size_t end, iket_error *err) {
    number(m->columns, &m->sources);
    number(m->columns, &m->targets);
    for (size_t i = 0; i < m->targets.count; i++) {
        const instance *t = &m->targets.items[i];
        size_t own = find(&m->sources, t->location, 0, 0);
        if (own < m->sources.count && m->sources.items[own].location == t->location) {
            IKET_TRY(tie(m, find_equal(&m->sources, t->location, t), t, err));
            continue;
        }
        for (size_t l = first; l < end; l++) IKET_TRY(tie(m, find_equal(&m->sources, (uint32_t)l, t), t, err));
    }
    return 0;
}

static int collect(const iket_columns *c, instances *list, size_t first, size_t end, const char *name, int *payloads, iket_error *err) {
    list->count = 0;
    for (size_t i = c->first_range[first]; i < c->first_range[end]; i++) {
        if (!(c->flags[i] & IKET_RANGE_SELECTED) || strcmp(iket_range_name(c, i), name) != 0) continue;
        IKET_TRY(IKET_RESERVE(list->items, list->count, list->capacity, 1, err));
        list->items[list->count++] = (instance){(uint32_t)i, c->location[i], c->bits[i], 0};
        if (c->payload_type[i] == IKET_PAYLOAD_NONE) *payloads = 0;
    }
    return 0;
}

// The locations from `first` that are of one launch and CTA end before this one.
static size_t cta_end(const iket_trace *trace, size_t first) {
    const iket_location *l = &trace->locations[first];
    size_t i = first + 1;
    while (i < trace->location_count && trace->locations[i].launch == l->launch && memcmp(trace->locations[i].cta, l->cta, sizeof l->cta) == 0) i++;
    return i;
}

static int match_edge(matcher *m, const iket_dag_edge *edge, iket_error *err) {
    const iket_columns *c = m->columns;
    for (size_t first = 0, end; first < c->trace->location_count; first = end) {
        int payloads = 1;
        end = cta_end(c->trace, first);
        IKET_TRY(collect(c, &m->sources, first, end, edge->source, &payloads, err));
        IKET_TRY(collect(c, &m->targets, first, end, edge->target, &payloads, err));
        for (size_t i = 0; !payloads && i < m->sources.count; i++) m->sources.items[i].bits = 0;
        for (size_t i = 0; !payloads && i < m->targets.count; i++) m->targets.items[i].bits = 0;
        IKET_TRY(match_cta(m, first, end, err));
    }
    return 0;
}

static int by_target(const void *a, const void *b) {
    const iket_tie *x = a, *y = b;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    return x->source < y->source ? -1 : x->source > y->source;
}

int iket_dag_match(const iket_dag *dag, const iket_columns *columns, iket_ties *ties, iket_error *err) {
    matcher m = {.columns = columns, .ties = ties};
    int result = 0;
    for (; m.edge < dag->edge_count && result == 0; m.edge++) result = match_edge(&m, &dag->edges[m.edge], err);
    free(m.sources.items);
    free(m.targets.items);
    if (result == 0 && ties->count > 1) qsort(ties->items, ties->count, sizeof *ties->items, by_target);
    return result;
}
