// SPDX-License-Identifier: Apache-2.0
// launches.h: what a session knows of the launches that it saw, by gridId, for LNCH.
//
// A gridId comes back with every replay of a graph node, so one entry may stand for many launches of one kernel. Where a
// program brackets its launches, two marks on the stream give the gridIds and device times between which they lie.
#ifndef IKET_DEVICE_LAUNCHES_H
#define IKET_DEVICE_LAUNCHES_H

#include "dump_file.h"
#include "gather.h"

struct launch_entry {
    uint64_t grid_id;
    uint64_t kernel_id;
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t first_start;  // device time of the earliest and the latest warp
    uint64_t last_start;
    uint32_t contradicted; // two kernels under one gridId: LNCH cannot tell them apart
    uint32_t used;
};

// A begin, or a begin with its end. Marks are written by the device into pinned memory.
struct launch_bracket {
    struct gather_probe *marks;  // [2], of the table's
    uint64_t host_start;
    uint64_t host_end;           // 0: still open
    char graph_key[64];          // empty: plain launches
};

enum { LAUNCH_BRACKET_MAX = 4096 };

struct launch_table {
    struct launch_entry *entries;  // open addressing, capacity a power of two
    size_t capacity;
    size_t count;
    struct launch_entry *last;     // noted
    struct gather_probe *marks;    // pinned, 2 for each bracket
    struct launch_bracket *brackets;
    size_t bracket_count;
};

int launches_init(struct launch_table *table, struct iket_recorder_error *error);
void launches_free(struct launch_table *table);

// Notes the launch that a chunk header of the format belongs to.
int launches_note(struct launch_table *table, const unsigned char *header, struct iket_recorder_error *error);

// Writes the LNCH section.
int launches_write(const struct launch_table *table, struct dump_file *dump, struct iket_recorder_error *error);

#endif
