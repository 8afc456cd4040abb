// SPDX-License-Identifier: Apache-2.0
// cursor.c: what of a stream's replay (replay.h) is not done for every record: its start, segments, odd records, tokens;
// and the replay as the model's cursor.
#include <stdlib.h>

#include "common/array.h"
#include "decode/replay.h"

// Of a module's token ranges up to this many open ones are searched one by one; past it a table by decl is kept.
enum { TOKENS_BY_SEARCH = 16 };

// ---- tables ---------------------------------------------------------------------------------------------------------

static uint8_t op_of(unsigned pos) {
    switch (pos) {
    case IKET_POS_MARKER: return IKET_OP_MARKER;
    case IKET_POS_PUSH: return IKET_OP_PUSH;
    case IKET_POS_POP: return IKET_OP_POP;
    default: return IKET_OP_TOKEN_BEGIN;
    }
}

// Sizes of doc/FORMAT.md section 2.
static void size_kind(iket_record_kind *kind, int extended, unsigned payload_size) {
    uint8_t size = payload_size == 8 || (extended && payload_size != 0) ? 16 : extended || payload_size != 0 ? 8 : 4;
    kind->size[IKET_WIDTH_OWN] = size;
    kind->size[IKET_WIDTH_WIDE] = size == 4 ? 8 : size;
    kind->size[IKET_WIDTH_EVEN] = 16;
    kind->payload_at = extended || payload_size == 8 ? 8 : 4;
    kind->mask = payload_size == 8 ? UINT64_MAX : (UINT64_C(1) << (payload_size * 8)) - 1;
}

static uint32_t ids_of(const iket_module *module) {
    if (!module->extended) return IKET_NATIVE_IDS;
    uint32_t last = module->decl_count > 0 ? module->decls[module->decl_count - 1].event_id : 0; // decls are sorted by id
    return (last > IKET_ID_POP ? last : IKET_ID_POP) + 1;
}

static void fill_kinds(iket_record_kind *kinds, uint32_t count, const iket_module *module) {
    for (size_t i = 0; i < module->decl_count; i++) {
        const iket_decl *d = &module->decls[i];
        if (d->event_id >= count) continue; // (a declared id that its method cannot hold)
        iket_record_kind *kind = &kinds[d->event_id];
        *kind = (iket_record_kind){.decl = d, .index = (uint32_t)i, .payload_type = d->payload_type, .op = op_of(d->pos)};
        size_kind(kind, module->extended, iket_payload_size(d->payload_type));
    }
    kinds[IKET_ID_SENTINEL] = (iket_record_kind){.decl = NULL};
    kinds[IKET_ID_POP] = (iket_record_kind){.op = IKET_OP_POP};
    size_kind(&kinds[IKET_ID_POP], module->extended, 0);
}

int iket_replay_prepare(iket_trace *trace, iket_error *err) {
    struct iket_backing *b = trace->backing;
    size_t total = 0, first = 0;
    free(b->tables);
    free(b->kinds);
    b->tables = NULL;
    b->kinds = NULL;
    if (trace->source == IKET_SOURCE_JSON || trace->module_count == 0) return 0;
    for (size_t m = 0; m < trace->module_count; m++) total += ids_of(&trace->modules[m]);
    b->tables = calloc(trace->module_count, sizeof *b->tables);
    b->kinds = calloc(total, sizeof *b->kinds);
    if (b->tables == NULL || b->kinds == NULL) return iket_fail(err, "out of memory (%zu modules)", trace->module_count);
    for (size_t m = 0; m < trace->module_count; m++) {
        b->tables[m] = (iket_record_table){.kinds = b->kinds + first, .count = ids_of(&trace->modules[m])};
        fill_kinds(b->kinds + first, b->tables[m].count, &trace->modules[m]);
        first += b->tables[m].count;
    }
    return 0;
}

// ---- start and end --------------------------------------------------------------------------------------------------

void iket_replay_start(iket_replay *r, const iket_trace *trace, size_t stream) {
    const iket_stream *from = &trace->streams[stream];
    iket_begin *stack = r->stack, *tokens = r->tokens;
    size_t stack_capacity = r->stack_capacity, token_capacity = r->token_capacity;
    free(r->token_slot);
    free(r->first_is_end);
    *r = (iket_replay){.trace = trace, .stream = from, .stack = stack, .stack_capacity = stack_capacity, .tokens = tokens, .token_capacity = token_capacity};
    r->counts.least_start = UINT64_MAX;
    r->module = IKET_UNKNOWN;
    if (trace->source == IKET_SOURCE_JSON) {
        r->stored_events = 1;
        r->module = 0;
        r->stored = trace->backing->events + from->source;
        r->stored_end = r->stored + from->source_count;
    } else {
        r->segment = trace->backing->segments + from->source;
        r->segments_end = r->segment + from->source_count;
    }
}

