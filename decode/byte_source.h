// SPDX-License-Identifier: Apache-2.0
// byte_source.h: bytes in reading order from a file, a pipe or memory, gzip or not.
//
//     mapped file:    [ data .................................. end ] 0 0 0 ...     all at once, can be read again
//     pipe, gzip:     [ data .. keep ~~~~~~~~ end ] 0 0 0 ...                        a window that moves on
//
// Behind `end` there are always at least IKET_SOURCE_PADDING zero bytes that may be read, so that a scanner needs no
// bounds check per byte and may load whole blocks. Gzip is known by its magic, never by a name; several members one
// after another are one stream.
#ifndef IKET_DECODE_BYTE_SOURCE_H
#define IKET_DECODE_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum { IKET_SOURCE_PADDING = 128 };

typedef struct iket_byte_source {
    const uint8_t *data, *end; // the bytes at hand
    uint64_t offset;           // of data[0] in the (inflated) input
    int mapped;                // data..end is the whole input and stays where it is
    struct iket_byte_source_state *state;
} iket_byte_source;

// "-" is standard input. Nothing is at hand yet unless the source is mapped.
IKET_MUST_CHECK int iket_byte_source_open(iket_byte_source *source, const char *path, iket_error *err);

// Reads `size` bytes at `bytes`, which are borrowed until the source is closed, then what `fd` still gives (-1: nothing).
// For an input whose beginning was read to find out what it is. The descriptor stays the caller's.
IKET_MUST_CHECK int iket_byte_source_open_rest(iket_byte_source *source, const void *bytes, size_t size, int fd, iket_error *err);

// Reads on. What lies before `keep` (a place in data..end) is given up; data starts with what `keep` pointed to.
// 1: there are more bytes; 0: the input is at its end; -1: it cannot be read, or its gzip data is damaged or cut off
// (all bytes before the damage have been handed out by then).
int iket_byte_source_more(iket_byte_source *source, const uint8_t *keep, iket_error *err);

// Frees everything; zero-initialised sources are allowed.
void iket_byte_source_close(iket_byte_source *source);

#endif
