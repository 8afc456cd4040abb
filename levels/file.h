// SPDX-License-Identifier: Apache-2.0
// file.h: the level file of a trace: what the page needs of it, laid out so that a window of any size is answered without
// reading the rest. Made once from a .pftrace (levels/build.h), mapped from then on.
//
//     nodes    depth first, so that all that lies under a node is one interval (as viewer/worker/tree.js has it)
//     lanes    one a (track, depth), grouped by node: the slices of a lane never overlap and come by their starts
//     events   grouped by lane: lane i has first[i] .. first[i + 1]; an event's number is the same as in the page
//
// A lane is drawn with binary searches and steps that double, so a window costs pixels and not events. What many lanes do
// together (the strip of an SM) is summed up beforehand, in bins of time whose width halves from level to level.
//
// The file is a cache: its version and byte order must be this program's, and its sections are checked against its size
// when it is opened, its indices when they are used to address memory.
#ifndef IKET_LEVELS_FILE_H
#define IKET_LEVELS_FILE_H

#include <stdint.h>

#include "common/error.h"

#define IKET_LEVELS_MAGIC "IKETLVL1"
#define IKET_LEVELS_BYTE_ORDER 0x01020304u

enum { IKET_LEVELS_CATEGORIES = 16 };  // 0: alive outside every range, 15: what has no category of its own
#define IKET_LEVELS_NO_CLASS 0xFFFFu

// The numbers of viewer/js/model.js.
enum iket_levels_kind { IKET_LEVELS_LIFETIME, IKET_LEVELS_RANGE, IKET_LEVELS_TOKEN, IKET_LEVELS_MARKER, IKET_LEVELS_LAUNCH, IKET_LEVELS_DIAGNOSTIC, IKET_LEVELS_OTHER };
enum { IKET_LEVELS_INSTANT = 1, IKET_LEVELS_UNCLOSED = 2, IKET_LEVELS_END_PAYLOAD = 4, IKET_LEVELS_RECORDED_AT = 8 };
enum iket_levels_payload { IKET_LEVELS_NO_PAYLOAD, IKET_LEVELS_INT, IKET_LEVELS_UINT, IKET_LEVELS_DOUBLE, IKET_LEVELS_POINTER, IKET_LEVELS_TEXT };
enum iket_levels_node_kind {
    IKET_LEVELS_ROOT, IKET_LEVELS_KERNEL, IKET_LEVELS_BUCKET, IKET_LEVELS_NODE_LAUNCH, IKET_LEVELS_SM, IKET_LEVELS_CTA, IKET_LEVELS_WARP,
    IKET_LEVELS_RANGES, IKET_LEVELS_MARKERS, IKET_LEVELS_NODE_TOKEN, IKET_LEVELS_DIAGNOSTICS,
};

// Where a section lies; count of elements, not of bytes.
typedef struct iket_levels_section {
    uint64_t offset, count;
} iket_levels_section;

