// SPDX-License-Identifier: Apache-2.0
// cursor.c: the replay of one stream: records -> times -> markers, begins and ends (format rules 4.2 to 4.4).
//
//     segments (or stored events)      next_record()        iket_cursor_next()
//     [ raw records ][ raw records ] --> record {op,time} --> event {MARKER, BEGIN, END}
//                                                             with the open ranges on `stack` and in `tokens`
//
// One pass, no allocation per event: the two open lists grow to the greatest number of open ranges and stay.
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/model.h"

// Of a module's token ranges up to this many open ones are searched one by one; past it a table by decl is kept.
enum { TOKENS_BY_SEARCH = 16 };

typedef struct record {
    uint64_t time;
    uint64_t bits;
    const iket_decl *decl; // NULL for the reserved pop
    uint8_t op;            // iket_op; IKET_OP_TOKEN_BEGIN of raw records stands for a token of either end
    uint8_t payload_type;
} record;

struct iket_cursor_state {
    const iket_segment *segment, *segments_end; // the one after the current
    const uint8_t *at, *limit;                  // records left in the current segment; NULL: none is open
    const iket_module *module;
    uint32_t flags;                             // of the current segment
    uint64_t reference;                         // time of the previous record
    int any;                                    // the current segment gave a record
    const iket_stored_event *stored, *stored_end;

    iket_begin *stack;
    size_t depth, stack_capacity;
    iket_begin *tokens;
    size_t token_count, token_capacity;
    uint32_t *token_slot;                       // [decl index] of slot_module: index into tokens + 1; NULL: not needed so far
    const iket_module *slot_module;

    int finishing;                              // all records are read, the open ranges are being closed
    uint64_t latest;                            // greatest time so far
    iket_replay_counts counts;
};

int iket_cursor_open(iket_cursor *cursor, const iket_trace *trace, size_t stream, iket_error *err) {
    struct iket_cursor_state *s = calloc(1, sizeof *s);
    *cursor = (iket_cursor){.trace = trace, .stream = &trace->streams[stream], .state = s};
    if (s == NULL) return iket_fail(err, "out of memory (a cursor)");
    const iket_stream *from = cursor->stream;
    if (trace->source == IKET_SOURCE_JSON) {
        s->stored = trace->backing->events + from->source;
        s->stored_end = s->stored + from->source_count;
        s->module = trace->modules;
    } else {
        s->segment = trace->backing->segments + from->source;
        s->segments_end = s->segment + from->source_count;
    }
    s->counts.least_start = UINT64_MAX;
    return 0;
}

void iket_cursor_close(iket_cursor *cursor) {
    if (cursor->state == NULL) return;
    free(cursor->state->stack);
    free(cursor->state->tokens);
    free(cursor->state->token_slot);
    free(cursor->state);
    cursor->state = NULL;
}

const iket_replay_counts *iket_cursor_counts(const iket_cursor *cursor) { return &cursor->state->counts; }

// ---- records --------------------------------------------------------------------------------------------------------

static inline uint32_t load_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// Rule 4.2. Near the ends of the 64-bit range (which no timer reaches) the time stays there instead of turning over.
static inline uint64_t resolve(uint64_t reference, uint32_t ts) {
    uint32_t ahead = ts - (uint32_t)reference;
    if (ahead >= 0xFFF00000u) {
        uint32_t back = 0u - ahead;
        return reference > back ? reference - back : 0;
    }
    return reference > UINT64_MAX - ahead ? UINT64_MAX : reference + ahead;
}

static uint64_t mask_of(unsigned payload_type) {
    unsigned size = iket_payload_size(payload_type);
    return size >= 8 ? UINT64_MAX : (UINT64_C(1) << (size * 8)) - 1;
}

// Bytes from `at` up to the last u32 that is not zero.
static uint64_t bytes_in_use(const uint8_t *at, const uint8_t *limit) {
    while (limit - at >= 4 && load_u32(limit - 4) == 0) limit -= 4;
    return (uint64_t)(limit - at);
}

// The rest of the segment cannot be decoded.
static void give_up(struct iket_cursor_state *s) {
    int closed = (s->flags & IKET_SEGMENT_CLOSED) != 0;
    s->counts.undecoded_bytes += closed ? (uint64_t)(s->limit - s->at) : bytes_in_use(s->at, s->limit);
    s->at = s->limit;
}

static void open_segment(const iket_trace *trace, struct iket_cursor_state *s) {
    const iket_segment *g = s->segment++;
    s->at = g->records;
    s->limit = g->records + g->size;
    s->flags = g->flags;
    s->reference = g->start & ~UINT64_C(31);
    s->any = 0;
    s->module = g->module == IKET_UNKNOWN ? NULL : &trace->modules[g->module];
    if (s->module == NULL) give_up(s);
}

