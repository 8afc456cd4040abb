// SPDX-License-Identifier: Apache-2.0
#include "serve/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "viewer/page.h"

typedef struct {
    iket_catalog *catalog;
    size_t entries; // seen so far
    iket_error *err;
} walk;

const char *iket_file_ending(iket_file_kind kind) {
    static const char *const endings[IKET_FILE_KINDS] = {".html", ".pftrace", ".pftrace.gz", ".trace.json", ".trace.json.gz", "", ""};
    return endings[kind];
}

static int ends_with(const char *name, const char *ending) {
    size_t n = strlen(name), e = strlen(ending);
    return n > e && strcmp(name + n - e, ending) == 0;
}

// A .bin is ours when it says so in its first bytes.
static int is_dump(int folder, const char *name) {
    char magic[8];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return 0;
    ssize_t n = read(fd, magic, sizeof magic);
    close(fd);
    return n == (ssize_t)sizeof magic && memcmp(magic, "IKETDUMP", sizeof magic) == 0;
}

// IKET_FILE_KINDS: not a file of a trace.
static iket_file_kind kind_of(int folder, const char *name) {
    for (iket_file_kind kind = IKET_FILE_PAGE; kind <= IKET_FILE_JSON_GZ; kind++) {
        if (ends_with(name, iket_file_ending(kind))) return kind;
    }
    if (strcmp(name, "iket.data.bin") == 0) return IKET_FILE_COLLECTOR;
    return ends_with(name, ".bin") && is_dump(folder, name) ? IKET_FILE_DUMP : IKET_FILE_KINDS;
}

iket_html_state iket_html_state_of(int fd) {
    enum { HEAD_BYTES = 4096 };
    char head[HEAD_BYTES];
    ssize_t n = pread(fd, head, sizeof head, 0);
    if (n <= 0) return IKET_HTML_FOREIGN;
    const char *policy = iket_page_security_policy(), generator[] = "<meta name=\"generator\" content=\"iket\">";
    if (memmem(head, (size_t)n, generator, sizeof generator - 1) == NULL) return IKET_HTML_FOREIGN;
    return memmem(head, (size_t)n, policy, strlen(policy)) != NULL ? IKET_HTML_OURS : IKET_HTML_OTHER_BUILD;
}

static iket_html_state page_state(int folder, const char *name) {
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return IKET_HTML_FOREIGN;
    iket_html_state state = iket_html_state_of(fd);
    close(fd);
    return state;
}

iket_catalog_file iket_catalog_describe(const struct stat *info) {
    return (iket_catalog_file){
        .there = 1,
        .size = (uint64_t)info->st_size,
        .modified = info->st_mtim.tv_sec,
        .device = info->st_dev,
        .inode = info->st_ino,
        .changed = (uint64_t)info->st_ctim.tv_sec * 1000000000u + (uint64_t)info->st_ctim.tv_nsec,
    };
}

static iket_catalog_file sibling(int folder, const char *name) {
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) return (iket_catalog_file){0};
    return iket_catalog_describe(&info);
}

static void set_file(iket_catalog_trace *trace, int folder, const char *name, iket_file_kind kind, const struct stat *info) {
    trace->files[kind] = iket_catalog_describe(info);
    if (info->st_mtim.tv_sec > trace->modified) trace->modified = info->st_mtim.tv_sec;
    if (kind == IKET_FILE_PAGE) trace->page = page_state(folder, name);
    if (kind == IKET_FILE_DUMP) trace->meta = sibling(folder, "meta.json");
    if (kind == IKET_FILE_COLLECTOR) trace->meta = sibling(folder, "iket.data.json");
}

static int add_file(walk *w, int folder, const char *path, const char *name, iket_file_kind kind, const struct stat *info) {
    iket_catalog *c = w->catalog;
    IKET_TRY(IKET_RESERVE(c->traces, c->count, c->capacity, 1, w->err));
    iket_catalog_trace *trace = &c->traces[c->count];
    *trace = (iket_catalog_trace){.folder = strdup(path), .base = strndup(name, strlen(name) - strlen(iket_file_ending(kind)))};
    c->count++;
    if (trace->folder == NULL || trace->base == NULL) return iket_fail(w->err, "out of memory");
    set_file(trace, folder, name, kind, info);
    return 0;
}

static int walk_folder(walk *w, int fd, const char *path, unsigned depth);

