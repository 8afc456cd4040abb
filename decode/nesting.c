// SPDX-License-Identifier: Apache-2.0
#include "decode/nesting.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum { MOST_STREAMS = 256 }; // of one warp; a warp has 32 lanes

typedef struct events {
    iket_stored_event *items;
    size_t count, capacity;
} events;

// A range that is open on a stream's stack.
typedef struct open_range {
    uint64_t end;
    uint64_t bits;
    uint32_t decl;
    uint8_t payload_type, unclosed;
} open_range;

// A token range's begin or end. At one time, ends of ranges that began earlier come first, then the rest as it came.
typedef struct edge {
    iket_stored_event event;
    uint64_t order;
    uint8_t late;
} edge;

typedef struct lane {
    events stack;
    open_range *open;
    size_t depth, open_capacity;
    edge *edges;
    size_t edge_count, edge_capacity;
    uint64_t *token_end; // [decl_count]: by the name's first decl, end of the last token range + 1; 0: none. NULL: no token yet
    int has_unclosed;
    uint64_t unclosed_end; // the stream's end
} lane;

struct iket_nesting {
    lane *lanes;
    size_t lane_count, lane_capacity; // lane_count: in use for this warp
    size_t lanes_made;
    uint32_t *token_of;               // [decl_count]: the first decl of the same name, filled when first met
    size_t decl_count;
};

struct iket_nesting *iket_nesting_new(size_t decl_count, iket_error *err) {
    struct iket_nesting *n = calloc(1, sizeof *n);
    if (n == NULL) {
        iket_fail(err, "out of memory");
        return NULL;
    }
    n->decl_count = decl_count;
    return n;
}

void iket_nesting_free(struct iket_nesting *n) {
    if (n == NULL) return;
    for (size_t i = 0; i < n->lanes_made; i++) {
        free(n->lanes[i].stack.items);
        free(n->lanes[i].open);
        free(n->lanes[i].edges);
        free(n->lanes[i].token_end);
    }
    free(n->lanes);
    free(n->token_of);
    free(n);
}

static lane *add_lane(struct iket_nesting *n, iket_error *err) {
    if (n->lane_count == n->lanes_made) {
        if (IKET_RESERVE(n->lanes, n->lanes_made, n->lane_capacity, 1, err) != 0) return NULL;
        n->lanes[n->lanes_made++] = (lane){0};
    }
    lane *l = &n->lanes[n->lane_count++];
    l->stack.count = l->depth = l->edge_count = 0;
    l->has_unclosed = 0;
    l->unclosed_end = 0;
    if (l->token_end != NULL) memset(l->token_end, 0, n->decl_count * sizeof *l->token_end);
    return l;
}

static int put(events *list, iket_stored_event event, iket_error *err) {
    IKET_TRY(IKET_RESERVE(list->items, list->count, list->capacity, 1, err));
    list->items[list->count++] = event;
    return 0;
}

// Pops what ends at or before `time`.
static int pop_until(lane *l, uint64_t time, iket_error *err) {
    while (l->depth > 0) {
        const open_range *top = &l->open[l->depth - 1];
        if (top->unclosed || top->end > time) return 0;
        IKET_TRY(put(&l->stack, (iket_stored_event){.time = top->end, .bits = top->bits, .decl = top->decl, .op = IKET_OP_POP, .payload_type = top->payload_type}, err));
        l->depth--;
    }
    return 0;
}

// Whether a range nests in what is open. All unclosed ranges of a stream end with it, at one time.
static int fits(const lane *l, const iket_interval *r) {
    const open_range *top = l->depth > 0 ? &l->open[l->depth - 1] : NULL;
    if (top != NULL && r->end > top->end) return 0;
    if (!r->unclosed) return 1;
    return (top == NULL || top->unclosed) && (!l->has_unclosed || l->unclosed_end == r->end);
}

static void keep_end(lane *l, const iket_interval *r) {
    if (!r->unclosed) return;
    l->has_unclosed = 1;
    l->unclosed_end = r->end;
}

