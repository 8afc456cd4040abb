// SPDX-License-Identifier: Apache-2.0
// opened.h: level files that are mapped, a few at a time, shared by the answers that read them.
#ifndef IKET_SERVE_OPENED_H
#define IKET_SERVE_OPENED_H

#include "levels/file.h"
#include "serve/cache.h"

typedef struct iket_opened iket_opened;

// A level file while it is borrowed.
typedef struct iket_opened_file {
    const iket_levels *levels;
    int fd;
    uint64_t launches, warps;
    const uint8_t *packed; // the answer "tables" as one gzip member; NULL: it does not pay
    size_t packed_size;
} iket_opened_file;

iket_opened *iket_opened_open(void); // NULL: out of memory

// After the last iket_opened_return. NULL is allowed.
void iket_opened_close(iket_opened *opened);

// The level file `key` of the cache, to be handed back by iket_opened_return. NULL: it is not there, or was cut or of
// another version and is removed now, so that it is made anew. Read-only; any number of threads may have it.
const iket_opened_file *iket_opened_borrow(iket_opened *opened, const char *key);
void iket_opened_return(iket_opened *opened, const iket_opened_file *file);

#endif