static int walk_entry(walk *w, int folder, const char *path, const char *name, unsigned depth) {
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return 0; // gone meanwhile
    if (S_ISREG(info.st_mode)) {
        iket_file_kind kind = kind_of(folder, name);
        return kind == IKET_FILE_KINDS ? 0 : add_file(w, folder, path, name, kind, &info);
    }
    if (!S_ISDIR(info.st_mode)) return 0;
    if (depth >= IKET_CATALOG_DEPTH) {
        w->catalog->cut = 1;
        return 0;
    }
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return 0; // not ours to read
    char *below;
    if (asprintf(&below, "%s%s%s", path, path[0] != 0 ? "/" : "", name) < 0) {
        close(fd);
        return iket_fail(w->err, "out of memory");
    }
    int result = walk_folder(w, fd, below, depth + 1);
    free(below);
    return result;
}

// Takes fd.
static int walk_folder(walk *w, int fd, const char *path, unsigned depth) {
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        close(fd);
        return 0;
    }
    int result = 0;
    for (struct dirent *e; result == 0 && (e = readdir(folder)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        // Every trace has at most IKET_FILE_KINDS files.
        if (++w->entries > IKET_CATALOG_ENTRIES || w->catalog->count >= IKET_CATALOG_TRACES * IKET_FILE_KINDS) {
            w->catalog->cut = 1;
            break;
        }
        result = walk_entry(w, dirfd(folder), path, e->d_name, depth);
    }
    closedir(folder);
    return result;
}

static int is_raw(const iket_catalog_trace *t) { return t->files[IKET_FILE_DUMP].there || t->files[IKET_FILE_COLLECTOR].there; }

static int compare(const void *a, const void *b) {
    const iket_catalog_trace *x = a, *y = b;
    int order = strverscmp(x->folder, y->folder);
    if (order == 0) order = is_raw(x) - is_raw(y);
    return order != 0 ? order : strverscmp(x->base, y->base);
}

void iket_catalog_free_trace(iket_catalog_trace *trace) {
    free(trace->folder);
    free(trace->base);
    *trace = (iket_catalog_trace){0};
}

static int has_trace(const iket_catalog_trace *t) {
    for (int kind = IKET_FILE_PFTRACE; kind < IKET_FILE_KINDS; kind++) {
        if (t->files[kind].there) return 1;
    }
    return 0;
}

// Joins the files of one trace, which the order has made neighbours, and drops pages without a trace.
static void join(iket_catalog *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->count;) {
        iket_catalog_trace trace = c->traces[i++];
        for (; i < c->count && compare(&trace, &c->traces[i]) == 0; i++) {
            iket_catalog_trace *other = &c->traces[i];
            for (int kind = 0; kind < IKET_FILE_KINDS; kind++) {
                if (other->files[kind].there) trace.files[kind] = other->files[kind];
            }
            if (other->page != IKET_HTML_NONE) trace.page = other->page;
            if (other->modified > trace.modified) trace.modified = other->modified;
            iket_catalog_free_trace(other);
        }
        if (has_trace(&trace) && kept < IKET_CATALOG_TRACES) {
            c->traces[kept++] = trace;
        } else {
            if (has_trace(&trace)) c->cut = 1;
            iket_catalog_free_trace(&trace);
        }
    }
    c->count = kept;
}

int iket_catalog_find(iket_catalog_trace *trace, const iket_root *root, const char *folder, const char *base) {
    *trace = (iket_catalog_trace){.folder = strdup(folder), .base = strdup(base)};
    int fd = iket_root_open_path(root, folder, O_DIRECTORY);
    for (iket_file_kind kind = 0; fd >= 0 && trace->base != NULL && kind < IKET_FILE_KINDS; kind++) {
        char name[NAME_MAX + 1];
        struct stat info;
        int length = snprintf(name, sizeof name, "%s%s", base, iket_file_ending(kind));
        if (length >= (int)sizeof name || fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
        if (kind_of(fd, name) == kind) set_file(trace, fd, name, kind, &info);
    }
    if (fd >= 0) close(fd);
    if (trace->folder != NULL && has_trace(trace)) return 1;
    iket_catalog_free_trace(trace);
    return 0;
}

int iket_catalog_scan(iket_catalog *catalog, const iket_root *root, const char *folder, iket_error *err) {
    *catalog = (iket_catalog){0};
    int fd = iket_root_open_path(root, folder, O_DIRECTORY);
    if (fd < 0) return iket_fail(err, "%s: cannot be listed: %s", folder, strerror(errno));
    walk w = {.catalog = catalog, .err = err};
    if (walk_folder(&w, fd, folder, 0) != 0) {
        iket_catalog_free(catalog);
        return -1;
    }
    if (catalog->count > 1) qsort(catalog->traces, catalog->count, sizeof *catalog->traces, compare);
    join(catalog);
    return 0;
}

void iket_catalog_free(iket_catalog *catalog) {
    for (size_t i = 0; i < catalog->count; i++) iket_catalog_free_trace(&catalog->traces[i]);
    free(catalog->traces);
    *catalog = (iket_catalog){0};
}
