// SPDX-License-Identifier: Apache-2.0
// pftrace_batch.h: the global order of a Perfetto trace, batch by batch of time; private to the pftrace encoder.
//
//     sources that live in the batch       bins of the batch, each a span of time
//     (launch, warp or stream, by id)       0        1        2     …
//       task 0   sources 0 … 9            records  records  records     decode: tasks in parallel, each into bins of its own,
//       task 1   sources 10 … 19          records  records  records             a source's records in their order
//                                           │        │        │
//                                          sort     sort     sort       bins in parallel: by time, then as they came
//                                           └────────┴────────┴─▶       what comes once (new tracks, launches): in order
//                                          encode   encode   encode     bins in parallel
//                                           └────────┴────────┴─▶       written in order, while the next batch is decoded
//
// So events are ordered by time, then by source, then by their place in it, whatever the threads. Memory follows the
// warps that run at once and the records of a batch, which are kept near BATCH_RECORDS by the rates of the streams.
#ifndef IKET_DECODE_PFTRACE_BATCH_H
#define IKET_DECODE_PFTRACE_BATCH_H

#include "decode/pftrace.h"
#include "decode/window.h"

enum {
    IKET_PF_BINS = 32,
    IKET_PF_TASKS = 16,
    IKET_PF_SHIFT_MAX = 26,      // a bin's span is at most 2^26 ns, so that a time in it fits beside its flags
    IKET_PF_DEPTH_MAX = 500,     // Perfetto keeps 512 a track
    IKET_PF_QUEUES_MAX = 128,    // that many kernels run at once on a GPU
};

// An event on its way. `when`: offset in its bin << 6 | extra << 5 | class << 2 | type, type 0 standing for packets that
// are made one after another: a launch's, and begins with arrows. `from`: place of the source in sources[] << 5 | new << 3 | pending << 2 | (category - IKET_PF_CAT_LIFETIME).
typedef struct iket_pf_record {
    uint64_t bits;  // of the payload; with `extra`: index into its task's extras
    uint32_t when;
    uint32_t from;
    uint32_t track; // uuid; `pending`: its place among the source's tracks, for its uuid is not known yet
    uint32_t name;  // iid, of a begin or an instant
} iket_pf_record;

enum {
    IKET_PF_WHEN_BITS = 6, IKET_PF_FROM_BITS = 5, IKET_PF_CLASS_SHIFT = 2, IKET_PF_IS_EXTRA = 1 << 5,
    IKET_PF_IS_PENDING = 1 << 2, IKET_PF_IS_NEW = 1 << 3, // new: the first on its track, or of type 0
};

typedef struct iket_pf_bin_part { // a bin's records of one task
    iket_pf_record *records;
    size_t count, capacity;
} iket_pf_bin_part;

typedef struct iket_pf_kept { // decoded, but behind the end of a batch that was cut
    uint64_t time;
    iket_pf_record record;
    iket_pf_extra extra;
} iket_pf_kept;

typedef struct iket_pf_task {
    size_t first, end; // of live[]
    iket_pf_bin_part bins[IKET_PF_BINS];
    iket_pf_extra *extras;
    size_t extra_count, extra_capacity;
    uint64_t slices, instants, too_deep;
    uint64_t stopped_at; // least time at which a source stopped for its records were too many; UINT64_MAX: none
    int stopped;
} iket_pf_task;

typedef struct iket_pf_mark { // a record before which bytes of its own stand
    size_t at;            // among the bin's sorted records
    size_t first, end;    // bytes in `side`
} iket_pf_mark;

typedef struct iket_pf_bin {
    uint64_t *keys, *spare; // offset << 32 | task << 27 | place in the task's part
    size_t count, capacity;
    int mixed;              // its parts do not stand by source
    uint64_t now;           // time of the packet before its first
    iket_pf_mark *marks;
    size_t mark_count, mark_capacity;
} iket_pf_bin;

typedef struct iket_pf_bytes {
    uint8_t *data;
    size_t used, capacity;
} iket_pf_bytes;

typedef struct iket_pf_token_track {
    const iket_decl *decl;
    uint32_t uuid;
} iket_pf_token_track;

enum { IKET_PF_KIND_LAUNCH, IKET_PF_KIND_WARP, IKET_PF_KIND_STREAM };
enum { IKET_PF_TRACK_WARP, IKET_PF_TRACK_RANGES, IKET_PF_TRACK_MARKERS, IKET_PF_TRACK_TOKENS }; // places among a source's tracks

// A launch (its slice), a warp (its lifetime with its first stream inside) or a further stream. Within a source the order
// is that of the records; a time that runs backwards is moved up to the one before it, and kept beside the event.
typedef struct iket_pf_source {
    uint64_t next;       // time of its next event
    uint64_t last;       // least time its next event may have
    uint32_t id;         // position in the order of sources, which settles equal times
    uint32_t place;      // in sources[]
    uint8_t kind, stage; // stage: 0 not opened, 1 to begin, 2 begun, 3 done
    uint8_t has_window, has_ahead, stopped;
    uint8_t seen;        // bit per place below IKET_PF_TRACK_TOKENS: a record was the first on that track
    uint32_t index;      // of the launch, location or stream
    uint32_t location;
    double rate;         // its events per ns
    uint32_t uuid[IKET_PF_TRACK_TOKENS];
    iket_pf_token_track *tokens;
    size_t token_count, token_capacity;
    iket_window window;
    iket_event ahead;
    size_t flow_at;      // the first of the stream's arrows that lies ahead
} iket_pf_source;

