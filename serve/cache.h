// SPDX-License-Identifier: Apache-2.0
// cache.h: where what was decoded on demand is kept: $XDG_CACHE_HOME/iket (~/.cache/iket), never beside the user's files.
//
// A file's name is made of what tells its source apart (this build of the program, device, inode, size and time of
// change), so that a source that changes is another one. The folder's size is bounded: the oldest files go.
#ifndef IKET_SERVE_CACHE_H
#define IKET_SERVE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "serve/catalog.h"

enum { IKET_KEY_MAX = 240, IKET_CACHE_PATH = 4096 };
#define IKET_CACHE_BYTES ((uint64_t)16 << 30)

// The key of `trace`'s source, the file that it is decoded from. Returns that file's kind; IKET_FILE_KINDS: it has none.
iket_file_kind iket_cache_key(const iket_catalog_trace *trace, char key[IKET_KEY_MAX]);

// The key of one file by itself.
void iket_cache_file_key(const iket_catalog_file *file, char key[IKET_KEY_MAX]);

// Two hashes (FNV-1a, from two beginnings) of a text, in hexadecimal.
enum { IKET_HASH_DIGITS = 32 };
void iket_cache_hash(const char *text, char digits[IKET_HASH_DIGITS + 1]);

// The path of the cached file; the folder is made when it is not there.
IKET_MUST_CHECK int iket_cache_path(const char *key, const char *ending, char path[IKET_CACHE_PATH], iket_error *err);

// Removes the oldest files until what is kept takes no more than IKET_CACHE_BYTES.
void iket_cache_prune(void);

#endif
