// SPDX-License-Identifier: Apache-2.0
// replay.h: the replay of one stream: records -> times -> markers, begins and ends (format rules 4.2 to 4.4); private.
//
//     segments (or stored events)                             iket_replay_next()
//     [ raw records ][ raw records ] --> record {op,time} --> event {MARKER, BEGIN, END}
//                                                             with the open ranges on `stack` and in `tokens`
//
// One pass, no allocation per event: the two open lists grow to the greatest number of open ranges and stay. What costs
// per record stands here, inlined into each loop over events (cursor.c, the scan of finish.c, the encoders), so that all
// of them share one meaning and none pays for the fields of an event that it does not look at.
#ifndef IKET_DECODE_REPLAY_H
#define IKET_DECODE_REPLAY_H

#include <string.h>

#include "decode/model.h"

// What a record id stands for in a module: a row of its table.
typedef struct iket_record_kind {
    const iket_decl *decl; // NULL for the reserved pop
    uint64_t mask;         // of the payload's bits; 0: it has none
    uint32_t index;        // of decl in the module
    uint8_t size[3];       // bytes of the record, by iket_record_width; 0: no such record (or the reserved id 0)
    uint8_t payload_at;    // offset of the payload
    uint8_t payload_type;
    uint8_t op;            // iket_op; IKET_OP_TOKEN_BEGIN stands for a token of either end
} iket_record_kind;

typedef struct iket_record_table { // of a module
    const iket_record_kind *kinds; // [count], by id
    uint32_t count;
} iket_record_table;

enum { IKET_NATIVE_IDS = 32, IKET_RECORD_MAX = 16 };
enum iket_record_width { IKET_WIDTH_OWN, IKET_WIDTH_WIDE, IKET_WIDTH_EVEN }; // flags 8 and 16 of a chunk

// The tables of all modules into trace->backing->tables. Once the modules are complete; again is allowed.
int iket_replay_prepare(iket_trace *trace, iket_error *err);

typedef struct iket_record {
    uint64_t time, bits;
    const iket_decl *decl;
    uint32_t index;
    uint8_t op, payload_type;
} iket_record;

typedef struct iket_replay {
    const uint8_t *at, *limit;                  // records left in the current segment; at NULL: none is open
    const iket_record_kind *kinds;              // of the segment's module
    uint64_t reference;                         // time of the previous record
    uint32_t flags;                             // of the current segment
    uint8_t extended, any;                      // any: the current segment gave a record
    uint8_t width;                              // iket_record_width of the current segment
    uint8_t stored_events, finishing;           // finishing: all records are read, the open ranges are being closed
    uint8_t out_of_memory;
    uint32_t kind_count;                        // of kinds
    uint32_t module;                            // index of the current one
    iket_begin *stack;
    size_t depth, stack_capacity;
    uint64_t latest;                            // greatest time so far
    iket_replay_counts counts;

    const iket_trace *trace;
    const iket_stream *stream;
    const iket_segment *segment, *segments_end; // the one after the current
    const iket_stored_event *stored, *stored_end;
    iket_begin *tokens;
    size_t token_count, token_capacity;
    uint8_t *first_is_end;                      // [decl] of a segment that kept the last events: kept_last.c; NULL: none
    uint32_t *token_slot;                       // [decl index] of slot_module: index into tokens + 1; NULL: not needed so far
    uint32_t slot_module;
} iket_replay;

// Starts a replay; one that was used before keeps its memory. Zero-initialise.
void iket_replay_start(iket_replay *replay, const iket_trace *trace, size_t stream);
void iket_replay_free(iket_replay *replay);

// Fetches the first records of a stream that is replayed a little later: those of small warps lie far apart. Any `stream`.
enum { IKET_FETCH_STREAMS = 8 };
IKET_ALWAYS_INLINE void iket_replay_fetch(const iket_trace *trace, size_t stream) {
    if (trace->source == IKET_SOURCE_JSON || stream >= trace->stream_count || trace->streams[stream].source_count == 0) return;
    __builtin_prefetch(trace->backing->segments[trace->streams[stream].source].records);
}

// ---- what is rare ---------------------------------------------------------------------------------------------------

// The record at `at` where the table does not answer at once: near the segment's end, a reserved or unknown id.
// 1: *record is one; 0: nothing came of it.
int iket_replay_odd_record(iket_replay *r, iket_record *record);

