// SPDX-License-Identifier: Apache-2.0
#include "decode/window.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum { STAGE_BEFORE, STAGE_OPENING, STAGE_INSIDE };

int iket_window_open(iket_window *window, const iket_trace *trace, size_t stream, uint64_t from, uint64_t to, iket_error *err) {
    *window = (iket_window){.from = from, .to = to, .stage = from == 0 ? STAGE_INSIDE : STAGE_BEFORE};
    return iket_cursor_open(&window->cursor, trace, stream, err);
}

void iket_window_close(iket_window *window) {
    iket_cursor_close(&window->cursor);
    free(window->open);
    window->open = NULL;
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
    while ((got = iket_cursor_next(&w->cursor, &w->ahead, err)) > 0 && w->ahead.time < w->from) {
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

int iket_window_next(iket_window *w, iket_event *event, iket_error *err) {
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
    while ((got = iket_cursor_next(&w->cursor, event, err)) > 0 && outside(w, event)) continue;
    return got;
}
