// SPDX-License-Identifier: Apache-2.0
// pftrace.h: the parts of the Perfetto encoder; private to encode_pftrace.c and its neighbours. Layout: doc/pftrace.md.
//
//     encode_pftrace.c   the whole: batch after batch of time
//     pftrace_source.c   launches, warps and streams, decoded into the bins of a batch
//     pftrace_bin.c      a bin: sorted by time, encoded
//     pftrace_launch.c   packets of launches and diagnostics
//     pftrace_tracks.c   the tree of tracks, described when first used
//     pftrace_event.h    packets of events, by hand
//     pftrace_packet.c   the other packets, through protobuf-c
#ifndef IKET_DECODE_PFTRACE_H
#define IKET_DECODE_PFTRACE_H

#include "decode/include/iket/encode.h"
#include "proto/iket_perfetto.pb-c.h"

enum { IKET_PF_BEGIN = 1, IKET_PF_END = 2, IKET_PF_INSTANT = 3 };

enum { // interned categories
    IKET_PF_CAT_LAUNCH = 1,
    IKET_PF_CAT_LIFETIME,
    IKET_PF_CAT_RANGE,
    IKET_PF_CAT_TOKEN,
    IKET_PF_CAT_MARKER,
    IKET_PF_CAT_DIAGNOSTIC,
    IKET_PF_CAT_OVERVIEW,
    IKET_PF_CAT_COUNT = IKET_PF_CAT_OVERVIEW,
};

// Interned annotation names.
#define IKET_PF_ANNOTATIONS(X)                                                                                         \
    X(PAYLOAD, "payload")                                                                                              \
    X(END_PAYLOAD, "end_payload")                                                                                      \
    X(UNCLOSED, "unclosed")                                                                                            \
    X(RECORDED_AT, "recorded_at")                                                                                      \
    X(LAUNCH, "launch")                                                                                                \
    X(GRID_ID, "grid_id")                                                                                              \
    X(CONTEXT_ID, "context_id")                                                                                        \
    X(GRID, "grid")                                                                                                    \
    X(BLOCK, "block")                                                                                                  \
    X(GRAPH_KEY, "graph_key")                                                                                          \
    X(WARPS, "warps")                                                                                                  \
    X(SMS, "sms")                                                                                                      \
    X(MARKERS, "markers")                                                                                              \
    X(RANGES, "ranges")                                                                                                \
    X(COUNTER, "counter")                                                                                              \
    X(COUNT, "count")

enum {
    IKET_PF_NO_NAME,
#define IKET_PF_ENUM(id, text) IKET_PF_NAME_##id,
    IKET_PF_ANNOTATIONS(IKET_PF_ENUM)
#undef IKET_PF_ENUM
    IKET_PF_NAME_END,
};

// What a payload is packed as.
enum { IKET_PF_PAYLOAD_NONE, IKET_PF_PAYLOAD_UINT, IKET_PF_PAYLOAD_INT, IKET_PF_PAYLOAD_DOUBLE, IKET_PF_PAYLOAD_POINTER };

// What goes with one event beside its name. Zero-initialise.
typedef struct iket_pf_extra {
    uint64_t payload_bits; // of an int: sign-extended, of a double: its bits
    uint64_t recorded_at;
    uint8_t payload_class, unclosed, has_recorded;
    uint32_t flow_first, flow_count; // arrows that begin or end here
} iket_pf_extra;

typedef struct iket_pf {
    const iket_trace *trace;
    const iket_selection *selection; // NULL: everything
    iket_sink *sink;
    uint64_t now;                    // time of the packet before
    iket_pftrace_facts facts;
} iket_pf;

// The iid of a string of the trace, and of the one name that is added behind them.
static inline uint64_t iket_pf_string_iid(uint32_t string) { return (uint64_t)string + 1; }
// The iid of a GPU queue, from 1: behind those of the kernels, which go by their strings.
static inline uint64_t iket_pf_queue_iid(const iket_trace *trace, uint32_t queue) { return (uint64_t)trace->string_count + queue; }
static inline uint64_t iket_pf_lifetime_iid(const iket_trace *trace) { return (uint64_t)trace->string_count + 1; }

// Any packet, through protobuf-c. Fills in the sequence id, and the time when has_time.
IKET_MUST_CHECK int iket_pf_packet(iket_pf *pf, Iket__Perfetto__TracePacket *packet, int has_time, uint64_t time, iket_error *err);

// The first packet: clock, defaults, interned names; `queues` GPU queues are named.
IKET_MUST_CHECK int iket_pf_preamble(iket_pf *pf, uint64_t start, uint32_t queues, iket_error *err);

// One event of a slice track (pftrace_event.h). Times never go back.
void iket_pf_event(iket_pf *pf, uint64_t time, int type, uint64_t track, uint64_t name_iid, int category, const iket_pf_extra *extra);

// The tree of tracks. A uuid of 0: not described yet.
typedef struct iket_pf_tracks {
    iket_pf *pf;
    uint32_t last_uuid;
    uint32_t root;
    uint32_t *kernel_uuid;        // [string_count]
    uint32_t *kernel_launches;    // [string_count]: selected launches of that kernel
    uint32_t *bucket_uuid;        // [string_count]: of the bucket that bucket_number says
    uint32_t *bucket_number;      // [string_count]
    uint32_t *launch_uuid;        // [launch_count]
    uint32_t *launch_number;      // [launch_count]: among the selected ones of its kernel
    uint32_t *location_cta;       // [location_count]: index into cta_*
    uint32_t *cta_uuid, *cta_sm;  // [cta_count]; cta_sm: index into sm_uuid
    uint32_t *sm_uuid;            // one per (launch, SM)
    size_t cta_count, sm_count;
    uint32_t *sm_of_launch;       // [launch_count]: number of SMs that the launch reached
} iket_pf_tracks;

IKET_MUST_CHECK int iket_pf_tracks_open(iket_pf_tracks *tracks, iket_pf *pf, iket_error *err);
void iket_pf_tracks_close(iket_pf_tracks *tracks);

// The uuid of a launch's track and of a warp's; described with all their parents on the way. 0: a failure, err is set.
uint64_t iket_pf_launch_track(iket_pf_tracks *tracks, size_t launch, iket_error *err);
uint64_t iket_pf_warp_track(iket_pf_tracks *tracks, size_t location, iket_error *err);

// A new track under `parent`; groups have children in the order of their ranks. 0: a failure.
uint64_t iket_pf_new_track(iket_pf_tracks *tracks, uint64_t parent, const char *name, int32_t rank, int is_group, iket_error *err);

// Whether anything of a launch or location is written.
int iket_pf_location_selected(const iket_pf *pf, size_t location);
int iket_pf_launch_selected(const iket_pf *pf, size_t launch);

#endif
