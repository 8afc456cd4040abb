// SPDX-License-Identifier: Apache-2.0
#include "analyze/columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

// Grows one of the arrays that share a capacity.
static int grow(void **items, size_t count, size_t size, iket_error *err) {
    void *moved = realloc(*items, count * size);
    if (moved == NULL) return iket_fail(err, "out of memory (%zu events)", count);
    *items = moved;
    return 0;
}

#define GROW(array) IKET_TRY(grow((void **)&(array), capacity, sizeof *(array), err))

static int reserve_range(iket_columns *c, iket_error *err) {
    if (c->range_count < c->range_capacity) return 0;
    if (c->range_count >= IKET_UNKNOWN / 2) return iket_fail(err, "more than %u ranges (narrow the selection)", IKET_UNKNOWN / 2);
    size_t capacity = c->range_capacity < 1024 ? 1024 : c->range_capacity * 2;
    GROW(c->start);
    GROW(c->end);
    GROW(c->children);
    GROW(c->bits);
    GROW(c->end_bits);
    GROW(c->name);
    GROW(c->location);
    GROW(c->stream);
    GROW(c->parent);
    GROW(c->depth);
    GROW(c->payload_type);
    GROW(c->end_payload_type);
    GROW(c->flags);
    c->range_capacity = capacity;
    return 0;
}

static int reserve_marker(iket_columns *c, iket_error *err) {
    if (c->marker_count < c->marker_capacity) return 0;
    size_t capacity = c->marker_capacity < 1024 ? 1024 : c->marker_capacity * 2;
    GROW(c->marker_time);
    GROW(c->marker_bits);
    GROW(c->marker_name);
    GROW(c->marker_location);
    GROW(c->marker_type);
    GROW(c->marker_selected);
    c->marker_capacity = capacity;
    return 0;
}

// A range that is open in the replay.
typedef struct open_range {
    uint32_t index;
    const iket_decl *decl;
} open_range;

typedef struct open_list {
    open_range *items;
    size_t count, capacity;
} open_list;

typedef struct builder {
    iket_columns *columns;
    open_list stack, tokens;
} builder;

static int add_marker(iket_columns *c, uint32_t location, const iket_event *event, iket_error *err) {
    IKET_TRY(reserve_marker(c, err));
    size_t i = c->marker_count++;
    c->marker_time[i] = event->time;
    c->marker_bits[i] = event->payload.bits;
    c->marker_type[i] = event->payload.type;
    c->marker_name[i] = event->decl->name;
    c->marker_location[i] = location;
    c->marker_selected[i] = c->selection.markers[event->decl->name] && iket_selection_overlaps(&c->selection, event->time, event->time);
    return 0;
}

static int begin_range(builder *b, uint32_t location, uint32_t stream, const iket_event *event, iket_error *err) {
    iket_columns *c = b->columns;
    int token = event->decl->range_type == IKET_RANGE_TOKEN;
    open_list *list = token ? &b->tokens : &b->stack;
    IKET_TRY(reserve_range(c, err));
    IKET_TRY(IKET_RESERVE(list->items, list->count, list->capacity, 1, err));
    uint32_t i = (uint32_t)c->range_count++;
    c->start[i] = c->end[i] = event->time;
    c->children[i] = 0;
    c->bits[i] = event->payload.bits;
    c->payload_type[i] = event->payload.type;
    c->end_bits[i] = 0;
    c->end_payload_type[i] = IKET_PAYLOAD_NONE;
    c->name[i] = event->decl->name;
    c->location[i] = location;
    c->stream[i] = stream;
    c->parent[i] = !token && list->count > 0 ? list->items[list->count - 1].index : IKET_UNKNOWN;
    c->depth[i] = token ? 0 : (uint32_t)list->count;
    c->flags[i] = token ? IKET_RANGE_IS_TOKEN : 0;
    list->items[list->count++] = (open_range){i, event->decl};
    return 0;
}

