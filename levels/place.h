// SPDX-License-Identifier: Apache-2.0
// place.h: what a thread of the second pass has of its own; private to build_place.c and build_join.c.
#ifndef IKET_LEVELS_PLACE_H
#define IKET_LEVELS_PLACE_H

#include "levels/builder.h"

typedef struct iket_levels_place_lane {
    uint64_t next, open; // events: the next one's place, the open slice
    uint64_t limit;      // past the lane's last event
    uint16_t cls;        // of the open slice
    uint8_t carried;     // the open slice was begun by the part before
} iket_levels_place_lane;

// The few numbers of a track that every event needs, close to one another.
typedef struct iket_levels_place_track {
    uint32_t lane, lanes; // IKET_LEVELS_NONE: the track is not shown
    uint32_t depth;       // slices that are open
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
    uint64_t read;                   // how far its file is read, as the progress knows it
    uint64_t note_first, note_count; // its notes in the file
    iket_memory texts;               // what they name
    iket_levels_late_end *late;
    size_t late_count, late_capacity;
    iket_levels_ends left, reached;  // arrows
} iket_levels_part;

// Sorts the notes by event, appends their texts; pairs the ends of arrows.
IKET_MUST_CHECK int iket_levels_join_notes(iket_levels_builder *builder, const iket_levels_part *parts, size_t count, iket_error *err);
IKET_MUST_CHECK int iket_levels_join_arrows(iket_levels_builder *builder, const iket_levels_part *parts, size_t count, iket_error *err);

#endif
