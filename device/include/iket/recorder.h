// SPDX-License-Identifier: Apache-2.0
// recorder.h: the runtime that gives annotated kernels a pool and writes what they recorded to dump.bin and meta.json.
//
// A session belongs to one device. Create it, begin, launch kernels (any stream, any library, no change of the launch),
// stop, finish, destroy:
//
//     struct iket_session_options options = IKET_SESSION_OPTIONS_INIT;
//     struct iket_session *session;
//     struct iket_recorder_error error;
//     options.output_dir = "trace";
//     if (iket_session_create(&session, &options, &error) || iket_session_begin(session, &error)) …
//     work<<<grid, block>>>(…);
//     cudaDeviceSynchronize();
//     struct iket_session_report report;
//     if (iket_session_finish(session, 0, &report, &error) || iket_session_destroy(session, &error)) …
//
// Without a session, IKET_OUTPUT_DIR=DIR in the environment makes one before main and writes its dump at exit; see
// doc/recorder.md for the other variables. A session of the program's own on the same device takes its place.
//
// Every function returns 0, or -1 with a message of one line in the caller's error (which may be NULL). Nothing prints
// and nothing exits; the session of the environment, which has no caller, writes its messages to stderr. A CUDA error
// is reported with the call and CUDA's text. Functions leave the current device as it was.
// Threads: different sessions at the same time, one session from one thread at a time.
// Sizes are bytes; times are nanoseconds of Unix time.
#ifndef IKET_RECORDER_H
#define IKET_RECORDER_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iket_recorder_error {
    char message[512];
};

struct iket_session;

enum {
    IKET_POOL_DEVICE = 0,  // device memory; a trap or an illegal address loses what is in it
    IKET_POOL_PINNED = 1   // pinned host memory: slower to write, survives a trap
};

enum {
    IKET_KEEP_FIRST = 0,  // a full region keeps its first events and drops what comes
    IKET_KEEP_LAST = 1    // its last: the newest event overwrites the oldest
};

struct iket_session_options {
    int device;                 // -1: the current one
    int pool_place;
    size_t pool_bytes;          // the whole record memory; at least 1 MiB
    size_t staging_bytes;       // what one round of a drain moves; allocated beside the pool, and three times as pinned memory
    uint32_t first_lane_bytes;  // of a warp's first lane; 0: by the number of warps of the launch
    uint32_t other_lane_bytes;  // of each other lane, at least 96; 0: by the slot
    const char *output_dir;     // must exist; dump.bin and meta.json are made there
    int overwrite;              // 0: an existing dump.bin is an error
    int keep;                   // of each lane's events, where they do not all fit
};

#define IKET_SESSION_OPTIONS_INIT {-1, IKET_POOL_DEVICE, (size_t)256 << 20, (size_t)1 << 20, 0, 0, NULL, 0, IKET_KEEP_FIRST}

// Allocates, attaches all modules of the process to the session's device and opens the output beside its final name.
// On failure *session is NULL and nothing is left behind. The caller destroys what it got. A device has one session.
int iket_session_create(struct iket_session **session, const struct iket_session_options *options,
                        struct iket_recorder_error *error);

// From now on warps that start record; stop ends that. Both act on warps that enter their kernel: a persistent kernel
// that runs goes on as it was. begin also attaches modules that were loaded since. Beginning twice is an error.
int iket_session_begin(struct iket_session *session, struct iket_recorder_error *error);
int iket_session_stop(struct iket_session *session, struct iket_recorder_error *error);

// Which warps record; acts on warps that enter from now on.
struct iket_filter {
    uint32_t cta_low[3], cta_high[3];  // both ends belong to the box
    uint32_t warp_mask;                // bit i: warp i of a CTA
    const char *kernel_name;           // with * and ?, at most 63 bytes; NULL: all
};
#define IKET_FILTER_INIT {{0, 0, 0}, {0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu}, 0xFFFFFFFFu, NULL}
int iket_session_filter(struct iket_session *session, const struct iket_filter *filter, struct iket_recorder_error *error);

// What a session has seen so far. Counts are of what reached the file and what is known to be lost.
struct iket_session_report {
    uint64_t warps;             // that left records or a lifetime
    uint64_t chunks;
    uint64_t record_bytes;
    uint64_t dropped_events;    // in all
    uint64_t overwritten_events;  // keep last: by newer ones; where a warp still runs, at least 1
    uint64_t warps_without_slot;
    uint64_t running_warps;     // not closed when the dump was made
    uint64_t launches;
    // Sizes that would have held everything, 0 where nothing was lost: set the option of the same name.
    uint64_t sufficient_pool_bytes;
    uint64_t sufficient_first_lane_bytes;
    uint64_t sufficient_other_lane_bytes;
    char advice[384];           // the same as a sentence, empty where nothing was lost
};

// Moves the records of ended warps from the pool to the file, on a stream of its own and while kernels run, and makes
// their memory free again. Allocates no device memory and may be called while a stream of the process is captured.
int iket_session_drain(struct iket_session *session, struct iket_session_report *report, struct iket_recorder_error *error);

// Stops, drains and completes dump.bin and meta.json. With warps still running it is an error that changes nothing,
// unless flags has IKET_FINISH_PARTIAL: then their records so far are written as open chunks. After a trap or an illegal
// address a pinned pool is read by the host and the dump completed; a device pool is lost, and the error says so.
enum { IKET_FINISH_PARTIAL = 1 };
int iket_session_finish(struct iket_session *session, unsigned flags, struct iket_session_report *report,
                        struct iket_recorder_error *error);

// Frees everything. An output that was not finished is removed. With warps still running it is an error that changes
// nothing. NULL is allowed.
int iket_session_destroy(struct iket_session *session, struct iket_recorder_error *error);

// Host times and graph keys for LNCH, where a program wants them. What is launched on any stream between a begin and
// its end, on the thread's way through them, gets the host times of both; a tiny kernel on the stream marks each.
// iket_graph_launch launches the graph and gives the launches of its nodes the key ("graph_exec_1:0", at most 63 bytes).
int iket_launch_begin(struct iket_session *session, cudaStream_t stream, struct iket_recorder_error *error);
int iket_launch_end(struct iket_session *session, cudaStream_t stream, struct iket_recorder_error *error);
int iket_graph_launch(struct iket_session *session, cudaGraphExec_t graph, cudaStream_t stream, const char *key,
                      struct iket_recorder_error *error);

// The session that the environment made for the current device, or NULL. Borrowed: it ends with the process.
struct iket_session *iket_environment_session(void);

#ifdef __cplusplus
}
#endif
#endif