static int push(lane *l, const iket_interval *r, iket_error *err) {
    IKET_TRY(put(&l->stack, (iket_stored_event){.time = r->start, .bits = r->bits, .decl = r->decl, .op = IKET_OP_PUSH, .payload_type = r->payload_type}, err));
    IKET_TRY(IKET_RESERVE(l->open, l->depth, l->open_capacity, 1, err));
    l->open[l->depth++] = (open_range){.end = r->end, .bits = r->end_bits, .decl = r->decl, .payload_type = r->end_payload_type, .unclosed = r->unclosed};
    keep_end(l, r);
    return 0;
}

// The lane that the range goes to; *l is NULL where there are too many.
static int choose_stack_lane(struct iket_nesting *n, const iket_interval *r, lane **l, iket_error *err) {
    *l = NULL;
    for (size_t i = 0; i < n->lane_count; i++) {
        IKET_TRY(pop_until(&n->lanes[i], r->start, err));
        if (*l == NULL && fits(&n->lanes[i], r)) *l = &n->lanes[i];
    }
    if (*l != NULL || n->lane_count == MOST_STREAMS) return 0;
    *l = add_lane(n, err);
    return *l == NULL ? -1 : 0;
}

static int index_tokens(struct iket_nesting *n, const iket_trace *trace, iket_error *err) {
    const iket_module *module = &trace->modules[0];
    uint32_t *first_of_name = calloc(trace->string_count + 1, sizeof *first_of_name);
    n->token_of = calloc(n->decl_count + 1, sizeof *n->token_of);
    if (first_of_name == NULL || n->token_of == NULL) {
        free(first_of_name);
        return iket_fail(err, "out of memory (%zu names)", trace->string_count);
    }
    for (size_t i = 0; i < n->decl_count; i++) {
        if (module->decls[i].range_type != IKET_RANGE_TOKEN) continue;
        uint32_t *first = &first_of_name[module->decls[i].name];
        if (*first == 0) *first = (uint32_t)i + 1;
        n->token_of[i] = *first - 1;
    }
    free(first_of_name);
    return 0;
}

static int choose_token_lane(struct iket_nesting *n, const iket_interval *r, uint32_t token, lane **l, iket_error *err) {
    *l = NULL;
    for (size_t i = 0; i < n->lane_count && *l == NULL; i++) {
        lane *one = &n->lanes[i];
        uint64_t last = one->token_end != NULL ? one->token_end[token] : 0;
        if ((last == 0 || last - 1 <= r->start) && (!r->unclosed || !one->has_unclosed || one->unclosed_end == r->end)) *l = one;
    }
    if (*l == NULL && n->lane_count < MOST_STREAMS && (*l = add_lane(n, err)) == NULL) return -1;
    if (*l != NULL && (*l)->token_end == NULL) {
        (*l)->token_end = calloc(n->decl_count, sizeof *(*l)->token_end);
        if ((*l)->token_end == NULL) return iket_fail(err, "out of memory (%zu token ranges)", n->decl_count);
    }
    return 0;
}

static int add_token(const iket_interval *r, lane *l, uint32_t token, iket_error *err) {
    IKET_TRY(IKET_RESERVE(l->edges, l->edge_count, l->edge_capacity, 2, err));
    iket_stored_event begin = {.time = r->start, .bits = r->bits, .decl = r->decl, .op = IKET_OP_TOKEN_BEGIN, .payload_type = r->payload_type};
    iket_stored_event end = {.time = r->end, .bits = r->end_bits, .decl = r->decl, .op = IKET_OP_TOKEN_END, .payload_type = r->end_payload_type};
    l->edges[l->edge_count] = (edge){.event = begin, .order = l->edge_count, .late = 1};
    l->edge_count++;
    if (!r->unclosed) {
        l->edges[l->edge_count] = (edge){.event = end, .order = l->edge_count, .late = r->end == r->start};
        l->edge_count++;
    }
    // Nothing follows one that is open to the end.
    l->token_end[token] = r->unclosed || r->end == UINT64_MAX ? UINT64_MAX : r->end + 1;
    keep_end(l, r);
    return 0;
}

