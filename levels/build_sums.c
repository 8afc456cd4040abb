// SPDX-License-Identifier: Apache-2.0
// build_sums.c: one reading of the placed events, lane by lane, by all threads: totals by class, the categories of the page's
// colours (categorize() of viewer/worker/stats.js) and the roles of the warps (roleOf() of viewer/js/source_local.js).
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/builder.h"

enum { TASKS = 8 };

// What a task has per class; `touched` are those of the warp at hand.
typedef struct sums_task {
    iket_levels_builder *builder;
    size_t node_first, node_end, warp_first, warp_end;
    iket_levels_class_sums *class_sums;
    double *outer;
    int64_t *own;
    uint8_t *seen;
    uint32_t *touched;
    size_t touched_count;
    iket_levels_role *roles;      // in the order in which they occur
    size_t role_count, role_capacity;
    iket_levels_map role_of;      // string -> role
    int32_t no_range;             // the role of warps without a range, -1: not yet
    iket_levels_role_own *role_own;
    size_t role_own_count, role_own_capacity;
    iket_levels_map role_own_of;  // role << 16 | class
} sums_task;

// ---- launches and warps ---------------------------------------------------------------------------------------------

static int by_start(const void *x, const void *y, void *context) {
    const iket_levels_builder *b = context;
    const iket_levels_launch *l = x, *r = y;
    uint64_t p = b->columns.start[l->event], q = b->columns.start[r->event];
    return p != q ? (p < q ? -1 : 1) : l->node < r->node ? -1 : l->node > r->node;
}

// A launch is known by its own slice; the warps of one that has none are not counted anywhere.
static int list_launches(iket_levels_builder *b, iket_error *err) {
    int in_launch = 0;
    for (uint32_t i = 0; i < b->node_count; i++) {
        const iket_levels_node *node = &b->nodes[i];
        if (node->kind == IKET_LEVELS_NODE_LAUNCH) {
            in_launch = b->columns.node_lane[i] < b->columns.node_lane[i + 1];
            if (!in_launch) continue;
            IKET_TRY(IKET_RESERVE(b->launches, b->launch_count, b->launch_capacity, 1, err));
            b->launches[b->launch_count++] = (iket_levels_launch){.node = i, .event = b->columns.lane_first[node->lane]};
        } else if (node->kind == IKET_LEVELS_WARP && in_launch) {
            IKET_TRY(IKET_RESERVE(b->warps, b->warp_count, b->warp_capacity, 1, err));
            b->warps[b->warp_count++] = (iket_levels_warp){.node = i, .role = -1};
        }
    }
    if (b->launch_count > 0) qsort_r(b->launches, b->launch_count, sizeof *b->launches, by_start, b);
    b->header.span = 1;
    for (size_t i = 0; i < b->launch_count; i++) {
        uint64_t end = b->columns.end[b->launches[i].event];
        if (end > b->header.span) b->header.span = end;
    }
    return 0;
}

// The lanes that tell what a warp does: those of its track; its token ranges where it has no stack range.
static void mark_active(iket_levels_builder *b) {
    const uint32_t *lane = b->columns.node_lane;
    uint8_t *active = b->columns.lane_active;
    for (size_t i = 0; i < b->node_count; i++) {
        if (b->nodes[i].kind != IKET_LEVELS_WARP) continue;
        memset(active + lane[i], 1, lane[i + 1] - lane[i]);
        if (lane[i + 1] - lane[i] > 1) continue;
        for (int32_t child = (int32_t)i + 1; child < b->nodes[i].last; child++) {
            unsigned kind = b->nodes[child].kind;
            if (kind == IKET_LEVELS_RANGES || kind == IKET_LEVELS_NODE_TOKEN) memset(active + lane[child], kind == IKET_LEVELS_NODE_TOKEN ? 2 : 1, lane[child + 1] - lane[child]);
        }
    }
}

// ---- roles ----------------------------------------------------------------------------------------------------------

static void add_outer(sums_task *t, uint32_t lane) {
    const iket_levels_columns *c = &t->builder->columns;
    for (uint64_t i = c->lane_first[lane]; i < c->lane_first[lane + 1]; i++) t->outer[c->cls[i]] += (double)(c->end[i] - c->start[i]) + 1e-3;
}