static void close_segment(struct iket_cursor_state *s) {
    const iket_segment *g = s->segment - 1;
    s->at = s->limit = NULL;
    if (s->flags & IKET_SEGMENT_CLOSING) {
        s->counts.end = resolve(s->any ? s->reference : g->start, (uint32_t)g->end);
        return;
    }
    int has_end = (s->flags & IKET_SEGMENT_CLOSED) && g->end != 0;
    if (has_end && s->any && (s->reference > g->end || g->end - s->reference >= UINT64_C(1) << 32)) s->counts.time_ambiguous++;
    if (has_end) {
        s->counts.end = g->end;
    } else if (s->any || g->end != 0) {
        s->counts.end = s->any && s->reference > g->end ? s->reference : g->end;
    } else {
        s->counts.end = g->start;
    }
}

// Reads the record at s->at. 1: *r is a record; 0: nothing came of it (a reserved id, or the segment's end).
static inline int read_record(struct iket_cursor_state *s, record *r) {
    const iket_module *module = s->module;
    size_t left = (size_t)(s->limit - s->at);
    size_t head = module->extended ? 8 : 4;
    if (left < head) {
        give_up(s);
        return 0;
    }
    uint32_t word = load_u32(s->at), id, ts;
    if (module->extended) {
        ts = word;
        id = load_u32(s->at + 4);
    } else {
        ts = word & ~31u;
        id = word & 31u;
        if (s->flags & IKET_SEGMENT_WIDE) head = 8;
    }
    if (id == IKET_ID_SENTINEL) {
        if (!(s->flags & IKET_SEGMENT_CLOSED) && word == 0) { // (an extended one: both words are zero)
            s->at = s->limit;
            return 0;
        }
        if (left < head) {
            give_up(s);
            return 0;
        }
        s->counts.reserved_records++;
        s->at += head;
        return 0;
    }
    size_t size = head;
    unsigned payload_size = 0;
    if (id == IKET_ID_POP) {
        r->decl = NULL;
        r->op = IKET_OP_POP;
        r->payload_type = IKET_PAYLOAD_NONE;
        r->bits = 0;
    } else {
        uint32_t index = id < module->id_limit ? module->decl_of_id[id] : 0;
        if (index == 0) {
            give_up(s);
            return 0;
        }
        r->decl = &module->decls[index - 1];
        r->payload_type = r->decl->payload_type;
        r->op = r->decl->pos == IKET_POS_MARKER ? IKET_OP_MARKER : r->decl->pos == IKET_POS_PUSH ? IKET_OP_PUSH : r->decl->pos == IKET_POS_POP ? IKET_OP_POP : IKET_OP_TOKEN_BEGIN;
        payload_size = iket_payload_size(r->payload_type);
        if (payload_size == 8 || (payload_size != 0 && module->extended)) {
            size = 16;
        } else if (payload_size != 0) {
            size = 8;
        }
    }
    if (left < size) {
        give_up(s);
        return 0;
    }
    if (payload_size == 8) {
        r->bits = load_u64(s->at + 8);
    } else if (payload_size != 0) {
        r->bits = load_u32(s->at + (module->extended ? 8 : 4)) & mask_of(r->payload_type);
    } else {
        r->bits = 0;
    }
    s->at += size;
    s->reference = resolve(s->reference, ts);
    s->any = 1;
    r->time = s->reference;
    return 1;
}

static inline int next_record(const iket_trace *trace, struct iket_cursor_state *s, record *r) {
    for (;;) {
        if (s->at != NULL) {
            while (s->at < s->limit) {
                if (read_record(s, r)) return 1;
            }
            close_segment(s);
        }
        if (s->segment == s->segments_end) return 0;
        open_segment(trace, s);
    }
}

static int next_stored(struct iket_cursor_state *s, record *r) {
    if (s->stored == s->stored_end) return 0;
    const iket_stored_event *e = s->stored++;
    *r = (record){.time = e->time, .bits = e->bits, .decl = &s->module->decls[e->decl], .op = e->op, .payload_type = e->payload_type};
    return 1;
}

// ---- open ranges ----------------------------------------------------------------------------------------------------

static int index_tokens(struct iket_cursor_state *s, iket_error *err) {
    if (s->slot_module != s->module) { // the first time, or the stream goes on in another module: open ones are found by search
        free(s->token_slot);
        s->token_slot = calloc(s->module->decl_count, sizeof *s->token_slot);
        if (s->token_slot == NULL) return iket_fail(err, "out of memory (%zu token ranges)", s->module->decl_count);
        s->slot_module = s->module;
        for (size_t i = 0; i < s->token_count; i++) {
            ptrdiff_t d = s->tokens[i].decl - s->module->decls;
            if (d >= 0 && (size_t)d < s->module->decl_count) s->token_slot[d] = (uint32_t)i + 1;
        }
    }
    return 0;
}

// Index + 1 of the open token range of `decl`, 0: none.
static size_t find_token(const struct iket_cursor_state *s, const iket_decl *decl) {
    if (s->token_slot != NULL && s->slot_module == s->module) return s->token_slot[decl - s->module->decls];
    for (size_t i = s->token_count; i > 0; i--) {
        if (s->tokens[i - 1].decl == decl) return i;
    }
    return 0;
}

