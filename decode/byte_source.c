// SPDX-License-Identifier: Apache-2.0
// A regular file that is not gzip is mapped over a reserved region that is one page longer: the zero padding costs
// nothing. Everything else goes through a window: read(2), or inflate() from a second, smaller buffer.
#include "decode/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { WINDOW_BYTES = 1 << 20, PACKED_BYTES = 256 << 10, LEAST_READ = 64 << 10 };

struct iket_byte_source_state {
    int fd, owns_fd;          // -1: none
    const uint8_t *front;     // bytes that come before those of fd
    size_t front_size;
    void *map;
    size_t map_size;
    uint8_t *window;          // [capacity + IKET_SOURCE_PADDING]
    size_t capacity;
    int gzip, ended, failed;
    int member_open;          // inside a gzip member
    uint8_t *packed;          // gzip bytes not yet inflated: packed[packed_at..packed_end)
    size_t packed_at, packed_end;
    int packed_eof;
    z_stream inflater;
    int inflater_ready;
    iket_error error;         // valid when failed
};

static size_t page_up(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

static int map_file(iket_byte_source *source, int fd, size_t size, iket_error *err) {
    struct iket_byte_source_state *s = source->state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size > SIZE_MAX - 2 * page) return iket_fail(err, "the file is too large to map");
    s->map_size = page_up(size) + page;
    s->map = mmap(NULL, s->map_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return iket_fail(err, "cannot reserve %zu bytes: %s", s->map_size, strerror(errno));
    }
    if (mmap(s->map, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) return iket_fail(err, "cannot map: %s", strerror(errno));
    madvise(s->map, size, MADV_SEQUENTIAL);
    source->data = s->map;
    source->end = source->data + size;
    source->mapped = 1;
    s->ended = 1;
    return 0;
}

// Fills `to` as far as it goes; less than `size` only at the end of the input.
static int read_some(struct iket_byte_source_state *s, uint8_t *to, size_t size, size_t *got, iket_error *err) {
    *got = 0;
    if (s->front_size > 0) {
        *got = s->front_size < size ? s->front_size : size;
        memcpy(to, s->front, *got);
        s->front += *got;
        s->front_size -= *got;
    }
    while (s->fd >= 0 && *got < size) {
        ssize_t n = read(s->fd, to + *got, size - *got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return iket_fail(err, "cannot read: %s", strerror(errno));
        if (n == 0) break;
        *got += (size_t)n;
    }
    return 0;
}

static int refill_packed(struct iket_byte_source_state *s, iket_error *err) {
    size_t left = s->packed_end - s->packed_at, got = 0;
    memmove(s->packed, s->packed + s->packed_at, left);
    IKET_TRY(read_some(s, s->packed + left, PACKED_BYTES - left, &got, err));
    s->packed_at = 0;
    s->packed_end = left + got;
    if (got == 0) s->packed_eof = 1;
    return 0;
}

// Between two members: 1 when another one starts, 0 at the end (zero padding is allowed there), -1 for anything else.
static int next_member(struct iket_byte_source_state *s, iket_error *err) {
    for (;;) {
        if (s->packed_end - s->packed_at < 2 && !s->packed_eof) IKET_TRY(refill_packed(s, err));
        size_t left = s->packed_end - s->packed_at;
        if (left == 0) {
            if (s->packed_eof) return 0;
        } else if (s->packed[s->packed_at] == 0) {
            s->packed_at++;
        } else if (left >= 2 && s->packed[s->packed_at] == 0x1F && s->packed[s->packed_at + 1] == 0x8B) {
            return 1;
        } else if (left >= 2 || s->packed_eof) {
            return iket_fail(err, "bytes that are not gzip follow the gzip data (the file is damaged)");
        }
    }
}

static int inflate_some(struct iket_byte_source_state *s, uint8_t *to, size_t size, size_t *got, iket_error *err) {
    z_stream *z = &s->inflater;
    *got = 0;
    while (*got < size) {
        if (!s->member_open) {
            int next = next_member(s, err);
            if (next <= 0) return next;
            if (inflateReset(z) != Z_OK) return iket_fail(err, "the gzip decoder cannot be reset");
            s->member_open = 1;
        }
        if (s->packed_at == s->packed_end && !s->packed_eof) IKET_TRY(refill_packed(s, err));
        size_t room = size - *got < WINDOW_BYTES ? size - *got : WINDOW_BYTES;
        z->next_in = s->packed + s->packed_at;
        z->avail_in = (uInt)(s->packed_end - s->packed_at);
        z->next_out = to + *got;
        z->avail_out = (uInt)room;
        int result = inflate(z, Z_NO_FLUSH);
        *got += room - z->avail_out;
        s->packed_at = s->packed_end - z->avail_in;
        if (result == Z_STREAM_END) {
            s->member_open = 0;
        } else if (result == Z_BUF_ERROR || (result == Z_OK && z->avail_out > 0 && s->packed_at == s->packed_end)) {
            if (s->packed_eof) return iket_fail(err, "the gzip data is cut off (copy the file again, or run the decoder again)");
        } else if (result != Z_OK) {
            return iket_fail(err, "the gzip data is damaged: %s", z->msg != NULL ? z->msg : "unknown cause");
        }
    }
    return 0;
}

static int start_gzip(struct iket_byte_source_state *s, iket_error *err) {
    s->packed = malloc(PACKED_BYTES);
    if (s->packed == NULL) return iket_fail(err, "out of memory (%d bytes)", PACKED_BYTES);
    if (inflateInit2(&s->inflater, 15 + 16) != Z_OK) return iket_fail(err, "out of memory (gzip decoder)");
    s->inflater_ready = 1;
    s->gzip = 1;
    return 0;
}

// The window as it is before the first byte, with the kind of input found out from its first two.
static int start_window(iket_byte_source *source, iket_error *err) {
    struct iket_byte_source_state *s = source->state;
    s->window = malloc(WINDOW_BYTES + IKET_SOURCE_PADDING);
    if (s->window == NULL) return iket_fail(err, "out of memory (%d bytes)", WINDOW_BYTES);
    s->capacity = WINDOW_BYTES;
    size_t got = 0;
    IKET_TRY(read_some(s, s->window, 2, &got, err));
    source->data = s->window;
    source->end = s->window + got;
    if (got == 2 && s->window[0] == 0x1F && s->window[1] == 0x8B) {
        IKET_TRY(start_gzip(s, err));
        memcpy(s->packed, s->window, 2);
        s->packed_end = 2;
        source->end = s->window;
    }
    memset(s->window + (source->end - source->data), 0, IKET_SOURCE_PADDING);
    return 0;
}

static int allocate(iket_byte_source *source, iket_error *err) {
    *source = (iket_byte_source){.state = calloc(1, sizeof(struct iket_byte_source_state))};
    if (source->state == NULL) return iket_fail(err, "out of memory");
    source->state->fd = -1;
    return 0;
}

static int open_path(iket_byte_source *source, const char *path, iket_error *err) {
    struct iket_byte_source_state *s = source->state;
    s->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) return iket_fail(err, "cannot open: %s", strerror(errno));
    s->owns_fd = s->fd != STDIN_FILENO;
    struct stat status;
    if (fstat(s->fd, &status) != 0) return iket_fail(err, "cannot open: %s", strerror(errno));
    if (S_ISDIR(status.st_mode)) return iket_fail(err, "is a directory");
    uint8_t magic[2];
    if (S_ISREG(status.st_mode) && s->owns_fd && status.st_size > 1 && pread(s->fd, magic, 2, 0) == 2 && !(magic[0] == 0x1F && magic[1] == 0x8B)) {
        return map_file(source, s->fd, (size_t)status.st_size, err);
    }
    return start_window(source, err);
}

int iket_byte_source_open(iket_byte_source *source, const char *path, iket_error *err) {
    if (allocate(source, err) != 0 || open_path(source, path, err) != 0) {
        iket_byte_source_close(source);
        return -1;
    }
    return 0;
}

int iket_byte_source_open_rest(iket_byte_source *source, const void *bytes, size_t size, int fd, iket_error *err) {
    if (allocate(source, err) != 0) return -1;
    source->state->front = bytes;
    source->state->front_size = size;
    source->state->fd = fd;
    if (start_window(source, err) != 0) {
        iket_byte_source_close(source);
        return -1;
    }
    return 0;
}

// Room for LEAST_READ more bytes behind those from `keep` on, which move to the front of the window.
static int make_room(iket_byte_source *source, const uint8_t *keep, iket_error *err) {
    struct iket_byte_source_state *s = source->state;
    size_t kept = (size_t)(source->end - keep), skipped = (size_t)(keep - source->data);
    if (s->capacity - kept < LEAST_READ) {
        if (s->capacity > SIZE_MAX / 4) return iket_fail(err, "a single value is too long");
        size_t capacity = s->capacity * 2;
        uint8_t *window = malloc(capacity + IKET_SOURCE_PADDING);
        if (window == NULL) return iket_fail(err, "out of memory (%zu bytes for a single value)", capacity);
        memcpy(window, keep, kept);
        free(s->window);
        s->window = window;
        s->capacity = capacity;
    } else {
        memmove(s->window, keep, kept);
    }
    source->data = s->window;
    source->end = s->window + kept;
    source->offset += skipped;
    return 0;
}

int iket_byte_source_more(iket_byte_source *source, const uint8_t *keep, iket_error *err) {
    struct iket_byte_source_state *s = source->state;
    if (s->map != NULL) return 0;
    if (s->failed || s->ended) {
        source->offset += (uint64_t)(keep - source->data);
        source->data = keep;
        return s->failed ? iket_fail(err, "%s", s->error.message) : 0;
    }
    IKET_TRY(make_room(source, keep, err));
    size_t kept = (size_t)(source->end - source->data), room = s->capacity - kept, got = 0;
    uint8_t *to = s->window + kept;
    int result = s->gzip ? inflate_some(s, to, room, &got, &s->error) : read_some(s, to, room, &got, &s->error);
    source->end = to + got;
    memset(to + got, 0, IKET_SOURCE_PADDING);
    if (result != 0) s->failed = 1;
    if (got > 0) return 1;
    if (s->failed) return iket_fail(err, "%s", s->error.message);
    s->ended = 1;
    return 0;
}

void iket_byte_source_close(iket_byte_source *source) {
    struct iket_byte_source_state *s = source->state;
    if (s != NULL) {
        if (s->map != NULL) munmap(s->map, s->map_size);
        if (s->inflater_ready) inflateEnd(&s->inflater);
        if (s->owns_fd && s->fd >= 0) close(s->fd);
        free(s->window);
        free(s->packed);
        free(s);
    }
    *source = (iket_byte_source){0};
}
