// SPDX-License-Identifier: Apache-2.0
// input.h: a whole input as one run of bytes. A regular file is mapped; a pipe and a gzip file (known by its magic,
// never by its name) are read into memory.
#ifndef IKET_COMMON_INPUT_H
#define IKET_COMMON_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

typedef struct iket_input {
    const uint8_t *data; // NULL when size is 0
    size_t size;
    int mapped;          // data is a mapping, else from malloc
} iket_input;

// Opens `path` ("-": standard input). The bytes belong to the input until iket_input_close.
IKET_MUST_CHECK int iket_input_open(iket_input *input, const char *path, iket_error *err);

// Frees; the input is empty afterwards. A zero-initialised input is allowed.
void iket_input_close(iket_input *input);

// Reads what is left on `fd` into memory, behind the `size` bytes at `head` (copied), and unpacks it where it is gzip.
IKET_MUST_CHECK int iket_input_read_rest(iket_input *input, const void *head, size_t size, int fd, const char *name, iket_error *err);

// Puts up to `size` first bytes of a file into `head` (of a gzip file: of what it holds) and returns how many, -1 when it
// cannot be read. For telling inputs apart; never for "-", whose bytes would be lost.
int iket_input_peek(const char *path, void *head, size_t size, iket_error *err);

// The same of bytes in memory that begin with gzip's magic: what the first of them hold, 0 when nothing can be unpacked.
size_t iket_input_peek_gzip(const void *packed, size_t packed_size, void *head, size_t size);

static inline int iket_input_is_gzip(const void *data, size_t size) {
    const uint8_t *bytes = data;
    return size >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

#endif
