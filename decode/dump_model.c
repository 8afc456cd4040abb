// SPDX-License-Identifier: Apache-2.0
// dump_model.c: a dump's streams into the model's order (format rule 4.6): launches by earliest startTs, locations by CTA and
// warp, streams by lane.
#include <stdlib.h>

#include "common/array.h"
#include "common/radix.h"
#include "decode/dump_assembly.h"

// The header of the part some steps ahead.
IKET_ALWAYS_INLINE void fetch_part(const iket_assembly *a, size_t index) {
    if (index + IKET_FETCH_AHEAD < a->part_count) iket_fetch_header(a->parts[index + IKET_FETCH_AHEAD].head);
}

// ---- the model's order ----------------------------------------------------------------------------------------------

static int by_launch_order(const void *x, const void *y, void *context) {
    const iket_assembly_run *runs = context, *a = &runs[*(const uint32_t *)x], *b = &runs[*(const uint32_t *)y];
    if (a->earliest != b->earliest) return a->earliest < b->earliest ? -1 : 1;
    if (a->grid_id != b->grid_id) return a->grid_id < b->grid_id ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_u32(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int by_place(const void *x, const void *y, void *context) {
    const iket_assembly_run *runs = context;
    const iket_assembly_part *p = x, *q = y;
    uint32_t a[PLACE_FIELDS], b[PLACE_FIELDS];
    iket_place_fields(p, a);
    iket_place_fields(q, b);
    int c = compare_u32(runs[p->run].rank, runs[q->run].rank);
    for (int f = FIELD_CTA; f < PLACE_FIELDS && c == 0; f++) c = compare_u32(a[f], b[f]);
    return c;
}

static int rank_runs(iket_assembly *a, iket_error *err) {
    uint32_t *run_order = malloc((a->run_count + 1) * sizeof *run_order);
    if (run_order == NULL) return iket_fail(err, "%s: out of memory (%zu launches)", a->dump->trace->path, a->run_count);
    for (size_t i = 0; i < a->run_count; i++) run_order[i] = (uint32_t)i;
    qsort_r(run_order, a->run_count, sizeof *run_order, by_launch_order, a->runs);
    for (size_t i = 0; i < a->run_count; i++) {
        a->runs[run_order[i]].rank = (uint32_t)i;
        a->all_fields[FIELD_LAUNCH] |= (uint32_t)i;
    }
    free(run_order);
    return 0;
}

// How far left each field stands in a key of 64 bits that holds them all. 0: they are too wide.
static int pack_fields(const iket_assembly *a, unsigned shifts[PLACE_FIELDS]) {
    unsigned shift = 0;
    for (int f = PLACE_FIELDS - 1; f >= 0; f--) {
        shifts[f] = shift < 64 ? shift : 0;
        shift += a->all_fields[f] == 0 ? 0 : 32 - (unsigned)__builtin_clz(a->all_fields[f]);
    }
    return shift <= 64;
}

static int sort_parts(iket_assembly *a, iket_error *err) {
    unsigned shifts[PLACE_FIELDS];
    if (!pack_fields(a, shifts)) {
        qsort_r(a->parts, a->part_count, sizeof *a->parts, by_place, a->runs);
        return 0;
    }
    iket_keyed *keys = malloc((a->part_count + 1) * sizeof *keys);
    if (keys == NULL) return iket_fail(err, "%s: out of memory (%zu streams)", a->dump->trace->path, a->part_count);
    for (size_t i = 0; i < a->part_count; i++) {
        uint32_t fields[PLACE_FIELDS];
        fetch_part(a, i);
        iket_place_fields(&a->parts[i], fields);
        keys[i] = (iket_keyed){.key = (uint64_t)a->runs[a->parts[i].run].rank << shifts[FIELD_LAUNCH], .index = (uint32_t)i};
        for (int f = FIELD_CTA; f < PLACE_FIELDS; f++) keys[i].key |= (uint64_t)fields[f] << shifts[f];
    }
    int result = iket_radix_sort(keys, a->part_count, err);
    iket_assembly_part *sorted = result == 0 ? malloc((a->part_count + 1) * sizeof *sorted) : NULL;
    if (sorted != NULL) {
        for (size_t i = 0; i < a->part_count; i++) sorted[i] = a->parts[keys[i].index];
        free(a->parts);
        a->parts = sorted;
    } else if (result == 0) {
        result = iket_fail(err, "%s: out of memory (%zu streams)", a->dump->trace->path, a->part_count);
    }
    free(keys);
    return result;
}

// ---- into the model -------------------------------------------------------------------------------------------------

// A chunk of which the earlier records were overwritten. Without a reference time it is read as any other, from its start.
static void read_reference(iket_segment *g, uint64_t reference) {
    if (reference == 0) reference = g->end;
    g->flags |= IKET_SEGMENT_KEPT_LAST;
    if (reference == 0) return;
    g->flags |= IKET_SEGMENT_COUNTED_BACK;
    g->start = reference;
}

static int add_segment(iket_assembly *a, const iket_chunk *chunk, iket_error *err) {
    iket_trace *trace = a->dump->trace;
    uint16_t flags = iket_u16(chunk->at + CHUNK_FLAGS);
    int closed = (flags & CHUNK_CLOSED) != 0;
    iket_segment *g = iket_model_segment(trace, err);
    if (g == NULL) return -1;
    g->records = chunk->at + CHUNK_HEADER;
    g->size = closed ? iket_u32(chunk->at + CHUNK_USED) : chunk->size - CHUNK_HEADER;
    g->module = iket_model_find_module(trace, iket_u64(chunk->at + CHUNK_MODULE));
    g->flags = (closed ? IKET_SEGMENT_CLOSED : 0u) | (flags & CHUNK_WIDE ? IKET_SEGMENT_WIDE : 0u) | (flags & CHUNK_EVEN ? IKET_SEGMENT_EVEN : 0u);
    g->start = iket_u64(chunk->at + CHUNK_START);
    g->end = iket_u64(chunk->at + CHUNK_END);
    if ((flags & CHUNK_KEPT_LAST) && iket_u32(chunk->at + CHUNK_DROPPED) != 0) read_reference(g, iket_u64(chunk->at + CHUNK_REFERENCE));
    return 0;
}

// The segments of all streams, in the model's order. Behind them nobody needs the chunks, whose room goes to the places.
static int add_segments(iket_assembly *a, iket_error *err) {
    iket_dump *d = a->dump;
    struct iket_backing *b = d->trace->backing;
    IKET_TRY(IKET_RESERVE(b->segments, b->segment_count, b->segment_capacity, d->chunk_count, err));
    for (size_t i = 0; i < a->part_count; i++) {
        iket_assembly_part *p = &a->parts[i];
        uint32_t first = p->first;
        fetch_part(a, i);
        p->first = (uint32_t)b->segment_count;
        for (uint32_t c = 0; c < p->count; c++) IKET_TRY(add_segment(a, &d->chunks[a->order[first + c]], err));
    }
    d->trace->chunk_count += b->segment_count;
    free(a->order);
    a->order = NULL;
    free(d->chunks);
    d->chunks = NULL;
    d->chunk_count = d->chunk_capacity = 0;
    return 0;
}

static int add_location(iket_assembly *a, const iket_assembly_part *p, uint32_t launch, iket_error *err) {
    iket_location *l = iket_model_location(a->dump->trace, err);
    if (l == NULL) return -1;
    l->launch = launch;
    l->sm = iket_u32(p->head + CHUNK_SM);
    l->tpc = l->gpc = IKET_UNKNOWN;
    for (int axis = 0; axis < 3; axis++) l->cta[axis] = iket_u32(p->head + CHUNK_CTA + 4 * axis);
    l->warp = iket_u16(p->head + CHUNK_WARP);
    l->start = UINT64_MAX;
    l->first_stream = (uint32_t)a->dump->trace->stream_count;
    return 0;
}

// The first of the host's launches (sorted by grid) with this gridId or a greater one.
static size_t first_known(const iket_dump *dump, uint64_t grid_id) {
    size_t first = 0, end = dump->known_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (dump->known[middle].grid_id < grid_id) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static int host_knows(const iket_known_launch *k, uint64_t start) {
    return !k->used && k->host_start != 0 && k->host_start <= start && (k->host_end == 0 || start <= k->host_end);
}

// No launch that starts then or later can take it.
static int left_behind(const iket_known_launch *k, uint64_t start) { return k->used || k->host_start == 0 || (k->host_end != 0 && k->host_end < start); }

// What the host knows of the n-th launch of a grid; NULL: nothing. They are asked for by `start`, the earliest first.
static iket_known_launch *known_launch(iket_dump *dump, iket_assembly_grid *g, uint32_t n, uint64_t start) {
    size_t first = first_known(dump, g->id);
    if (g->known_end == 0) {
        g->known_next = first;
        g->known_end = g->id == UINT64_MAX ? dump->known_count : first_known(dump, g->id + 1);
    }
    if (first == g->known_end) return NULL;
    if (g->known_end - first > g->run_count) { // some left no chunk: the host's times tell which
        while (g->known_next < g->known_end && left_behind(&dump->known[g->known_next], start)) g->known_next++;
        for (size_t i = g->known_next; i < g->known_end; i++) {
            if (host_knows(&dump->known[i], start)) return &dump->known[i];
        }
    }
    return &dump->known[n < g->known_end - first ? first + n : g->known_end - 1]; // with fewer entries than launches, the last stands for the rest
}

static int add_launch(iket_assembly *a, const iket_assembly_run *r, const iket_assembly_part *first, iket_error *err) {
    iket_dump *dump = a->dump;
    iket_launch *l = iket_model_launch(dump->trace, err);
    if (l == NULL) return -1;
    l->context_id = dump->trace->context_id;
    l->grid_id = r->grid_id;
    l->graph_key = IKET_UNKNOWN;
    l->first_location = (uint32_t)dump->trace->location_count;
    for (int axis = 0; axis < 3; axis++) {
        l->grid_dim[axis] = iket_u32(first->head + CHUNK_GRID_DIM + 4 * axis);
        l->block_dim[axis] = iket_u32(first->head + CHUNK_BLOCK_DIM + 4 * axis);
    }
    uint64_t kernel_id = iket_u64(first->head + CHUNK_KERNEL);
    iket_known_launch *k = dump->known_count > 0 ? known_launch(dump, iket_assembly_find_grid(a, r->grid_id), r->number, r->earliest) : NULL;
    if (k != NULL) {
        k->used = 1;
        for (int axis = 0; axis < 3; axis++) {
            if (k->grid_dim[axis] != 0) l->grid_dim[axis] = k->grid_dim[axis];
            if (k->block_dim[axis] != 0) l->block_dim[axis] = k->block_dim[axis];
        }
        l->host_start = k->host_start;
        l->host_end = k->host_end;
        l->graph_key = k->graph_key;
        if (k->kernel_id != 0) kernel_id = k->kernel_id;
    }
    l->kernel = iket_dump_kernel_name(dump, kernel_id, err);
    return l->kernel == IKET_UNKNOWN ? -1 : 0;
}

static int fill_model(iket_assembly *a, iket_error *err) {
    iket_trace *trace = a->dump->trace;
    const iket_assembly_part *before = NULL;
    // At once: growing side by side they would leave holes. What of it is not used is never touched.
    IKET_TRY(IKET_RESERVE(trace->locations, trace->location_count, trace->backing->location_capacity, a->part_count, err));
    IKET_TRY(IKET_RESERVE(trace->streams, trace->stream_count, trace->backing->stream_capacity, a->part_count, err));
    for (size_t i = 0; i < a->part_count; i++) {
        const iket_assembly_part *p = &a->parts[i];
        fetch_part(a, i);
        int new_launch = before == NULL || p->run != before->run;
        if (new_launch) IKET_TRY(add_launch(a, &a->runs[p->run], p, err));
        iket_launch *launch = &trace->launches[trace->launch_count - 1];
        if (new_launch || memcmp(p->head + CHUNK_CTA, before->head + CHUNK_CTA, 12) != 0 || iket_u16(p->head + CHUNK_WARP) != iket_u16(before->head + CHUNK_WARP) ||
            iket_u32(p->head + CHUNK_SM) != iket_u32(before->head + CHUNK_SM)) {
            IKET_TRY(add_location(a, p, (uint32_t)trace->launch_count - 1, err));
            launch->location_count++;
        }
        iket_location *location = &trace->locations[trace->location_count - 1];
        iket_stream *stream = iket_model_stream(trace, err);
        if (stream == NULL) return -1;
        stream->location = (uint32_t)trace->location_count - 1;
        stream->lane = iket_u16(p->head + CHUNK_LANE);
        location->stream_count++;
        if (iket_u64(p->head + CHUNK_START) < location->start) location->start = iket_u64(p->head + CHUNK_START);
        stream->source = p->first;
        stream->source_count = p->count;
        before = p;
    }
    return 0;
}

int iket_assembly_fill(iket_assembly *a, iket_error *err) {
    IKET_TRY(rank_runs(a, err));
    IKET_TRY(sort_parts(a, err));
    IKET_TRY(add_segments(a, err));
    return fill_model(a, err);
}
