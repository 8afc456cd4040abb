// SPDX-License-Identifier: Apache-2.0
// events.c: every field of a few events, their neighbours, and what the neighbours are.
//
// A neighbour of the same name may lie in any lane of the warp and far away; the search in a lane ends at the first find, or
// where it passes the best one so far. What remains is bounded by a budget for the whole answer.
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/question.h"

enum { MOST_IDS = 1000, MOST_ARROWS = 200 };
static const uint64_t budget_of_an_answer = 100000000; // classes looked at: about a tenth of a second

typedef struct neighbours {
    int64_t outer, inner, previous, next;
} neighbours;

typedef struct arrow_list {
    uint64_t (*pairs)[2]; // owned
    size_t count, capacity;
} arrow_list;

typedef struct answer {
    const iket_levels *levels;
    uint64_t ids[MOST_IDS];
    neighbours of[MOST_IDS];
    arrow_list arrows[MOST_IDS];
    size_t count;
    uint64_t budget;
    uint64_t *others; // owned: what is told after them
    size_t other_count, other_capacity;
} answer;

// ---- in its lane's neighbours ---------------------------------------------------------------------------------------

// The slice around the event, on its track.
static int64_t outer_of(const iket_levels *levels, uint64_t event, uint32_t lane) {
    if (lane == 0 || levels->lane_node[lane - 1] != levels->lane_node[lane]) return -1;
    uint64_t first = levels->lane_first[lane - 1], at = iket_levels_search(levels->start, first, levels->lane_first[lane], levels->start[event] + 1);
    return at > first && levels->end[at - 1] >= levels->end[event] ? (int64_t)(at - 1) : -1;
}

// The first slice inside it.
static int64_t inner_of(const iket_levels *levels, uint64_t event, uint32_t lane) {
    if (lane + 1 >= levels->lane_count || levels->lane_node[lane + 1] != levels->lane_node[lane]) return -1;
    uint64_t limit = levels->lane_first[lane + 2], at = iket_levels_search(levels->start, levels->lane_first[lane + 1], limit, levels->start[event]);
    return at < limit && levels->end[at] <= levels->end[event] ? (int64_t)at : -1;
}

// ---- of the same name in its warp -----------------------------------------------------------------------------------
// In the order of (start, number): the next one after the event, the last one before it.

// The first event of the lane that comes after `event` in that order; `own` is the lane of the event.
static uint64_t place_in(const iket_levels *levels, uint64_t event, uint32_t lane, uint32_t own) {
    if (lane == own) return event + 1;
    uint64_t least = levels->start[event] + (lane < own ? 1 : 0); // at one time, those of lanes before it come before it
    return iket_levels_search(levels->start, levels->lane_first[lane], levels->lane_first[lane + 1], least);
}

static int64_t next_in(answer *a, uint64_t event, uint64_t from, uint64_t limit, int64_t best) {
    const iket_levels *levels = a->levels;
    uint64_t i = from;
    for (; i < limit && (best < 0 || levels->start[i] < levels->start[best]) && i - from < a->budget; i++) {
        if (levels->cls[i] != levels->cls[event]) continue;
        best = (int64_t)i;
        break;
    }
    a->budget -= i - from;
    return best;
}

static int64_t previous_in(answer *a, uint64_t event, uint64_t first, uint64_t past, int64_t best) {
    const iket_levels *levels = a->levels;
    uint64_t i = past;
    for (; i > first && (best < 0 || levels->start[i - 1] >= levels->start[best]) && past - i < a->budget; i--) {
        if (levels->cls[i - 1] != levels->cls[event]) continue;
        best = (int64_t)(i - 1);
        break;
    }
    a->budget -= past - i;
    return best;
}

