// SPDX-License-Identifier: Apache-2.0
#include "serve/opened.h"

#include <libdeflate.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/work.h"

enum { KEPT = 4, PACK_LEVEL = 6 };
// Larger tables are sent from the file: nobody waits for them to be packed, and they would take memory for long.
enum { PACKED_FROM = 1024, PACKED_MOST = 64 << 20 };

typedef struct shared {
    iket_opened_file file; // first: what is borrowed
    iket_levels *levels;
    char key[IKET_KEY_MAX];
    unsigned users; // the table is one
} shared;

struct iket_opened {
    pthread_mutex_t lock;
    shared *kept[KEPT]; // the last borrowed first
};

iket_opened *iket_opened_open(void) {
    iket_opened *opened = calloc(1, sizeof *opened);
    if (opened != NULL) pthread_mutex_init(&opened->lock, NULL);
    return opened;
}

// With the lock held, or of what nobody else has.
static void drop(shared *s) {
    if (s == NULL || --s->users > 0) return;
    iket_levels_close(s->levels);
    close(s->file.fd);
    free((void *)(uintptr_t)s->file.packed);
    free(s);
}

void iket_opened_close(iket_opened *opened) {
    if (opened == NULL) return;
    for (size_t i = 0; i < KEPT; i++) drop(opened->kept[i]);
    pthread_mutex_destroy(&opened->lock);
    free(opened);
}

// Once for all who ask for it: a page over a slow line waits for little else.
static void pack_tables(iket_opened_file *file) {
    const iket_levels *levels = file->levels;
    size_t size = levels->header->tables_json.count;
    if (size < PACKED_FROM || size > PACKED_MOST) return;
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(PACK_LEVEL);
    size_t room = size - size / 8; // more does not pay
    uint8_t *packed = malloc(room);
    if (compressor != NULL && packed != NULL) file->packed_size = libdeflate_gzip_compress(compressor, levels->tables_json, size, packed, room);
    if (file->packed_size > 0) {
        file->packed = realloc(packed, file->packed_size);
        if (file->packed == NULL) file->packed = packed;
    } else {
        free(packed);
    }
    libdeflate_free_compressor(compressor);
}

static void count_nodes(iket_opened_file *file) {
    for (uint32_t i = 0; i < file->levels->node_count; i++) {
        file->launches += file->levels->node_kind[i] == IKET_LEVELS_NODE_LAUNCH;
        file->warps += file->levels->node_kind[i] == IKET_LEVELS_WARP;
    }
}

static void remove_cached(const char *key) {
    char path[IKET_CACHE_PATH];
    if (iket_cache_path(key, "", path, NULL) == 0) unlink(path);
}

static shared *open_file(const char *key) {
    int fd = iket_work_open_cached(key, "");
    if (fd < 0) return NULL;
    shared *s = calloc(1, sizeof *s);
    if (s == NULL || iket_levels_open(&s->levels, fd, key, NULL) != 0) {
        if (s != NULL) remove_cached(key);
        free(s);
        close(fd);
        return NULL;
    }
    s->file.levels = s->levels;
    s->file.fd = fd;
    s->users = 1;
    memcpy(s->key, key, strlen(key) + 1);
    count_nodes(&s->file);
    pack_tables(&s->file);
    futimens(fd, NULL); // the cache lets the files go that were not used for longest
    return s;
}

// With the lock held. A file of the cache that was cut in place must not be read through its mapping any more.
static shared *find(iket_opened *opened, const char *key) {
    struct stat info;
    size_t at = 0;
    while (at < KEPT && opened->kept[at] != NULL && strcmp(opened->kept[at]->key, key) != 0) at++;
    if (at == KEPT || opened->kept[at] == NULL) return NULL;
    shared *s = opened->kept[at];
    memmove(opened->kept + 1, opened->kept, at * sizeof *opened->kept);
    opened->kept[0] = s;
    if (fstat(s->file.fd, &info) == 0 && (uint64_t)info.st_size == s->levels->size) {
        s->users++;
        return s;
    }
    memmove(opened->kept, opened->kept + 1, (KEPT - 1) * sizeof *opened->kept);
    opened->kept[KEPT - 1] = NULL;
    drop(s);
    return NULL;
}

// With the lock held.
static void keep(iket_opened *opened, shared *s) {
    drop(opened->kept[KEPT - 1]);
    memmove(opened->kept + 1, opened->kept, (KEPT - 1) * sizeof *opened->kept);
    opened->kept[0] = s;
    s->users++;
}

const iket_opened_file *iket_opened_borrow(iket_opened *opened, const char *key) {
    pthread_mutex_lock(&opened->lock);
    shared *s = find(opened, key);
    pthread_mutex_unlock(&opened->lock);
    if (s != NULL) return &s->file;
    shared *fresh = open_file(key);
    if (fresh == NULL) return NULL;
    pthread_mutex_lock(&opened->lock);
    s = find(opened, key); // another thread may have been faster
    if (s == NULL) {
        keep(opened, fresh);
        s = fresh;
    } else {
        drop(fresh);
    }
    pthread_mutex_unlock(&opened->lock);
    return &s->file;
}

void iket_opened_return(iket_opened *opened, const iket_opened_file *file) {
    pthread_mutex_lock(&opened->lock);
    drop((shared *)(uintptr_t)file);
    pthread_mutex_unlock(&opened->lock);
}
