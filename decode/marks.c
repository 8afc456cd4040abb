// SPDX-License-Identifier: Apache-2.0
#include "decode/marks.h"

#include <stdlib.h>

#include "common/array.h"

// Bytes of first_is_end, one a declaration.
static size_t seen_bytes(const iket_replay *r) { return r->first_is_end != NULL ? r->trace->modules[r->module].decl_count : 0; }

static void *copy(uint8_t **at, const void *from, size_t size) {
    void *to = *at;
    if (size > 0) memcpy(to, from, size);
    *at += size;
    return to;
}

int iket_marks_add(iket_marks *marks, const iket_replay *r, uint32_t stream, iket_error *err) {
    if (r->depth + r->token_count > IKET_MARK_OPEN_MAX) return 0;
    size_t seen = seen_bytes(r);
    IKET_TRY(IKET_RESERVE(marks->items, marks->count, marks->capacity, 1, err));
    uint8_t *open = malloc((r->depth + r->token_count) * sizeof *r->stack + seen + 1), *at = open;
    if (open == NULL) return iket_fail(err, "out of memory (a long stream)");
    iket_mark *mark = &marks->items[marks->count++];
    *mark = (iket_mark){.stream = stream, .state = *r, .open = open};
    mark->state.stack = copy(&at, r->stack, r->depth * sizeof *r->stack);
    mark->state.tokens = copy(&at, r->tokens, r->token_count * sizeof *r->tokens);
    mark->state.first_is_end = seen > 0 ? copy(&at, r->first_is_end, seen) : NULL;
    mark->state.token_slot = NULL; // made again where it is needed
    return 0;
}

int iket_replay_resume(iket_replay *r, const iket_mark *mark, iket_error *err) {
    const iket_replay *from = &mark->state;
    iket_replay_start(r, from->trace, mark->stream);
    iket_begin *stack = r->stack, *tokens = r->tokens;
    size_t stack_capacity = r->stack_capacity, token_capacity = r->token_capacity;
    int result = IKET_RESERVE(stack, 0, stack_capacity, from->depth, err);
    if (result == 0) result = IKET_RESERVE(tokens, 0, token_capacity, from->token_count, err);
    size_t seen = seen_bytes(from);
    uint8_t *first_is_end = NULL;
    if (result == 0 && from->first_is_end != NULL && (first_is_end = malloc(seen + 1)) == NULL) result = iket_fail(err, "out of memory (token ranges)");
    if (result == 0) *r = *from;
    r->stack = stack;
    r->tokens = tokens;
    r->stack_capacity = stack_capacity;
    r->token_capacity = token_capacity;
    if (result != 0) {
        free(first_is_end);
        return -1;
    }
    if (from->depth > 0) memcpy(stack, from->stack, from->depth * sizeof *stack);
    if (from->token_count > 0) memcpy(tokens, from->tokens, from->token_count * sizeof *tokens);
    if (first_is_end != NULL) memcpy(first_is_end, from->first_is_end, seen);
    r->first_is_end = first_is_end;
    return 0;
}

int iket_marks_move(iket_marks *marks, iket_marks *more, iket_error *err) {
    if (more->count == 0) return 0;
    IKET_TRY(IKET_RESERVE(marks->items, marks->count, marks->capacity, more->count, err));
    memcpy(marks->items + marks->count, more->items, more->count * sizeof *more->items);
    marks->count += more->count;
    free(more->items);
    *more = (iket_marks){.count = 0};
    return 0;
}

static int by_place(const void *x, const void *y) {
    const iket_mark *a = x, *b = y;
    if (a->stream != b->stream) return a->stream < b->stream ? -1 : 1;
    return a->state.counts.events < b->state.counts.events ? -1 : a->state.counts.events > b->state.counts.events;
}

void iket_marks_sort(iket_marks *marks) {
    for (size_t i = 1; i < marks->count; i++) {
        if (by_place(&marks->items[i - 1], &marks->items[i]) <= 0) continue;
        qsort(marks->items, marks->count, sizeof *marks->items, by_place);
        return;
    }
}

void iket_marks_free(iket_marks *marks) {
    for (size_t i = 0; i < marks->count; i++) free(marks->items[i].open);
    free(marks->items);
    *marks = (iket_marks){.count = 0};
}

size_t iket_marks_next(const iket_marks *marks, uint32_t stream, size_t mark) {
    size_t first = mark, end = mark > 0 ? mark : marks->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (marks->items[middle].stream < stream) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < marks->count && marks->items[first].stream == stream ? first + 1 : 0;
}
