// SPDX-License-Identifier: Apache-2.0
#include "serve/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/version.h"

// Which program made it: two builds of one version need not make the same of a trace.
static char program[64];

static void name_program(void) {
    struct stat info;
    uint64_t build = stat("/proc/self/exe", &info) == 0 ? ((uint64_t)info.st_mtim.tv_sec * 1000000000 + (uint64_t)info.st_mtim.tv_nsec) ^ (uint64_t)info.st_size : 0;
    snprintf(program, sizeof program, "%s-%" PRIx64, IKET_VERSION, build);
}

static size_t begin_key(char key[IKET_KEY_MAX]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, name_program);
    return (size_t)snprintf(key, IKET_KEY_MAX, "%s", program);
}

static size_t add_file_to_key(char *key, size_t used, const iket_catalog_file *file) {
    int n = snprintf(key + used, IKET_KEY_MAX - used, "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64, file->device, file->inode, file->size, file->changed);
    return used + (size_t)n;
}

iket_file_kind iket_cache_key(const iket_catalog_trace *trace, char key[IKET_KEY_MAX]) {
    static const iket_file_kind sources[] = {IKET_FILE_DUMP, IKET_FILE_COLLECTOR, IKET_FILE_JSON, IKET_FILE_JSON_GZ};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const iket_catalog_file *file = &trace->files[sources[i]];
        if (!file->there) continue;
        size_t used = add_file_to_key(key, begin_key(key), file);
        if (trace->meta.there) add_file_to_key(key, used, &trace->meta);
        return sources[i];
    }
    key[0] = 0;
    return IKET_FILE_KINDS;
}

void iket_cache_file_key(const iket_catalog_file *file, char key[IKET_KEY_MAX]) {
    add_file_to_key(key, begin_key(key), file);
}

void iket_cache_hash(const char *text, char digits[IKET_HASH_DIGITS + 1]) {
    uint64_t a = UINT64_C(0xCBF29CE484222325), b = UINT64_C(0x84222325CBF29CE4);
    for (const char *c = text; *c != 0; c++) {
        a = (a ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
        b = (b ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    }
    snprintf(digits, IKET_HASH_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, a, b);
}

static int make_folder(const char *path, iket_error *err) {
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return 0;
    return iket_fail(err, "%s: the cache folder cannot be made: %s", path, strerror(errno));
}

// With a slash at its end.
static int find_folder(char path[IKET_CACHE_PATH], iket_error *err) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache != NULL && cache[0] == '/') {
        n = snprintf(path, IKET_CACHE_PATH, "%s", cache);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, IKET_CACHE_PATH, "%s/.cache", home);
    } else {
        return iket_fail(err, "there is no place for a cache (set XDG_CACHE_HOME or HOME)");
    }
    if (n + IKET_KEY_MAX + 32 > IKET_CACHE_PATH) return iket_fail(err, "the cache folder's name is too long");
    IKET_TRY(make_folder(path, err));
    strcat(path, "/iket");
    IKET_TRY(make_folder(path, err));
    strcat(path, "/");
    return 0;
}

int iket_cache_path(const char *key, const char *ending, char path[IKET_CACHE_PATH], iket_error *err) {
    IKET_TRY(find_folder(path, err));
    strcat(path, key);
    strcat(path, ending);
    return 0;
}

typedef struct {
    char name[256];
    uint64_t size;
    struct timespec used;
} cached_file;

static int newest_first(const void *a, const void *b) {
    const cached_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec > y->used.tv_nsec ? -1 : x->used.tv_nsec < y->used.tv_nsec;
}

void iket_cache_prune(void) {
    char path[IKET_CACHE_PATH];
    cached_file *files = NULL;
    size_t count = 0, capacity = 0;
    if (find_folder(path, NULL) != 0) return;
    DIR *folder = opendir(path);
    if (folder == NULL) return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        struct stat info;
        if (e->d_name[0] == '.' || fstatat(dirfd(folder), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
        if (IKET_RESERVE(files, count, capacity, 1, NULL) != 0) break;
        cached_file *file = &files[count++];
        snprintf(file->name, sizeof file->name, "%s", e->d_name);
        file->size = (uint64_t)info.st_size;
        file->used = info.st_atim.tv_sec > info.st_mtim.tv_sec ? info.st_atim : info.st_mtim;
    }
    if (count > 1) qsort(files, count, sizeof *files, newest_first);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += files[i].size;
        // What was written just now stays, however large it is.
        if (i > 0 && total > IKET_CACHE_BYTES) unlinkat(dirfd(folder), files[i].name, 0);
    }
    free(files);
    closedir(folder);
}