typedef struct iket_pf_encoder {
    iket_pf pf;             // its sink: `side` while a batch is encoded
    iket_pf_tracks tracks;
    const iket_flows *flows; // NULL: no arrows
    iket_pool *pool;
    iket_sink *out;
    iket_sink side;         // packets that are made one after another
    iket_memory side_bytes;

    uint32_t *waiting; // ids of the sources that have not begun, by their first time
    size_t waiting_count, waiting_next;
    iket_pf_source **sources; // [source_count]: those in use, at a place that they keep, and those to use again
    size_t source_count, source_capacity;
    uint32_t *free_places;
    size_t free_count, free_capacity;
    uint32_t *live, *merged;  // places, by source id
    size_t live_count, live_capacity;

    uint64_t start, last;     // the batch's span, both inclusive
    unsigned shift, bins_used;
    size_t cap;               // most records of one source in a batch
    iket_pf_task tasks[IKET_PF_TASKS + 1]; // the first: what was kept of the batch before
    size_t task_count;
    iket_pf_bin bins[IKET_PF_BINS];
    iket_pf_bytes bytes[2][IKET_PF_BINS]; // packets of this batch and of the one before
    unsigned turn;            // of this batch
    iket_pf_kept *kept;
    size_t kept_count, kept_capacity;

    uint32_t *warp_uuid;  // [location_count]: shared by the streams of a warp
    uint32_t *queue;      // [launch_count]: row in which the launch overlaps no other, from 1; 0: there was none left
    uint32_t queue_count;
    uint64_t row_uuid[IKET_PF_QUEUES_MAX]; // of the overview's rows; the first is the root track
} iket_pf_encoder;

// ---- pftrace_source.c -----------------------------------------------------------------------------------------------

// The sources of what is selected, by first time, into waiting.
IKET_MUST_CHECK int iket_pf_collect(iket_pf_encoder *e, iket_error *err);

// When a source begins.
uint64_t iket_pf_begin_of(const iket_trace *trace, uint32_t id);

// Events per ns that a waiting source will give, for the span of a batch.
double iket_pf_rate(const iket_pf_encoder *e, uint32_t id);

// Takes the next waiting source in use and returns its place; UINT32_MAX: out of memory.
uint32_t iket_pf_take_source(iket_pf_encoder *e, uint32_t id, iket_error *err);

// Decodes a source into the task's bins, up to the time `last` or `cap` records.
IKET_MUST_CHECK int iket_pf_decode(iket_pf_encoder *e, iket_pf_task *task, iket_pf_source *source, uint64_t last, size_t cap, iket_error *err);

// Describes the track at `place` of a source where it is not described yet, and notes its uuid.
IKET_MUST_CHECK int iket_pf_describe_track(iket_pf_encoder *e, iket_pf_source *source, uint32_t place, iket_error *err);

static inline uint32_t iket_pf_uuid_of(const iket_pf_source *s, uint32_t place) {
    return place < IKET_PF_TRACK_TOKENS ? s->uuid[place] : s->tokens[place - IKET_PF_TRACK_TOKENS].uuid;
}

// ---- pftrace_launch.c -----------------------------------------------------------------------------------------------

// Gives launches that run at once different rows and queues.
IKET_MUST_CHECK int iket_pf_assign_queues(iket_pf_encoder *e, iket_error *err);
IKET_MUST_CHECK int iket_pf_write_diagnostics(iket_pf_encoder *e, iket_error *err);

// The packets of a launch's begin or end, at `time`.
IKET_MUST_CHECK int iket_pf_write_launch(iket_pf_encoder *e, size_t launch, int is_end, uint64_t time, iket_error *err);

// ---- pftrace_flow.c -------------------------------------------------------------------------------------------------

// The place of a stream's first arrow in e->flows.
size_t iket_pf_find_flows(const iket_flows *flows, size_t stream);

// How many arrows touch the `ordinal`-th begin of a source's stream, from s->flow_at on.
uint32_t iket_pf_flows_at(const iket_flows *flows, iket_pf_source *source, size_t stream, uint32_t ordinal);

// The packet of a begin with arrows, at `time`.
IKET_MUST_CHECK int iket_pf_write_flow_begin(iket_pf_encoder *e, const iket_pf_task *task, const iket_pf_record *record, uint64_t time, iket_error *err);

// ---- pftrace_bin.c --------------------------------------------------------------------------------------------------

// Sorts a bin and finds its marks; iket_pool_fn with the encoder as context.
int iket_pf_sort_bin(void *context, size_t index, iket_error *err);
int iket_pf_encode_bin(void *context, size_t index, iket_error *err);

static inline const iket_pf_record *iket_pf_record_of(const iket_pf_encoder *e, size_t bin, uint64_t key) {
    return &e->tasks[(uint32_t)key >> 27].bins[bin].records[key & 0x7FFFFFF];
}

#endif
