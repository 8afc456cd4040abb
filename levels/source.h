// SPDX-License-Identifier: Apache-2.0
// source.h: the bytes of the trace that a level file is built from, read more than once and from several places at once;
// private to the builder.
//
// A plain file is read with pread() into a window and not mapped: a user may write a new trace over it meanwhile, and a
// mapping that shrinks ends the process. gzip (known by its magic) goes through the decoder's byte source.
#ifndef IKET_LEVELS_SOURCE_H
#define IKET_LEVELS_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "decode/byte_source.h"

typedef struct iket_levels_source {
    const uint8_t *data, *end; // the bytes at hand, zeros for IKET_SOURCE_PADDING bytes behind them
    uint64_t offset;           // of data[0] in the (inflated) file
    int fd;
    int gzip;
    iket_byte_source packed;   // gzip
    uint8_t *window;           // else
    size_t capacity;
} iket_levels_source;

int iket_levels_source_is_gzip(int fd);

// From `offset` on, which is 0 for gzip. fd stays the caller's; of gzip, only one source may read it at a time.
IKET_MUST_CHECK int iket_levels_source_open(iket_levels_source *source, int fd, uint64_t offset, iket_error *err);

// As iket_byte_source_more.
int iket_levels_source_more(iket_levels_source *source, const uint8_t *keep, iket_error *err);

// How far the file itself has been read: less than `offset` for gzip.
uint64_t iket_levels_source_done(const iket_levels_source *source);

void iket_levels_source_close(iket_levels_source *source); // a zero-initialised one is allowed

#endif
