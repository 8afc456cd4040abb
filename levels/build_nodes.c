// SPDX-License-Identifier: Apache-2.0
// build_nodes.c: the tracks under "Launches" as nodes, depth first, siblings by rank; the same as viewer/worker/tree.js.
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/builder.h"

enum { MAX_TREE = 32, NUMBERS = 3 }; // our own trees have 8 levels

typedef struct tree {
    iket_levels_builder *builder;
    uint32_t *order;           // tracks by parent, rank and first description
    iket_levels_map children;  // parent uuid -> where they begin in order
} tree;

static int by_parent(const void *x, const void *y, void *context) {
    const iket_levels_track *tracks = context, *a = &tracks[*(const uint32_t *)x], *b = &tracks[*(const uint32_t *)y];
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int order_tracks(tree *t, iket_error *err) {
    const iket_levels_names *names = &t->builder->names;
    t->order = malloc((names->track_count + 1) * sizeof *t->order);
    if (t->order == NULL) return iket_fail(err, "out of memory (%zu tracks)", names->track_count);
    for (uint32_t i = 0; i < names->track_count; i++) t->order[i] = i;
    qsort_r(t->order, names->track_count, sizeof *t->order, by_parent, names->tracks);
    for (uint32_t i = 0; i < names->track_count; i++) {
        uint64_t parent = names->tracks[t->order[i]].parent;
        if (i == 0 || names->tracks[t->order[i - 1]].parent != parent) IKET_TRY(iket_levels_map_set(&t->children, parent, i, err));
    }
    return 0;
}

// ---- what a track is, by its place in the tree ---------------------------------------------------------------------

// The whole numbers in a name, as many as there is room for; the others stay as they are.
static void numbers_in(const char *name, int32_t numbers[NUMBERS]) {
    int n = 0;
    for (const char *at = name; *at != 0 && n < NUMBERS;) {
        if (*at < '0' || *at > '9') {
            at++;
            continue;
        }
        int minus = at > name && at[-1] == '-';
        uint32_t value = 0;
        for (; *at >= '0' && *at <= '9'; at++) value = value * 10 + (uint32_t)(*at - '0');
        numbers[n++] = (int32_t)(minus ? 0u - value : value);
    }
}

static int is_bucket(const char *name) {
    static const char head[] = "launches ";
    if (strncmp(name, head, sizeof head - 1) != 0) return 0;
    const char *at = name + sizeof head - 1;
    size_t first = strspn(at, "0123456789");
    if (first == 0 || at[first] != '-') return 0;
    at += first + 1;
    size_t last = strspn(at, "0123456789");
    return last > 0 && at[last] == 0;
}

// "lane 5 markers": sets *lane and returns "markers".
static const char *without_lane(const char *name, int32_t *lane) {
    const char *at = strncmp(name, "lane ", 5) == 0 ? name + 5 : strncmp(name, "stream ", 7) == 0 ? name + 7 : NULL;
    if (at == NULL) return name;
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || at[digits] != ' ') return name;
    *lane = (int32_t)(uint32_t)strtoull(at, NULL, 10);
    return at + digits + 1;
}

// IKET_LEVELS_DIAGNOSTICS + 1 for an overview, which is left out.
enum { OVERVIEW = IKET_LEVELS_DIAGNOSTICS + 1 };

static uint8_t classify(const char *name, uint64_t rank, unsigned above, int has_children, int32_t numbers[NUMBERS]) {
    switch (above) {
    case IKET_LEVELS_ROOT: return rank == 0 && strcmp(name, "Diagnostics") == 0 ? IKET_LEVELS_DIAGNOSTICS : has_children ? IKET_LEVELS_KERNEL : OVERVIEW;
    case IKET_LEVELS_DIAGNOSTICS: return IKET_LEVELS_DIAGNOSTICS;
    case IKET_LEVELS_KERNEL: return is_bucket(name) ? IKET_LEVELS_BUCKET : IKET_LEVELS_NODE_LAUNCH;
    case IKET_LEVELS_BUCKET: return IKET_LEVELS_NODE_LAUNCH;
    case IKET_LEVELS_NODE_LAUNCH: numbers_in(name, numbers); return IKET_LEVELS_SM;
    case IKET_LEVELS_SM:
        memset(numbers, 0, NUMBERS * sizeof *numbers);
        numbers_in(name, numbers);
        return IKET_LEVELS_CTA;
    case IKET_LEVELS_CTA: {
        int32_t warp[NUMBERS] = {0};
        numbers_in(name, warp);
        numbers[0] = warp[0];
        return IKET_LEVELS_WARP;
    }
    default: {
        const char *rest = without_lane(name, &numbers[0]);
        return strcmp(rest, "markers") == 0 ? IKET_LEVELS_MARKERS : strncmp(rest, "token ", 6) == 0 ? IKET_LEVELS_NODE_TOKEN : IKET_LEVELS_RANGES;
    }
    }
}

