// SPDX-License-Identifier: Apache-2.0
// trace.h: the in-memory model of what was recorded, and its replay.
//
// Every reader (our dump.bin, the collector's raw buffers, a trace.json) fills the same model; the encoders, the
// analysis and the server know nothing but this header.
//
//     iket_trace
//      ├ modules[]     a schema: event declarations          (format: doc/FORMAT.md section 1)
//      ├ launches[]    in launch order; graph launches have a graph key
//      ├ locations[]   one per (launch, CTA, warp, SM): a warp's place and lifetime; grouped by launch
//      ├ streams[]     one per (location, owner lane): what one lane of a warp led; grouped by location
//      └ diagnostics   what was damaged, dropped or unclear, counted
//
// The model holds no events: a cursor decodes them from the mapped input, stream by stream, as often as it is asked.
// So memory is bound by warps and chunks, not by events. (Only a trace.json is held whole, packed, once it is read.)
//
// Times are nanoseconds of the GPU's global timer, as unsigned 64-bit integers. Strings are valid UTF-8 without NUL.
// Ownership: the trace owns everything that it points to, until iket_trace_free. Threads: an opened trace is read-only;
// any number of threads may replay it, each with cursors of its own.
#ifndef IKET_TRACE_H
#define IKET_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/pool.h"

#define IKET_UNKNOWN 0xFFFFFFFFu // no such index, no color, unknown gpc or tpc
enum { IKET_ID_SENTINEL = 0, IKET_ID_POP = 31 };

typedef enum iket_payload_type { // numbers of doc/FORMAT.md
    IKET_PAYLOAD_NONE = 0,
    IKET_PAYLOAD_I8 = 1,
    IKET_PAYLOAD_U8 = 2,
    IKET_PAYLOAD_I16 = 3,
    IKET_PAYLOAD_U16 = 4,
    IKET_PAYLOAD_I32 = 5,
    IKET_PAYLOAD_U32 = 6,
    IKET_PAYLOAD_I64 = 7,
    IKET_PAYLOAD_F32 = 13,
    IKET_PAYLOAD_F64 = 14,
    IKET_PAYLOAD_POINTER = 15,
    IKET_PAYLOAD_U64 = 16,
} iket_payload_type;

typedef enum iket_event_pos {
    IKET_POS_MARKER = 0,
    IKET_POS_PUSH = 1,
    IKET_POS_POP = 2,
    IKET_POS_TOKEN = 4,
} iket_event_pos;

enum { IKET_RANGE_TOKEN = 1, IKET_RANGE_STACK = 2 };

// A declared event. A range's scope, type and color come from its range declaration or from the defaults of the format.
typedef struct iket_decl {
    uint32_t event_id;
    uint32_t end_event_id; // of the record that closes such a range: 31, or the same id for a token range
    uint32_t name;         // index into strings
    uint32_t range_id;
    uint32_t range_scope;
    uint32_t color;        // IKET_UNKNOWN: none
    uint8_t pos;           // iket_event_pos
    uint8_t payload_type;  // iket_payload_type
    uint8_t end_payload_type; // of the record that closes such a range
    uint8_t range_type;    // IKET_RANGE_*, for a push or a token
    uint64_t count;        // markers or ranges of it in the trace
} iket_decl;

typedef struct iket_module {
    uint64_t id;
    uint8_t extended;      // records are ExtendedNativeDump
    uint32_t version_major, version_minor;
    iket_decl *decls;      // by ascending event_id, without the reserved ids 0 and 31 (those of a trace.json: by first use)
    size_t decl_count;
    uint16_t *decl_of_id;  // [id_limit]: index + 1, 0 for an undeclared id; NULL for a trace.json
    uint32_t id_limit;
} iket_module;

