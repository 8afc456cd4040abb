// SPDX-License-Identifier: Apache-2.0
// work.h: what one job does, and where its results lie in the cache: a trace's facts, an export, a level file. It knows
// nothing of the queue (serve/jobs.h).
#ifndef IKET_SERVE_WORK_H
#define IKET_SERVE_WORK_H

#include "serve/cache.h"
#include "serve/child.h"
#include "serve/root.h"

#define IKET_LEVELS_ENDING ".levels"
#define IKET_PROGRESS_ENDING ".progress" // after that of the level file

typedef enum iket_work_kind {
    IKET_WORK_FACTS,  // nothing else
    IKET_WORK_EXPORT, // a .pftrace or .trace.json, and its facts
    IKET_WORK_LEVELS, // a level file of a .pftrace
} iket_work_kind;

// One job's work. The strings are owned.
typedef struct iket_work {
    iket_work_kind kind;
    char *path;          // beneath the root; NULL: the .pftrace of this key that an export left in the cache
    char *meta;          // NULL: none
    char *selection;     // "": everything
    int json;            // a .trace.json, not a .pftrace
    uint64_t most_events;
} iket_work;

void iket_work_clear(iket_work *work);

// Runs a child to its end; so that the queue can end it.
typedef int (*iket_work_runner)(void *context, const iket_child_task *task, iket_facts *facts, iket_error *err);

// Does it: fills facts (not those of a level file) and leaves the wanted file in the cache.
IKET_MUST_CHECK int iket_work_do(const iket_work *work, const char *key, const iket_root *root, iket_work_runner run, void *context, iket_facts *facts, iket_error *err);

// 1: *facts is what the cache knows of the trace `key`.
int iket_work_cached_facts(const char *key, iket_facts *facts);

// Opens a cached file for reading; -1: it is not there. `ending` as iket_work_export_ending gives it, or one of the above.
int iket_work_open_cached(const char *key, const char *ending);
const char *iket_work_export_ending(int json);

#endif