static void end_range(builder *b, const iket_event *event) {
    iket_columns *c = b->columns;
    open_list *list = event->decl->range_type == IKET_RANGE_TOKEN ? &b->tokens : &b->stack;
    size_t at = list->count;
    while (at > 0 && list->items[at - 1].decl != event->decl) at--;
    if (at == 0) return; // the cursor gives no end without its begin
    uint32_t i = list->items[at - 1].index;
    memmove(&list->items[at - 1], &list->items[at], (list->count - at) * sizeof *list->items);
    list->count--;
    c->end[i] = event->time;
    c->end_bits[i] = event->payload.bits;
    c->end_payload_type[i] = event->payload.type;
    if (event->unclosed) c->flags[i] |= IKET_RANGE_UNCLOSED;
    if (c->selection.ranges[c->name[i]] && iket_selection_overlaps(&c->selection, c->start[i], c->end[i])) c->flags[i] |= IKET_RANGE_SELECTED;
}

// Once a stream is whole: each stack range's time is a part of its parent's that is not exclusive. Where times run
// backwards a child may reach past its parent; only what lies inside counts.
static void sum_children(iket_columns *c, size_t first) {
    for (size_t i = first; i < c->range_count; i++) {
        uint32_t p = c->parent[i];
        if (p == IKET_UNKNOWN) continue;
        uint64_t start = c->start[i] > c->start[p] ? c->start[i] : c->start[p], end = c->end[i] < c->end[p] ? c->end[i] : c->end[p];
        c->flags[p] |= IKET_RANGE_HAS_CHILD;
        if (end > start && c->children[p] + (end - start) <= c->end[p] - c->start[p]) c->children[p] += end - start;
    }
}

static int replay(builder *b, uint32_t location, uint32_t stream, iket_error *err) {
    iket_columns *c = b->columns;
    iket_cursor cursor;
    iket_event event;
    size_t first = c->range_count;
    int more = 1, result = iket_cursor_open(&cursor, c->trace, stream, err);
    while (result == 0 && (more = iket_cursor_next(&cursor, &event, err)) > 0) {
        switch (event.kind) {
        case IKET_EVENT_MARKER: result = add_marker(c, location, &event, err); break;
        case IKET_EVENT_BEGIN: result = begin_range(b, location, stream, &event, err); break;
        case IKET_EVENT_END: end_range(b, &event); break;
        }
    }
    iket_cursor_close(&cursor);
    sum_children(c, first);
    return more < 0 ? -1 : result;
}

static int build(iket_columns *c, iket_error *err) {
    const iket_trace *trace = c->trace;
    builder b = {.columns = c};
    int result = 0;
    c->first_range = calloc(trace->location_count + 1, sizeof *c->first_range);
    c->first_marker = calloc(trace->location_count + 1, sizeof *c->first_marker);
    if (c->first_range == NULL || c->first_marker == NULL) return iket_fail(err, "out of memory (%zu locations)", trace->location_count);
    for (size_t i = 0; i < trace->location_count && result == 0; i++) {
        const iket_location *l = &trace->locations[i];
        for (uint32_t s = 0; s < l->stream_count && c->selection.locations[i] && result == 0; s++) result = replay(&b, (uint32_t)i, l->first_stream + s, err);
        c->first_range[i + 1] = c->range_count;
        c->first_marker[i + 1] = c->marker_count;
    }
    free(b.stack.items);
    free(b.tokens.items);
    return result;
}

int iket_columns_build(iket_columns *columns, const char *input, const iket_trace *trace, const iket_selector *selector, iket_error *err) {
    *columns = (iket_columns){.input = input, .trace = trace};
    int result = iket_selection_resolve(&columns->selection, selector, trace, err);
    if (result == 0) result = build(columns, err);
    if (result != 0) {
        iket_fail_context(err, "%s", input);
        iket_columns_free(columns);
    }
    return result;
}

void iket_columns_free(iket_columns *c) {
    void *arrays[] = {c->start, c->end, c->children, c->bits, c->end_bits, c->name, c->location, c->stream, c->parent, c->depth, c->payload_type,
                      c->end_payload_type, c->flags, c->marker_time, c->marker_bits, c->marker_name, c->marker_location, c->marker_type, c->marker_selected,
                      c->first_range, c->first_marker};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
    iket_selection_clear(&c->selection);
    *c = (iket_columns){0};
}