// ---- the tree -------------------------------------------------------------------------------------------------------

static int add_node(tree *t, uint32_t track, int32_t parent, uint8_t kind, const int32_t numbers[NUMBERS], iket_error *err) {
    iket_levels_builder *b = t->builder;
    const char *name = iket_levels_strings_get(&b->names.track_names, b->names.tracks[track].name);
    IKET_TRY(IKET_RESERVE(b->nodes, b->node_count, b->node_capacity, 1, err));
    b->names.tracks[track].node = (int32_t)b->node_count;
    b->nodes[b->node_count] = (iket_levels_node){.kind = kind, .parent = parent, .a = numbers[0], .b = numbers[1], .c = numbers[2], .track = track};
    return iket_levels_strings_add(&b->names.strings, name, strlen(name), &b->nodes[b->node_count++].name, err);
}

static int visit(tree *t, uint32_t track, int32_t parent, unsigned above, int depth, iket_error *err) {
    iket_levels_names *names = &t->builder->names;
    uint64_t uuid = names->tracks[track].uuid;
    if (depth > MAX_TREE) return iket_fail(err, "tracks lie more than %d deep in one another (the file is damaged)", MAX_TREE);
    uint32_t first = iket_levels_map_get(&t->children, uuid);
    int32_t numbers[NUMBERS] = {-1, -1, -1};
    uint8_t kind = IKET_LEVELS_ROOT;
    if (parent >= 0) kind = classify(iket_levels_strings_get(&names->track_names, names->tracks[track].name), names->tracks[track].rank, above, first != IKET_LEVELS_NONE, numbers);
    if (kind == OVERVIEW) return 0;
    int32_t node = (int32_t)t->builder->node_count;
    IKET_TRY(add_node(t, track, parent, kind, numbers, err));
    for (uint32_t i = first; i < names->track_count && names->tracks[t->order[i]].parent == uuid; i++) IKET_TRY(visit(t, t->order[i], node, kind, depth + 1, err));
    t->builder->nodes[node].last = (int32_t)t->builder->node_count;
    return 0;
}

static int find_roots(iket_levels_builder *b, uint32_t *group, iket_error *err) {
    const iket_levels_names *names = &b->names;
    *group = IKET_LEVELS_NONE;
    for (uint32_t i = 0; i < names->track_count; i++) {
        const char *name = iket_levels_strings_get(&names->track_names, names->tracks[i].name);
        if (names->tracks[i].is_process && b->device == NULL && (b->device = strdup(name)) == NULL) return iket_fail(err, "out of memory");
        if (names->tracks[i].parent == 0 && *group == IKET_LEVELS_NONE && strcmp(name, "Launches") == 0) *group = i;
    }
    return *group != IKET_LEVELS_NONE ? 0 : iket_fail(err, "the file has no track \"Launches\": it is not a trace that iket-decode wrote");
}

// Every lane of a node, in the order of nodes; the root's own slices are an overview for Perfetto.
static int number_lanes(iket_levels_builder *b, iket_error *err) {
    uint64_t lanes = 0;
    for (size_t i = 0; i < b->node_count; i++) {
        iket_levels_node *node = &b->nodes[i];
        const iket_levels_track *track = &b->names.tracks[node->track];
        node->lane = (uint32_t)lanes;
        if (node->kind == IKET_LEVELS_ROOT) continue;
        for (uint32_t d = 0; d < track->lanes; d++) b->event_count += b->slots[track->slot + d].count;
        lanes += track->lanes;
        if (lanes > INT32_MAX) return iket_fail(err, "the trace has too many tracks");
    }
    b->lane_count = (uint32_t)lanes;
    return 0;
}

int iket_levels_make_nodes(iket_levels_builder *b, iket_error *err) {
    tree t = {.builder = b};
    uint32_t group;
    IKET_TRY(find_roots(b, &group, err));
    int result = order_tracks(&t, err);
    if (result == 0) result = visit(&t, group, -1, 0, 0, err);
    free(t.order);
    iket_levels_map_free(&t.children);
    return result == 0 ? number_lanes(b, err) : -1;
}
