// SPDX-License-Identifier: Apache-2.0
// dump_streams.c: which chunk belongs to which stream, and which stream to which launch (format rules 4.1 and 4.6).
//
// Launches that share a gridId are replays of one graph node. The chunks with seq 0 tell them apart: taken by startTs, the
// next launch begins where a stream comes that the current one already has.
//
//     grids[]    gridId -> its newest launch          places[]  hash of (gridId, CTA, warp, lane) -> its newest stream
//     runs[]     one per launch: begin, older run     parts[]   one per stream: its run, older stream of the same place
//
// The other chunks follow from the latest to the earliest, so that each list is walked once, from its newest to its oldest.
//
// Everything is then put into the model's order: launches by earliest startTs, locations by CTA and warp, streams by lane.
#include <stdlib.h>

#include "common/array.h"
#include "decode/dump.h"

typedef struct grid {
    uint64_t id;
    uint32_t newest; // run + 1, 0: none. Once the first chunks are placed: the newest that may have what is still to come
    uint32_t run_count;
    uint32_t used;   // the slot is taken
    size_t known_next, known_end; // what the host knows of it, from the first that a launch may still take; end 0: not looked up
} grid;

typedef struct place { // of a stream in all launches; part + 1, 0: none
    uint32_t newest; // with a first chunk; as in grid
    uint32_t lost;   // without one: the one in the earliest launch so far
} place;

typedef struct run { // a launch under construction
    uint64_t begin;    // startTs of its first seq-0 chunk
    uint64_t earliest; // least startTs of its chunks, those left out aside
    uint64_t grid_id;
    uint32_t older;    // run + 1
    uint32_t number;   // among the runs of its grid
    uint32_t rank;     // final index
} run;

typedef struct part { // a stream under construction
    const uint8_t *key;  // header of its first chunk: the place
    const uint8_t *head; // header of its chunk with the least seq
    uint32_t run, older; // older: part + 1, of the same list of its place
    uint32_t first, count; // its chunks in assembly.order
} part;

typedef struct order_key {
    uint64_t start;
    uint32_t chunk;
} order_key;

typedef struct assembly {
    iket_dump *dump;
    grid *grids;
    size_t grid_count, grid_slots;
    place *places;
    size_t place_slots;
    int has_replays; // a grid has several runs
    run *runs;
    size_t run_count, run_capacity;
    part *parts;
    size_t part_count, part_capacity;
    uint32_t *order;      // chunk indices by (stream, seq)
    uint32_t *part_order; // part indices in the model's order
} assembly;

static uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    return h * UINT64_C(0xc4ceb9fe1a85ec53);
}

static uint64_t place_hash(const uint8_t *c) {
    uint64_t h = mix(iket_u64(c + CHUNK_GRID));
    h = mix(h ^ iket_u64(c + CHUNK_CTA));
    return mix(h ^ ((uint64_t)iket_u32(c + CHUNK_CTA + 8) << 32 | iket_u32(c + CHUNK_WARP))); // warp and lane are neighbours
}

static int same_place(const uint8_t *a, const uint8_t *b) {
    return iket_u64(a + CHUNK_GRID) == iket_u64(b + CHUNK_GRID) && memcmp(a + CHUNK_CTA, b + CHUNK_CTA, 12) == 0 && memcmp(a + CHUNK_WARP, b + CHUNK_WARP, 4) == 0;
}

static place *find_place(assembly *a, const uint8_t *chunk) {
    size_t at = place_hash(chunk) & (a->place_slots - 1);
    for (;; at = (at + 1) & (a->place_slots - 1)) {
        place *p = &a->places[at];
        uint32_t any = p->newest != 0 ? p->newest : p->lost;
        if (any == 0 || same_place(a->parts[any - 1].key, chunk)) return p;
    }
}

