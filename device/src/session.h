// SPDX-License-Identifier: Apache-2.0
// session.h: a session as the runtime's files share it.
#ifndef IKET_DEVICE_SESSION_H
#define IKET_DEVICE_SESSION_H

#include "chunk_writer.h"
#include "gather.h"
#include "launches.h"
#include "modules.h"

enum { POOL_GUARD_BYTES = 4096, POOL_GUARD_BYTE = 0xA5 };

struct iket_session {
    struct iket_session_options options;  // output_dir is owned
    int device;
    int begun;
    int finished;
    cudaStream_t stream;                  // non-blocking, of the session alone

    unsigned char *allocation;            // guard, control, buffer table, main area, reserve, guard
    size_t allocation_bytes;
    struct iket_control *control;         // device address; with a pinned pool the host's as well
    struct iket_control layout;           // as it was at the start

    unsigned char *sinks;                 // device; where warps without a slot write
    unsigned char *staging;               // device
    unsigned char *staging_host[3];       // pinned; one is filled, one made into chunks, one written
    size_t staging_bytes;
    struct gather_result *result;         // device, and the host's copy
    struct gather_result *result_host;
    struct chunk_writer writer;
    int64_t clock_ahead;                  // of %globaltimer before the host's clock, at most
    uint32_t round;                       // of the snapshot; 0: none was taken

    struct module_list modules;
    struct launch_table launches;
    struct dump_file dump;
    char *device_json;                    // owned
    struct iket_session_report report;
    uint64_t form_b_dropped;              // of groups without the first lane, in form B
    double pool_shortage;                 // how many times the pool would have had to be larger
    struct iket_session *next;            // of the process's sessions
};

// The session's device for the calls that follow; session_leave restores the caller's. The thread's stream capture
// mode is relaxed meanwhile, so that a capture elsewhere does not forbid our own copies.
struct session_scope {
    int device;
    enum cudaStreamCaptureMode mode;
};
int session_enter(const struct iket_session *session, struct session_scope *scope, struct iket_recorder_error *error);
void session_leave(const struct session_scope *scope);

// iket_session_create without regard to the environment's session.
int session_open(struct iket_session **session, const struct iket_session_options *options, struct iket_recorder_error *error);

// Attaches the modules that were registered since, and writes their META.
int session_attach(struct iket_session *session, struct iket_recorder_error *error);

// Did any warp claim memory or fail to?
int session_has_records(struct iket_session *session);

#endif
