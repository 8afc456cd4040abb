// SPDX-License-Identifier: Apache-2.0
// place.h: what a thread of the second pass has of its own; private to build_place.c, build_stage.c and build_join.c.
#ifndef IKET_LEVELS_PLACE_H
#define IKET_LEVELS_PLACE_H

#include "levels/builder.h"

typedef struct iket_levels_place_lane {
    uint64_t next, open; // events: the next one's place, the open slice
    uint64_t limit;      // past the lane's last event
    uint32_t stage;      // which stage it has, IKET_LEVELS_NONE: its events go to the columns at once
    uint16_t cls;        // of the open slice
    uint8_t staged;      // events in the stage: the last ones before `next`
    uint8_t carried;     // the open slice was begun by the part before
} iket_levels_place_lane;

// The last events of a lane. Neighbours in a file belong to thousands of lanes, and each event to seven columns, so that
// written at once nearly every value would be a miss of the cache and of the page tables; this way a cache line is filled.
enum { IKET_LEVELS_STAGED = 16 };

typedef struct iket_levels_stage {
    uint64_t start[IKET_LEVELS_STAGED], end[IKET_LEVELS_STAGED], payload[IKET_LEVELS_STAGED];
    uint16_t cls[IKET_LEVELS_STAGED], parent_cls[IKET_LEVELS_STAGED];
    uint8_t flags[IKET_LEVELS_STAGED], payload_type[IKET_LEVELS_STAGED];
} iket_levels_stage;

// Where the values of one event are, in its lane's stage or in the columns.
typedef struct iket_levels_cells {
    uint64_t *start, *end, *payload;
    uint16_t *cls, *parent_cls;
    uint8_t *flags, *payload_type;
} iket_levels_cells;

// The few numbers of a track that every event needs, close to one another.
typedef struct iket_levels_place_track {
    uint32_t lane, lanes; // IKET_LEVELS_NONE: the track is not shown
    uint32_t depth;       // slices that are open
    uint64_t born;        // what comes before the track's description does not belong to it, as in the first pass
} iket_levels_place_track;

typedef struct iket_levels_late_end {
    uint64_t event, end;
    uint8_t flags;
} iket_levels_late_end;

typedef struct iket_levels_arrow_end {
    uint64_t id, event;
} iket_levels_arrow_end;

typedef struct iket_levels_ends {
    iket_levels_arrow_end *items;
    size_t count, capacity;
} iket_levels_ends;

typedef struct iket_levels_part {
    iket_levels_builder *builder;
    iket_levels_place_lane *lanes;
    uint64_t *lane_first;            // where the part began in every lane
    iket_levels_place_track *tracks;
    iket_levels_stage *stages;
    uint64_t read;                   // how far its file is read, as the progress knows it
    uint64_t note_first, note_count; // its notes in the file
    uint64_t note_limit;             // past the last one that the first pass left room for
    iket_memory texts;               // what they name
    iket_levels_late_end *late;
    size_t late_count, late_capacity;
    iket_levels_ends left, reached;  // arrows
} iket_levels_part;

// Stages for the lanes that have many events in this part, as far as the memory for them goes.
IKET_MUST_CHECK int iket_levels_make_stages(iket_levels_part *part, iket_error *err);

// Writes what is staged of a lane to the columns.
void iket_levels_flush_lane(iket_levels_part *part, iket_levels_place_lane *lane);

static inline iket_levels_cells iket_levels_cells_of(iket_levels_part *part, const iket_levels_place_lane *lane, uint64_t row) {
    uint64_t k = row - (lane->next - lane->staged);
    if (k < lane->staged) {
        iket_levels_stage *s = &part->stages[lane->stage];
        return (iket_levels_cells){s->start + k, s->end + k, s->payload + k, s->cls + k, s->parent_cls + k, s->flags + k, s->payload_type + k};
    }
    const iket_levels_columns *c = &part->builder->columns;
    return (iket_levels_cells){c->start + row, c->end + row, c->payload + row, c->cls + row, c->parent_cls + row, c->flags + row, c->payload_type + row};
}

// Sorts the notes by event, appends their texts; pairs the ends of arrows.
IKET_MUST_CHECK int iket_levels_join_notes(iket_levels_builder *builder, const iket_levels_part *parts, size_t count, iket_error *err);
IKET_MUST_CHECK int iket_levels_join_arrows(iket_levels_builder *builder, const iket_levels_part *parts, size_t count, iket_error *err);

#endif