void iket_replay_free(iket_replay *r) {
    free(r->stack);
    free(r->tokens);
    free(r->token_slot);
    free(r->first_is_end);
    *r = (iket_replay){.at = NULL};
}

// ---- segments -------------------------------------------------------------------------------------------------------

// Bytes from `at` up to the last u32 that is not zero.
static uint64_t bytes_in_use(const uint8_t *at, const uint8_t *limit) {
    while (limit - at >= 4 && iket_load_u32(limit - 4) == 0) limit -= 4;
    return (uint64_t)(limit - at);
}

// The rest of the segment cannot be decoded.
static void give_up(iket_replay *r) {
    int closed = (r->flags & IKET_SEGMENT_CLOSED) != 0;
    r->counts.undecoded_bytes += closed ? (uint64_t)(r->limit - r->at) : bytes_in_use(r->at, r->limit);
    r->at = r->limit;
}

static void open_segment(iket_replay *r) {
    const iket_segment *g = r->segment++;
    r->at = g->records;
    r->limit = g->records + g->size;
    r->flags = g->flags;
    r->reference = g->start & ~UINT64_C(31);
    r->any = 0;
    r->module = g->module;
    if (g->module == IKET_UNKNOWN) {
        give_up(r);
        return;
    }
    r->extended = r->trace->modules[g->module].extended;
    r->width = g->flags & IKET_SEGMENT_EVEN ? IKET_WIDTH_EVEN : g->flags & IKET_SEGMENT_WIDE ? IKET_WIDTH_WIDE : IKET_WIDTH_OWN;
    r->kinds = r->trace->backing->tables[g->module].kinds;
    r->kind_count = r->trace->backing->tables[g->module].count;
    if ((g->flags & IKET_SEGMENT_KEPT_LAST) && iket_replay_begin_kept_last(r, g) != 0) {
        r->out_of_memory = 1;
        r->at = r->limit;
        r->segment = r->segments_end;
    }
}

static void close_segment(iket_replay *r) {
    const iket_segment *g = r->segment - 1;
    r->at = r->limit = NULL;
    free(r->first_is_end);
    r->first_is_end = NULL;
    if (r->flags & IKET_SEGMENT_CLOSING) {
        r->counts.end = iket_replay_resolve(r->any ? r->reference : g->start, (uint32_t)g->end);
        return;
    }
    int has_end = (r->flags & IKET_SEGMENT_CLOSED) && g->end != 0;
    if (has_end && r->any && (r->reference > g->end || g->end - r->reference >= UINT64_C(1) << 32)) r->counts.time_ambiguous++;
    if (has_end) {
        r->counts.end = g->end;
    } else if (r->any || g->end != 0) {
        r->counts.end = r->any && r->reference > g->end ? r->reference : g->end;
    } else {
        r->counts.end = g->start;
    }
}

int iket_replay_next_segment(iket_replay *r) {
    if (r->at != NULL) close_segment(r);
    if (r->segment == r->segments_end) return 0;
    open_segment(r);
    return 1;
}

int iket_replay_odd_record(iket_replay *r, iket_record *record) {
    size_t left = (size_t)(r->limit - r->at), head = r->extended ? 8 : 4;
    if (left < head) {
        give_up(r);
        return 0;
    }
    uint32_t word = iket_load_u32(r->at), id = r->extended ? iket_load_u32(r->at + 4) : word & 31u;
    if (id == IKET_ID_SENTINEL) {
        if (!(r->flags & IKET_SEGMENT_CLOSED) && word == 0) { // (an extended one: both words are zero)
            r->at = r->limit;
            return 0;
        }
        if (r->width != IKET_WIDTH_OWN) head = r->width == IKET_WIDTH_EVEN ? 16 : 8;
        if (left < head) {
            give_up(r);
            return 0;
        }
        r->counts.reserved_records++;
        r->at += head;
        return 0;
    }
    const iket_record_kind *kind = &r->kinds[id < r->kind_count ? id : IKET_ID_SENTINEL];
    size_t size = kind->size[r->width];
    if (size == 0 || left < size) {
        give_up(r);
        return 0;
    }
    uint64_t bits = 0;
    if (kind->mask != 0) bits = kind->mask > UINT32_MAX ? iket_load_u64(r->at + kind->payload_at) : iket_load_u32(r->at + kind->payload_at) & kind->mask;
    r->at += size;
    r->reference = iket_replay_resolve(r->reference, r->extended ? word : word & ~31u);
    r->any = 1;
    *record = (iket_record){.time = r->reference, .bits = bits, .decl = kind->decl, .index = kind->index, .op = kind->op, .payload_type = kind->payload_type};
    return 1;
}