static void find_same(answer *a, uint64_t event, uint32_t own, neighbours *found) {
    const iket_levels *levels = a->levels;
    int32_t node = (int32_t)levels->lane_node[own], warp = iket_levels_above(levels, node, IKET_LEVELS_WARP);
    // Slices of launches lie on their own tracks; below them is everything else.
    int alone = warp < 0 && levels->node_kind[node] == IKET_LEVELS_NODE_LAUNCH;
    uint32_t from = levels->node_lane[warp >= 0 ? warp : node], to = levels->node_lane[alone ? node + 1 : levels->node_last[warp >= 0 ? warp : node]];
    for (uint32_t lane = from; lane < to; lane++) {
        uint64_t place = place_in(levels, event, lane, own);
        found->next = next_in(a, event, place, levels->lane_first[lane + 1], found->next);
        found->previous = previous_in(a, event, levels->lane_first[lane], lane == own ? event : place, found->previous);
    }
}

// ---- collecting -----------------------------------------------------------------------------------------------------

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int add_other(answer *a, int64_t event, iket_error *err) {
    if (event < 0) return 0;
    IKET_TRY(IKET_RESERVE(a->others, a->other_count, a->other_capacity, 1, err));
    a->others[a->other_count++] = (uint64_t)event;
    return 0;
}

// Where an event is among the sorted ids, -1.
static int place_of(const answer *a, uint64_t event) {
    const uint64_t *found = bsearch(&event, a->ids, a->count, sizeof a->ids[0], compare_numbers);
    return found == NULL ? -1 : (int)(found - a->ids);
}

static int add_arrow(answer *a, uint64_t end, const uint64_t *pair, iket_error *err) {
    int place = place_of(a, end);
    if (place < 0 || a->arrows[place].count == MOST_ARROWS) return 0;
    arrow_list *list = &a->arrows[place];
    IKET_TRY(IKET_RESERVE(list->pairs, list->count, list->capacity, 1, err));
    memcpy(list->pairs[list->count++], pair, sizeof list->pairs[0]);
    return add_other(a, (int64_t)(end == pair[0] ? pair[1] : pair[0]), err);
}

