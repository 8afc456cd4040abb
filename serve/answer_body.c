// SPDX-License-Identifier: Apache-2.0
#include "serve/answer_body.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/cache.h"

// Level 1: an answer to somebody who drags the view must not wait for the last percents.
enum { MEMORY_MOST = 16 << 20, TOTAL_MOST = 64 << 20, PACKED_FROM = 2048, PACK_LEVEL = 1 };

// A file without a name, where the file system can do that; else one whose name is removed at once.
static int open_nameless(iket_error *err) {
    char path[IKET_CACHE_PATH];
    IKET_TRY(iket_cache_path("", "", path, err));
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    strcat(path, "answer-XXXXXX");
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return iket_fail(err, "%s: cannot be made: %s", path, strerror(errno));
    unlink(path);
    return fd;
}

static int write_file(int fd, const void *data, size_t size, iket_error *err) {
    for (const char *from = data; size > 0;) {
        ssize_t written = write(fd, from, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return iket_fail(err, "the answer cannot be kept in the cache folder: %s", strerror(errno));
        from += written;
        size -= (size_t)written;
    }
    return 0;
}

iket_answer_body *iket_answer_body_open(atomic_size_t *total, int (*is_unwanted)(void *context), void *context) {
    iket_answer_body *body = calloc(1, sizeof *body);
    if (body != NULL) *body = (iket_answer_body){.fd = -1, .total = total, .is_unwanted = is_unwanted, .context = context};
    return body;
}

static void forget_memory(iket_answer_body *body) {
    atomic_fetch_sub(body->total, body->memory.used);
    free(body->memory.data);
    body->memory = (iket_memory){0};
}

static int begin_file(iket_answer_body *body, iket_error *err) {
    body->fd = open_nameless(err);
    if (body->fd < 0) return -1;
    int result = write_file(body->fd, body->memory.data, body->memory.used, err);
    forget_memory(body);
    return result;
}

int iket_answer_body_flush(void *context, const void *data, size_t size, iket_error *err) {
    iket_answer_body *body = context;
    if (body->is_unwanted(body->context)) return iket_fail(err, "nobody waits for this answer any more");
    if (body->fd < 0 && (body->size + size > MEMORY_MOST || atomic_load(body->total) + size > TOTAL_MOST)) IKET_TRY(begin_file(body, err));
    if (body->fd >= 0) {
        IKET_TRY(write_file(body->fd, data, size, err));
    } else {
        IKET_TRY(iket_memory_flush(&body->memory, data, size, err));
        atomic_fetch_add(body->total, size);
    }
    body->size += size;
    return 0;
}

void iket_answer_body_pack(iket_answer_body *body) {
    size_t size = body->memory.used, room = size - size / 8;
    if (body->fd >= 0 || size < PACKED_FROM) return;
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(PACK_LEVEL);
    uint8_t *packed = malloc(room);
    size_t length = compressor != NULL && packed != NULL ? libdeflate_gzip_compress(compressor, body->memory.data, size, packed, room) : 0;
    libdeflate_free_compressor(compressor);
    if (length == 0) {
        free(packed);
        return;
    }
    forget_memory(body);
    body->memory.data = realloc(packed, length);
    if (body->memory.data == NULL) body->memory.data = packed;
    body->memory.used = body->memory.capacity = length;
    atomic_fetch_add(body->total, length);
    body->size = length;
    body->is_packed = 1;
}

void iket_answer_body_free(void *context) {
    iket_answer_body *body = context;
    if (body == NULL) return;
    forget_memory(body);
    if (body->fd >= 0) close(body->fd);
    free(body);
}