// The first class of the lane with more time than `best`.
static int32_t best_outer(const sums_task *t, uint32_t lane, int32_t best) {
    const iket_levels_columns *c = &t->builder->columns;
    for (uint64_t i = c->lane_first[lane]; i < c->lane_first[lane + 1]; i++) {
        if (best < 0 || t->outer[c->cls[i]] > t->outer[best]) best = c->cls[i];
    }
    return best;
}

static void clear_outer(sums_task *t, uint32_t lane) {
    const iket_levels_columns *c = &t->builder->columns;
    for (uint64_t i = c->lane_first[lane]; i < c->lane_first[lane + 1]; i++) t->outer[c->cls[i]] = 0;
}

// The class in whose outermost ranges a warp spends most time; -1: it has none.
static int32_t find_outer_class(sums_task *t, uint32_t warp) {
    const iket_levels_builder *b = t->builder;
    const uint32_t *lane = b->columns.node_lane;
    if (lane[warp + 1] - lane[warp] > 1) {
        add_outer(t, lane[warp] + 1);
        int32_t best = best_outer(t, lane[warp] + 1, -1);
        clear_outer(t, lane[warp] + 1);
        return best;
    }
    int32_t best = -1;
    void (*const steps[])(sums_task *, uint32_t) = {add_outer, NULL, clear_outer};
    for (int step = 0; step < 3; step++) {
        for (int32_t child = (int32_t)warp + 1; child < b->nodes[warp].last; child++) {
            unsigned kind = b->nodes[child].kind;
            if ((kind != IKET_LEVELS_NODE_TOKEN && kind != IKET_LEVELS_RANGES) || lane[child] == lane[child + 1]) continue;
            if (step == 1) {
                best = best_outer(t, lane[child], best);
            } else {
                steps[step](t, lane[child]);
            }
        }
    }
    return best;
}

// A role's number in the task: by its name, for a range and a token range of one name are one role.
static int role_of(sums_task *t, int32_t cls, int32_t *role, iket_error *err) {
    uint32_t string = cls < 0 ? IKET_LEVELS_NONE : t->builder->names.classes[cls].name;
    *role = cls < 0 ? t->no_range : (int32_t)iket_levels_map_get(&t->role_of, string);
    if (*role >= 0) return 0;
    IKET_TRY(IKET_RESERVE(t->roles, t->role_count, t->role_capacity, 1, err));
    *role = (int32_t)t->role_count;
    t->roles[t->role_count++] = (iket_levels_role){.string = string, .cls = cls};
    if (cls >= 0) return iket_levels_map_set(&t->role_of, string, (uint32_t)*role, err);
    t->no_range = *role;
    return 0;
}

static int add_role_own(sums_task *t, uint32_t role, uint32_t cls, int64_t time, iket_error *err) {
    uint64_t key = (uint64_t)role << 16 | cls;
    uint32_t at = iket_levels_map_get(&t->role_own_of, key);
    if (at == IKET_LEVELS_NONE) {
        at = (uint32_t)t->role_own_count;
        IKET_TRY(IKET_RESERVE(t->role_own, t->role_own_count, t->role_own_capacity, 1, err));
        IKET_TRY(iket_levels_map_set(&t->role_own_of, key, at, err));
        t->role_own[t->role_own_count++] = (iket_levels_role_own){.role = role, .cls = cls};
    }
    t->role_own[at].time += time;
    return 0;
}

static void book(sums_task *t, uint32_t cls, int64_t time) {
    if (!t->seen[cls]) {
        t->seen[cls] = 1;
        t->touched[t->touched_count++] = cls;
    }
    t->own[cls] += time;
}

