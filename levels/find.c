// SPDX-License-Identifier: Apache-2.0
// find.c: one event, by its order, in the next warp, under a node, or at a point of a lane; as the page's keys and mouse
// look for it (viewer/js/app.js, viewer/js/timeline.js).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "levels/question.h"
#include "levels/scope.h"

enum { CLASSES = 65536, MOST_STEPS = 2000 };

#define ROWS "launch kernel sm cta warp role under lanes"

// What all of them have in common. event: the answer, -1: there is none.
typedef struct search {
    const iket_levels *levels;
    const iket_levels_question *question;
    iket_levels_scope scope;
    int64_t after;
    int backwards;
    int64_t event;
} search;

static iket_levels_status read_after(search *s, int may_be_none, iket_error *err) {
    const char *text = iket_levels_text(s->question, "after");
    uint64_t after = 0;
    s->after = -1;
    if (may_be_none && (text == NULL || strcmp(text, "-1") == 0)) return IKET_LEVELS_OK;
    if (text == NULL || s->levels->event_count == 0) {
        iket_fail(err, "after: an event's number is missing");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    IKET_LEVELS_TRY(iket_levels_whole(s->question, "after", 0, s->levels->event_count - 1, &after, err));
    s->after = (int64_t)after;
    return IKET_LEVELS_OK;
}

static iket_levels_status read_direction(search *s, iket_error *err) {
    const char *text = iket_levels_text(s->question, "direction");
    s->backwards = text != NULL && strcmp(text, "-1") == 0;
    if (text == NULL || s->backwards || strcmp(text, "1") == 0) return IKET_LEVELS_OK;
    iket_fail(err, "direction: '%.64s' is neither 1 nor -1", text);
    return IKET_LEVELS_BAD_ARGUMENT;
}

// ---- by order -------------------------------------------------------------------------------------------------------

static iket_levels_status read_classes(const search *s, uint8_t *wanted, iket_error *err) {
    const char *text = iket_levels_text(s->question, "classes");
    uint64_t *list = calloc(CLASSES, sizeof *list);
    size_t count = 0;
    iket_levels_status status = IKET_LEVELS_FAILED;
    if (list == NULL) {
        iket_fail(err, "out of memory (%d classes)", CLASSES);
    } else if (text == NULL) {
        memset(wanted, 1, CLASSES);
        status = IKET_LEVELS_OK;
    } else {
        status = iket_levels_list(text, "classes", '.', s->levels->class_count, list, CLASSES, &count, err);
    }
    for (size_t i = 0; i < count; i++) wanted[list[i]] = 1;
    free(list);
    for (unsigned cls = 0; cls < CLASSES; cls++) wanted[cls] = wanted[cls] && iket_levels_scope_has(&s->scope, (uint16_t)cls);
    return status;
}

// The first event in [from, to) (backwards: the last) that is in one of the intervals and of a wanted class.
static int64_t first_wanted(const iket_levels *levels, const iket_levels_intervals *events, const uint8_t *wanted, uint64_t from, uint64_t to, int backwards) {
    for (size_t k = 0; k < events->count; k++) {
        const iket_levels_interval *part = &events->list[backwards ? events->count - 1 - k : k];
        uint64_t a = part->from > from ? part->from : from, b = part->to < to ? part->to : to;
        if (backwards) {
            for (uint64_t i = b; i > a; i--) {
                if (wanted[levels->cls[i - 1]]) return (int64_t)(i - 1);
            }
        } else {
            for (uint64_t i = a; i < b; i++) {
                if (wanted[levels->cls[i]]) return (int64_t)i;
            }
        }
    }
    return -1;
}

// In the order of numbers, round the end and back to where it began.
static iket_levels_status by_order(search *s, iket_error *err) {
    uint64_t count = s->levels->event_count;
    iket_levels_intervals events = {.count = 0};
    uint8_t *wanted = calloc(CLASSES, 1);
    iket_levels_status status = read_after(s, 1, err);
    if (status == IKET_LEVELS_OK && wanted == NULL) {
        iket_fail(err, "out of memory (%d classes)", CLASSES);
        status = IKET_LEVELS_FAILED;
    }
    if (status == IKET_LEVELS_OK) status = read_classes(s, wanted, err);
    if (status == IKET_LEVELS_OK && iket_levels_scope_events(&s->scope, s->levels, IKET_LEVELS_TOUCHES, &events, err) != 0) status = IKET_LEVELS_FAILED;
    if (status == IKET_LEVELS_OK && count > 0) {
        // From none, backwards, the page begins at the last but one.
        uint64_t split = s->after >= 0 ? (uint64_t)s->after + (s->backwards ? 0 : 1) : s->backwards ? count - 1 : 0;
        s->event = first_wanted(s->levels, &events, wanted, s->backwards ? 0 : split, s->backwards ? split : count, s->backwards);
        if (s->event < 0) s->event = first_wanted(s->levels, &events, wanted, s->backwards ? split : 0, s->backwards ? count : split, s->backwards);
    }
    free(events.list);
    free(wanted);
    return status;
}

// ---- by warp --------------------------------------------------------------------------------------------------------

static int is_in_scope(const iket_levels_scope *scope, uint32_t lane) {
    size_t from = 0, to = scope->lanes.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (scope->lanes.list[middle].to > lane) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from < scope->lanes.count && scope->lanes.list[from].from <= lane;
}

// The event of the class under the warp that starts nearest to `time`, -1: there is none.
static int64_t nearest_in(const iket_levels *levels, uint32_t warp, uint16_t cls, uint64_t time) {
    uint64_t from = levels->lane_first[levels->node_lane[warp]], to = levels->lane_first[levels->node_lane[levels->node_last[warp]]], least = UINT64_MAX;
    int64_t best = -1;
    for (uint64_t i = from; i < to; i++) {
        if (levels->cls[i] != cls) continue;
        uint64_t away = levels->start[i] > time ? levels->start[i] - time : time - levels->start[i];
        if (best >= 0 && away >= least) continue;
        best = (int64_t)i;
        least = away;
    }
    return best;
}

static iket_levels_status by_warp(search *s, iket_error *err) {
    const iket_levels *levels = s->levels;
    IKET_LEVELS_TRY(read_after(s, 0, err));
    uint64_t after = (uint64_t)s->after;
    int32_t node = iket_levels_above(levels, (int32_t)levels->lane_node[iket_levels_lane_of(levels, after)], IKET_LEVELS_WARP);
    while (node >= 0 && s->event < 0) {
        node += s->backwards ? -1 : 1;
        if (node < 0 || (uint32_t)node >= levels->node_count) break;
        uint32_t lane = levels->node_lane[node];
        if (levels->node_kind[node] != IKET_LEVELS_WARP || lane >= levels->lane_count || !is_in_scope(&s->scope, lane)) continue;
        s->event = nearest_in(levels, (uint32_t)node, levels->cls[after], levels->start[after]);
    }
    return IKET_LEVELS_OK;
}

// ---- by node, by point ----------------------------------------------------------------------------------------------

static int is_shown(const iket_levels *levels, uint64_t event) {
    unsigned kind = iket_levels_kind_of(levels, event);
    return kind == IKET_LEVELS_RANGE || kind == IKET_LEVELS_TOKEN || kind == IKET_LEVELS_MARKER;
}

static iket_levels_status by_node(search *s, iket_error *err) {
    const iket_levels *levels = s->levels;
    uint64_t node = 0;
    if (iket_levels_text(s->question, "node") == NULL || levels->node_count == 0) {
        iket_fail(err, "node: a node's number is missing");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    IKET_LEVELS_TRY(iket_levels_whole(s->question, "node", 0, levels->node_count - 1, &node, err));
    for (uint32_t lane = levels->node_lane[node]; lane < levels->node_lane[levels->node_last[node]] && s->event < 0; lane++) {
        uint64_t limit = levels->lane_first[lane + 1], i = iket_levels_search(levels->end, levels->lane_first[lane], limit, iket_levels_at(&s->scope.from));
        while (i < limit && !(is_shown(levels, i) && iket_levels_scope_has(&s->scope, levels->cls[i]))) i++;
        if (i < limit) s->event = (int64_t)i;
    }
    return IKET_LEVELS_OK;
}

static iket_levels_status by_point(search *s, iket_error *err) {
    const iket_levels *levels = s->levels;
    iket_levels_moment point = {0, 0, 0}, reach = {0, 0, 0};
    uint64_t lane = 0;
    if (iket_levels_text(s->question, "lane") == NULL || iket_levels_text(s->question, "time") == NULL || levels->lane_count == 0) {
        iket_fail(err, "lane and time are missing");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    IKET_LEVELS_TRY(iket_levels_whole(s->question, "lane", 0, levels->lane_count - 1, &lane, err));
    IKET_LEVELS_TRY(iket_levels_time(s->question, "time", &point, err));
    IKET_LEVELS_TRY(iket_levels_time(s->question, "near", &reach, err));
    double time = point.value, near = reach.value > 0 ? reach.value : 0, distance = near;
    uint64_t limit = levels->lane_first[lane + 1], i = levels->lane_first[lane];
    i = iket_levels_search(levels->end, i, limit, time - near > 0 ? (uint64_t)ceil(time - near) : 0);
    for (unsigned steps = 0; i < limit && steps <= MOST_STEPS + 1; i++, steps++) {
        double start = (double)levels->start[i], end = (double)levels->end[i];
        if (start > time + near) break;
        if (start <= time && end > time) {
            s->event = (int64_t)i;
            break;
        }
        double away = time < start ? start - time : time - end;
        if (away >= distance) continue;
        s->event = (int64_t)i;
        distance = away;
    }
    return IKET_LEVELS_OK;
}

// ---- the answer -----------------------------------------------------------------------------------------------------

static const struct {
    const char *by;
    iket_levels_status (*find)(search *s, iket_error *err);
    const char *arguments;
    int scoped; // its selectors are those of scope.h
} ways[] = {
    {"order", by_order, "by after direction classes name class time from to " ROWS, 1},
    {"warp", by_warp, "by after direction " ROWS, 1},
    {"node", by_node, "by node from name class", 1},
    {"point", by_point, "by lane time near", 0},
};

iket_levels_status iket_levels_find(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    const char *by = iket_levels_text(question, "by");
    for (size_t i = 0; by != NULL && i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].by, by) != 0) continue;
        search s = {.levels = levels, .question = question, .event = -1};
        iket_levels_status status = iket_levels_check_arguments(question, ways[i].arguments, err);
        if (status == IKET_LEVELS_OK) status = read_direction(&s, err);
        if (status == IKET_LEVELS_OK && ways[i].scoped) status = iket_levels_scope_open(&s.scope, levels, question, err);
        if (status == IKET_LEVELS_OK) status = ways[i].find(&s, err);
        iket_levels_scope_clear(&s.scope);
        if (status == IKET_LEVELS_OK) iket_sink_printf(sink, "{\"version\":1,\"event\":%lld}\n", (long long)s.event);
        return status;
    }
    iket_fail(err, "by: '%.64s' is none of order, warp, node, point", by != NULL ? by : "");
    return IKET_LEVELS_BAD_ARGUMENT;
}
