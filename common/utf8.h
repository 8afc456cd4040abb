// SPDX-License-Identifier: Apache-2.0
// utf8.h: making any bytes valid UTF-8.
#ifndef IKET_COMMON_UTF8_H
#define IKET_COMMON_UTF8_H

#include <stddef.h>

// Bytes of the well-formed sequence at `text` (1 to 4: no overlong form, surrogate or value past U+10FFFF), 0 for none.
size_t iket_utf8_sequence(const char *text, size_t size);

// 1 when all bytes are well-formed and none is NUL.
int iket_utf8_valid(const char *text, size_t size);

// Copies `size` bytes into a new NUL-terminated string, U+FFFD for each bad byte and each NUL. NULL: out of memory.
// The caller frees it.
char *iket_utf8_clean(const char *text, size_t size);

#endif
