// SPDX-License-Identifier: Apache-2.0
// progress.h: the file that tells how far a build is: the answer "facts" while building, replaced now and then as a whole;
// private to the builder. All threads report, and whichever finds it old writes it.
#ifndef IKET_LEVELS_PROGRESS_H
#define IKET_LEVELS_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "levels/overview.h"

typedef struct iket_levels_progress {
    const char *path;          // NULL: nothing is written
    pthread_mutex_t lock;
    uint64_t written;          // when, in ns
    const char *phase;
    _Atomic uint64_t done;
    uint64_t total;
    iket_levels_overview overview; // fed by the first pass, whose thread alone reports meanwhile
} iket_levels_progress;

void iket_levels_progress_open(iket_levels_progress *progress, const char *path);

// A phase begins: "reading", "placing", "summing".
void iket_levels_progress_begin(iket_levels_progress *progress, const iket_levels_names *names, const char *phase, uint64_t total);

// `more` of the phase's total is done. Only a build matters: a progress that cannot be written is left as it is.
void iket_levels_progress_add(iket_levels_progress *progress, const iket_levels_names *names, uint64_t more);

// Removes the file.
void iket_levels_progress_close(iket_levels_progress *progress);

#endif
