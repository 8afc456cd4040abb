// SPDX-License-Identifier: Apache-2.0
// gzip.h: one gzip member, compressed by several threads.
//
//     input    [ block 0 ][ block 1 ][ block 2 ]     128 KiB each, in parallel, each with the 32 KiB before it as dictionary
//     member   head | deflated 0 | deflated 1 | deflated 2 | end | CRC, size     each ends on a byte (a sync flush)
//
// Exactly one member and nothing after it: browsers and curl read only the first of several. The bytes depend on the
// level and the input, not on the threads or on how the input comes in pieces.
#ifndef IKET_COMMON_GZIP_H
#define IKET_COMMON_GZIP_H

#include <stddef.h>

#include "common/error.h"
#include "common/pool.h"
#include "common/sink.h"

typedef struct iket_gzip iket_gzip; // owned by the caller until closed or dropped

// What a .pftrace takes least time and space at together: doc/performance.md.
enum { IKET_GZIP_LEVEL = 5 };

// Compressed bytes go to `flush` with `context`; both and the pool (NULL: one thread) are borrowed. level 1 to 9.
IKET_MUST_CHECK int iket_gzip_open(iket_gzip **gzip, int level, iket_pool *pool, iket_sink_flush_fn flush, void *context, iket_error *err);

// A sink's consumer; context is an iket_gzip.
int iket_gzip_flush(void *context, const void *data, size_t size, iket_error *err);

// Ends the member and frees; *gzip is NULL afterwards whatever the result.
IKET_MUST_CHECK int iket_gzip_close(iket_gzip **gzip, iket_error *err);

void iket_gzip_drop(iket_gzip **gzip); // frees without ending it

#endif