// The current segment is read to its end (or none was begun): goes to the next. 0: there is none.
int iket_replay_next_segment(iket_replay *r);

int iket_replay_open_token(iket_replay *r, const iket_begin *begin, iket_error *err);
size_t iket_replay_find_token(const iket_replay *r, const iket_decl *decl, uint32_t index); // index + 1 in tokens, 0: none
iket_begin iket_replay_close_token(iket_replay *r, size_t found);
int iket_replay_grow_stack(iket_replay *r, iket_error *err);

// A segment that kept the last events is begun: finds the time before its first record and the tokens that begin with an end.
int iket_replay_begin_kept_last(iket_replay *r, const iket_segment *segment);

// Whether a record of a token that is not open ends a range whose begin was overwritten. `found`: it is open.
int iket_replay_ends_overwritten(iket_replay *r, uint32_t index, size_t found);

// ---- per record -----------------------------------------------------------------------------------------------------

IKET_ALWAYS_INLINE uint32_t iket_load_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

IKET_ALWAYS_INLINE uint64_t iket_load_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// Rule 4.2. Near the ends of the 64-bit range (which no timer reaches) the time stays there instead of turning over.
IKET_ALWAYS_INLINE uint64_t iket_replay_resolve(uint64_t reference, uint32_t ts) {
    uint32_t ahead = ts - (uint32_t)reference;
    if (__builtin_expect(ahead >= 0xFFF00000u, 0)) {
        uint32_t back = 0u - ahead;
        return reference > back ? reference - back : 0;
    }
    return __builtin_expect(reference > UINT64_MAX - ahead, 0) ? UINT64_MAX : reference + ahead;
}

IKET_ALWAYS_INLINE int iket_replay_raw_record(iket_replay *r, iket_record *record) {
    for (;;) {
        if (__builtin_expect(r->limit - r->at >= IKET_RECORD_MAX, 1)) {
            uint32_t ts = iket_load_u32(r->at), id;
            if (r->extended) {
                id = iket_load_u32(r->at + 4);
            } else {
                id = ts & 31u;
                ts &= ~31u;
            }
            const iket_record_kind *kind = &r->kinds[id < r->kind_count ? id : IKET_ID_SENTINEL];
            size_t size = kind->size[r->width];
            if (__builtin_expect(size != 0, 1)) {
                record->bits = iket_load_u64(r->at + kind->payload_at) & kind->mask;
                record->decl = kind->decl;
                record->index = kind->index;
                record->op = kind->op;
                record->payload_type = kind->payload_type;
                record->time = r->reference = iket_replay_resolve(r->reference, ts);
                r->at += size;
                r->any = 1;
                return 1;
            }
        }
        if (r->at < r->limit) {
            if (iket_replay_odd_record(r, record)) return 1;
        } else if (!iket_replay_next_segment(r)) {
            return 0;
        }
    }
}

IKET_ALWAYS_INLINE int iket_replay_stored_record(iket_replay *r, iket_record *record) {
    if (r->stored == r->stored_end) return 0;
    const iket_stored_event *e = r->stored++;
    *record = (iket_record){.time = e->time, .bits = e->bits, .decl = &r->trace->modules[0].decls[e->decl], .index = e->decl, .op = e->op, .payload_type = e->payload_type};
    return 1;
}

// ---- per event ------------------------------------------------------------------------------------------------------

IKET_ALWAYS_INLINE void iket_replay_end_event(iket_replay *r, iket_event *event, const iket_begin *begin, uint64_t time) {
    event->kind = IKET_EVENT_END;
    event->decl = begin->decl;
    event->begin = *begin;
    event->time = time > begin->time ? time : begin->time;
    if (event->time > r->counts.greatest_end) r->counts.greatest_end = event->time;
}

