// SPDX-License-Identifier: Apache-2.0
// window.h: a stream's replay narrowed to a time, with whole ranges: what overlaps the window comes with its true times.
//
//     records   B1   B2 E2   B3 |      M    E3     B4 | E4   E1
//     window                   from                  to
//     events                    B1 B3  M    E3     B4   E4   E1      (B2 ended before the window)
#ifndef IKET_DECODE_WINDOW_H
#define IKET_DECODE_WINDOW_H

#include "decode/include/iket/select.h"
#include "decode/include/iket/trace.h"

typedef struct iket_window {
    iket_cursor cursor;
    uint64_t from, to;
    iket_event *open;   // begins before the window that have not ended, oldest first
    size_t open_count, open_capacity, open_given;
    iket_event ahead;   // the event that was read when the window was reached
    int stage;
} iket_window;

IKET_MUST_CHECK int iket_window_open(iket_window *window, const iket_trace *trace, size_t stream, uint64_t from, uint64_t to, iket_error *err);
int iket_window_next(iket_window *window, iket_event *event, iket_error *err); // as iket_cursor_next
void iket_window_close(iket_window *window);

#endif
