// SPDX-License-Identifier: Apache-2.0
// inputs.c: which files the operands mean, and where each one's outputs go.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input.h"
#include "decode/tool/tool.h"

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return length < 0 ? NULL : text;
}

static int is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int exists_in(const char *folder, const char *name) {
    char *path = text_of("%s/%s", folder, name);
    int found = path != NULL && access(path, F_OK) == 0;
    free(path);
    return found;
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int add_job(decode_jobs *jobs, const decode_options *o, const char *path, const char *meta, iket_error *err) {
    IKET_TRY(IKET_RESERVE(jobs->jobs, jobs->count, jobs->capacity, 1, err));
    decode_job *j = &jobs->jobs[jobs->count];
    *j = (decode_job){.path = strdup(path), .meta = meta != NULL ? strdup(meta) : NULL};
    j->folder = o->output_dir != NULL ? strdup(o->output_dir) : strcmp(path, "-") == 0 ? strdup(".") : folder_of(path);
    jobs->count++;
    return j->path == NULL || j->folder == NULL || (meta != NULL && j->meta == NULL) ? iket_fail(err, "out of memory") : 0;
}

// ---- folders --------------------------------------------------------------------------------------------------------

// A process folder of the collector.
static int add_process(decode_jobs *jobs, const decode_options *o, const char *folder, iket_error *err) {
    if (!exists_in(folder, "iket.data.json") || !exists_in(folder, "iket.data.bin")) {
        fprintf(stderr, "iket-decode: %s: holds no raw buffers (record with: run-iket … profile --keep --postprocess all)\n", folder);
        jobs->without_data++;
        return 0;
    }
    char *json = text_of("%s/iket.data.json", folder);
    int result = json != NULL ? add_job(jobs, o, json, NULL, err) : iket_fail(err, "out of memory");
    free(json);
    return result;
}

static int starts_with_pid(const struct dirent *entry) { return strncmp(entry->d_name, "pid_", 4) == 0; }

// The pid_* folders below `folder`, in the order of their names. *found counts them.
static int add_processes(decode_jobs *jobs, const decode_options *o, const char *folder, size_t *found, iket_error *err) {
    struct dirent **entries;
    int count = scandir(folder, &entries, starts_with_pid, alphasort), result = 0;
    for (int i = 0; i < count; i++) {
        char *path = text_of("%s/%s", folder, entries[i]->d_name);
        if (path == NULL) {
            result = iket_fail(err, "out of memory");
        } else if (result == 0 && is_folder(path)) {
            ++*found;
            result = add_process(jobs, o, path, err);
        }
        free(path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return result;
}

static int add_folder(decode_jobs *jobs, const decode_options *o, const char *operand, iket_error *err) {
    size_t length = strlen(operand), found = 0;
    while (length > 1 && operand[length - 1] == '/') length--;
    char *folder = strndup(operand, length), *inner = text_of("%.*s/iket", (int)length, operand);
    char *dump = text_of("%.*s/dump.bin", (int)length, operand), *meta = text_of("%.*s/meta.json", (int)length, operand);
    int result = folder == NULL || inner == NULL || dump == NULL || meta == NULL ? iket_fail(err, "out of memory") : 0;
    if (result == 0 && exists_in(folder, "dump.bin")) {
        result = add_job(jobs, o, dump, exists_in(folder, "meta.json") ? meta : NULL, err);
    } else if (result == 0 && (exists_in(folder, "iket.data.json") || exists_in(folder, "iket.data.bin"))) {
        result = add_process(jobs, o, folder, err);
    } else if (result == 0) {
        result = add_processes(jobs, o, folder, &found, err);
        if (result == 0) result = add_processes(jobs, o, inner, &found, err);
        if (result == 0 && found == 0) {
            const char *slash = strrchr(folder, '/');
            if (strncmp(slash != NULL ? slash + 1 : folder, "pid_", 4) == 0) {
                result = add_process(jobs, o, folder, err);
            } else {
                result = iket_fail(err, "%s: is a folder without a dump.bin, and not a run directory of the collector (no pid_* in it)", folder);
            }
        }
    }
    free(folder);
    free(inner);
    free(dump);
    free(meta);
    return result;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static int ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

// What can be told before the input is read: its process and context, and whether it is a trace.json.
static void peek(decode_job *j) {
    unsigned char head[64];
    iket_error ignored;
    const char *pid = strstr(j->path, "pid_0x"), *next = pid;
    while (next != NULL && (next = strstr(next + 1, "pid_0x")) != NULL) pid = next;
    if (pid != NULL) j->pid = strtoull(pid + strlen("pid_0x"), NULL, 16);
    if (strcmp(j->path, "-") == 0) return;
    int got = iket_input_peek(j->path, head, sizeof head, &ignored);
    if (got == (int)sizeof head && memcmp(head, "IKETDUMP", 8) == 0) {
        uint32_t dump_pid;
        memcpy(&dump_pid, head + 24, sizeof dump_pid);
        memcpy(&j->context_id, head + 32, sizeof j->context_id);
        j->pid = dump_pid;
    } else if (got > 0 && !ends_with(j->path, "iket.data.json") && memchr(head, '{', (size_t)got) != NULL && (ends_with(j->path, ".json") || ends_with(j->path, ".json.gz"))) {
        j->is_json = 1;
    }
}

static char *base_of(const decode_job *j, const decode_options *o) {
    static const char *const ends[] = {".trace.json.gz", ".trace.json", ".json.gz", ".json"};
    if (o->name != NULL) return strdup(o->name);
    if (!j->is_json) return text_of("iket_pid_0x%llx", (unsigned long long)j->pid);
    const char *slash = strrchr(j->path, '/'), *name = slash != NULL ? slash + 1 : j->path;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, ends[i]) && strlen(name) > strlen(ends[i])) return strndup(name, strlen(name) - strlen(ends[i]));
    }
    return strdup(name);
}

static int same_target(const decode_job *a, const decode_job *b) { return strcmp(a->folder, b->folder) == 0 && strcmp(a->base, b->base) == 0; }

static int name_jobs(decode_jobs *jobs, const decode_options *o, iket_error *err) {
    for (size_t i = 0; i < jobs->count; i++) {
        peek(&jobs->jobs[i]);
        jobs->jobs[i].base = base_of(&jobs->jobs[i], o);
        if (jobs->jobs[i].base == NULL) return iket_fail(err, "out of memory");
    }
    uint8_t *collides = calloc(jobs->count + 1, 1);
    if (collides == NULL) return iket_fail(err, "out of memory");
    for (size_t i = 0; i < jobs->count; i++) {
        for (size_t k = i + 1; k < jobs->count; k++) {
            if (same_target(&jobs->jobs[i], &jobs->jobs[k])) collides[i] = collides[k] = 1;
        }
    }
    for (size_t i = 0; i < jobs->count; i++) { // two contexts of one process
        decode_job *j = &jobs->jobs[i];
        char *longer = collides[i] ? text_of("%s_ctx%llu", j->base, (unsigned long long)j->context_id) : NULL;
        if (longer == NULL) continue;
        free(j->base);
        j->base = longer;
    }
    free(collides);
    for (size_t i = 0; i < jobs->count && !o->info; i++) {
        for (size_t k = i + 1; k < jobs->count; k++) {
            if (same_target(&jobs->jobs[i], &jobs->jobs[k])) {
                return iket_fail(err, "%s and %s would both write %s/%s.* (give each its own -o or --name)", jobs->jobs[i].path, jobs->jobs[k].path, jobs->jobs[i].folder,
                                 jobs->jobs[i].base);
            }
        }
    }
    return 0;
}

int decode_jobs_find(decode_jobs *jobs, const decode_options *o, iket_error *err) {
    if (o->meta_count > 1 && o->meta_count != o->operand_count) {
        return iket_fail(err, "--meta was given %zu times for %zu inputs (once for all, or once for each)", o->meta_count, o->operand_count);
    }
    for (size_t i = 0; i < o->operand_count; i++) {
        const char *meta = o->meta_count == 0 ? NULL : o->meta_count == 1 ? o->metas[0] : o->metas[i];
        if (is_folder(o->operands[i])) {
            IKET_TRY(add_folder(jobs, o, o->operands[i], err));
        } else {
            IKET_TRY(add_job(jobs, o, o->operands[i], meta, err));
        }
    }
    return name_jobs(jobs, o, err);
}

void decode_jobs_free(decode_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; i++) {
        free(jobs->jobs[i].path);
        free(jobs->jobs[i].meta);
        free(jobs->jobs[i].folder);
        free(jobs->jobs[i].base);
    }
    free(jobs->jobs);
}
