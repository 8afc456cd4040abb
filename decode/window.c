// SPDX-License-Identifier: Apache-2.0
#include "decode/window.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum { STAGE_BEFORE, STAGE_OPENING, STAGE_INSIDE };

void iket_window_start(iket_window *w, const iket_trace *trace, size_t stream, uint64_t from, uint64_t to) {
    w->from = from;
    w->to = to;
    w->open_count = w->open_given = 0;
    w->stage = w->from == 0 ? STAGE_INSIDE : STAGE_BEFORE;
    iket_replay_start(&w->replay, trace, stream);
}

void iket_window_free(iket_window *window) {
    iket_replay_free(&window->replay);
    free(window->open);
    window->open = NULL;
}

static int next_of_all(iket_window *w, iket_event *event, iket_error *err) {
    uint32_t index;
    return iket_replay_next(&w->replay, event, &index, err);
}

// Forgets the begin of a range that ended before the window.
static void drop_open(iket_window *w, const iket_event *end) {
    for (size_t i = w->open_count; i > 0; i--) {
        if (w->open[i - 1].decl != end->decl || w->open[i - 1].time != end->begin.time || w->open[i - 1].depth != end->depth) continue;
        memmove(&w->open[i - 1], &w->open[i], (w->open_count - i) * sizeof *w->open);
        w->open_count--;
        return;
    }
}

// Reads up to the first event in the window. 0: there is none, and nothing is open.
static int reach(iket_window *w, iket_error *err) {
    int got;
    while ((got = next_of_all(w, &w->ahead, err)) > 0 && w->ahead.time < w->from) {
        if (w->ahead.kind == IKET_EVENT_BEGIN) {
            if (IKET_RESERVE(w->open, w->open_count, w->open_capacity, 1, err) != 0) return -1;
            w->open[w->open_count++] = w->ahead;
        } else if (w->ahead.kind == IKET_EVENT_END) {
            drop_open(w, &w->ahead);
        }
    }
    w->stage = STAGE_OPENING;
    return got;
}

static int outside(const iket_window *w, const iket_event *event) {
    return (event->kind == IKET_EVENT_END ? event->begin.time : event->time) > w->to;
}

int iket_window_next_selected(iket_window *w, iket_event *event, iket_error *err) {
    if (w->stage == STAGE_BEFORE) {
        int got = reach(w, err);
        if (got <= 0) return got;
    }
    if (w->stage == STAGE_OPENING) {
        if (w->open_given < w->open_count) {
            *event = w->open[w->open_given++];
            return 1;
        }
        w->stage = STAGE_INSIDE;
        if (!outside(w, &w->ahead)) {
            *event = w->ahead;
            return 1;
        }
    }
    int got;
    while ((got = next_of_all(w, event, err)) > 0 && outside(w, event)) continue;
    return got;
}