// X(field, element type): one section each, in this order in the header, in any order in the file; every offset a multiple of 8.
#define IKET_LEVELS_SECTIONS(X)                                                                                        \
    X(tables_json, char)           /* the answer "tables" as it is sent */                                             \
    X(statistics_json, char)       /* the answer "statistics" of the whole trace */                                    \
    X(strings, char)               /* NUL-terminated UTF-8, one behind the other */                                    \
    X(string_at, uint32_t)         /* [strings] offset in `strings` */                                                 \
    X(class_name, uint32_t)        /* [classes] string */                                                              \
    X(class_kind, uint8_t)         /* [classes] iket_levels_kind */                                                    \
    X(class_category, uint8_t)     /* [classes] */                                                                     \
    X(node_kind, uint8_t)          /* [nodes] iket_levels_node_kind */                                                 \
    X(node_parent, int32_t)        /* [nodes] -1: none */                                                              \
    X(node_last, int32_t)          /* [nodes] past its subtree */                                                      \
    X(node_name, uint32_t)         /* [nodes] string */                                                                \
    X(node_a, int32_t)             /* [nodes] numbers by kind, as in tree.js: SM, CTA x, warp, lane; -1: none */       \
    X(node_b, int32_t)                                                                                                 \
    X(node_c, int32_t)                                                                                                 \
    X(node_lane, uint32_t)         /* [nodes + 1] first lane */                                                        \
    X(node_role, int32_t)          /* [nodes] of a warp: role, -1: none; -1 for other nodes */                         \
    X(role_class, int32_t)         /* [roles] class; -1: the warps without a range */                                  \
    X(lane_node, uint32_t)         /* [lanes] */                                                                       \
    X(lane_depth, uint16_t)        /* [lanes] */                                                                       \
    X(lane_active, uint8_t)        /* [lanes] activeLanes() of viewer/worker/stats.js: 0, 1, 2 */                      \
    X(lane_first, uint64_t)        /* [lanes + 1] first event */                                                       \
    X(start, uint64_t)             /* [events] ns since t0 */                                                          \
    X(end, uint64_t)               /* [events] ns since t0, never below start */                                       \
    X(payload, uint64_t)           /* [events] bits */                                                                 \
    X(cls, uint16_t)               /* [events] class */                                                                \
    X(parent_cls, uint16_t)        /* [events] class of the slice around it on its track, IKET_LEVELS_NO_CLASS */      \
    X(flags, uint8_t)              /* [events] */                                                                      \
    X(payload_type, uint8_t)       /* [events] iket_levels_payload */                                                  \
    X(note, iket_levels_note)      /* by event: what few events have */                                                \
    X(note_text, char)             /* of notes */                                                                      \
    X(arrow, uint64_t)             /* [2 * arrows] event that it leaves, event that it reaches */                      \
    X(bin_node, uint32_t)          /* [binned] SM nodes that have bins, ascending */                                   \
    X(bin_at, uint64_t)            /* [binned + 1] first bin, in units of IKET_LEVELS_CATEGORIES floats */             \
    X(bin_from, uint64_t)          /* [binned] ns since t0: its launch's start */                                      \
    X(bin_to, uint64_t)            /* [binned] its launch's end */                                                     \
    X(bin, float)                  /* level 0 (2^k bins of the launch's time, one for 32 events or more), then 2^(k-1) … 1; per bin and category: ns, summed over warps */

enum iket_levels_note_kind {
    IKET_LEVELS_NOTE_END_PAYLOAD,    // type and bits
    IKET_LEVELS_NOTE_BEGIN_RECORDED, // bits: absolute ns
    IKET_LEVELS_NOTE_END_RECORDED,   // bits: absolute ns
    IKET_LEVELS_NOTE_EXTRA,          // bits: offset in note_text of a JSON object's text, NUL-terminated
};

typedef struct iket_levels_note {
    uint64_t event, bits;
    uint32_t kind, type;
} iket_levels_note;

typedef struct iket_levels_header {
    char magic[8];
    uint32_t byte_order, header_bytes;
    char program[32];          // version of the program that wrote it
    uint64_t t0, span;         // absolute ns of the first event; the greatest launch end, in ns since t0
    uint64_t complete;         // 1, written last
#define IKET_LEVELS_SECTION_FIELD(name, type) iket_levels_section name;
    IKET_LEVELS_SECTIONS(IKET_LEVELS_SECTION_FIELD)
#undef IKET_LEVELS_SECTION_FIELD
} iket_levels_header;

// An opened file: pointers into its mapping. Read-only; any number of threads may use one.
typedef struct iket_levels {
    const iket_levels_header *header;
    uint64_t size;
    uint64_t event_count;
    uint32_t node_count, lane_count, class_count, string_count, role_count;
    uint64_t note_count, arrow_count;
    uint32_t binned_count;
#define IKET_LEVELS_SECTION_POINTER(name, type) const type *name;
    IKET_LEVELS_SECTIONS(IKET_LEVELS_SECTION_POINTER)
#undef IKET_LEVELS_SECTION_POINTER
} iket_levels;

// Maps the file open on fd (which stays the caller's) and checks every section and table of indices. `name` is for messages.
IKET_MUST_CHECK int iket_levels_open(iket_levels **levels, int fd, const char *name, iket_error *err);

void iket_levels_close(iket_levels *levels); // NULL is allowed

static inline const char *iket_levels_string(const iket_levels *levels, uint32_t string) { return levels->strings + levels->string_at[string]; }

#endif