static int too_many(iket_trace *trace, uint32_t location, iket_error *err) {
    const iket_location *at = &trace->locations[location];
    return iket_model_note(trace, err, "ranges were left out: more than 256 overlap without nesting on warp %u of CTA (%u, %u, %u)", at->warp, at->cta[0], at->cta[1], at->cta[2]);
}

static int add_range(struct iket_nesting *n, iket_trace *trace, uint32_t location, const iket_interval *r, iket_error *err) {
    lane *l;
    size_t lanes = n->lane_count;
    if (r->kind == IKET_INTERVAL_STACK) {
        IKET_TRY(choose_stack_lane(n, r, &l, err));
        if (l == NULL) return too_many(trace, location, err);
        IKET_TRY(push(l, r, err));
    } else {
        if (n->token_of == NULL) IKET_TRY(index_tokens(n, trace, err));
        uint32_t token = n->token_of[r->decl];
        IKET_TRY(choose_token_lane(n, r, token, &l, err));
        if (l == NULL) return too_many(trace, location, err);
        IKET_TRY(add_token(r, l, token, err));
    }
    if (n->lane_count == lanes || lanes == 0) return 0;
    const iket_location *at = &trace->locations[location];
    return iket_model_note(trace, err, "ranges that overlap without nesting on warp %u of CTA (%u, %u, %u) at %llu ns (they are kept apart, as if of another lane)", at->warp,
                           at->cta[0], at->cta[1], at->cta[2], (unsigned long long)r->start);
}

// ---- order ------------------------------------------------------------------------------------------------------------

// Markers first, then ranges by start, longer ones first.
static int interval_order(const iket_interval *a, const iket_interval *b) {
    int marker_a = a->kind == IKET_INTERVAL_MARKER, marker_b = b->kind == IKET_INTERVAL_MARKER;
    if (marker_a != marker_b) return marker_a ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return 0;
}

// A stable merge sort: qsort promises no order of equals.
static int sort_intervals(iket_interval *items, size_t count, iket_error *err) {
    size_t sorted = 1;
    while (sorted < count && interval_order(&items[sorted - 1], &items[sorted]) <= 0) sorted++;
    if (sorted >= count) return 0;
    iket_interval *other = malloc(count * sizeof *other);
    if (other == NULL) return iket_fail(err, "out of memory (%zu events)", count);
    iket_interval *from = items, *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t middle = at + width < count ? at + width : count, end = at + 2 * width < count ? at + 2 * width : count;
            size_t a = at, b = middle, k = at;
            while (a < middle && b < end) to[k++] = interval_order(&from[a], &from[b]) <= 0 ? from[a++] : from[b++];
            while (a < middle) to[k++] = from[a++];
            while (b < end) to[k++] = from[b++];
        }
        iket_interval *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, count * sizeof *items);
    free(other);
    return 0;
}

// Of ranges with the same times the later in the file is the outer one: a writer knows a range when it closes. Those
// without length stay as they came: they follow each other.
static void outer_first(iket_interval *ranges, size_t count) {
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && interval_order(&ranges[first], &ranges[end]) == 0;) end++;
        if (ranges[first].start == ranges[first].end) continue;
        for (size_t a = first, b = end - 1; a < b; a++, b--) {
            iket_interval swap = ranges[a];
            ranges[a] = ranges[b];
            ranges[b] = swap;
        }
    }
}

static int edge_order(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->event.time != y->event.time) return x->event.time < y->event.time ? -1 : 1;
    if (x->late != y->late) return x->late < y->late ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

// At one time: pops, token ends, pushes, token begins, markers.
static int rank_of(uint8_t op) {
    static const int ranks[] = {[IKET_OP_POP] = 0, [IKET_OP_TOKEN_END] = 1, [IKET_OP_PUSH] = 2, [IKET_OP_TOKEN_BEGIN] = 3, [IKET_OP_MARKER] = 4};
    return ranks[op];
}

static int before(const iket_stored_event *a, const iket_stored_event *b) {
    if (a->time != b->time) return a->time < b->time;
    return rank_of(a->op) < rank_of(b->op);
}

