// SPDX-License-Identifier: Apache-2.0
// json_launches.h: the launches of a trace.json in the order of the document, with what stands between its arrays; private.
//
//     "launches":[ eager launches ],"graphLaunches":{"graph_exec_1:0":[ its launches ],"graph_exec_2:0":[ … ]}
#ifndef IKET_DECODE_JSON_LAUNCHES_H
#define IKET_DECODE_JSON_LAUNCHES_H

#include "decode/include/iket/trace.h"

typedef struct iket_json_entry {
    uint32_t launch;
    uint32_t first_stream, end_stream;
    char *before; // what stands before it, owned; NULL: a comma and a line's end
} iket_json_entry;

typedef struct iket_json_entries { // zero-initialise
    iket_json_entry *items;
    size_t count, capacity;
    int graphs; // arrays below graphLaunches
} iket_json_entries;

// Those that have a location in the written table (location_index, IKET_UNKNOWN: not written).
int iket_json_order_launches(iket_json_entries *entries, const iket_trace *trace, const uint32_t *location_index, iket_error *err);

void iket_json_entries_free(iket_json_entries *entries);

#endif
