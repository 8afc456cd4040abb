// SPDX-License-Identifier: Apache-2.0
// dump_streams.c: which chunk belongs to which stream, and which stream to which launch (format rules 4.1 and 4.6).
//
// Launches that share a gridId are replays of one graph node. The chunks with seq 0 tell them apart: taken by startTs, the
// next launch begins where a stream comes that the current one already has.
//
// The other chunks follow from the latest to the earliest, so that each list is walked once, from its newest to its oldest.
//
// Tables: dump_assembly.h. Everything is then put into the model's order (dump_model.c).
#include <stdlib.h>

#include "common/array.h"
#include "common/radix.h"
#include "decode/dump_assembly.h"

// The header of the chunk or part some steps ahead.
IKET_ALWAYS_INLINE void fetch_chunk(const iket_assembly *a, size_t index) {
    if (index + IKET_FETCH_AHEAD < a->dump->chunk_count) iket_fetch_header(a->dump->chunks[index + IKET_FETCH_AHEAD].at);
}

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

IKET_ALWAYS_INLINE void fetch_place(const iket_assembly *a, const uint8_t *chunk) { __builtin_prefetch(&a->places[place_hash(chunk) & (a->place_slots - 1)], 1); }

static iket_assembly_place *find_place(iket_assembly *a, const uint8_t *chunk) {
    size_t at = place_hash(chunk) & (a->place_slots - 1);
    for (;; at = (at + 1) & (a->place_slots - 1)) {
        iket_assembly_place *p = &a->places[at];
        uint32_t any = p->newest != 0 ? p->newest : p->lost;
        if (any == 0 || same_place(a->parts[any - 1].head, chunk)) return p;
    }
}

iket_assembly_grid *iket_assembly_find_grid(iket_assembly *a, uint64_t id) {
    size_t at = mix(id) & (a->grid_slots - 1);
    while (a->grids[at].used && a->grids[at].id != id) at = (at + 1) & (a->grid_slots - 1);
    if (!a->grids[at].used) a->grids[at] = (iket_assembly_grid){.id = id, .used = 1};
    return &a->grids[at];
}

static int begin_run(iket_assembly *a, iket_assembly_grid *g, uint64_t start, iket_error *err) {
    IKET_TRY(IKET_RESERVE(a->runs, a->run_count, a->run_capacity, 1, err));
    if (g->newest != 0) a->has_replays = 1;
    a->runs[a->run_count++] = (iket_assembly_run){.begin = start, .earliest = UINT64_MAX, .grid_id = g->id, .older = g->newest, .number = g->run_count++};
    g->newest = (uint32_t)a->run_count;
    return 0;
}

static uint64_t begin_of(const iket_assembly *a, uint32_t part_link) { return a->runs[a->parts[part_link - 1].run].begin; }

// Adds a stream to a run, in front of a list of its place.
static int begin_part(iket_assembly *a, uint32_t *list, const uint8_t *chunk, uint32_t in_run, iket_error *err) {
    IKET_TRY(IKET_RESERVE(a->parts, a->part_count, a->part_capacity, 1, err));
    a->parts[a->part_count++] = (iket_assembly_part){.head = chunk, .run = in_run, .older = *list};
    *list = (uint32_t)a->part_count;
    return 0;
}

// The chunks with seq 0, or the others, by startTs. *keys is the caller's to free.
static int sort_by_start(iket_assembly *a, int first_ones, iket_keyed **keys, size_t *count, iket_error *err) {
    const iket_dump *d = a->dump;
    *count = 0;
    *keys = malloc((d->chunk_count + 1) * sizeof **keys);
    if (*keys == NULL) return iket_fail(err, "%s: out of memory (%zu chunks)", d->trace->path, d->chunk_count);
    for (size_t i = 0; i < d->chunk_count; i++) {
        fetch_chunk(a, i);
        if ((iket_u32(d->chunks[i].at + CHUNK_SEQ) == 0) != first_ones) continue;
        (*keys)[(*count)++] = (iket_keyed){iket_u64(d->chunks[i].at + CHUNK_START), (uint32_t)i};
    }
    if (iket_radix_sort(*keys, *count, err) == 0) return 0;
    free(*keys);
    return -1;
}

static int assign_first_chunk(iket_assembly *a, iket_chunk *chunk, iket_error *err) {
    iket_assembly_grid *g = iket_assembly_find_grid(a, iket_u64(chunk->at + CHUNK_GRID));
    iket_assembly_place *p = find_place(a, chunk->at);
    if (g->newest == 0 || (p->newest != 0 && a->parts[p->newest - 1].run == g->newest - 1)) IKET_TRY(begin_run(a, g, iket_u64(chunk->at + CHUNK_START), err));
    IKET_TRY(begin_part(a, &p->newest, chunk->at, g->newest - 1, err));
    chunk->stream = (uint32_t)a->part_count - 1;
    return 0;
}