static int sum_warp(sums_task *t, iket_levels_warp *warp, iket_error *err) {
    const iket_levels_builder *b = t->builder;
    const iket_levels_columns *c = &b->columns;
    IKET_TRY(role_of(t, find_outer_class(t, warp->node), &warp->role, err));
    iket_levels_role *role = &t->roles[warp->role];
    role->warps++;
    for (uint32_t lane = c->node_lane[warp->node]; lane < c->node_lane[b->nodes[warp->node].last]; lane++) {
        if (c->lane_active[lane] == 0) continue;
        for (uint64_t i = c->lane_first[lane]; i < c->lane_first[lane + 1]; i++) {
            int64_t time = (int64_t)(c->end[i] - c->start[i]);
            if (b->names.classes[c->cls[i]].kind == IKET_LEVELS_LIFETIME) {
                role->lifetime += time;
            } else {
                book(t, c->cls[i], time);
            }
            uint32_t outer = c->parent_cls[i];
            if (outer != IKET_LEVELS_NO_CLASS && b->names.classes[outer].kind != IKET_LEVELS_LIFETIME) book(t, outer, -time);
        }
    }
    for (size_t i = 0; i < t->touched_count; i++) {
        uint32_t cls = t->touched[i];
        IKET_TRY(add_role_own(t, (uint32_t)warp->role, cls, t->own[cls], err));
        t->own[cls] = 0;
        t->seen[cls] = 0;
    }
    t->touched_count = 0;
    return 0;
}

// ---- a task ---------------------------------------------------------------------------------------------------------

static void sum_classes(sums_task *t) {
    const iket_levels_columns *c = &t->builder->columns;
    uint64_t from = c->lane_first[c->node_lane[t->node_first]], to = c->lane_first[c->node_lane[t->node_end]];
    for (uint64_t i = from; i < to; i++) {
        iket_levels_class_sums *s = &t->class_sums[c->cls[i]];
        uint64_t time = c->end[i] - c->start[i];
        s->count++;
        s->total += time;
        s->own += (int64_t)time;
        if (time < s->min) s->min = time;
        if (time > s->max) s->max = time;
        if (c->parent_cls[i] != IKET_LEVELS_NO_CLASS) t->class_sums[c->parent_cls[i]].own -= (int64_t)time;
    }
}

static int run_task(void *context, size_t index, iket_error *err) {
    sums_task *t = (sums_task *)context + index;
    size_t classes = t->builder->names.class_count + 1;
    t->no_range = -1;
    t->class_sums = calloc(classes, sizeof *t->class_sums);
    t->outer = calloc(classes, sizeof *t->outer);
    t->own = calloc(classes, sizeof *t->own);
    t->seen = calloc(classes, sizeof *t->seen);
    t->touched = calloc(classes, sizeof *t->touched);
    if (t->class_sums == NULL || t->outer == NULL || t->own == NULL || t->seen == NULL || t->touched == NULL) return iket_fail(err, "out of memory (%zu names)", classes);
    for (size_t i = 0; i < classes; i++) t->class_sums[i].min = UINT64_MAX;
    sum_classes(t);
    for (size_t i = t->warp_first; i < t->warp_end; i++) IKET_TRY(sum_warp(t, &t->builder->warps[i], err));
    return 0;
}

// ---- all tasks together ---------------------------------------------------------------------------------------------

// Cuts the nodes where a warp or something above it begins, by the number of events.
static void cut_tasks(iket_levels_builder *b, sums_task *tasks) {
    size_t node = 0, warp = 0;
    for (size_t i = 0; i < TASKS; i++) {
        uint64_t limit = b->event_count / TASKS * (i + 1);
        tasks[i] = (sums_task){.builder = b, .node_first = node, .warp_first = warp};
        while (node < b->node_count && (i + 1 == TASKS || b->nodes[node].kind > IKET_LEVELS_WARP || b->columns.lane_first[b->columns.node_lane[node]] < limit)) {
            if (warp < b->warp_count && b->warps[warp].node == node) warp++;
            node++;
        }
        tasks[i].node_end = node;
        tasks[i].warp_end = warp;
    }
}

static int join_roles(iket_levels_builder *b, sums_task *all, const sums_task *t, iket_error *err) {
    for (size_t i = t->warp_first; i < t->warp_end; i++) {
        const iket_levels_role *from = &t->roles[b->warps[i].role];
        IKET_TRY(role_of(all, from->cls, &b->warps[i].role, err));
        all->roles[b->warps[i].role].warps++;
    }
    for (size_t i = 0; i < t->role_count; i++) {
        int32_t role;
        IKET_TRY(role_of(all, t->roles[i].cls, &role, err));
        all->roles[role].lifetime += t->roles[i].lifetime;
    }
    for (size_t i = 0; i < t->role_own_count; i++) {
        int32_t role;
        IKET_TRY(role_of(all, t->roles[t->role_own[i].role].cls, &role, err));
        IKET_TRY(add_role_own(all, (uint32_t)role, t->role_own[i].cls, t->role_own[i].time, err));
    }
    return 0;
}

