// SPDX-License-Identifier: Apache-2.0
// trace_json.h: the rows of a trace.json, ours or NVIDIA's, without holding the document.
//
// The difficulty is order. A row names its event and its place by index into tables, and belongs to a launch; NVIDIA's
// writer sorts keys, so that the tables stand last and part of a launch's facts behind its rows.
//
//   mapped file:   1. one pass that reads tables and launches and jumps over the row arrays, noting where they stand
//                  2. the row arrays that are wanted, in place
//   pipe, gzip:    one pass; rows that lack their tables or their launch's facts wait, packed, in a spool
//
// Both generations are read: indexes into stringTable and locationTable, and the older form with the name and the place
// in each row (rangeName, markerName, location, warpLocation, warpLocs). Keys may come in any order, unknown ones are
// passed over.
#ifndef IKET_DECODE_TRACE_JSON_H
#define IKET_DECODE_TRACE_JSON_H

#include "decode/include/iket/trace.h"
#include "decode/json_scan.h"
#include "decode/spool.h"

enum {
    IKET_JSON_MARKER = 1,
    IKET_JSON_RANGE = 2,
    IKET_JSON_LIFETIME = 4,
};

enum {
    IKET_JSON_UNCLOSED = 1,  // the range was still open
    IKET_JSON_TWO_PLACES = 2, // it started at one place and ended at another
};

// A row, packed as it is kept while it waits; a marker uses it up to `end`. name and location are ids of
// iket_json_name and iket_json_location.
typedef struct iket_json_row {
    uint8_t kind, flags, payload_type, end_payload_type;
    uint32_t launch;       // index into launches, in the file's order
    uint32_t name, location;
    uint64_t start;        // or the marker's time
    uint64_t bits;         // payload, masked to its type
    uint32_t color;
    uint32_t event_id;     // of a range; IKET_UNKNOWN where the file does not say
    uint64_t end;
    uint64_t end_bits;
    uint32_t end_event_id;
    uint32_t range_id, range_scope;
    uint32_t range_type;
} iket_json_row;

// An array of rows of a mapped file.
typedef struct iket_json_span {
    uint64_t offset;
    uint32_t launch, kind;
} iket_json_span;

// A name table: what stringTable says under even ids (2 * index), names that stand in the rows under odd ones.
typedef struct iket_json_names {
    char **table, **inlined;
    size_t table_count, table_capacity, inline_count, inline_capacity;
    uint32_t *slots; // open addressing over `inlined`: index + 1
    size_t slot_count;
} iket_json_names;

// The same for places; only sm, tpc, gpc, cta and warp are used.
typedef struct iket_json_places {
    iket_location *table, *inlined;
    size_t table_count, table_capacity, inline_count, inline_capacity;
    uint32_t *slots;
    size_t slot_count;
} iket_json_places;

typedef struct iket_trace_json {
    iket_byte_source source;
    iket_scan scan;
    iket_json_names names;
    iket_json_places places;
    int strings_seen, locations_seen; // the tables were read
    iket_launch *launches;            // kernel and graph_key are name ids; start and end from the lifetimes read so far
    size_t launch_count, launch_capacity;
    iket_json_span *spans;            // mapped only
    size_t span_count, span_capacity;
    uint64_t pid, created;            // of our own `meta`, 0: unknown
    iket_diagnostics diagnostics;
    int has_diagnostics;
    int whole;                        // the document was read to its end
    struct iket_json_reader *reader;  // while rows are read
} iket_trace_json;

typedef int (*iket_json_row_fn)(void *context, const iket_json_row *row, iket_error *err);

typedef struct iket_json_reader {
    unsigned kinds;       // IKET_JSON_* that are wanted
    int hold;             // no row before the end of the document
    uint64_t memory;      // bytes of rows that wait in memory, the rest in $TMPDIR
    iket_json_row_fn row; // 0: go on, 1: enough, -1: failed
    const uint8_t *launches; // mapped only, may be NULL: rows of launches with 0 are not read
    void *context;
    iket_spool spool;     // the reader's own from here on
    int spooling, stopped, launch_known;
    unsigned missing;     // tables that rows in the spool need: 1 strings, 2 locations
} iket_json_reader;

// Takes over the source. With a mapped one the document but its rows is read here.
IKET_MUST_CHECK int iket_trace_json_open(iket_trace_json *doc, iket_byte_source *source, iket_error *err);

// Reads the rows that the reader wants; each is checked to name what is there. Once for a pipe, any number of times for
// a mapped file. For what rows of a mapped file need not be read: the lifetimes are in launches' start and end after
// reading with kinds = IKET_JSON_LIFETIME (row may be NULL).
IKET_MUST_CHECK int iket_trace_json_rows(iket_trace_json *doc, iket_json_reader *reader, iket_error *err);

const char *iket_json_name(const iket_trace_json *doc, uint32_t id);
const iket_location *iket_json_location(const iket_trace_json *doc, uint32_t id);

void iket_trace_json_close(iket_trace_json *doc);

// ---- between the files of the reader ----

// Adds the place or name to the table or finds the one that stands in rows already; its id in *id.
IKET_MUST_CHECK int iket_json_add_name(iket_json_names *names, const char *text, size_t size, int inlined, uint32_t *id, iket_error *err);
IKET_MUST_CHECK int iket_json_add_place(iket_json_places *places, const iket_location *place, int inlined, uint32_t *id, iket_error *err);
void iket_json_free_tables(iket_json_names *names, iket_json_places *places);

// A place: {smId, tpcId, gpcId, ctaId, warpId}.
IKET_MUST_CHECK int iket_json_read_place(iket_scan *scan, iket_location *place, iket_error *err);

// An integer up to 32 bits; -1 gives IKET_UNKNOWN.
IKET_MUST_CHECK int iket_json_read_u32(iket_scan *scan, uint32_t *value, iket_error *err);

// A string into the names that stand in rows.
IKET_MUST_CHECK int iket_json_read_name(iket_trace_json *doc, uint32_t *id, iket_error *err);

// The next row of the given kind (its '{' is next).
IKET_MUST_CHECK int iket_json_read_row(iket_trace_json *doc, unsigned kind, iket_json_row *row, iket_error *err);

#endif
