// SPDX-License-Identifier: Apache-2.0
#include "serve/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/output.h"

#define FACTS_ENDING ".facts"

void iket_work_clear(iket_work *work) {
    free(work->path);
    free(work->meta);
    free(work->selection);
    *work = (iket_work){0};
}

const char *iket_work_export_ending(int json) { return json ? ".trace.json" : ".pftrace"; }

int iket_work_open_cached(const char *key, const char *ending) {
    char path[IKET_CACHE_PATH];
    if (iket_cache_path(key, ending, path, NULL) != 0) return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

int iket_work_cached_facts(const char *key, iket_facts *facts) {
    int fd = iket_work_open_cached(key, FACTS_ENDING);
    if (fd < 0) return 0;
    ssize_t n = read(fd, facts, sizeof *facts);
    close(fd);
    if (n != (ssize_t)sizeof *facts || facts->magic != IKET_FACTS_MAGIC || facts->rows > IKET_FACTS_ROWS) return 0;
    facts->note[sizeof facts->note - 1] = 0;
    for (size_t i = 0; i < IKET_FACTS_KERNELS; i++) facts->kernels[i].name[IKET_FACTS_NAME - 1] = 0;
    return 1;
}

// That facts cannot be kept costs time at the next start, nothing else.
static void keep_facts(const char *key, const iket_facts *facts) {
    char path[IKET_CACHE_PATH];
    iket_output *output;
    if (iket_cache_path(key, FACTS_ENDING, path, NULL) != 0 || iket_output_open(&output, path, IKET_OUTPUT_FORCE, NULL) != 0) return;
    if (iket_output_write(output, facts, sizeof *facts, NULL) != 0 || iket_output_commit(&output, NULL) != 0) iket_output_discard(&output);
}

// What waited for its turn may be about a file that is another one by now; then nobody would ever ask for what is made of it.
static int is_still(const char *key, int fd) {
    char now[IKET_KEY_MAX];
    struct stat info;
    if (fstat(fd, &info) != 0) return 0;
    iket_catalog_file file = iket_catalog_describe(&info);
    iket_cache_file_key(&file, now);
    size_t length = strlen(now); // behind it: the metadata's, and what is selected
    return strncmp(key, now, length) == 0 && (key[length] == 0 || key[length] == '-' || key[length] == '+');
}

static int export(const iket_work *work, const char *key, const iket_root *root, iket_work_runner run, void *context, iket_facts *facts, iket_error *err) {
    char output[IKET_CACHE_PATH];
    int wants_trace = work->kind == IKET_WORK_EXPORT;
    if (!wants_trace && iket_work_cached_facts(key, facts)) return 0;
    if (wants_trace) IKET_TRY(iket_cache_path(key, iket_work_export_ending(work->json), output, err));
    int source = iket_root_open_path(root, work->path, 0);
    if (source < 0) return iket_fail(err, "%s: cannot be read: %s", work->path, strerror(errno));
    if (!is_still(key, source)) {
        close(source);
        return iket_fail(err, "%s: has changed meanwhile", work->path);
    }
    int meta = work->meta != NULL ? iket_root_open_path(root, work->meta, 0) : -1;
    iket_child_task task = {
        .source = source, .meta = meta, .name = work->path, .selection = work->selection, .most_events = work->most_events, .output = wants_trace ? output : NULL,
    };
    int result = work->meta != NULL && meta < 0 ? iket_fail(err, "%s: cannot be read: %s", work->meta, strerror(errno)) : run(context, &task, facts, err);
    close(source);
    if (meta >= 0) close(meta);
    if (result != 0) return -1;
    if (work->selection[0] == 0 && !work->json) keep_facts(key, facts);
    if (wants_trace) iket_cache_prune();
    return 0;
}

// `key` is that of the .pftrace's source with IKET_LEVELS_ENDING.
static int make_levels(const iket_work *work, const char *key, const iket_root *root, iket_work_runner run, void *context, iket_facts *facts, iket_error *err) {
    char output[IKET_CACHE_PATH], progress[IKET_CACHE_PATH], source_key[IKET_KEY_MAX];
    IKET_TRY(iket_cache_path(key, "", output, err));
    IKET_TRY(iket_cache_path(key, IKET_PROGRESS_ENDING, progress, err));
    memcpy(source_key, key, strlen(key) + 1);
    source_key[strlen(key) - strlen(IKET_LEVELS_ENDING)] = 0;
    int source = work->path != NULL ? iket_root_open_path(root, work->path, 0) : iket_work_open_cached(source_key, iket_work_export_ending(0));
    const char *name = work->path != NULL ? work->path : "the decoded trace";
    if (source < 0) return iket_fail(err, "%s: cannot be read: %s", name, strerror(errno));
    iket_child_task task = {.source = source, .meta = -1, .name = name, .selection = "", .output = output, .progress = progress};
    int result = work->path == NULL || is_still(source_key, source) ? run(context, &task, facts, err) : iket_fail(err, "%s: has changed meanwhile", name);
    close(source);
    unlink(progress);
    if (result == 0) iket_cache_prune();
    return result;
}

int iket_work_do(const iket_work *work, const char *key, const iket_root *root, iket_work_runner run, void *context, iket_facts *facts, iket_error *err) {
    if (work->kind == IKET_WORK_LEVELS) return make_levels(work, key, root, run, context, facts, err);
    return export(work, key, root, run, context, facts, err);
}
