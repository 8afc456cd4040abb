// SPDX-License-Identifier: Apache-2.0
// workers.h: threads for answers that take longer than a glance, so that those that serve the connections never wait.
//
//     connection's thread ──add──> queue ──> worker ──finish──> connection's thread
//
// Of the workers one never takes a long task: while statistics or a table of everything are made, what a page draws with is
// answered meanwhile. The queue is bounded, and more so for long tasks.
#ifndef IKET_SERVE_WORKERS_H
#define IKET_SERVE_WORKERS_H

#include "common/error.h"

// Part of what is to be done; the memory is the caller's until `finish`, with which it goes back.
typedef struct iket_worker_task iket_worker_task;
struct iket_worker_task {
    void (*run)(iket_worker_task *task);    // without any lock
    void (*finish)(iket_worker_task *task); // after run, or in its place when the workers end before its turn
    int is_long; // 0 or 1
    iket_worker_task *next;
};

typedef struct iket_workers iket_workers;

IKET_MUST_CHECK int iket_workers_open(iket_workers **workers, iket_error *err);

// -1: the queue is full, or the workers are ending; nothing was taken.
IKET_MUST_CHECK int iket_workers_add(iket_workers *workers, iket_worker_task *task);

// 1 from the beginning of iket_workers_stop on: a task that runs should come to its end.
int iket_workers_are_ending(const iket_workers *workers);

// Finishes what waits without running it, waits for what runs, and takes nothing from then on. NULL is allowed.
void iket_workers_stop(iket_workers *workers);

// After iket_workers_stop, when nobody adds any more. NULL is allowed.
void iket_workers_close(iket_workers *workers);

#endif
