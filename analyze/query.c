// SPDX-License-Identifier: Apache-2.0
// query.c: the inputs of a query. A folder stands for the traces in it: one per rank, as a distributed run leaves them.
#include "analyze/query.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"

enum { FOLDERS_DEEP = 4 };

static int ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static int add(iket_query *q, char *path, iket_error *err) {
    if (IKET_RESERVE(q->inputs, q->input_count, q->input_capacity, 1, err) != 0) {
        free(path);
        return -1;
    }
    q->inputs[q->input_count++] = (iket_query_input){.path = path, .operand = q->operand_count};
    return 0;
}

static char *join(const char *folder, const char *name) {
    size_t a = strlen(folder), b = strlen(name);
    while (a > 1 && folder[a - 1] == '/') a--;
    char *path = malloc(a + b + 2);
    if (path == NULL) return NULL;
    memcpy(path, folder, a);
    path[a] = '/';
    memcpy(path + a + 1, name, b + 1);
    return path;
}

static int is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int not_hidden(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int has_name(struct dirent *const *entries, int count, const char *name, size_t size) {
    for (int i = 0; i < count; i++) {
        if (strlen(entries[i]->d_name) == size && memcmp(entries[i]->d_name, name, size) == 0) return 1;
    }
    return 0;
}

// A trace by its name: *.trace.json[.gz] (a packed one only where the plain one is not beside it), else raw data that
// has no trace.json yet: iket.data.json, dump.bin or *.iketdump.
static int is_trace(struct dirent *const *entries, int count, const char *name) {
    size_t size = strlen(name);
    if (ends_with(name, ".trace.json")) return 1;
    if (ends_with(name, ".trace.json.gz")) return !has_name(entries, count, name, size - 3);
    if (strcmp(name, "iket.data.json") != 0 && !ends_with(name, ".iketdump") && strcmp(name, "dump.bin") != 0) return 0;
    for (int i = 0; i < count; i++) {
        if (ends_with(entries[i]->d_name, ".trace.json") || ends_with(entries[i]->d_name, ".trace.json.gz")) return 0;
    }
    return 1;
}

static int add_folder(iket_query *q, const char *folder, int depth, iket_error *err) {
    struct dirent **entries;
    int count = scandir(folder, &entries, not_hidden, alphasort), result = 0;
    if (count < 0) return iket_fail(err, "%s: cannot be opened: %s", folder, strerror(errno));
    for (int i = 0; i < count && result == 0; i++) {
        char *path = join(folder, entries[i]->d_name);
        if (path == NULL) {
            result = iket_fail(err, "out of memory");
        } else if (is_folder(path)) {
            result = depth < FOLDERS_DEEP ? add_folder(q, path, depth + 1, err) : 0;
            free(path);
        } else if (is_trace(entries, count, entries[i]->d_name)) {
            result = add(q, path, err);
        } else {
            free(path);
        }
    }
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return result;
}

int iket_query_add_input(iket_query *q, const char *path, iket_error *err) {
    size_t before = q->input_count;
    if (is_folder(path)) {
        IKET_TRY(add_folder(q, path, 0, err));
    } else {
        char *copy = strdup(path);
        if (copy == NULL) return iket_fail(err, "out of memory");
        IKET_TRY(add(q, copy, err));
    }
    q->operand_count++;
    if (q->input_count == before) return iket_fail(err, "%s: no trace in this folder (*.trace.json, *.trace.json.gz, dump.bin, iket.data.json)", path);
    return 0;
}

// The inputs' names are their paths without the folders that all share.
int iket_query_name_inputs(iket_query *q, iket_error *err) {
    if (q->input_count == 0) return 0;
    const char *first = q->inputs[0].path, *slash = strrchr(first, '/');
    size_t common = slash != NULL ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < q->input_count; i++) {
        while (common > 0 && strncmp(first, q->inputs[i].path, common) != 0) {
            common--;
            while (common > 0 && first[common - 1] != '/') common--;
        }
    }
    for (size_t i = 0; i < q->input_count; i++) {
        const char *path = q->inputs[i].path;
        q->inputs[i].name = strdup(strcmp(path, "-") == 0 ? "standard input" : path + common);
        if (q->inputs[i].name == NULL) return iket_fail(err, "out of memory");
    }
    return 0;
}

int iket_query_open(iket_query *q, iket_error *err) {
    q->traces = calloc(q->input_count + 1, sizeof *q->traces);
    if (q->traces == NULL) return iket_fail(err, "out of memory");
    iket_open_options open = {.meta = q->options->meta};
    for (size_t i = 0; i < q->input_count; i++) {
        IKET_TRY(iket_trace_open(&q->traces[i], q->inputs[i].path, &open, err));
        q->inputs[i].diagnostics = q->traces[i]->diagnostics;
    }
    return 0;
}

int iket_query_load(iket_query *q, iket_columns **sets, iket_error *err) {
    IKET_TRY(iket_query_open(q, err));
    *sets = calloc(q->input_count + 1, sizeof **sets);
    if (*sets == NULL) return iket_fail(err, "out of memory");
    int result = 0;
    size_t matched = 0;
    for (size_t i = 0; i < q->input_count && result >= 0; i++) {
        result = iket_columns_build(&(*sets)[i], q->inputs[i].name, q->traces[i], &q->options->selector, err);
        matched += result == 0;
    }
    if (matched > 0 && result >= 0) return 0;
    iket_query_unload(q, *sets);
    *sets = NULL;
    return result;
}

void iket_query_unload(iket_query *q, iket_columns *sets) {
    for (size_t i = 0; sets != NULL && i < q->input_count; i++) iket_columns_free(&sets[i]);
    free(sets);
}

void iket_query_free(iket_query *q) {
    for (size_t i = 0; i < q->input_count; i++) {
        free(q->inputs[i].path);
        free(q->inputs[i].name);
        if (q->traces != NULL) iket_trace_free(q->traces[i]);
    }
    for (size_t i = 0; i < q->kept_count; i++) free(q->kept[i]);
    free(q->kept);
    free(q->traces);
    free(q->inputs);
    *q = (iket_query){0};
}
