// SPDX-License-Identifier: Apache-2.0
// builder.h: the parts of the builder; private to build*.c.
//
//     build.c          the whole, and the file
//     build_count.c    pass 1: names, tracks, lengths of lanes
//     build_nodes.c    tracks to nodes and lanes
//     build_place.c    pass 2: events to their places, by several threads from several points of the file
//     build_stage.c    on their way there, in the processor's cache
//     build_join.c     what few events have, from these threads together
//     build_sums.c     totals by class, categories, roles
//     build_tables.c   the answer "tables"
//     build_bins.c     from the file as it is then: bins, the answer "statistics"
//
// A point of the file from which another thread may begin is a snapshot of pass 1: how far every lane was by then.
//
//     file      [ packets ............ | packets ............ ]
//     lane 0    e e e e e e e e e e    | e e e e                   thread 0 writes left of the line, thread 1 right of it
//     lane 1    e e                    | e e e e e e
#ifndef IKET_LEVELS_BUILDER_H
#define IKET_LEVELS_BUILDER_H

#include "common/output.h"
#include "common/pool.h"
#include "levels/build.h"
#include "levels/progress.h"
#include "levels/reader.h"

enum { IKET_LEVELS_PARTS = 4 };

// A (track, depth) while it is counted.
typedef struct iket_levels_slot {
    uint64_t count;   // events so far
    uint64_t open;    // of the open slice: which of them it is
    uint64_t start;   // its time
    uint32_t cls;
} iket_levels_slot;

typedef struct iket_levels_snapshot {
    uint64_t offset, time, notes;
    size_t track_count;
    struct iket_levels_snapshot_track {
        uint32_t slot, lanes, depth;
    } *tracks;
    iket_levels_slot *slots;
} iket_levels_snapshot;

typedef struct iket_levels_node {
    uint8_t kind;
    int32_t parent, last;
    uint32_t name;   // string
    int32_t a, b, c;
    uint32_t lane, track;
} iket_levels_node;

// The sections of the file that is being written; some are appended when they are known.
typedef struct iket_levels_columns {
#define IKET_LEVELS_COLUMN(name, type) type *name;
    IKET_LEVELS_SECTIONS(IKET_LEVELS_COLUMN)
#undef IKET_LEVELS_COLUMN
} iket_levels_columns;

typedef struct iket_levels_class_sums {
    uint64_t count, min, max, total;
    int64_t own;     // without the slices inside
} iket_levels_class_sums;

typedef struct iket_levels_launch {
    uint32_t node;
    uint64_t event;
} iket_levels_launch;

typedef struct iket_levels_warp {
    uint32_t node;
    int32_t role;
} iket_levels_warp;

typedef struct iket_levels_role {
    uint32_t string; // IKET_LEVELS_NONE: the warps without a range
    int32_t cls;
    uint64_t warps;
    int64_t lifetime;
} iket_levels_role;

typedef struct iket_levels_role_own {
    uint32_t role, cls;
    int64_t time;
} iket_levels_role_own;

typedef struct iket_levels_builder {
    const iket_levels_build_options *options;
    iket_pool *pool;
    uint64_t file_bytes;

    iket_levels_progress progress;

    // pass 1
    uint64_t read;   // how far the file is read, as the progress knows it
    iket_levels_names names;
    iket_levels_slot *slots;
    size_t slot_count, slot_capacity;
    uint64_t notes_most, unopened, too_deep, unknown_tracks, cut;
    iket_error cut_why;
    iket_levels_snapshot snapshots[IKET_LEVELS_PARTS];
    size_t snapshot_count, snapshots_wanted;

    // nodes and lanes
    iket_levels_node *nodes;
    size_t node_count, node_capacity;
    char *device;
    uint32_t lane_count;
    uint64_t event_count;

    // the file
    iket_output *output;
    int fd;
    void *map;
    size_t map_size;
    iket_levels_header header;
    iket_levels_columns columns;
    uint64_t file_end;
    uint64_t arrow_count;
    iket_memory note_texts;

    // sums
    iket_levels_class_sums *class_sums;
    uint8_t *category_of;
    int32_t category_class[IKET_LEVELS_CATEGORIES];
    iket_levels_launch *launches;
    size_t launch_count, launch_capacity;
    iket_levels_warp *warps;
    size_t warp_count, warp_capacity;
    iket_levels_role *roles;
    size_t role_count, role_capacity;
    iket_levels_role_own *role_own; // by role, then class
    size_t role_own_count, role_own_capacity;
} iket_levels_builder;

IKET_MUST_CHECK int iket_levels_count(iket_levels_builder *builder, iket_error *err);
IKET_MUST_CHECK int iket_levels_make_nodes(iket_levels_builder *builder, iket_error *err);
IKET_MUST_CHECK int iket_levels_place(iket_levels_builder *builder, iket_error *err);
IKET_MUST_CHECK int iket_levels_sum(iket_levels_builder *builder, iket_error *err);
IKET_MUST_CHECK int iket_levels_write_tables(iket_levels_builder *builder, iket_error *err);
IKET_MUST_CHECK int iket_levels_write_bins(iket_levels_builder *builder, const iket_levels *levels, iket_error *err);

// The class of an event, which the first pass (`add`) makes when it is new.
IKET_MUST_CHECK int iket_levels_class_of_event(iket_levels_reader *reader, const iket_levels_packet_event *event, int add, uint32_t *cls, iket_error *err);

// Appends a section to the file, behind the mapped ones. data NULL: it is written later, by iket_levels_write_at.
IKET_MUST_CHECK int iket_levels_append(iket_levels_builder *builder, iket_levels_section *section, const void *data, uint64_t count, size_t size, iket_error *err);
IKET_MUST_CHECK int iket_levels_write_at(const iket_levels_builder *builder, const void *data, uint64_t size, uint64_t offset, iket_error *err);

#endif
