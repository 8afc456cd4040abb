// SPDX-License-Identifier: Apache-2.0
// gzip.h: one gzip member, written as a stream.
#ifndef IKET_COMMON_GZIP_H
#define IKET_COMMON_GZIP_H

#include <stddef.h>

#include "common/error.h"
#include "common/sink.h"

typedef struct iket_gzip iket_gzip; // owned by the caller until closed or dropped

// Compressed bytes go to `flush` with `context`, both borrowed. level 1 to 9.
IKET_MUST_CHECK int iket_gzip_open(iket_gzip **gzip, int level, iket_sink_flush_fn flush, void *context, iket_error *err);

// A sink's consumer; context is an iket_gzip.
int iket_gzip_flush(void *context, const void *data, size_t size, iket_error *err);

// Ends the member and frees; *gzip is NULL afterwards whatever the result.
IKET_MUST_CHECK int iket_gzip_close(iket_gzip **gzip, iket_error *err);

void iket_gzip_drop(iket_gzip **gzip); // frees without ending it

#endif
