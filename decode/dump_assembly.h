// SPDX-License-Identifier: Apache-2.0
// dump_assembly.h: what dump_streams.c finds out about a dump's chunks and dump_model.c turns into the model; private to both.
//
//     grids[]    gridId -> its newest launch          places[]  hash of (gridId, CTA, warp, lane) -> its newest stream
//     runs[]     one per launch: begin, older run     parts[]   one per stream: its run, older stream of the same place
//
// A dump may hold a million warps. So what stands here is small and is freed as soon as the next table stands; and as each
// header lies on a page of its own, far from the one before, it is fetched some steps before it is read.
#ifndef IKET_DECODE_DUMP_ASSEMBLY_H
#define IKET_DECODE_DUMP_ASSEMBLY_H

#include "decode/dump.h"

enum { IKET_FETCH_AHEAD = 12 };

typedef struct iket_assembly_grid {
    uint64_t id;
    uint32_t newest; // run + 1, 0: none. Once the first chunks are placed: the newest that may have what is still to come
    uint32_t run_count;
    uint32_t used;   // the slot is taken
    size_t known_next, known_end; // what the host knows of it, from the first that a launch may still take; end 0: not looked up
} iket_assembly_grid;

typedef struct iket_assembly_place { // of a stream in all launches; part + 1, 0: none
    uint32_t newest; // with a first chunk; as in grid
    uint32_t lost;   // without one: the one in the earliest launch so far
} iket_assembly_place;

typedef struct iket_assembly_run { // a launch under construction
    uint64_t begin;    // startTs of its first seq-0 chunk
    uint64_t earliest; // least startTs of its chunks, those left out aside
    uint64_t grid_id;
    uint32_t older;    // run + 1
    uint32_t number;   // among the runs of its grid
    uint32_t rank;     // final index
} iket_assembly_run;

typedef struct iket_assembly_part { // a stream under construction
    const uint8_t *head;   // header of one of its chunks, once they are ordered of that with the least seq
    uint32_t run, older;   // older: part + 1, of the same list of its place
    uint32_t first, count; // its chunks in assembly.order, then its segments
} iket_assembly_part;

// What orders parts, the most significant first.
enum { FIELD_LAUNCH, FIELD_CTA, FIELD_WARP = FIELD_CTA + 3, FIELD_SM, FIELD_LANE, PLACE_FIELDS };

typedef struct iket_assembly {
    iket_dump *dump;
    iket_assembly_grid *grids;
    size_t grid_count, grid_slots;
    iket_assembly_place *places;
    size_t place_slots;
    int has_replays; // a grid has several runs
    iket_assembly_run *runs;
    size_t run_count, run_capacity;
    iket_assembly_part *parts;
    size_t part_count, part_capacity;
    uint32_t *order;      // chunk indices by (stream, seq)
    uint32_t all_fields[PLACE_FIELDS]; // of all parts, or'ed
} iket_assembly;

// The slot of a grid; a free one becomes its own.
iket_assembly_grid *iket_assembly_find_grid(iket_assembly *a, uint64_t id);

// Puts the streams, their chunks ordered, into the model. The chunks are freed.
int iket_assembly_fill(iket_assembly *a, iket_error *err);

IKET_ALWAYS_INLINE void iket_fetch_header(const uint8_t *header) {
    __builtin_prefetch(header);
    __builtin_prefetch(header + CHUNK_WARP); // on the next line of the cache
}

// The fields of a stream's place: all but the launch.
static inline void iket_place_fields(const iket_assembly_part *p, uint32_t fields[PLACE_FIELDS]) {
    for (int axis = 0; axis < 3; axis++) fields[FIELD_CTA + axis] = iket_u32(p->head + CHUNK_CTA + 4 * (2 - axis));
    fields[FIELD_WARP] = iket_u16(p->head + CHUNK_WARP);
    fields[FIELD_SM] = iket_u32(p->head + CHUNK_SM);
    fields[FIELD_LANE] = iket_u16(p->head + CHUNK_LANE);
}

#endif