// ---- open ranges ----------------------------------------------------------------------------------------------------

int iket_replay_grow_stack(iket_replay *r, iket_error *err) { return IKET_RESERVE(r->stack, r->depth, r->stack_capacity, 1, err); }

static const iket_module *module_of(const iket_replay *r) { return &r->trace->modules[r->module]; }

// Where the table says where the open token of `decl` stands; NULL for a decl of another module.
static uint32_t *slot_of(iket_replay *r, const iket_decl *decl) {
    const iket_module *module = module_of(r);
    uintptr_t at = (uintptr_t)decl, first = (uintptr_t)module->decls;
    return at >= first && at < first + module->decl_count * sizeof *decl ? &r->token_slot[(at - first) / sizeof *decl] : NULL;
}

// The table is of one module; a stream that goes on in another gets a new one.
static int index_tokens(iket_replay *r, iket_error *err) {
    if (r->token_slot != NULL && r->slot_module == r->module) return 0;
    free(r->token_slot);
    r->token_slot = calloc(module_of(r)->decl_count, sizeof *r->token_slot);
    if (r->token_slot == NULL) return iket_fail(err, "out of memory (%zu token ranges)", module_of(r)->decl_count);
    r->slot_module = r->module;
    for (size_t i = 0; i < r->token_count; i++) {
        uint32_t *slot = slot_of(r, r->tokens[i].decl);
        if (slot != NULL) *slot = (uint32_t)i + 1;
    }
    return 0;
}

size_t iket_replay_find_token(const iket_replay *r, const iket_decl *decl, uint32_t index) {
    if (r->token_slot != NULL && r->slot_module == r->module) return r->token_slot[index];
    for (size_t i = r->token_count; i > 0; i--) {
        if (r->tokens[i - 1].decl == decl) return i;
    }
    return 0;
}

int iket_replay_open_token(iket_replay *r, const iket_begin *begin, iket_error *err) {
    IKET_TRY(IKET_RESERVE(r->tokens, r->token_count, r->token_capacity, 1, err));
    r->tokens[r->token_count++] = *begin;
    if (r->token_count > TOKENS_BY_SEARCH || r->token_slot != NULL) {
        IKET_TRY(index_tokens(r, err));
        *slot_of(r, begin->decl) = (uint32_t)r->token_count;
    }
    return 0;
}

iket_begin iket_replay_close_token(iket_replay *r, size_t found) {
    iket_begin begin = r->tokens[found - 1];
    r->tokens[found - 1] = r->tokens[--r->token_count];
    if (r->token_slot != NULL && r->slot_module == r->module) {
        *slot_of(r, begin.decl) = 0;
        uint32_t *moved = found <= r->token_count ? slot_of(r, r->tokens[found - 1].decl) : NULL;
        if (moved != NULL) *moved = (uint32_t)found;
    } else {
        free(r->token_slot); // the other module's table no longer says where its tokens stand
        r->token_slot = NULL;
    }
    return begin;
}

// ---- the cursor -----------------------------------------------------------------------------------------------------

struct iket_cursor_state {
    iket_replay replay;
};

int iket_cursor_open(iket_cursor *cursor, const iket_trace *trace, size_t stream, iket_error *err) {
    *cursor = (iket_cursor){.trace = trace, .stream = &trace->streams[stream], .state = calloc(1, sizeof *cursor->state)};
    if (cursor->state == NULL) return iket_fail(err, "out of memory (a cursor)");
    iket_replay_start(&cursor->state->replay, trace, stream);
    return 0;
}

int iket_cursor_next(iket_cursor *cursor, iket_event *event, iket_error *err) {
    uint32_t index;
    return iket_replay_next(&cursor->state->replay, event, &index, err);
}

void iket_cursor_close(iket_cursor *cursor) {
    if (cursor->state == NULL) return;
    iket_replay_free(&cursor->state->replay);
    free(cursor->state);
    cursor->state = NULL;
}
