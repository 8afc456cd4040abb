// SPDX-License-Identifier: Apache-2.0
// jobs.h: what is read and decoded on demand, one trace at a time, by a thread of its own (which has a process do it).
//
//     not known ──asked for──> waiting ──> running ──> done | failed
//
// Every export of a source is a job, that of everything as .pftrace one with its facts, and so is every level file.
// Results are kept by the source's key (serve/cache.h): in memory, and in the cache for the next start. What is waiting
// is bounded; what does not fit is asked for again later.
#ifndef IKET_SERVE_JOBS_H
#define IKET_SERVE_JOBS_H

#include "serve/cache.h"
#include "serve/facts.h"
#include "serve/root.h"

typedef enum iket_job_state {
    IKET_JOB_NONE,    // there is nothing to decode from, or no room to wait
    IKET_JOB_PENDING, // waiting or running
    IKET_JOB_DONE,
    IKET_JOB_FAILED,
} iket_job_state;

typedef struct iket_jobs iket_jobs;

// Starts the thread. `root` is borrowed until iket_jobs_close.
IKET_MUST_CHECK int iket_jobs_open(iket_jobs **jobs, const iket_root *root, iket_error *err);

// Ends what is running. NULL is allowed.
void iket_jobs_close(iket_jobs *jobs);

// The facts of a trace: sets *facts when done, a line in err when failed. A source that is large, or is being written
// just now, is not read for its facts alone (NONE).
iket_job_state iket_jobs_facts(iket_jobs *jobs, const iket_catalog_trace *trace, iket_facts *facts, iket_error *err);

// What a trace is turned into.
typedef struct iket_export {
    const char *selection; // "launch=0-3;sm=5", "": everything
    int json;              // a .trace.json, not a .pftrace
    uint64_t most_events;  // of a trace that has more, nothing but its facts (0: of any)
} iket_export;

// Known facts, with nothing begun for them. 1: *facts is set.
int iket_jobs_known_facts(iket_jobs *jobs, const iket_catalog_trace *trace, iket_facts *facts);

// The trace as another file; waits a moment for what is quick. Sets *fd, which the caller closes, when done, a line in err
// when failed, *seconds that it has been worked on when pending. NONE: there is nothing to make it from, or it has too
// many events.
iket_job_state iket_jobs_export(iket_jobs *jobs, const iket_catalog_trace *trace, const iket_export *export, int *fd, unsigned *seconds, iket_error *err);

// The level file of a trace (levels/file.h): of the .pftrace[.gz] that lies in the folder (`selection` NULL), or of what
// is decoded on demand by a selection ("": everything).
//
// Puts its key, to be opened by iket_work_open_cached(key, ""), into `key`. 0: there is nothing to make it of.
int iket_jobs_levels_key(const iket_catalog_trace *trace, const char *selection, char key[IKET_KEY_MAX]);

typedef struct iket_levels_progress {
    int waiting;      // for its turn
    int decoding;     // its .pftrace is being made
    uint64_t written; // bytes of that so far
} iket_levels_progress;

// For a level file that is not in the cache: has it made, and its .pftrace before where need be. Never waits. PENDING with
// *progress, FAILED with a line in err, DONE when it is there now, NONE when there is nothing to make it of or no room to wait.
iket_job_state iket_jobs_levels(iket_jobs *jobs, const iket_catalog_trace *trace, const char *selection, iket_levels_progress *progress, iket_error *err);

#endif
