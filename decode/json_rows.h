// SPDX-License-Identifier: Apache-2.0
// json_rows.h: the rows of a trace.json (doc/FORMAT.md section 5), which are nearly all of its bytes; private.
//
// A row is put together from pieces that are the same for all rows of a declared event or of a stream, copied whole, and
// from numbers between them:
//
//     {"locIdx":7,"markerNameIdx":3,"timestamp":1796096489335662304,"color":4294967295}
//     └stream───┘└────────decl─────────────────┘└──────time────────┘└────decl────────┘
#ifndef IKET_DECODE_JSON_ROWS_H
#define IKET_DECODE_JSON_ROWS_H

#include "decode/include/iket/trace.h"

enum { IKET_JSON_PIECE = 100, IKET_JSON_ROW_BYTES = 1536 }; // ROW_BYTES: more than any row takes, copied pieces' ends included

typedef struct iket_json_piece {
    uint32_t size;
    char text[IKET_JSON_PIECE];
} iket_json_piece;

typedef struct iket_json_decl { // of one declared event
    iket_json_piece marker;      // ,"markerNameIdx":3,"timestamp":
    iket_json_piece marker_end;  // ,"color":4294967295
    iket_json_piece range;       // {"rangeNameIdx":3,"startTs":
    iket_json_piece first_event; // {"eventId":1,"timestamp":
    iket_json_piece last_event;  // ,{"eventId":31,"timestamp":
    iket_json_piece range_end;   // ],"rangeId":1,"rangeType":2,"rangeScope":0,"rangeColor":4294967295
} iket_json_decl;

typedef struct iket_json_place { // of one stream
    iket_json_piece marker; // {"locIdx":7
    iket_json_piece range;  // ,"warpLocIdxs":[7,7],"internalEvents":[
} iket_json_place;

// Times of one stream differ in their last digits only: those before are kept as text.
typedef struct iket_json_clock {
    uint64_t high;
    uint32_t size; // 0: nothing is kept
    char text[16];
} iket_json_clock;

// name: index in the written string table.
void iket_json_describe_decl(iket_json_decl *pieces, const iket_decl *decl, uint32_t name);
void iket_json_describe_place(iket_json_place *pieces, uint32_t location);

// Write a row at `at`, where there is room for IKET_JSON_ROW_BYTES, and return its end.
char *iket_json_marker(char *at, const iket_event *event, const iket_json_decl *decl, const iket_json_place *place, iket_json_clock *clock);
char *iket_json_range(char *at, const iket_event *event, const iket_json_decl *decl, const iket_json_place *place, iket_json_clock *clock);

#endif
