// SPDX-License-Identifier: Apache-2.0
// schema.h: event declarations from any source (META symbols, meta.json, iket.data.json) into a module of the model.
//
//     iket_schema_begin -> iket_schema_event / iket_schema_range, in any order -> iket_schema_end
#ifndef IKET_DECODE_SCHEMA_H
#define IKET_DECODE_SCHEMA_H

#include <cjson/cJSON.h>

#include "decode/model.h"

typedef struct iket_event_facts { // as declared, doc/FORMAT.md section 1
    uint32_t event_id, pos, method, payload_type, range_id;
    const char *name;
    size_t name_size;
} iket_event_facts;

typedef struct iket_range_facts {
    uint32_t range_id, type, scope, color;
} iket_range_facts;

typedef struct iket_schema { // one module under construction; zeroed by begin, freed by end
    iket_trace *trace;
    const char *name;  // of the source, for messages; borrowed
    uint64_t module_id;
    uint32_t version_major, version_minor;
    iket_event_facts *events; // names are owned copies
    size_t event_count, event_capacity;
    iket_range_facts *ranges;
    size_t range_count, range_capacity;
} iket_schema;

void iket_schema_begin(iket_schema *schema, iket_trace *trace, const char *name, uint64_t module_id);
IKET_MUST_CHECK int iket_schema_event(iket_schema *schema, const iket_event_facts *event, iket_error *err);
IKET_MUST_CHECK int iket_schema_range(iket_schema *schema, const iket_range_facts *range, iket_error *err);

// Adds the module to the trace; fails on two events of one id and on an unknown payload type.
IKET_MUST_CHECK int iket_schema_end(iket_schema *schema, iket_error *err);

// Frees what was collected; for failure paths (end does it too).
void iket_schema_drop(iket_schema *schema);

// The keys under which a JSON document keeps the facts; meta.json and iket.data.json differ in nothing else.
typedef struct iket_schema_keys {
    const char *meta_info, *magic, *version_major, *version_minor;
    const char *event_id, *event_name, *event_pos, *method, *payload_type, *range_id;
    const char *range_name, *range_type, *range_scope, *color;
} iket_schema_keys;

extern const iket_schema_keys iket_meta_json_keys, iket_collector_keys;

// Adds one module from an object with `events` and `ranges`.
IKET_MUST_CHECK int iket_schema_from_json(iket_trace *trace, const cJSON *object, const iket_schema_keys *keys, const char *name, uint64_t module_id, iket_error *err);

#endif
