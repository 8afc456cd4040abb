// SPDX-License-Identifier: Apache-2.0
// pool.h: the threads of a tool, and the one way in which work is split among them.
//
//     iket_pool_run(pool, 5, fn, context, err)      main     fn 0 ──▶ fn 2 ──▶ fn 4 ┐
//                                                   worker   fn 1 ──▶ fn 3 ─────────┴▶ returns when all are done
//
// The calling thread works too. What a task does may depend on its index only, never on the thread that runs it: results
// are put together by index, so that output is the same for any number of threads. A task may itself call iket_pool_run;
// threads that have nothing left to do then help with its tasks.
#ifndef IKET_COMMON_POOL_H
#define IKET_COMMON_POOL_H

#include <stddef.h>

#include "common/error.h"

typedef struct iket_pool iket_pool; // owned by the caller until closed

enum { IKET_POOL_THREADS_MAX = 256 };

// `threads` counts the calling thread; 0: as many as there are processors online. They are started by the first run that
// has work for them; where the system gives fewer, those do it.
IKET_MUST_CHECK int iket_pool_open(iket_pool **pool, unsigned threads, iket_error *err);

// Ends the threads and frees; *pool is NULL afterwards. NULL is allowed. No run may be under way.
void iket_pool_close(iket_pool **pool);

unsigned iket_pool_threads(const iket_pool *pool); // 1 for NULL

// Returns 0, or -1 with the message in err.
typedef int (*iket_pool_fn)(void *context, size_t index, iket_error *err);

// Calls fn for every index below `count`; pool NULL: on this thread, in order. When calls fail, the error is that of the
// least index that failed, every call below it was made, and calls above it may have been left out.
IKET_MUST_CHECK int iket_pool_run(iket_pool *pool, size_t count, iket_pool_fn fn, void *context, iket_error *err);

// What is made in parallel and written in order: calls `make` for every index, and `write`, one call at a time, in the order
// of the indices. `slot` is below iket_pool_slots and no other index's between the begin of make and the end of write, for
// a buffer that both use. The error is that of the least index that failed; nothing is written from it on.
typedef int (*iket_pool_ordered_fn)(void *context, size_t index, unsigned slot, iket_error *err);
IKET_MUST_CHECK int iket_pool_run_ordered(iket_pool *pool, size_t count, iket_pool_ordered_fn make, iket_pool_ordered_fn write, void *context, iket_error *err);
unsigned iket_pool_slots(const iket_pool *pool);

#endif