static grid *find_grid(assembly *a, uint64_t id) {
    size_t at = mix(id) & (a->grid_slots - 1);
    while (a->grids[at].used && a->grids[at].id != id) at = (at + 1) & (a->grid_slots - 1);
    if (!a->grids[at].used) a->grids[at] = (grid){.id = id, .used = 1};
    return &a->grids[at];
}

static int begin_run(assembly *a, grid *g, uint64_t start, iket_error *err) {
    IKET_TRY(IKET_RESERVE(a->runs, a->run_count, a->run_capacity, 1, err));
    if (g->newest != 0) a->has_replays = 1;
    a->runs[a->run_count++] = (run){.begin = start, .earliest = UINT64_MAX, .grid_id = g->id, .older = g->newest, .number = g->run_count++};
    g->newest = (uint32_t)a->run_count;
    return 0;
}

static uint64_t begin_of(const assembly *a, uint32_t part_link) { return a->runs[a->parts[part_link - 1].run].begin; }

// Adds a stream to a run, in front of a list of its place.
static int begin_part(assembly *a, uint32_t *list, const uint8_t *chunk, uint32_t in_run, iket_error *err) {
    IKET_TRY(IKET_RESERVE(a->parts, a->part_count, a->part_capacity, 1, err));
    a->parts[a->part_count++] = (part){.key = chunk, .run = in_run, .older = *list};
    *list = (uint32_t)a->part_count;
    return 0;
}

static int by_start(const void *x, const void *y) {
    const order_key *a = x, *b = y;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->chunk < b->chunk ? -1 : 1;
}

// The chunks with seq 0, or the others, by startTs. *keys is the caller's to free.
static int sort_by_start(assembly *a, int first_ones, order_key **keys, size_t *count, iket_error *err) {
    const iket_dump *d = a->dump;
    int sorted = 1;
    *count = 0;
    *keys = malloc((d->chunk_count + 1) * sizeof **keys);
    if (*keys == NULL) return iket_fail(err, "%s: out of memory (%zu chunks)", d->trace->path, d->chunk_count);
    for (size_t i = 0; i < d->chunk_count; i++) {
        if ((iket_u32(d->chunks[i].at + CHUNK_SEQ) == 0) != first_ones) continue;
        (*keys)[*count] = (order_key){iket_u64(d->chunks[i].at + CHUNK_START), (uint32_t)i};
        if (*count > 0 && (*keys)[*count - 1].start > (*keys)[*count].start) sorted = 0;
        ++*count;
    }
    if (!sorted) qsort(*keys, *count, sizeof **keys, by_start);
    return 0;
}

static int assign_first_chunk(assembly *a, iket_chunk *chunk, iket_error *err) {
    grid *g = find_grid(a, iket_u64(chunk->at + CHUNK_GRID));
    place *p = find_place(a, chunk->at);
    if (g->newest == 0 || (p->newest != 0 && a->parts[p->newest - 1].run == g->newest - 1)) IKET_TRY(begin_run(a, g, iket_u64(chunk->at + CHUNK_START), err));
    IKET_TRY(begin_part(a, &p->newest, chunk->at, g->newest - 1, err));
    chunk->stream = (uint32_t)a->part_count - 1;
    return 0;
}

// The last launch that has the stream's first chunk and began before; where that is lost, the last that began before, else
// the grid's first. No chunk that began later is still to come, so what began after this one is left behind.
static int assign_later_chunk(assembly *a, iket_chunk *chunk, iket_error *err) {
    uint64_t start = iket_u64(chunk->at + CHUNK_START);
    grid *g = find_grid(a, iket_u64(chunk->at + CHUNK_GRID));
    place *p = find_place(a, chunk->at);
    while (p->newest != 0 && begin_of(a, p->newest) > start && a->parts[p->newest - 1].older != 0) p->newest = a->parts[p->newest - 1].older;
    uint32_t link = p->newest;
    if (link == 0 || begin_of(a, link) > start) {
        if (g->newest == 0) IKET_TRY(begin_run(a, g, start, err));
        while (a->runs[g->newest - 1].begin > start && a->runs[g->newest - 1].older != 0) g->newest = a->runs[g->newest - 1].older;
        uint32_t in_run = g->newest - 1;
        if (link == 0 || a->parts[link - 1].run != in_run) {
            if (p->lost == 0 || a->parts[p->lost - 1].run != in_run) IKET_TRY(begin_part(a, &p->lost, chunk->at, in_run, err));
            link = p->lost;
        }
    }
    chunk->stream = link - 1;
    return 0;
}

