// SPDX-License-Identifier: Apache-2.0
// names.h: what a trace declares once, gathered by the first pass: names, classes of events, tracks; private to the builder.
//
// A class is a (name, kind), as in viewer/worker/store.js, numbered in the order in which they first occur. Of a track only
// numbers are kept, and its name once for all tracks that have it, so that a million warps take some 60 MB.
#ifndef IKET_LEVELS_NAMES_H
#define IKET_LEVELS_NAMES_H

#include "levels/file.h"
#include "levels/map.h"
#include "levels/strings.h"

enum { IKET_LEVELS_MEMO_CATEGORIES = 8, IKET_LEVELS_MEMO_NAMES = 1024 };
enum { IKET_LEVELS_MAX_DEPTH = 512, IKET_LEVELS_NO_PLACE = 255, IKET_LEVELS_SMS_MOST = 4096 };

typedef struct iket_levels_track {
    uint32_t depth;                // slices that are open, whether they have a lane or not
    uint32_t slot, room, lanes;    // its lanes' counts: slots slot .. slot + room, of which `lanes` are used
    int32_t node;                  // -1: not shown
    uint32_t sm;                   // of what is in an SM: which of `sms`; IKET_LEVELS_NONE
    uint64_t born;                 // offset of its description: what comes before it belongs to no track
    uint64_t uuid, parent, rank;
    uint32_t name;                 // in track_names
    uint8_t kind;                  // iket_levels_node_kind by its place among the tracks known so far, or IKET_LEVELS_NO_PLACE
    uint8_t is_process;
} iket_levels_track;

typedef struct iket_levels_class {
    uint32_t name;                 // in strings
    uint8_t kind;                  // iket_levels_kind
} iket_levels_class;

typedef enum iket_levels_use { IKET_LEVELS_USE_EXTRA, IKET_LEVELS_USE_PAYLOAD, IKET_LEVELS_USE_END, IKET_LEVELS_USE_UNCLOSED, IKET_LEVELS_USE_RECORDED } iket_levels_use;

typedef struct iket_levels_names {
    iket_levels_strings interned;  // the texts of all interned names
    iket_levels_map name_of, category_of, annotation_of; // iid -> interned text; of a category: its kind
    uint8_t annotation_use[256];   // by iid, for the small ones
    iket_levels_strings strings;   // those of the level file: names of classes, later of nodes
    iket_levels_class *classes;
    size_t class_count, class_capacity;
    iket_levels_map class_of;      // string * 8 + kind -> class
    iket_levels_map class_of_iid;  // iid * 8 + kind -> class
    uint16_t class_memo[IKET_LEVELS_MEMO_CATEGORIES][IKET_LEVELS_MEMO_NAMES]; // by small iids, class + 1; 0: not yet
    iket_levels_track *tracks;
    size_t track_count, track_capacity;
    uint32_t *by_uuid;             // the small uuids: track + 1
    size_t by_uuid_count;
    iket_levels_map track_of;      // the others
    iket_levels_strings track_names;
    size_t warp_count;
    uint32_t *sms;                 // numbers of the SMs that occur, at most so many
    size_t sm_count, sm_capacity;
    iket_levels_map sm_of;         // number -> index in sms
    uint64_t t0;
    int has_t0;
} iket_levels_names;

// IKET_LEVELS_NONE: no track of that uuid was described.
static inline uint32_t iket_levels_track_of(const iket_levels_names *names, uint64_t uuid) {
    return uuid < names->by_uuid_count ? names->by_uuid[uuid] - 1 : iket_levels_map_get(&names->track_of, uuid);
}

IKET_MUST_CHECK int iket_levels_add_track(iket_levels_names *names, const iket_levels_track *track, iket_error *err);

// The class of a text that is valid UTF-8, added when it is new.
IKET_MUST_CHECK int iket_levels_class_of(iket_levels_names *names, const char *text, unsigned kind, uint32_t *cls, iket_error *err);

// The same without adding: IKET_LEVELS_NONE.
uint32_t iket_levels_find_class(const iket_levels_names *names, const char *text, unsigned kind);

unsigned iket_levels_kind_of_category(const char *text);
iket_levels_use iket_levels_use_of_annotation(const char *text, size_t size);

void iket_levels_names_free(iket_levels_names *names);

#endif
