// SPDX-License-Identifier: Apache-2.0
#include "decode/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"

enum { LEAST_MEMORY = 64 << 10, PIECE = 8 << 20 };

void iket_spool_start(iket_spool *spool, uint64_t memory) {
    // A power of two, as the buffer grows by doubling.
    size_t limit = LEAST_MEMORY;
    while (limit <= memory / 2 && limit <= SIZE_MAX / 4) limit *= 2;
    *spool = (iket_spool){.limit = limit, .fd = -1};
}

static const char *folder(void) {
    const char *name = getenv("TMPDIR");
    return name != NULL && name[0] != 0 ? name : "/tmp";
}

static int open_file(iket_spool *spool, iket_error *err) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/iket-spool-XXXXXX", folder());
    if (length < 0 || (size_t)length >= sizeof path) return iket_fail(err, "the name of the temporary folder is too long");
    spool->fd = mkostemp(path, O_CLOEXEC);
    if (spool->fd < 0) return iket_fail(err, "%s: cannot make a temporary file: %s (set TMPDIR, or raise --memory)", folder(), strerror(errno));
    unlink(path);
    return 0;
}

static int write_out(iket_spool *spool, iket_error *err) {
    if (spool->fd < 0) IKET_TRY(open_file(spool, err));
    for (size_t done = 0; done < spool->used;) {
        ssize_t n = write(spool->fd, spool->data + done, spool->used - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return iket_fail(err, "%s: cannot write the temporary file: %s (set TMPDIR, or raise --memory)", folder(), strerror(errno));
        done += (size_t)n;
    }
    spool->written += spool->used;
    spool->used = 0;
    return 0;
}

int iket_spool_write(iket_spool *spool, const void *bytes, size_t size, iket_error *err) {
    if (spool->used + size > spool->limit) IKET_TRY(write_out(spool, err));
    IKET_TRY(IKET_RESERVE(spool->data, spool->used, spool->capacity, size, err));
    memcpy(spool->data + spool->used, bytes, size);
    spool->used += size;
    return 0;
}

// The first read: what is still in memory goes to the file's end when there is a file.
static int turn_around(iket_spool *spool, iket_error *err) {
    IKET_TRY(write_out(spool, err));
    if (lseek(spool->fd, 0, SEEK_SET) != 0) return iket_fail(err, "%s: cannot read the temporary file: %s", folder(), strerror(errno));
    IKET_TRY(IKET_RESERVE(spool->data, (size_t)0, spool->capacity, LEAST_MEMORY, err));
    return 0;
}

static int read_in(iket_spool *spool, iket_error *err) {
    size_t left = spool->used - spool->at, room = spool->capacity < PIECE ? spool->capacity : PIECE;
    memmove(spool->data, spool->data + spool->at, left);
    spool->at = 0;
    spool->used = left;
    while (spool->used < room && spool->taken < spool->written) {
        ssize_t n = read(spool->fd, spool->data + spool->used, room - spool->used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return iket_fail(err, "%s: cannot read the temporary file: %s", folder(), strerror(errno));
        if (n == 0) return iket_fail(err, "%s: the temporary file was cut off", folder());
        spool->used += (size_t)n;
        spool->taken += (uint64_t)n;
    }
    return 0;
}

int iket_spool_read(iket_spool *spool, void *bytes, size_t size, iket_error *err) {
    if (spool->fd >= 0 && spool->at == 0 && spool->taken == 0) IKET_TRY(turn_around(spool, err));
    if (spool->used - spool->at < size && spool->taken < spool->written) IKET_TRY(read_in(spool, err));
    if (spool->used - spool->at < size) return 0;
    memcpy(bytes, spool->data + spool->at, size);
    spool->at += size;
    return 1;
}

int iket_spool_reset(iket_spool *spool, iket_error *err) {
    if (spool->fd >= 0 && (ftruncate(spool->fd, 0) != 0 || lseek(spool->fd, 0, SEEK_SET) != 0)) {
        return iket_fail(err, "%s: cannot empty the temporary file: %s", folder(), strerror(errno));
    }
    spool->used = spool->at = 0;
    spool->written = spool->taken = 0;
    return 0;
}

void iket_spool_stop(iket_spool *spool) {
    if (spool->fd >= 0) close(spool->fd);
    free(spool->data);
    *spool = (iket_spool){.fd = -1};
}
