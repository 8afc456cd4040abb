// SPDX-License-Identifier: Apache-2.0
// marks.h: places inside of long streams from which a replay can go on, so that several threads share one stream; private.
//
//     stream     records … … … … … … … … … … … … … … …
//     marks                  ▲          ▲          ▲       the state of a replay, its open ranges included
//     pieces     [──────────][─────────][─────────][───]   each replayed by itself, with the events of one replay of the whole
//
// The scan that every reader ends with (finish.c) leaves a mark each IKET_MARK_EVENTS events. Where more than
// IKET_MARK_OPEN_MAX ranges are open there is none until fewer are, so that marks take no more than a small part of the time
// and the memory that the stream takes.
#ifndef IKET_DECODE_MARKS_H
#define IKET_DECODE_MARKS_H

#include "decode/replay.h"

enum { IKET_MARK_EVENTS = 8192, IKET_MARK_OPEN_MAX = 64 };

typedef struct iket_mark {
    uint32_t stream;
    iket_replay state; // counts.events: the events before it
    void *open;        // owned: what the state's stack, tokens and first_is_end point to
} iket_mark;

typedef struct iket_marks { // by stream, then by events. Zero-initialise
    iket_mark *items;
    size_t count, capacity;
} iket_marks;

// Adds a mark where the replay stands, 0 included: none, for too much is open.
int iket_marks_add(iket_marks *marks, const iket_replay *replay, uint32_t stream, iket_error *err);

// Moves the marks of `more` behind those of `marks`; `more` is empty afterwards.
int iket_marks_move(iket_marks *marks, iket_marks *more, iket_error *err);
void iket_marks_sort(iket_marks *marks);
void iket_marks_free(iket_marks *marks);

// The mark behind `mark` in a stream, as index + 1; `mark` 0: the stream's start. 0: there is none.
size_t iket_marks_next(const iket_marks *marks, uint32_t stream, size_t mark);

// As iket_replay_start, from a mark on.
int iket_replay_resume(iket_replay *replay, const iket_mark *mark, iket_error *err);

#endif
