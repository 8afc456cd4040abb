// SPDX-License-Identifier: Apache-2.0
// spool.h: a queue of bytes that is written once and then read once, in memory up to a bound and past it in an unlinked
// file in $TMPDIR, so that what has to wait may be larger than memory. Written and read in order, in large pieces.
#ifndef IKET_DECODE_SPOOL_H
#define IKET_DECODE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

typedef struct iket_spool {
    uint8_t *data;           // owned: what was written last, or what is read next
    size_t used, capacity;
    size_t at;               // reading: next byte of data
    size_t limit;            // greatest capacity
    int fd;                  // the file, -1 while there is none
    uint64_t written, taken; // bytes in the file, and of those how many were read again
} iket_spool;

// `memory` bytes are held at most (at least 64 KiB).
void iket_spool_start(iket_spool *spool, uint64_t memory);

IKET_MUST_CHECK int iket_spool_write(iket_spool *spool, const void *bytes, size_t size, iket_error *err);

// After the first read nothing is written before iket_spool_reset. 1: `size` bytes were read; 0: nothing is left; -1: error.
int iket_spool_read(iket_spool *spool, void *bytes, size_t size, iket_error *err);

// Empties it for another round.
int iket_spool_reset(iket_spool *spool, iket_error *err);

// For a started one; may be called again.
void iket_spool_stop(iket_spool *spool);

#endif