static int assign_later_chunks(assembly *a, iket_error *err) {
    iket_dump *d = a->dump;
    if (!a->has_replays) { // there is nothing to choose
        for (size_t i = 0; i < d->chunk_count; i++) {
            if (iket_u32(d->chunks[i].at + CHUNK_SEQ) != 0) IKET_TRY(assign_later_chunk(a, &d->chunks[i], err));
        }
        return 0;
    }
    order_key *keys;
    size_t count;
    IKET_TRY(sort_by_start(a, 0, &keys, &count, err));
    int result = 0;
    while (count > 0 && result == 0) result = assign_later_chunk(a, &d->chunks[keys[--count].chunk], err);
    free(keys);
    return result;
}

static int assign_chunks(assembly *a, iket_error *err) {
    iket_dump *d = a->dump;
    for (a->place_slots = 64; a->place_slots < d->chunk_count * 2;) a->place_slots *= 2;
    a->grid_slots = a->place_slots; // a grid has at least one chunk
    a->places = calloc(a->place_slots, sizeof *a->places);
    a->grids = calloc(a->grid_slots, sizeof *a->grids);
    if (a->places == NULL || a->grids == NULL) return iket_fail(err, "%s: out of memory (%zu chunks)", d->trace->path, d->chunk_count);
    order_key *keys;
    size_t count;
    IKET_TRY(sort_by_start(a, 1, &keys, &count, err));
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) result = assign_first_chunk(a, &d->chunks[keys[i].chunk], err);
    free(keys);
    return result == 0 ? assign_later_chunks(a, err) : -1;
}

// ---- chunks within a stream -----------------------------------------------------------------------------------------

static uint32_t seq_of(const assembly *a, uint32_t chunk) { return iket_u32(a->dump->chunks[chunk].at + CHUNK_SEQ); }

typedef struct seq_key {
    uint32_t seq, chunk;
} seq_key;

static int by_seq(const void *x, const void *y) {
    const seq_key *a = x, *b = y;
    if (a->seq != b->seq) return a->seq < b->seq ? -1 : 1;
    return a->chunk < b->chunk ? -1 : 1;
}

static int sort_part(assembly *a, part *p, iket_error *err) {
    int sorted = 1;
    uint32_t *order = a->order + p->first;
    for (uint32_t i = 1; i < p->count; i++) sorted &= seq_of(a, order[i - 1]) <= seq_of(a, order[i]);
    if (sorted) return 0;
    seq_key *keys = malloc(p->count * sizeof *keys);
    if (keys == NULL) return iket_fail(err, "%s: out of memory (%u chunks)", a->dump->trace->path, p->count);
    for (uint32_t i = 0; i < p->count; i++) keys[i] = (seq_key){seq_of(a, order[i]), order[i]};
    qsort(keys, p->count, sizeof *keys, by_seq);
    for (uint32_t i = 0; i < p->count; i++) order[i] = keys[i].chunk;
    free(keys);
    return 0;
}

