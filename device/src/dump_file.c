// SPDX-License-Identifier: Apache-2.0
// dump_file.c: see dump_file.h.
#include "dump_file.h"

#include "crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PIECES_A_CALL = 1024 };

static unsigned char padding[8];

// Writes all of the pieces, which are used up. What comes after a failure would stand in the wrong place: it fails, too.
static int write_pieces(struct dump_file *dump, struct iovec *pieces, size_t count, struct iket_recorder_error *error) {
    if (dump->failed) return rec_fail(error, "%s: an earlier write failed", dump->path_partial);
    while (count > 0) {
        ssize_t written = writev(dump->file, pieces, (int)(count < PIECES_A_CALL ? count : PIECES_A_CALL));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            dump->failed = 1;
            return rec_fail(error, "%s: cannot write: %s", dump->path_partial, strerror(errno));
        }
        size_t left = (size_t)written;
        while (count > 0 && left >= pieces->iov_len) left -= pieces->iov_len, pieces++, count--;
        if (left > 0) pieces->iov_base = (unsigned char *)pieces->iov_base + left, pieces->iov_len -= left;
    }
    return 0;
}

static void put32(unsigned char *to, uint32_t value) { memcpy(to, &value, 4); }
static void put64(unsigned char *to, uint64_t value) { memcpy(to, &value, 8); }

static void section_header(unsigned char header[24], const char *type, uint32_t crc, uint64_t bytes, uint32_t items) {
    memset(header, 0, 24);
    memcpy(header, type, 4);
    put32(header + 4, crc);
    put64(header + 8, bytes);
    put32(header + 16, items);
}

static int write_file_header(struct dump_file *dump, uint64_t context_id, struct iket_recorder_error *error) {
    unsigned char header[64] = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(header, "IKETDUMP", 8);
    put32(header + 8, 1);
    put32(header + 12, sizeof header);
    put64(header + 16, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    put32(header + 24, (uint32_t)getpid());
    put64(header + 32, context_id);
    put32(header + 40, 65536);
    struct iovec piece = {header, sizeof header};
    return write_pieces(dump, &piece, 1, error);
}

int dump_open(struct dump_file *dump, const char *path, int overwrite, uint64_t context_id, struct iket_recorder_error *error) {
    *dump = (struct dump_file){.file = -1};
    if (!overwrite && access(path, F_OK) == 0)
        return rec_fail(error, "%s: exists already (choose another directory, or set overwrite)", path);
    size_t length = strlen(path) + 32;
    dump->path = malloc(length);
    dump->path_partial = malloc(length);
    if (dump->path == NULL || dump->path_partial == NULL) {
        dump_discard(dump);
        return rec_fail(error, "out of memory for a path");
    }
    snprintf(dump->path, length, "%s", path);
    snprintf(dump->path_partial, length, "%s.partial-%ld", path, (long)getpid());
    dump->file = open(dump->path_partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (dump->file < 0) {
        rec_fail(error, "%s: cannot be written: %s", dump->path_partial, strerror(errno));
        dump_discard(dump);
        return -1;
    }
    if (write_file_header(dump, context_id, error) != 0) {
        dump_discard(dump);
        return -1;
    }
    return 0;
}

int dump_section(struct dump_file *dump, const char *type, uint32_t items, const void *payload, size_t bytes,
                 struct iket_recorder_error *error) {
    unsigned char header[24];
    section_header(header, type, rec_crc32(0, payload, bytes), bytes, items);
    struct iovec pieces[3] = {{header, sizeof header}, {(void *)(uintptr_t)payload, bytes}, {padding, (8 - bytes % 8) % 8}};
    return write_pieces(dump, pieces, 3, error);
}

int dump_warps(struct dump_file *dump, struct iovec *pieces, size_t count, uint64_t bytes, uint32_t items,
               struct iket_recorder_error *error) {
    unsigned char header[24];
    section_header(header, "WARP", 0, bytes, items);
    pieces[0] = (struct iovec){header, sizeof header};
    return write_pieces(dump, pieces, count, error);
}

static void forget(struct dump_file *dump) {
    free(dump->path);
    free(dump->path_partial);
    *dump = (struct dump_file){.file = -1};
}

int dump_commit(struct dump_file *dump, struct iket_recorder_error *error) {
    int failed = close(dump->file) != 0 || dump->failed;
    dump->file = -1;
    if (failed || rename(dump->path_partial, dump->path) != 0) {
        rec_fail(error, "%s: cannot be completed: %s", dump->path, strerror(errno));
        unlink(dump->path_partial);
        forget(dump);
        return -1;
    }
    forget(dump);
    return 0;
}

void dump_discard(struct dump_file *dump) {
    if (dump->file >= 0) {
        close(dump->file);
        unlink(dump->path_partial);
    }
    forget(dump);
}
