// SPDX-License-Identifier: Apache-2.0
#include "levels/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 20 };

int iket_levels_source_is_gzip(int fd) {
    uint8_t magic[2];
    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && magic[0] == 0x1F && magic[1] == 0x8B;
}

static void show(iket_levels_source *s, const uint8_t *data, const uint8_t *end, uint64_t offset) {
    s->data = data;
    s->end = end;
    s->offset = offset;
}

int iket_levels_source_open(iket_levels_source *s, int fd, uint64_t offset, iket_error *err) {
    *s = (iket_levels_source){.fd = fd, .gzip = iket_levels_source_is_gzip(fd)};
    if (s->gzip) {
        if (lseek(fd, 0, SEEK_SET) < 0) return iket_fail(err, "cannot read: %s", strerror(errno));
        IKET_TRY(iket_byte_source_open_rest(&s->packed, NULL, 0, fd, err));
        show(s, s->packed.data, s->packed.end, s->packed.offset);
        return 0;
    }
    s->window = calloc(1, WINDOW_BYTES + IKET_SOURCE_PADDING);
    if (s->window == NULL) return iket_fail(err, "out of memory (%d bytes)", WINDOW_BYTES);
    s->capacity = WINDOW_BYTES;
    show(s, s->window, s->window, offset);
    return 0;
}

// Moves what is kept to the front of the window, which grows when more than half of it is kept.
static int make_room(iket_levels_source *s, const uint8_t *keep, size_t kept, iket_error *err) {
    if (kept > s->capacity / 2) {
        if (s->capacity > SIZE_MAX / 4) return iket_fail(err, "a packet is too long");
        uint8_t *wider = malloc(s->capacity * 2 + IKET_SOURCE_PADDING);
        if (wider == NULL) return iket_fail(err, "out of memory (a packet of over %zu bytes)", kept);
        memcpy(wider, keep, kept);
        free(s->window);
        s->window = wider;
        s->capacity *= 2;
    } else {
        memmove(s->window, keep, kept);
    }
    return 0;
}

static int more_of_file(iket_levels_source *s, const uint8_t *keep, iket_error *err) {
    size_t kept = (size_t)(s->end - keep);
    uint64_t offset = s->offset + (uint64_t)(keep - s->data);
    IKET_TRY(make_room(s, keep, kept, err));
    ssize_t got;
    do got = pread(s->fd, s->window + kept, s->capacity - kept, (off_t)(offset + kept));
    while (got < 0 && errno == EINTR);
    show(s, s->window, s->window + kept + (got > 0 ? got : 0), offset);
    memset(s->window + (s->end - s->data), 0, IKET_SOURCE_PADDING);
    return got < 0 ? iket_fail(err, "cannot read: %s", strerror(errno)) : got > 0;
}

int iket_levels_source_more(iket_levels_source *s, const uint8_t *keep, iket_error *err) {
    if (!s->gzip) return more_of_file(s, keep, err);
    int result = iket_byte_source_more(&s->packed, keep, err);
    show(s, s->packed.data, s->packed.end, s->packed.offset);
    return result;
}

uint64_t iket_levels_source_done(const iket_levels_source *s) {
    if (!s->gzip) return s->offset;
    off_t at = lseek(s->fd, 0, SEEK_CUR);
    return at < 0 ? 0 : (uint64_t)at;
}

void iket_levels_source_close(iket_levels_source *s) {
    iket_byte_source_close(&s->packed);
    free(s->window);
    *s = (iket_levels_source){0};
}