// The last launch that has the stream's first chunk and began before; where that is lost, the last that began before, else
// the grid's first. No chunk that began later is still to come, so what began after this one is left behind.
static int assign_later_chunk(iket_assembly *a, iket_chunk *chunk, iket_error *err) {
    uint64_t start = iket_u64(chunk->at + CHUNK_START);
    iket_assembly_grid *g = iket_assembly_find_grid(a, iket_u64(chunk->at + CHUNK_GRID));
    iket_assembly_place *p = find_place(a, chunk->at);
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

static int assign_later_chunks(iket_assembly *a, iket_error *err) {
    iket_dump *d = a->dump;
    if (!a->has_replays) { // there is nothing to choose
        for (size_t i = 0; i < d->chunk_count; i++) {
            fetch_chunk(a, i);
            if (iket_u32(d->chunks[i].at + CHUNK_SEQ) != 0) IKET_TRY(assign_later_chunk(a, &d->chunks[i], err));
        }
        return 0;
    }
    iket_keyed *keys;
    size_t count;
    IKET_TRY(sort_by_start(a, 0, &keys, &count, err));
    int result = 0;
    while (count > 0 && result == 0) result = assign_later_chunk(a, &d->chunks[keys[--count].index], err);
    free(keys);
    return result;
}

static int assign_chunks(iket_assembly *a, iket_error *err) {
    iket_dump *d = a->dump;
    for (a->place_slots = 64; a->place_slots < d->chunk_count * 2;) a->place_slots *= 2;
    a->grid_slots = a->place_slots; // a grid has at least one chunk
    a->places = calloc(a->place_slots, sizeof *a->places);
    a->grids = calloc(a->grid_slots, sizeof *a->grids);
    if (a->places == NULL || a->grids == NULL) return iket_fail(err, "%s: out of memory (%zu chunks)", d->trace->path, d->chunk_count);
    iket_keyed *keys;
    size_t count;
    IKET_TRY(sort_by_start(a, 1, &keys, &count, err));
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (i + IKET_FETCH_AHEAD < count) iket_fetch_header(d->chunks[keys[i + IKET_FETCH_AHEAD].index].at);
        if (i + IKET_FETCH_AHEAD / 2 < count) fetch_place(a, d->chunks[keys[i + IKET_FETCH_AHEAD / 2].index].at);
        result = assign_first_chunk(a, &d->chunks[keys[i].index], err);
    }
    free(keys);
    if (result == 0 && count < d->chunk_count) result = assign_later_chunks(a, err);
    free(a->places);
    a->places = NULL;
    return result;
}

// ---- chunks within a stream -----------------------------------------------------------------------------------------

static uint32_t seq_of(const iket_assembly *a, uint32_t chunk) { return iket_u32(a->dump->chunks[chunk].at + CHUNK_SEQ); }

typedef struct seq_key {
    uint32_t seq, chunk;
} seq_key;

static int by_seq(const void *x, const void *y) {
    const seq_key *a = x, *b = y;
    if (a->seq != b->seq) return a->seq < b->seq ? -1 : 1;
    return a->chunk < b->chunk ? -1 : 1;
}

static int sort_part(iket_assembly *a, iket_assembly_part *p, iket_error *err) {
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
static int check_part(iket_assembly *a, iket_assembly_part *p, iket_error *err) {
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
    uint32_t fields[PLACE_FIELDS];
    iket_place_fields(p, fields);
    for (int f = FIELD_CTA; f < PLACE_FIELDS; f++) a->all_fields[f] |= fields[f];
    trace->diagnostics.droppedEvents += dropped;
    trace->diagnostics.overwrittenEvents += overwritten;
    trace->diagnostics.missingChunks += (uint64_t)seq_of(a, order[kept - 1]) + 1 - kept;
    return 0;
}

static int order_chunks(iket_assembly *a, iket_error *err) {
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
        iket_assembly_part *p = &a->parts[d->chunks[i].stream];
        a->order[p->first + p->count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        if (i + IKET_FETCH_AHEAD < a->part_count) iket_fetch_header(d->chunks[a->order[a->parts[i + IKET_FETCH_AHEAD].first]].at);
        IKET_TRY(sort_part(a, &a->parts[i], err));
        IKET_TRY(check_part(a, &a->parts[i], err));
    }
    return 0;
}

int iket_dump_streams(iket_dump *dump, iket_error *err) {
    iket_assembly a = {.dump = dump};
    int result = assign_chunks(&a, err);
    if (result == 0) result = order_chunks(&a, err);
    if (result == 0) result = iket_assembly_fill(&a, err);
    free(a.grids);
    free(a.places);
    free(a.runs);
    free(a.parts);
    free(a.order);
    return result;
}