static int open_token(struct iket_cursor_state *s, const iket_begin *begin, iket_error *err) {
    IKET_TRY(IKET_RESERVE(s->tokens, s->token_count, s->token_capacity, 1, err));
    s->tokens[s->token_count++] = *begin;
    if (s->token_count > TOKENS_BY_SEARCH || s->token_slot != NULL) {
        IKET_TRY(index_tokens(s, err));
        s->token_slot[begin->decl - s->module->decls] = (uint32_t)s->token_count;
    }
    return 0;
}

static iket_begin close_token(struct iket_cursor_state *s, size_t found) {
    iket_begin begin = s->tokens[found - 1];
    s->tokens[found - 1] = s->tokens[--s->token_count];
    if (s->token_slot != NULL && s->slot_module == s->module) {
        s->token_slot[begin.decl - s->module->decls] = 0;
        if (found <= s->token_count) s->token_slot[s->tokens[found - 1].decl - s->module->decls] = (uint32_t)found;
    }
    return begin;
}

static void end_event(struct iket_cursor_state *s, iket_event *event, const iket_begin *begin, uint64_t time) {
    event->kind = IKET_EVENT_END;
    event->decl = begin->decl;
    event->begin = *begin;
    event->time = time > begin->time ? time : begin->time;
    if (event->time > s->counts.greatest_end) s->counts.greatest_end = event->time;
}

static int begin_event(struct iket_cursor_state *s, const record *r, iket_event *event, iket_error *err) {
    iket_begin begin = {.time = r->time, .payload = {r->bits, r->payload_type}, .decl = r->decl};
    event->kind = IKET_EVENT_BEGIN;
    s->counts.ranges++;
    if (r->op != IKET_OP_PUSH) {
        s->counts.flags |= IKET_STREAM_HAS_TOKENS;
        return open_token(s, &begin, err);
    }
    s->counts.flags |= IKET_STREAM_HAS_STACK;
    event->depth = (uint32_t)s->depth;
    IKET_TRY(IKET_RESERVE(s->stack, s->depth, s->stack_capacity, 1, err));
    s->stack[s->depth++] = begin;
    if (s->depth > s->counts.max_depth) s->counts.max_depth = (uint32_t)s->depth;
    return 0;
}

// Turns a record into an event. 1: *event is filled; 0: the record gives none; -1: out of memory.
static inline int apply(struct iket_cursor_state *s, const record *r, iket_event *event, iket_error *err) {
    event->decl = r->decl;
    event->time = event->recorded = r->time;
    event->payload = (iket_payload){r->bits, r->payload_type};
    event->unclosed = 0;
    event->depth = 0;
    size_t found;
    switch (r->op) {
    case IKET_OP_MARKER:
        event->kind = IKET_EVENT_MARKER;
        s->counts.markers++;
        s->counts.flags |= IKET_STREAM_HAS_MARKERS;
        break;
    case IKET_OP_POP:
        if (s->depth == 0) {
            if (s->counts.unmatched_pops++ == 0) s->counts.first_unmatched_pop = r->time;
            return 0;
        }
        event->depth = (uint32_t)--s->depth;
        end_event(s, event, &s->stack[s->depth], r->time);
        break;
    case IKET_OP_PUSH:
        IKET_TRY(begin_event(s, r, event, err));
        break;
    default:
        found = find_token(s, r->decl);
        if (found != 0) {
            iket_begin begin = close_token(s, found);
            end_event(s, event, &begin, r->time);
        } else {
            IKET_TRY(begin_event(s, r, event, err));
        }
    }
    if (r->time < s->latest) s->counts.flags |= IKET_STREAM_BACKWARDS;
    if (r->time > s->latest) s->latest = r->time;
    if (event->time < s->counts.least_start) s->counts.least_start = event->time;
    if (event->time > s->counts.greatest_end) s->counts.greatest_end = event->time;
    return 1;
}

// The next of the ranges that the stream left open: the stack from its top, then the tokens.
static int finish(struct iket_cursor_state *s, iket_event *event) {
    iket_begin begin;
    event->depth = 0;
    if (s->depth > 0) {
        event->depth = (uint32_t)--s->depth;
        begin = s->stack[s->depth];
    } else if (s->token_count > 0) {
        begin = s->tokens[--s->token_count];
    } else {
        return 0;
    }
    event->payload = (iket_payload){0, IKET_PAYLOAD_NONE};
    event->unclosed = 1;
    event->recorded = s->counts.end;
    end_event(s, event, &begin, s->counts.end);
    s->counts.unclosed_ranges++;
    s->counts.events++;
    return 1;
}

int iket_cursor_next(iket_cursor *cursor, iket_event *event, iket_error *err) {
    struct iket_cursor_state *s = cursor->state;
    int from_json = cursor->trace->source == IKET_SOURCE_JSON;
    record r;
    while (!s->finishing) {
        int got = from_json ? next_stored(s, &r) : next_record(cursor->trace, s, &r);
        if (!got) {
            s->finishing = 1;
            if (from_json) s->counts.end = cursor->stream->end;
            break;
        }
        int made = apply(s, &r, event, err);
        if (made == 0) continue;
        s->counts.events++;
        return made;
    }
    return finish(s, event);
}
