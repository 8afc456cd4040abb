// SPDX-License-Identifier: Apache-2.0
#include "common/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/array.h"

static int read_rest(iket_input *input, const void *head, size_t head_size, int fd, const char *name, iket_error *err) {
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0;
    *input = (iket_input){0};
    if (head_size > 0) {
        IKET_TRY(iket_array_reserve((void **)&data, &capacity, head_size, 1, err));
        memcpy(data, head, head_size);
        size = head_size;
    }
    for (;;) {
        if (size == capacity && iket_array_reserve((void **)&data, &capacity, size + 65536, 1, err) != 0) break;
        ssize_t got = read(fd, data + size, capacity - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            iket_fail(err, "%s: cannot be read: %s", name, strerror(errno));
            break;
        }
        if (got == 0) {
            *input = (iket_input){.data = data, .size = size};
            return 0;
        }
        size += (size_t)got;
    }
    free(data);
    return -1;
}

// Replaces a gzip input by what it holds. Several members are read as one.
static int unpack(iket_input *input, const char *name, iket_error *err) {
    z_stream z = {0};
    uint8_t *out = NULL;
    size_t used = 0, capacity = 0, taken = 0;
    int result = 0, status = Z_OK;
    if (inflateInit2(&z, 15 + 16) != Z_OK) return iket_fail(err, "%s: out of memory", name);
    while (result == 0) {
        if (used == capacity && (result = iket_array_reserve((void **)&out, &capacity, used + 65536, 1, err)) != 0) break;
        size_t room = capacity - used < 1u << 30 ? capacity - used : 1u << 30;
        size_t left = input->size - taken < 1u << 30 ? input->size - taken : 1u << 30;
        z.next_in = (Bytef *)(uintptr_t)(input->data + taken);
        z.avail_in = (uInt)left;
        z.next_out = out + used;
        z.avail_out = (uInt)room;
        status = inflate(&z, Z_NO_FLUSH);
        taken += left - z.avail_in;
        used += room - z.avail_out;
        if (status == Z_STREAM_END) {
            if (!iket_input_is_gzip(input->data + taken, input->size - taken)) break;
            status = inflateReset(&z);
        } else if (status == Z_BUF_ERROR && taken == input->size) {
            result = iket_fail(err, "%s: byte 0x%zx: the gzip data ends in the middle (the file is cut off; copy it again)", name, taken);
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            result = iket_fail(err, "%s: byte 0x%zx: the gzip data is damaged (%s)", name, taken, z.msg != NULL ? z.msg : "inflate failed");
        }
    }
    inflateEnd(&z);
    iket_input_close(input);
    if (result != 0) {
        free(out);
        return -1;
    }
    *input = (iket_input){.data = out, .size = used};
    return 0;
}

int iket_input_read_rest(iket_input *input, const void *head, size_t size, int fd, const char *name, iket_error *err) {
    IKET_TRY(read_rest(input, head, size, fd, name, err));
    return iket_input_is_gzip(input->data, input->size) ? unpack(input, name, err) : 0;
}

int iket_input_open(iket_input *input, const char *path, iket_error *err) {
    *input = (iket_input){0};
    int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return iket_fail(err, "%s: cannot be opened: %s", name, strerror(errno));
    struct stat info;
    int result = 0;
    if (fstat(fd, &info) != 0) {
        result = iket_fail(err, "%s: cannot be read: %s", name, strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
        result = iket_fail(err, "%s: is a directory, not a file to read", name);
    } else if (S_ISREG(info.st_mode) && info.st_size > 0 && lseek(fd, 0, SEEK_CUR) == 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            result = iket_fail(err, "%s: cannot be mapped: %s", name, strerror(errno));
        } else {
            *input = (iket_input){.data = data, .size = (size_t)info.st_size, .mapped = 1};
        }
    } else {
        result = read_rest(input, NULL, 0, fd, name, err);
    }
    if (!is_stdin) close(fd);
    return result == 0 && iket_input_is_gzip(input->data, input->size) ? unpack(input, name, err) : result;
}

void iket_input_close(iket_input *input) {
    if (input->mapped) {
        munmap((void *)(uintptr_t)input->data, input->size);
    } else {
        free((void *)(uintptr_t)input->data);
    }
    *input = (iket_input){0};
}

int iket_input_peek(const char *path, void *head, size_t size, iket_error *err) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)) return iket_fail(err, "%s: is a pipe, which cannot be read twice (give it as standard input: `- < %s`)", path, path);
    gzFile file = gzopen(path, "rb"); // reads plain files as they are
    if (file == NULL) return iket_fail(err, "%s: cannot be opened: %s", path, errno != 0 ? strerror(errno) : "out of memory");
    int got = gzread(file, head, (unsigned)size);
    int why = errno;
    gzclose(file);
    if (got < 0) return iket_fail(err, "%s: cannot be read: %s", path, why != 0 ? strerror(why) : "the gzip data is damaged");
    return got;
}

size_t iket_input_peek_gzip(const void *packed, size_t packed_size, void *head, size_t size) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)packed_size, .next_out = head, .avail_out = (uInt)size};
    if (inflateInit2(&z, 15 + 16) != Z_OK) return 0;
    inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return size - z.avail_out;
}
