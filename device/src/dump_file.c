// SPDX-License-Identifier: Apache-2.0
// dump_file.c: see dump_file.h.
#include "dump_file.h"

#include "crc32.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const unsigned char padding[8];

static int write_bytes(struct dump_file *dump, const void *bytes, size_t length, struct iket_recorder_error *error) {
    if (length == 0 || fwrite(bytes, 1, length, dump->file) == length) return 0;
    return rec_fail(error, "%s: cannot write: %s", dump->path_partial, strerror(errno));
}

static void put32(unsigned char *to, uint32_t value) { memcpy(to, &value, 4); }
static void put64(unsigned char *to, uint64_t value) { memcpy(to, &value, 8); }

static int write_section_header(struct dump_file *dump, const char *type, uint32_t crc, uint64_t bytes, uint32_t items,
                                struct iket_recorder_error *error) {
    unsigned char header[24] = {0};
    memcpy(header, type, 4);
    put32(header + 4, crc);
    put64(header + 8, bytes);
    put32(header + 16, items);
    return write_bytes(dump, header, sizeof header, error);
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
    return write_bytes(dump, header, sizeof header, error);
}

int dump_open(struct dump_file *dump, const char *path, int overwrite, uint64_t context_id, struct iket_recorder_error *error) {
    *dump = (struct dump_file){0};
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
    dump->file = fopen(dump->path_partial, "wbx");
    if (dump->file == NULL) {
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
    REC_TRY(write_section_header(dump, type, rec_crc32(payload, bytes), bytes, items, error));
    REC_TRY(write_bytes(dump, payload, bytes, error));
    return write_bytes(dump, padding, (8 - bytes % 8) % 8, error);
}

int dump_warp_begin(struct dump_file *dump, struct iket_recorder_error *error) {
    dump->section_start = ftell(dump->file);
    dump->section_items = 0;
    if (dump->section_start < 0) return rec_fail(error, "%s: ftell: %s", dump->path_partial, strerror(errno));
    return write_section_header(dump, "WARP", 0, 0, 0, error);
}

int dump_warp_chunk(struct dump_file *dump, const void *header, const void *records, size_t record_bytes,
                    struct iket_recorder_error *error) {
    dump->section_items++;
    REC_TRY(write_bytes(dump, header, 128, error));
    REC_TRY(write_bytes(dump, records, record_bytes, error));
    return write_bytes(dump, padding, (8 - record_bytes % 8) % 8, error);
}

int dump_warp_end(struct dump_file *dump, struct iket_recorder_error *error) {
    long end = ftell(dump->file);
    if (end < 0 || fseek(dump->file, dump->section_start, SEEK_SET) != 0)
        return rec_fail(error, "%s: seek: %s", dump->path_partial, strerror(errno));
    if (dump->section_items == 0) return 0;
    REC_TRY(write_section_header(dump, "WARP", 0, (uint64_t)(end - dump->section_start - 24), dump->section_items, error));
    if (fseek(dump->file, end, SEEK_SET) != 0) return rec_fail(error, "%s: seek: %s", dump->path_partial, strerror(errno));
    return 0;
}

int dump_commit(struct dump_file *dump, struct iket_recorder_error *error) {
    int failed = ferror(dump->file) != 0 || fflush(dump->file) != 0;
    failed |= fclose(dump->file) != 0;
    dump->file = NULL;
    if (failed || rename(dump->path_partial, dump->path) != 0) {
        rec_fail(error, "%s: cannot be completed: %s", dump->path, strerror(errno));
        dump_discard(dump);
        return -1;
    }
    free(dump->path);
    free(dump->path_partial);
    *dump = (struct dump_file){0};
    return 0;
}

void dump_discard(struct dump_file *dump) {
    if (dump->file != NULL) fclose(dump->file);
    if (dump->file != NULL) unlink(dump->path_partial);
    free(dump->path);
    free(dump->path_partial);
    *dump = (struct dump_file){0};
}