static void join_classes(iket_levels_builder *b, const sums_task *t) {
    for (size_t i = 0; i < b->names.class_count; i++) {
        iket_levels_class_sums *to = &b->class_sums[i];
        const iket_levels_class_sums *from = &t->class_sums[i];
        if (from->count > 0 && (to->count == 0 || from->min < to->min)) to->min = from->min;
        if (from->max > to->max) to->max = from->max;
        to->count += from->count;
        to->total += from->total;
        to->own += from->own;
    }
}

static int by_role(const void *x, const void *y) {
    const iket_levels_role_own *a = x, *b = y;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    return a->cls < b->cls ? -1 : a->cls > b->cls;
}

static void free_task(sums_task *t) {
    free(t->class_sums);
    free(t->outer);
    free(t->own);
    free(t->seen);
    free(t->touched);
    free(t->roles);
    free(t->role_own);
    iket_levels_map_free(&t->role_of);
    iket_levels_map_free(&t->role_own_of);
}

// The classes with the most time of their own get a category each.
static void categorize(iket_levels_builder *b) {
    memset(b->category_of, IKET_LEVELS_CATEGORIES - 1, b->names.class_count);
    for (int i = 0; i < IKET_LEVELS_CATEGORIES; i++) b->category_class[i] = -1;
    for (size_t i = 0; i < b->names.class_count; i++) {
        if (b->names.classes[i].kind == IKET_LEVELS_LIFETIME) b->category_of[i] = 0;
    }
    for (int category = 1; category < IKET_LEVELS_CATEGORIES - 1; category++) {
        int32_t best = -1;
        for (size_t i = 0; i < b->names.class_count; i++) {
            unsigned kind = b->names.classes[i].kind;
            if ((kind != IKET_LEVELS_RANGE && kind != IKET_LEVELS_TOKEN) || b->category_of[i] != IKET_LEVELS_CATEGORIES - 1) continue;
            if (best < 0 || b->class_sums[i].own > b->class_sums[best].own) best = (int32_t)i;
        }
        if (best < 0) break;
        b->category_of[best] = (uint8_t)category;
        b->category_class[category] = best;
    }
    memcpy(b->columns.class_category, b->category_of, b->names.class_count);
}

static int append_roles(iket_levels_builder *b, iket_error *err) {
    int32_t *classes = malloc((b->role_count + 1) * sizeof *classes);
    if (classes == NULL) return iket_fail(err, "out of memory (%zu roles)", b->role_count);
    for (size_t i = 0; i < b->role_count; i++) classes[i] = b->roles[i].cls;
    for (size_t i = 0; i < b->warp_count; i++) b->columns.node_role[b->warps[i].node] = b->warps[i].role;
    int result = iket_levels_append(b, &b->header.role_class, classes, b->role_count, sizeof *classes, err);
    free(classes);
    return result;
}

int iket_levels_sum(iket_levels_builder *b, iket_error *err) {
    sums_task tasks[TASKS], all = {.builder = b, .no_range = -1};
    b->class_sums = calloc(b->names.class_count + 1, sizeof *b->class_sums);
    b->category_of = calloc(b->names.class_count + 1, sizeof *b->category_of);
    if (b->class_sums == NULL || b->category_of == NULL) return iket_fail(err, "out of memory (%zu names)", b->names.class_count);
    IKET_TRY(list_launches(b, err));
    mark_active(b);
    cut_tasks(b, tasks);
    int result = iket_pool_run(b->pool, TASKS, run_task, tasks, err);
    for (size_t i = 0; i < TASKS && result == 0; i++) {
        join_classes(b, &tasks[i]);
        result = join_roles(b, &all, &tasks[i], err);
    }
    for (size_t i = 0; i < TASKS; i++) free_task(&tasks[i]);
    b->roles = all.roles;
    b->role_count = all.role_count;
    b->role_own = all.role_own;
    b->role_own_count = all.role_own_count;
    all.roles = NULL;
    all.role_own = NULL;
    free_task(&all);
    if (result != 0) return -1;
    if (b->role_own_count > 0) qsort(b->role_own, b->role_own_count, sizeof *b->role_own, by_role);
    categorize(b);
    return append_roles(b, err);
}