static int collect(answer *a, iket_error *err) {
    const iket_levels *levels = a->levels;
    for (uint64_t k = 0; k < levels->arrow_count; k++) {
        const uint64_t *pair = &levels->arrow[2 * k];
        if (pair[0] >= levels->event_count || pair[1] >= levels->event_count) continue;
        IKET_TRY(add_arrow(a, pair[0], pair, err));
        IKET_TRY(add_arrow(a, pair[1], pair, err));
    }
    for (size_t i = 0; i < a->count; i++) {
        uint32_t lane = iket_levels_lane_of(levels, a->ids[i]);
        neighbours *of = &a->of[i];
        *of = (neighbours){outer_of(levels, a->ids[i], lane), inner_of(levels, a->ids[i], lane), -1, -1};
        find_same(a, a->ids[i], lane, of);
        IKET_TRY(add_other(a, of->outer, err));
        IKET_TRY(add_other(a, of->inner, err));
        IKET_TRY(add_other(a, of->previous, err));
        IKET_TRY(add_other(a, of->next, err));
    }
    if (a->other_count > 0) qsort(a->others, a->other_count, sizeof *a->others, compare_numbers);
    return 0;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void put_note_time(iket_sink *sink, const iket_levels_note *note) {
    if (note == NULL) {
        iket_sink_text(sink, "null");
        return;
    }
    iket_sink_text(sink, "\"");
    iket_levels_put(sink, note->bits);
    iket_sink_text(sink, "\"");
}

static void put_notes(iket_sink *sink, const iket_levels *levels, uint64_t event) {
    const iket_levels_note *end = iket_levels_note_of(levels, event, IKET_LEVELS_NOTE_END_PAYLOAD);
    const iket_levels_note *began = iket_levels_note_of(levels, event, IKET_LEVELS_NOTE_BEGIN_RECORDED), *ended = iket_levels_note_of(levels, event, IKET_LEVELS_NOTE_END_RECORDED);
    const char *extra = iket_levels_extra(levels, event);
    if (end != NULL) {
        iket_sink_printf(sink, ",\"endPayload\":[%u,\"%llu\"]", end->type, (unsigned long long)end->bits);
    } else {
        iket_sink_text(sink, ",\"endPayload\":null");
    }
    iket_sink_text(sink, ",\"recordedAt\":");
    if (began != NULL || ended != NULL) {
        iket_sink_text(sink, "[");
        put_note_time(sink, began);
        iket_sink_text(sink, ",");
        put_note_time(sink, ended);
        iket_sink_text(sink, "]");
    } else {
        iket_sink_text(sink, "null");
    }
    iket_sink_text(sink, ",\"extra\":");
    iket_sink_text(sink, extra != NULL ? extra : "null");
}

static void put_event(iket_sink *sink, const iket_levels *levels, uint64_t i) {
    iket_sink_printf(sink, "{\"event\":%llu,\"lane\":%u,\"start\":%llu,\"end\":%llu,\"cls\":%u,\"flags\":%u,\"payloadType\":%u,\"payload\":\"", (unsigned long long)i,
                     iket_levels_lane_of(levels, i), (unsigned long long)levels->start[i], (unsigned long long)levels->end[i], levels->cls[i], levels->flags[i],
                     levels->payload_type[i]);
    if (levels->payload_type[i] != IKET_LEVELS_NO_PAYLOAD) iket_levels_put(sink, levels->payload[i]);
    iket_sink_text(sink, "\"");
    put_notes(sink, levels, i);
}

static void put_answer(const answer *a, iket_sink *sink) {
    iket_sink_text(sink, "{\"version\":1,\"events\":[");
    for (size_t i = 0; i < a->count; i++) {
        const neighbours *of = &a->of[i];
        iket_sink_text(sink, i > 0 ? ",\n" : "\n");
        put_event(sink, a->levels, a->ids[i]);
        iket_sink_printf(sink, ",\"outer\":%lld,\"inner\":%lld,\"previous\":%lld,\"next\":%lld,\"arrows\":[", (long long)of->outer, (long long)of->inner,
                         (long long)of->previous, (long long)of->next);
        for (size_t k = 0; k < a->arrows[i].count; k++) {
            const uint64_t *pair = a->arrows[i].pairs[k];
            iket_sink_printf(sink, "%s{\"from\":%llu,\"to\":%llu}", k > 0 ? "," : "", (unsigned long long)pair[0], (unsigned long long)pair[1]);
        }
        iket_sink_text(sink, "]}");
    }
    for (size_t i = 0; i < a->other_count; i++) {
        if ((i > 0 && a->others[i] == a->others[i - 1]) || place_of(a, a->others[i]) >= 0) continue;
        iket_sink_text(sink, ",\n");
        put_event(sink, a->levels, a->others[i]);
        iket_sink_text(sink, "}");
    }
    iket_sink_text(sink, "]}\n");
}

static iket_levels_status read_ids(answer *a, const char *text, iket_error *err) {
    if (text == NULL || a->levels->event_count == 0) {
        iket_fail(err, "ids: the numbers of events are missing");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    IKET_LEVELS_TRY(iket_levels_list(text, "ids", ',', a->levels->event_count, a->ids, MOST_IDS, &a->count, err));
    qsort(a->ids, a->count, sizeof a->ids[0], compare_numbers);
    size_t distinct = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (i == 0 || a->ids[i] != a->ids[distinct - 1]) a->ids[distinct++] = a->ids[i];
    }
    a->count = distinct;
    return IKET_LEVELS_OK;
}

iket_levels_status iket_levels_events(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    answer *a = calloc(1, sizeof *a);
    if (a == NULL) {
        iket_fail(err, "out of memory");
        return IKET_LEVELS_FAILED;
    }
    a->levels = levels;
    a->budget = budget_of_an_answer;
    iket_levels_status status = read_ids(a, iket_levels_text(question, "ids"), err);
    if (status == IKET_LEVELS_OK && collect(a, err) != 0) status = IKET_LEVELS_FAILED;
    if (status == IKET_LEVELS_OK && a->budget == 0) {
        iket_fail(err, "the neighbours of these events are too far away (ask for fewer events at once)");
        status = IKET_LEVELS_TOO_MUCH;
    }
    if (status == IKET_LEVELS_OK) put_answer(a, sink);
    for (size_t i = 0; i < MOST_IDS; i++) free(a->arrows[i].pairs);
    free(a->others);
    free(a);
    return status;
}