typedef struct iket_launch {
    uint64_t context_id, grid_id;
    uint32_t kernel;                // index into strings
    uint32_t graph_key;             // index into strings, IKET_UNKNOWN for an eager launch
    uint32_t ordinal;               // index within `launches` or within its graph key's array, of those that are written
    uint32_t grid_dim[3], block_dim[3];
    uint64_t host_start, host_end;  // Unix ns, 0: unknown
    uint64_t start, end;            // least lifetime start and greatest lifetime end over its locations
    uint32_t first_location, location_count;
    uint64_t marker_count, range_count; // filled by the reader's scan
    uint8_t has_cluster;            // the two below were in the input
    uint32_t enabled_cluster[3];
    uint32_t single_cluster_active;
} iket_launch;

typedef struct iket_location {
    uint32_t launch;
    uint32_t sm, tpc, gpc;          // IKET_UNKNOWN where not known
    uint32_t cta[3];
    uint32_t warp;                  // linear thread index / 32 within its CTA
    uint64_t start, end;            // lifetime
    uint32_t first_stream, stream_count;
} iket_location;

enum {
    IKET_STREAM_HAS_MARKERS = 1,
    IKET_STREAM_HAS_STACK = 2,
    IKET_STREAM_HAS_TOKENS = 4,
    IKET_STREAM_BACKWARDS = 8, // a time lies before the one of an earlier record
};

typedef struct iket_stream {
    uint32_t location;
    uint32_t lane;                  // owner lane; IKET_UNKNOWN where the input does not say
    uint64_t end;                   // what is open at its end is closed here (format rule 4.3)
    uint32_t flags;                 // IKET_STREAM_*
    uint32_t max_depth;             // greatest number of nested stack ranges
    uint64_t first_time, last_time; // least and greatest time of its events and range ends; first > last: no event
    uint64_t event_count;           // events that a cursor gives, the closing ones of unclosed ranges included
    uint32_t source, source_count;  // the reader's own
} iket_stream;

// Counters of the format's `diagnostics`, in the order in which they are written.
#define IKET_DIAGNOSTICS(X)                                                                                            \
    X(droppedEvents)                                                                                                   \
    X(unmatchedPops)                                                                                                   \
    X(unclosedRanges)                                                                                                  \
    X(undecodedBytes)                                                                                                  \
    X(reservedRecords)                                                                                                 \
    X(timeAmbiguousChunks)                                                                                             \
    X(missingChunks)                                                                                                   \
    X(corruptChunks)                                                                                                   \
    X(corruptSections)                                                                                                 \
    X(overflowedWarps)                                                                                                 \
    X(warpsWithoutChunk)                                                                                               \
    X(overwrittenEvents)                                                                                               \
    X(overwrittenBegins)                                                                                               \
    X(truncated)

typedef struct iket_diagnostics {
#define IKET_DIAGNOSTIC_FIELD(name) uint64_t name;
    IKET_DIAGNOSTICS(IKET_DIAGNOSTIC_FIELD)
#undef IKET_DIAGNOSTIC_FIELD
} iket_diagnostics;

typedef enum iket_source_kind { IKET_SOURCE_DUMP, IKET_SOURCE_COLLECTOR, IKET_SOURCE_JSON } iket_source_kind;

// One line about something that a reader met and could live with: what, where, what to do. `count` places were alike;
// the text describes the first.
typedef struct iket_note {
    char *text;
    uint64_t count;
} iket_note;

// A section of a dump as --info lists it.
typedef struct iket_section_info {
    char type[5];
    uint64_t offset, size;
    uint32_t items;
    uint8_t corrupt;
} iket_section_info;