IKET_ALWAYS_INLINE int iket_replay_begin_event(iket_replay *r, const iket_record *record, iket_event *event, iket_error *err) {
    iket_begin begin = {.time = record->time, .payload = {record->bits, record->payload_type}, .decl = record->decl};
    event->kind = IKET_EVENT_BEGIN;
    event->ordinal = (uint32_t)r->counts.ranges++;
    if (record->op != IKET_OP_PUSH) {
        r->counts.flags |= IKET_STREAM_HAS_TOKENS;
        return iket_replay_open_token(r, &begin, err);
    }
    r->counts.flags |= IKET_STREAM_HAS_STACK;
    event->depth = (uint32_t)r->depth;
    if (__builtin_expect(r->depth == r->stack_capacity, 0)) IKET_TRY(iket_replay_grow_stack(r, err));
    r->stack[r->depth++] = begin;
    if (r->depth > r->counts.max_depth) r->counts.max_depth = (uint32_t)r->depth;
    return 0;
}

// Turns a record into an event. 1: *event is filled; 0: the record gives none; -1: out of memory.
IKET_ALWAYS_INLINE int iket_replay_apply(iket_replay *r, const iket_record *record, iket_event *event, iket_error *err) {
    event->decl = record->decl;
    event->time = event->recorded = record->time;
    event->payload = (iket_payload){record->bits, record->payload_type};
    event->unclosed = 0;
    event->depth = 0;
    if (record->op == IKET_OP_MARKER) {
        event->kind = IKET_EVENT_MARKER;
        r->counts.markers++;
        r->counts.flags |= IKET_STREAM_HAS_MARKERS;
    } else if (record->op == IKET_OP_POP) {
        if (__builtin_expect(r->depth == 0, 0)) {
            if (r->flags & IKET_SEGMENT_KEPT_LAST) {
                r->counts.overwritten_begins++;
            } else if (r->counts.unmatched_pops++ == 0) {
                r->counts.first_unmatched_pop = record->time;
            }
            return 0;
        }
        event->depth = (uint32_t)--r->depth;
        iket_replay_end_event(r, event, &r->stack[r->depth], record->time);
    } else if (record->op == IKET_OP_PUSH) {
        IKET_TRY(iket_replay_begin_event(r, record, event, err));
    } else {
        size_t found = iket_replay_find_token(r, record->decl, record->index);
        if (__builtin_expect(r->first_is_end != NULL, 0) && iket_replay_ends_overwritten(r, record->index, found)) return 0;
        if (found != 0) {
            iket_begin begin = iket_replay_close_token(r, found);
            iket_replay_end_event(r, event, &begin, record->time);
        } else {
            IKET_TRY(iket_replay_begin_event(r, record, event, err));
        }
    }
    if (record->time < r->latest) r->counts.flags |= IKET_STREAM_BACKWARDS;
    if (record->time > r->latest) r->latest = record->time;
    if (event->time < r->counts.least_start) r->counts.least_start = event->time;
    if (event->time > r->counts.greatest_end) r->counts.greatest_end = event->time;
    return 1;
}

// The next of the ranges that the stream left open: the stack from its top, then the tokens.
IKET_ALWAYS_INLINE int iket_replay_finish(iket_replay *r, iket_event *event) {
    iket_begin begin;
    event->depth = 0;
    if (r->depth > 0) {
        event->depth = (uint32_t)--r->depth;
        begin = r->stack[r->depth];
    } else if (r->token_count > 0) {
        begin = r->tokens[--r->token_count];
    } else {
        return 0;
    }
    event->payload = (iket_payload){0, IKET_PAYLOAD_NONE};
    event->unclosed = 1;
    event->recorded = r->counts.end;
    iket_replay_end_event(r, event, &begin, r->counts.end);
    r->counts.unclosed_ranges++;
    r->counts.events++;
    return 1;
}

// 1: *event was filled; 0: the end; -1: out of memory. *index is that of event->decl in its module, for a marker or begin.
IKET_ALWAYS_INLINE int iket_replay_next(iket_replay *r, iket_event *event, uint32_t *index, iket_error *err) {
    iket_record record;
    while (!r->finishing) {
        if (!(r->stored_events ? iket_replay_stored_record(r, &record) : iket_replay_raw_record(r, &record))) {
            if (r->out_of_memory) {
                iket_fail(err, "out of memory (token ranges)");
                return -1;
            }
            r->finishing = 1;
            if (r->stored_events) r->counts.end = r->stream->end;
            break;
        }
        int made = iket_replay_apply(r, &record, event, err);
        if (made == 0) continue;
        *index = record.index;
        r->counts.events++;
        return made;
    }
    return iket_replay_finish(r, event);
}

#endif