// Drops second chunks of one seq, counts what is missing and what the stream says it dropped.
static int check_part(assembly *a, part *p, iket_error *err) {
    iket_trace *trace = a->dump->trace;
    uint32_t *order = a->order + p->first, kept = 0, dropped = 0;
    uint64_t overwritten = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const uint8_t *at = a->dump->chunks[order[i]].at;
        if (kept > 0 && seq_of(a, order[kept - 1]) == seq_of(a, order[i])) {
            trace->diagnostics.corruptChunks++;
            IKET_TRY(iket_model_note(trace, err, "%s: byte 0x%zx: corrupt chunk: a second one with seq %u of one stream (left out)", trace->path, (size_t)(at - a->dump->data),
                                     seq_of(a, order[i])));
            continue;
        }
        if (iket_u16(at + CHUNK_FLAGS) & CHUNK_KEPT_LAST) {
            overwritten += iket_u32(at + CHUNK_DROPPED);
        } else if (iket_u32(at + CHUNK_DROPPED) > dropped) {
            dropped = iket_u32(at + CHUNK_DROPPED);
        }
        if (iket_u64(at + CHUNK_START) < a->runs[p->run].earliest) a->runs[p->run].earliest = iket_u64(at + CHUNK_START);
        order[kept++] = order[i];
    }
    p->count = kept;
    p->head = a->dump->chunks[order[0]].at;
    trace->diagnostics.droppedEvents += dropped;
    trace->diagnostics.overwrittenEvents += overwritten;
    trace->diagnostics.missingChunks += (uint64_t)seq_of(a, order[kept - 1]) + 1 - kept;
    return 0;
}

