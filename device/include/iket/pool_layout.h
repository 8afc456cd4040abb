// SPDX-License-Identifier: Apache-2.0
// pool_layout.h: what lies in a session's pool, as the device writes it and the host reads it.
//
// One allocation (device memory, or pinned host memory so that it outlives a trap) holds the control block, the buffer
// table and the record memory. Sizes follow the launch: a warp that is one of 1,056 gets a large slot, one of 131,072
// a small one, and a warp that ends gives back what it did not use, so memory follows events and not warps started.
//
//   allocation:  | guard | control | buffer table | main area                         | reserve area      | guard |
//   main area:   carved from the left, sizes by the launch that asks; when it is used up, what warps gave back is used
//   reserve:     carved in slots of IKET_SLOT_MIN bytes, one for each warp that the device can hold at a time
//
//   buffer:      | closed part | closed part | … | part of the warp that writes now, or free |
//                 0 ............................ fill ................................. size
//   part in use: | header 128 | records of the first lane | spare 16 | 32 lane regions                          |
//   lane region: | lane header 16 | records | spare 16 |
//   closed part: | header 128 | records of the first lane | then per lane that led events: lane header 16, records |
//                  every piece padded to 16 bytes
//
// A part's header is FORMAT's chunk header. While the pool holds it, these fields have a meaning of their own:
//   96 buffer index · 100 used bytes of the first lane (closed) · 104 events that its lane led (closed) ·
//   108 bytes of a lane region / 16 · 112 bytes of the part · 116 where the first lane's next record would go (closed) ·
//   120 lanes that led events; in form B events that lanes other than the first led · 124 lanes that still run (closed:
//   bytes of the first lane's region)
// A lane header: u32 lane · u32 used bytes · u32 events that it led · u32 where its next record would go.
//
// In a session that keeps the last events a region is a ring of records of one size. Where more events were led than fit,
// all of it is used, and its oldest record is the one where the next would go.
#ifndef IKET_POOL_LAYOUT_H
#define IKET_POOL_LAYOUT_H

#include <stdint.h>

#define IKET_POOL_LAYOUT_VERSION 3u
#define IKET_SLOT_MIN 4096u        // least bytes of a slot
#define IKET_LANE_REGION_MIN 96u   // least bytes of a lane region, lane header and spare slot included
#define IKET_LANE_REGION_MAX 512u  // most bytes of one that the recorder chooses by itself
#define IKET_SPARE_BYTES 16u       // where a record goes that no longer fits
#define IKET_PART_HEADER 128u
#define IKET_LANE_HEADER 16u
#define IKET_LIST_GROUPS 128u      // groups of lists, by SM
#define IKET_LIST_LANES 64u        // lists of a group, by the warp's place on its SM
#define IKET_LIST_COUNT (IKET_LIST_GROUPS * IKET_LIST_LANES)
#define IKET_SINK_BYTES 32u        // where warps without a slot write, one for each place on an SM
#define IKET_NAME_COUNT 256u       // kernels whose names fit
#define IKET_NAME_BYTES 104u
#define IKET_LOSS_COUNT 1024u      // launches with warps that got no slot
#define IKET_PATTERN_BYTES 64u

#define IKET_CHUNK_MAGIC 0x42574B49u
#define IKET_CHUNK_CLOSED 1u
#define IKET_CHUNK_LAST 2u
#define IKET_CHUNK_DROPPED 4u
#define IKET_CHUNK_WIDE 8u
#define IKET_CHUNK_EVEN 16u
#define IKET_CHUNK_KEEPS_LAST 32u
// Flags of a part that are the pool's own and never reach a file.
#define IKET_PART_FORM_B 0x100u
// What a lane's register says about its part, whose address is a multiple of 16.
#define IKET_SLOT_PART 2u
#define IKET_SLOT_LOSS 1u

enum { IKET_BUFFER_UNUSED = 0, IKET_BUFFER_ACTIVE = 1, IKET_BUFFER_FREE = 2, IKET_BUFFER_FULL = 3 };

// What iket_control.recording says: no warp records, those that pass the filter, or all, without a look at the filter. All
// warps of a launch read it at once, so it answers for the filter where there is none.
enum { IKET_RECORD_NONE = 0, IKET_RECORD_FILTERED = 1, IKET_RECORD_ALL = 2 };

// A piece of the record memory. Only its owner writes it: the warp that claimed it, or the gather that took it off a list.
struct iket_buffer {
    uint64_t address;
    uint32_t size;
    uint32_t fill;   // bytes of closed parts
    uint32_t next;   // index + 1 of the next in its list
    uint32_t state;
    uint32_t round;  // of the last snapshot that took it
    uint32_t zero;
};

// A kernel's name as the first warp of it left it.
struct iket_kernel_entry {
    uint64_t kernel_id;   // 0: empty
    uint64_t module_id;
    uint32_t published;   // the name can be read
    uint32_t verdict;     // filter generation * 2 + whether it passes, of the last filter
    char name[IKET_NAME_BYTES];
};

// The events of warps that got no slot, by launch. Entry 0 takes what finds no entry.
struct iket_loss_entry {
    uint64_t grid_key;  // gridId + 1; 0: empty
    uint64_t events;
    uint64_t warps;
};

struct iket_filter_state {
    uint32_t generation;
    uint32_t warp_mask;      // bit i: warp i of a CTA
    uint32_t cta_low[3];     // both ends belong to the box
    uint32_t cta_high[3];
    char pattern[IKET_PATTERN_BYTES];  // of kernel names, with * and ?; empty: all
};

// Written by the host before any kernel can see it, then only: recording and filter by the host, the counters by the
// device. Counters that many warps touch have a line of 128 bytes each.
struct iket_control {
    uint64_t line_main[16];     // [0]: bytes of the main area handed out
    uint64_t line_reserve[16];  // [0]: bytes of the reserve handed out
    uint64_t line_buffers[16];  // [0]: buffers made
    uint64_t free_list[IKET_LIST_COUNT];    // tag << 32 | index + 1 of the first
    uint64_t full_list[IKET_LIST_COUNT];
    uint32_t free_count[IKET_LIST_GROUPS];  // buffers in a group's free lists; ahead of them for a moment
    struct iket_kernel_entry kernels[IKET_NAME_COUNT];
    struct iket_loss_entry losses[IKET_LOSS_COUNT];
    uint32_t layout_version;
    uint32_t recording;
    uint64_t main_address;
    uint64_t main_bytes;
    uint64_t reserve_address;
    uint64_t reserve_bytes;
    uint64_t buffers;           // address of the buffer table
    uint32_t buffer_capacity;
    uint32_t resident_warps;    // that the device can hold at a time
    uint32_t borders;           // multiples of 4 GiB in the main area: at each of them about a slot is lost to large warps
    uint32_t slot_min;          // of the main area
    uint32_t slot_max;
    uint32_t first_lane_bytes;  // 0: by the launch
    uint32_t other_lane_bytes;  // 0: by the slot
    uint64_t sinks;             // address of IKET_LIST_COUNT sinks
    uint32_t keep_last;         // regions are rings
    uint32_t host_memory;       // the pool is pinned host memory
    struct iket_filter_state filter;
};

#endif
