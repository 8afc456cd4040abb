// SPDX-License-Identifier: Apache-2.0
// model.h: how the readers fill the model of trace.h; private to this folder.
//
// A reader appends strings, modules, launches, locations and streams in their final order (launch by launch, location by
// location), with each stream's source:
//   dump, collector:  stream.source .. + source_count are indices into backing->segments, the runs of raw records
//   trace.json:       stream.source .. + source_count are indices into backing->events, unpacked records
// and calls iket_model_finish, which replays every stream once and fills what only the records tell.
#ifndef IKET_DECODE_MODEL_H
#define IKET_DECODE_MODEL_H

#include "common/input.h"
#include "common/pool.h"
#include "decode/include/iket/trace.h"

// For what each loop over events must have inside, and for functions that only fetch ahead, which a compiler drops as
// without effect where it calls them.
#define IKET_ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    IKET_SEGMENT_CLOSED = 1,  // `size` and `end` are final; else the records end at the first zero
    IKET_SEGMENT_WIDE = 2,    // doc/FORMAT.md section 3, flag 8
    IKET_SEGMENT_CLOSING = 4, // collector: `end` is the low 32 bits of the closing time
    IKET_SEGMENT_EVEN = 8,    // flag 16: every record takes 16 bytes
    IKET_SEGMENT_KEPT_LAST = 16,    // flag 32, and something was overwritten before the first record
    IKET_SEGMENT_COUNTED_BACK = 32, // `start` is no earlier than the last record: times are counted back from it
};

// Records that lie in one piece, with what their times are relative to.
typedef struct iket_segment {
    const uint8_t *records; // in the mapped input
    uint32_t size;          // bytes of records
    uint32_t module;        // index, IKET_UNKNOWN: not decodable
    uint32_t flags;         // IKET_SEGMENT_*
    uint64_t start;         // 64-bit time at the start
    uint64_t end;           // 64-bit time at the end, 0: unknown
} iket_segment;

typedef enum iket_op { IKET_OP_MARKER, IKET_OP_PUSH, IKET_OP_POP, IKET_OP_TOKEN_BEGIN, IKET_OP_TOKEN_END } iket_op;

// An event that was read from a trace.json. A POP closes the innermost PUSH of its stream, a TOKEN_END the open token of
// its decl. What a range lacks an end for stays open to the stream's end (iket_stream.end).
typedef struct iket_stored_event {
    uint64_t time;
    uint64_t bits;        // payload, masked to its type
    uint32_t decl;        // index into modules[0].decls (of a POP: not used)
    uint8_t op;           // iket_op
    uint8_t payload_type;
} iket_stored_event;

typedef struct iket_name_slot {
    uint32_t hash, index; // index + 1 into strings, 0: free
} iket_name_slot;

struct iket_backing {
    iket_input input, raw;      // raw: the collector's iket.data.bin
    iket_segment *segments;
    size_t segment_count, segment_capacity;
    iket_stored_event *events;
    size_t event_count, event_capacity;
    iket_name_slot *names;      // open addressing over strings
    size_t name_slots;
    size_t string_capacity, module_capacity, launch_capacity, location_capacity, stream_capacity;
    size_t note_capacity, section_capacity, empty_capacity;
    const char **note_formats;  // [note_capacity]: what tells notes apart
    struct iket_record_table *tables; // [module_count]: what record ids stand for (replay.h), and their rows
    struct iket_record_kind *kinds;
    struct iket_marks *marks;   // places to go on from in long streams (marks.h)
    iket_pool *pool;            // borrowed while the trace is opened; NULL: one thread
    uint64_t declared_count;    // DONE: chunks written in all
};

// An empty trace, or NULL with err set. Freed by iket_trace_free.
iket_trace *iket_model_new(const char *path, iket_source_kind source, iket_error *err);

// The index of a string equal to these bytes, made valid UTF-8; added where it is new. IKET_UNKNOWN: out of memory.
uint32_t iket_model_string(iket_trace *trace, const char *text, size_t size, iket_error *err);

// Appends a zeroed element; a pointer that stays valid until the next append of its kind. NULL: out of memory.
iket_module *iket_model_module(iket_trace *trace, iket_error *err);
iket_launch *iket_model_launch(iket_trace *trace, iket_error *err);
iket_location *iket_model_location(iket_trace *trace, iket_error *err);
iket_stream *iket_model_stream(iket_trace *trace, iket_error *err);
iket_segment *iket_model_segment(iket_trace *trace, iket_error *err);
iket_section_info *iket_model_section(iket_trace *trace, iket_error *err);

// Remembers a launch that left nothing to decode, by its kernel's name.
int iket_model_empty_kernel(iket_trace *trace, uint32_t kernel, iket_error *err);

// Adds a note; where one with the same format stands already it is counted there instead, and the first text stands.
__attribute__((format(printf, 3, 4))) int iket_model_note(iket_trace *trace, iket_error *err, const char *format, ...);

// Builds decl_of_id from decls (ids below IKET_ID_LIMIT), sorted by id.
enum { IKET_ID_LIMIT = 4096 };
int iket_module_index(iket_module *module, iket_error *err);

// The module for a chunk's moduleId by rule 4.1; IKET_UNKNOWN: none.
uint32_t iket_model_find_module(const iket_trace *trace, uint64_t module_id);

// Replays every stream once: lifetimes' ends, counts, flags, diagnostics and notes; then launches' and trace's spans and
// ordinals. Streams' `end` is set by it for raw records and taken as it is for stored events.
int iket_model_finish(iket_trace *trace, iket_error *err);

// Counters of one replay, whole when it is at its end.
typedef struct iket_replay_counts {
    uint64_t unmatched_pops, unclosed_ranges, undecoded_bytes, reserved_records, time_ambiguous, overwritten_begins;
    uint64_t first_unmatched_pop; // its time
    uint64_t end;                 // the stream's end by rule 4.3
    uint64_t least_start;         // least time of an event; greater than greatest_end: none
    uint64_t greatest_end;
    uint32_t max_depth, flags;
    uint64_t markers, ranges, events;
} iket_replay_counts;

// Readers. They fill a new trace, iket_model_finish included, and leave freeing it to the caller whatever the result.
// iket_read_dump finds its bytes in backing->input, opened; `meta` may be NULL.
int iket_read_dump(iket_trace *trace, const char *meta, iket_error *err);
// bin_path NULL: the file that the JSON names, beside it.
int iket_read_collector(iket_trace *trace, const char *json_path, const char *bin_path, iket_error *err);
// fd -1: reads the file trace->path. Else reads the `size` bytes at `head`, borrowed for the call, and then what fd gives
// (an input that was begun to find out what it is).
int iket_read_json(iket_trace *trace, const void *head, size_t size, int fd, iket_error *err);

// The steps of iket_trace_open, for rows.c, which reads a trace.json itself: the first bytes of an input (of what gzip
// holds; how many, -1: error), whether they are a trace.json's, and the rest of the way with any input.
enum { IKET_HEAD_BYTES = 65536 };
int iket_open_peek(const char *path, char head[IKET_HEAD_BYTES], iket_error *err);
int iket_open_is_json(const char *path, const char *head, int got);
int iket_open_begun(iket_trace **trace, const char *path, const iket_open_options *options, const char *head, int got, iket_error *err);

#endif