static int order_chunks(assembly *a, iket_error *err) {
    iket_dump *d = a->dump;
    a->order = malloc((d->chunk_count + 1) * sizeof *a->order);
    if (a->order == NULL) return iket_fail(err, "%s: out of memory (%zu chunks)", d->trace->path, d->chunk_count);
    for (size_t i = 0; i < d->chunk_count; i++) a->parts[d->chunks[i].stream].count++;
    uint32_t first = 0;
    for (size_t i = 0; i < a->part_count; i++) {
        a->parts[i].first = first;
        first += a->parts[i].count;
        a->parts[i].count = 0;
    }
    for (size_t i = 0; i < d->chunk_count; i++) {
        part *p = &a->parts[d->chunks[i].stream];
        a->order[p->first + p->count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        IKET_TRY(sort_part(a, &a->parts[i], err));
        IKET_TRY(check_part(a, &a->parts[i], err));
    }
    return 0;
}

// ---- the model's order ----------------------------------------------------------------------------------------------

static int by_launch_order(const void *x, const void *y, void *context) {
    const run *runs = context, *a = &runs[*(const uint32_t *)x], *b = &runs[*(const uint32_t *)y];
    if (a->earliest != b->earliest) return a->earliest < b->earliest ? -1 : 1;
    if (a->grid_id != b->grid_id) return a->grid_id < b->grid_id ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_u32(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int by_place(const void *x, const void *y, void *context) {
    const assembly *a = context;
    const part *p = &a->parts[*(const uint32_t *)x], *q = &a->parts[*(const uint32_t *)y];
    int c = compare_u32(a->runs[p->run].rank, a->runs[q->run].rank);
    for (int axis = 2; axis >= 0 && c == 0; axis--) c = compare_u32(iket_u32(p->key + CHUNK_CTA + 4 * axis), iket_u32(q->key + CHUNK_CTA + 4 * axis));
    if (c == 0) c = compare_u32(iket_u16(p->key + CHUNK_WARP), iket_u16(q->key + CHUNK_WARP));
    if (c == 0) c = compare_u32(iket_u32(p->head + CHUNK_SM), iket_u32(q->head + CHUNK_SM));
    return c != 0 ? c : compare_u32(iket_u16(p->key + CHUNK_LANE), iket_u16(q->key + CHUNK_LANE));
}

static int sort_all(assembly *a, iket_error *err) {
    uint32_t *run_order = malloc((a->run_count + 1) * sizeof *run_order);
    a->part_order = malloc((a->part_count + 1) * sizeof *a->part_order);
    if (run_order == NULL || a->part_order == NULL) {
        free(run_order);
        return iket_fail(err, "%s: out of memory (%zu streams)", a->dump->trace->path, a->part_count);
    }
    for (size_t i = 0; i < a->run_count; i++) run_order[i] = (uint32_t)i;
    qsort_r(run_order, a->run_count, sizeof *run_order, by_launch_order, a->runs);
    for (size_t i = 0; i < a->run_count; i++) a->runs[run_order[i]].rank = (uint32_t)i;
    free(run_order);
    int sorted = 1;
    for (size_t i = 0; i < a->part_count; i++) {
        a->part_order[i] = (uint32_t)i;
        if (i > 0 && sorted) sorted = by_place(&a->part_order[i - 1], &a->part_order[i], a) <= 0;
    }
    if (!sorted) qsort_r(a->part_order, a->part_count, sizeof *a->part_order, by_place, a);
    return 0;
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

static int add_segments(assembly *a, const part *p, iket_stream *stream, iket_error *err) {
    iket_trace *trace = a->dump->trace;
    stream->source = trace->backing->segment_count;
    stream->source_count = p->count;
    for (uint32_t i = 0; i < p->count; i++) {
        const iket_chunk *chunk = &a->dump->chunks[a->order[p->first + i]];
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
    }
    trace->chunk_count += p->count;
    return 0;
}

static int add_location(assembly *a, const part *p, uint32_t launch, iket_error *err) {
    iket_location *l = iket_model_location(a->dump->trace, err);
    if (l == NULL) return -1;
    l->launch = launch;
    l->sm = iket_u32(p->head + CHUNK_SM);
    l->tpc = l->gpc = IKET_UNKNOWN;
    for (int axis = 0; axis < 3; axis++) l->cta[axis] = iket_u32(p->key + CHUNK_CTA + 4 * axis);
    l->warp = iket_u16(p->key + CHUNK_WARP);
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
static iket_known_launch *known_launch(iket_dump *dump, grid *g, uint32_t n, uint64_t start) {
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

static int add_launch(assembly *a, const run *r, const part *first, iket_error *err) {
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
    iket_known_launch *k = dump->known_count > 0 ? known_launch(dump, find_grid(a, r->grid_id), r->number, r->earliest) : NULL;
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

static int fill_model(assembly *a, iket_error *err) {
    iket_trace *trace = a->dump->trace;
    const part *before = NULL;
    for (size_t i = 0; i < a->part_count; i++) {
        const part *p = &a->parts[a->part_order[i]];
        int new_launch = before == NULL || p->run != before->run;
        if (new_launch) IKET_TRY(add_launch(a, &a->runs[p->run], p, err));
        iket_launch *launch = &trace->launches[trace->launch_count - 1];
        if (new_launch || memcmp(p->key + CHUNK_CTA, before->key + CHUNK_CTA, 12) != 0 || iket_u16(p->key + CHUNK_WARP) != iket_u16(before->key + CHUNK_WARP) ||
            iket_u32(p->head + CHUNK_SM) != iket_u32(before->head + CHUNK_SM)) {
            IKET_TRY(add_location(a, p, (uint32_t)trace->launch_count - 1, err));
            launch->location_count++;
        }
        iket_location *location = &trace->locations[trace->location_count - 1];
        iket_stream *stream = iket_model_stream(trace, err);
        if (stream == NULL) return -1;
        stream->location = (uint32_t)trace->location_count - 1;
        stream->lane = iket_u16(p->key + CHUNK_LANE);
        location->stream_count++;
        if (iket_u64(p->head + CHUNK_START) < location->start) location->start = iket_u64(p->head + CHUNK_START);
        IKET_TRY(add_segments(a, p, stream, err));
        before = p;
    }
    return 0;
}

int iket_dump_streams(iket_dump *dump, iket_error *err) {
    assembly a = {.dump = dump};
    int result = assign_chunks(&a, err);
    if (result == 0) result = order_chunks(&a, err);
    if (result == 0) result = sort_all(&a, err);
    if (result == 0) result = fill_model(&a, err);
    free(a.grids);
    free(a.places);
    free(a.runs);
    free(a.parts);
    free(a.order);
    free(a.part_order);
    return result;
}
