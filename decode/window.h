// SPDX-License-Identifier: Apache-2.0
// window.h: a stream's events with only what lies in a time window, as --time selects it; for the encoders.
//
// Markers outside of the window and ranges that end before it or begin after it are left out, but always with whole
// ranges: what overlaps the window comes with its true times.
//
//     records   B1   B2 E2   B3 |      M    E3     B4 | E4   E1
//     window                   from                  to
//     events                    B1 B3  M    E3     B4   E4   E1      (B2 ended before the window)
#ifndef IKET_DECODE_WINDOW_H
#define IKET_DECODE_WINDOW_H

#include "decode/replay.h"

typedef struct iket_window {
    iket_replay replay;
    uint64_t from, to;
    iket_event *open;   // begins before the window that have not ended, oldest first
    size_t open_count, open_capacity, open_given;
    iket_event ahead;   // the event that was read when the window was reached
    int stage;
} iket_window;

// From 0 to UINT64_MAX: everything. Zero-initialise; a window that was used before keeps its memory.
void iket_window_start(iket_window *window, const iket_trace *trace, size_t stream, uint64_t from, uint64_t to);
void iket_window_free(iket_window *window);

int iket_window_next_selected(iket_window *window, iket_event *event, iket_error *err);

// As iket_cursor_next.
IKET_ALWAYS_INLINE int iket_window_next(iket_window *window, iket_event *event, iket_error *err) {
    uint32_t index;
    if (window->from == 0 && window->to == UINT64_MAX) return iket_replay_next(&window->replay, event, &index, err);
    return iket_window_next_selected(window, event, err);
}

#endif