// The three sequences of a stream on their way into one.
typedef struct merge {
    const iket_stored_event *stack, *stack_end;
    const iket_stored_event *next_push; // the first push at or behind `stack`
    const edge *edges, *edges_end;
    const iket_interval *markers, *markers_end;
} merge;

// A marker at the time of a pop was most likely made inside the range that ends, unless another range begins then.
static int marker_first(merge *m, const iket_stored_event *marker, const iket_stored_event *other) {
    if (other->op != IKET_OP_POP || other->time != marker->time) return before(marker, other);
    if (m->next_push < m->stack) m->next_push = m->stack;
    while (m->next_push < m->stack_end && m->next_push->op != IKET_OP_PUSH) m->next_push++;
    return m->next_push == m->stack_end || m->next_push->time != marker->time;
}

static iket_stored_event next_event(merge *m) {
    const iket_stored_event *best = m->stack < m->stack_end ? m->stack : NULL;
    int from_edges = m->edges < m->edges_end && (best == NULL || before(&m->edges->event, best));
    if (from_edges) best = &m->edges->event;
    if (m->markers < m->markers_end) {
        const iket_interval *i = m->markers;
        iket_stored_event marker = {.time = i->start, .bits = i->bits, .decl = i->decl, .op = IKET_OP_MARKER, .payload_type = i->payload_type};
        if (best == NULL || marker_first(m, &marker, best)) {
            m->markers++;
            return marker;
        }
    }
    if (from_edges) {
        m->edges++;
    } else {
        m->stack++;
    }
    return *best;
}

// Appends the lane's stack and tokens, and the markers given, as one stream.
static int write_stream(lane *l, const iket_interval *markers, size_t marker_count, iket_trace *trace, uint32_t location, iket_error *err) {
    struct iket_backing *backing = trace->backing;
    size_t total = l->stack.count + l->edge_count + marker_count;
    if (total > UINT32_MAX - backing->event_count) return iket_fail(err, "more than %u events", UINT32_MAX);
    IKET_TRY(IKET_RESERVE(backing->events, backing->event_count, backing->event_capacity, total, err));
    iket_stream *stream = iket_model_stream(trace, err);
    if (stream == NULL) return -1;
    *stream = (iket_stream){.location = location, .lane = IKET_UNKNOWN, .source = (uint32_t)backing->event_count, .source_count = (uint32_t)total,
                            .end = l->has_unclosed ? l->unclosed_end : trace->locations[location].end};
    if (l->edge_count > 1) qsort(l->edges, l->edge_count, sizeof *l->edges, edge_order);
    merge m = {.markers = markers, .markers_end = markers + marker_count};
    if (l->stack.count > 0) m.stack_end = (m.next_push = m.stack = l->stack.items) + l->stack.count;
    if (l->edge_count > 0) m.edges_end = (m.edges = l->edges) + l->edge_count;
    for (size_t i = 0; i < total; i++) backing->events[backing->event_count++] = next_event(&m);
    return 0;
}

int iket_nesting_add(struct iket_nesting *n, iket_trace *trace, uint32_t location, iket_interval *items, size_t count, iket_error *err) {
    n->lane_count = 0;
    IKET_TRY(sort_intervals(items, count, err));
    size_t markers = 0;
    while (markers < count && items[markers].kind == IKET_INTERVAL_MARKER) markers++;
    outer_first(items + markers, count - markers);
    for (size_t i = markers; i < count; i++) IKET_TRY(add_range(n, trace, location, &items[i], err));
    if (n->lane_count == 0 && add_lane(n, err) == NULL) return -1;
    iket_location *at = &trace->locations[location];
    at->first_stream = (uint32_t)trace->stream_count;
    at->stream_count = (uint32_t)n->lane_count;
    for (size_t i = 0; i < n->lane_count; i++) {
        IKET_TRY(pop_until(&n->lanes[i], UINT64_MAX, err));
        IKET_TRY(write_stream(&n->lanes[i], items, i == 0 ? markers : 0, trace, location, err));
    }
    return 0;
}