typedef struct iket_trace {
    iket_source_kind source;
    char *path;                     // as given, for messages
    uint64_t pid;                   // 0: unknown
    uint64_t created;               // Unix ns, 0: unknown
    uint64_t context_id;
    char *device_json;              // a dump's DEVI object (checked to be a JSON object), or NULL
    iket_section_info *sections;    // of a dump
    size_t section_count;
    uint32_t format_version, chunk_bytes; // of a dump
    uint64_t chunk_count;           // chunks or warp buffers with records
    uint64_t fullest_used, fullest_room; // bytes of the warp buffer that is filled most; 0: the input does not say

    char **strings;
    size_t string_count;
    iket_module *modules;
    size_t module_count;
    iket_launch *launches;
    size_t launch_count;
    iket_location *locations;
    size_t location_count;
    iket_stream *streams;
    size_t stream_count;
    uint32_t *empty_kernels;        // kernel names (string indices) of launches that left no chunk
    size_t empty_kernel_count;

    iket_diagnostics diagnostics;
    iket_note *notes;
    size_t note_count;
    uint64_t start, end;            // over all launches; start > end when there is none
    uint64_t marker_count, range_count;

    struct iket_backing *backing;   // the reader's own: mapped input, chunk table
} iket_trace;

typedef struct iket_open_options {
    const char *meta;               // path of a meta.json or iket.data.json; NULL: none given
    uint64_t pid;                   // used where the input does not tell; 0: unknown
    iket_pool *pool;                // borrowed for the call: threads for the scan; NULL: one thread
} iket_open_options;

// Opens a dump.bin, a collector's iket.data.bin or iket.data.json, or a trace.json[.gz], told apart by content; "-" is standard input.
// Scans it once (every record is validated) and fills the model. options may be NULL. On failure *trace is NULL and
// the message names file, offset, what is wrong and what to do.
IKET_MUST_CHECK int iket_trace_open(iket_trace **trace, const char *path, const iket_open_options *options, iket_error *err);

void iket_trace_free(iket_trace *trace); // NULL is allowed

// ---- replay ---------------------------------------------------------------------------------------------------------

typedef enum iket_event_kind { IKET_EVENT_MARKER, IKET_EVENT_BEGIN, IKET_EVENT_END } iket_event_kind;

typedef struct iket_payload {
    uint64_t bits; // as unsigned integer, masked to its type's width: the format's payloadVal
    uint8_t type;  // IKET_PAYLOAD_NONE: there is none, bits is 0
} iket_payload;

// What is kept of a range while it is open.
typedef struct iket_begin {
    uint64_t time;
    iket_payload payload;
    const iket_decl *decl;
} iket_begin;

typedef struct iket_event {
    iket_event_kind kind;
    const iket_decl *decl;  // of the marker or the range
    uint64_t time;          // of an END: never before its begin
    uint64_t recorded;      // the time in the record; of an unclosed END: the stream's end
    iket_payload payload;
    iket_begin begin;       // of an END: its begin
    uint32_t depth;         // of a stack range: number of stack ranges around it
    uint32_t ordinal;       // of a BEGIN: how many of them its stream gave before
    uint8_t unclosed;       // of an END that was not recorded
} iket_event;

// A stream's iterator. Events come in the order of their records; the END of every BEGIN comes, that of an unclosed
// range last. Cursors own memory (the open ranges): iket_cursor_close frees it.
typedef struct iket_cursor {
    const iket_trace *trace;
    const struct iket_stream *stream;
    struct iket_cursor_state *state;
} iket_cursor;

IKET_MUST_CHECK int iket_cursor_open(iket_cursor *cursor, const iket_trace *trace, size_t stream, iket_error *err);

// 1: *event was filled; 0: the end; -1: out of memory.
int iket_cursor_next(iket_cursor *cursor, iket_event *event, iket_error *err);

void iket_cursor_close(iket_cursor *cursor);

// ---- values ---------------------------------------------------------------------------------------------------------

const char *iket_payload_type_name(unsigned type); // "i32"; NULL for a number that the table lacks
unsigned iket_payload_size(unsigned type);         // bytes: 0, 1, 2, 4 or 8
int64_t iket_payload_signed(iket_payload payload); // i8 … i64, sign-extended
double iket_payload_double(iket_payload payload);  // f32, f64

// Writes the payload's typed value as JSON (-32, -3.25, "NaN") into `text`, NUL-terminated; returns its length.
enum { IKET_PAYLOAD_TEXT = 40 };
size_t iket_payload_text(iket_payload payload, char text[IKET_PAYLOAD_TEXT]);

#endif
