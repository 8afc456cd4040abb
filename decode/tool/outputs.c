// SPDX-License-Identifier: Apache-2.0
// outputs.c: one trace as its files. All of them are written beside their targets and put in place together at the end.
//
//     encoder ─▶ sink ─▶ fan ─┬▶ base.pftrace
//                             └▶ gzip ─▶ base.pftrace.gz          the Perfetto trace is encoded once for both
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/include/iket/analyze.h"
#include "common/gzip.h"
#include "common/output.h"
#include "decode/tool/tool.h"
#include "viewer/page.h"

enum { FILE_PFTRACE, FILE_GZ, FILE_JSON, FILE_HTML, FILES };

static const struct {
    unsigned emit;
    const char *suffix;
} kinds[FILES] = {
    [FILE_PFTRACE] = {EMIT_PFTRACE, ".pftrace"}, [FILE_GZ] = {EMIT_PFTRACE_GZ, ".pftrace.gz"}, [FILE_JSON] = {EMIT_JSON, ".trace.json"}, [FILE_HTML] = {EMIT_HTML, ".html"}};

typedef struct target {
    char *path; // NULL: not written
    iket_output *output;
    uint64_t size;
    struct progress *progress;
} target;

typedef struct progress {
    int on, shown;
    struct timespec start;
    uint64_t bytes;
} progress;

typedef struct writer {
    const decode_job *job;
    const decode_options *options;
    const iket_trace *trace;
    const iket_selection *selection;
    target targets[FILES];
    iket_gzip *gzip;
    progress progress;
    char *summary; // for the page, owned; NULL: of a part of the trace there is none
} writer;

// ---- progress: only on a terminal, only past a second ---------------------------------------------------------------

static void show_progress(progress *p, size_t bytes) {
    p->bytes += bytes;
    if (!p->on) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms = (long long)(now.tv_sec - p->start.tv_sec) * 1000 + (now.tv_nsec - p->start.tv_nsec) / 1000000;
    if (ms / 1000 <= p->shown) return;
    p->shown = (int)(ms / 1000);
    fprintf(stderr, "\riket-decode: %llu MB written, %d s ", (unsigned long long)(p->bytes / 1000000), p->shown);
}

static void end_progress(progress *p) {
    if (p->shown > 0) fputs("\r\033[K", stderr);
    p->shown = 0;
}

// ---- consumers ------------------------------------------------------------------------------------------------------

static int to_file(void *context, const void *data, size_t size, iket_error *err) {
    target *t = context;
    t->size += size;
    show_progress(t->progress, size);
    return iket_output_write(t->output, data, size, err);
}

static int to_traces(void *context, const void *data, size_t size, iket_error *err) {
    writer *w = context;
    if (w->targets[FILE_PFTRACE].output != NULL) IKET_TRY(to_file(&w->targets[FILE_PFTRACE], data, size, err));
    if (w->gzip != NULL) IKET_TRY(iket_gzip_flush(w->gzip, data, size, err));
    return 0;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static char *path_of(const decode_job *job, int kind) {
    char *path = NULL;
    if (strcmp(job->folder, "-") == 0) return strdup("-");
    int length = strcmp(job->folder, ".") == 0 ? asprintf(&path, "%s%s", job->base, kinds[kind].suffix) : asprintf(&path, "%s/%s%s", job->folder, job->base, kinds[kind].suffix);
    return length < 0 ? NULL : path;
}

static int is_input(const decode_job *job, const char *path) {
    struct stat a, b;
    return stat(job->path, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The files to write; a trace.json that is the input itself is left as it is.
static int choose_targets(target targets[FILES], const decode_job *job, const decode_options *o, unsigned *kept_input, iket_error *err) {
    for (int i = 0; i < FILES; i++) {
        if ((o->emit & kinds[i].emit) == 0) continue;
        targets[i].path = path_of(job, i);
        if (targets[i].path == NULL) return iket_fail(err, "out of memory");
        if (!is_input(job, targets[i].path)) continue;
        if (o->emit_given) return iket_fail(err, "%s: is the input itself (choose another -o or --name)", targets[i].path);
        free(targets[i].path);
        targets[i].path = NULL;
        *kept_input = 1;
    }
    return 0;
}

static void free_targets(target targets[FILES]) {
    for (int i = 0; i < FILES; i++) {
        iket_output_discard(&targets[i].output);
        free(targets[i].path);
        targets[i].path = NULL;
    }
}

int decode_outputs_check(const decode_job *job, const decode_options *o, iket_error *err) {
    target targets[FILES] = {{0}};
    unsigned kept = 0;
    struct stat info;
    if (strcmp(job->folder, "-") == 0) {
        if ((o->emit & (o->emit - 1)) != 0) return iket_fail(err, "standard output takes one file (choose it with --emit)");
        return 0;
    }
    int result = choose_targets(targets, job, o, &kept, err);
    for (int i = 0; i < FILES && result == 0; i++) {
        if (targets[i].path != NULL && !o->force && stat(targets[i].path, &info) == 0 && S_ISREG(info.st_mode)) {
            result = iket_fail(err, "%s: exists already (--force replaces it)", targets[i].path);
        }
    }
    free_targets(targets);
    return result;
}

// Makes a folder and its parents.
static int make_folder(const char *path, iket_error *err) {
    char *copy = strdup(path);
    if (copy == NULL) return iket_fail(err, "out of memory");
    int failed = 0;
    for (char *p = copy + 1; !failed; p++) {
        if (*p != '/' && *p != 0) continue;
        char kept = *p;
        *p = 0;
        failed = mkdir(copy, 0777) != 0 && errno != EEXIST;
        *p = kept;
        if (kept == 0) break;
    }
    int why = errno;
    free(copy);
    return failed ? iket_fail(err, "%s: the folder cannot be made: %s", path, strerror(why)) : 0;
}

static int open_targets(writer *w, const decode_job *job, const decode_options *o, iket_error *err) {
    if (strcmp(job->folder, "-") != 0) IKET_TRY(make_folder(job->folder, err));
    for (int i = 0; i < FILES; i++) {
        if (w->targets[i].path == NULL) continue;
        unsigned flags = (o->force ? IKET_OUTPUT_FORCE : 0u) | (i == FILE_PFTRACE || i == FILE_GZ ? IKET_OUTPUT_BINARY : 0u);
        IKET_TRY(iket_output_open(&w->targets[i].output, w->targets[i].path, flags, err));
        w->targets[i].progress = &w->progress;
    }
    return 0;
}

static int write_traces(writer *w, iket_pftrace_facts *facts, iket_error *err) {
    const decode_options *o = w->options;
    iket_sink sink;
    iket_flows flows = {.count = 0};
    if (o->dag != NULL && iket_analyze_flows(&flows, w->trace, o->dag, err) != 0) return -1;
    if (w->targets[FILE_GZ].output != NULL && iket_gzip_open(&w->gzip, o->gzip_level, o->pool, to_file, &w->targets[FILE_GZ], err) != 0) {
        free(flows.ends);
        return -1;
    }
    int result = iket_sink_open(&sink, 0, to_traces, w, err);
    if (result == 0) {
        result = iket_write_pftrace(w->trace, w->selection, o->dag != NULL ? &flows : NULL, o->pool, &sink, facts, err);
        if (result == 0) result = iket_sink_close(&sink, err);
        if (result != 0) iket_sink_drop(&sink);
    }
    if (result == 0 && w->gzip != NULL) result = iket_gzip_close(&w->gzip, err);
    iket_gzip_drop(&w->gzip);
    free(flows.ends);
    return result;
}

static int write_json(writer *w, iket_error *err) {
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 0, to_file, &w->targets[FILE_JSON], err));
    int result = iket_write_json(w->trace, w->selection, w->options->pool, &sink, err);
    if (result == 0) result = iket_sink_close(&sink, err);
    if (result != 0) iket_sink_drop(&sink);
    return result;
}

// What `iket-query summary --format json` says of the trace, for the page; the caller frees it.
static int summarise(const iket_trace *trace, char **json, iket_error *err) {
    iket_memory memory = {.used = 0};
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 0, iket_memory_flush, &memory, err));
    int result = iket_analyze_summary_json(trace, &sink, err);
    if (result == 0) iket_sink_write(&sink, "", 1); // its end
    if (result == 0) result = iket_sink_close(&sink, err);
    if (result != 0) iket_sink_drop(&sink);
    *json = (char *)memory.data;
    return result;
}

// The summary is one thread's work, and a trace.json is bound by the kernel's copy of it: so both at once.
static int write_json_or_summarise(void *context, size_t index, iket_error *err) {
    writer *w = context;
    if (index == 0) return w->targets[FILE_JSON].output != NULL ? write_json(w, err) : 0;
    return w->targets[FILE_HTML].output != NULL && w->selection == NULL ? summarise(w->trace, &w->summary, err) : 0;
}

static int write_page(writer *w, iket_error *err) {
    const decode_job *job = w->job;
    const iket_trace *trace = w->trace;
    static const unsigned bits[] = {[FILE_PFTRACE] = IKET_PAGE_PFTRACE, [FILE_GZ] = IKET_PAGE_PFTRACE_GZ, [FILE_JSON] = IKET_PAGE_JSON};
    uint64_t sizes[FILE_HTML] = {0};
    iket_page_facts facts = {.title = trace->launch_count > 0 ? trace->strings[trace->launches[0].kernel] : job->base, .base = job->base};
    for (int i = 0; i < FILE_HTML; i++) { // what this run writes, and what stands there from another
        char *path = path_of(job, i);
        struct stat info;
        if (w->targets[i].output != NULL) {
            sizes[i] = w->targets[i].size;
        } else if (path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
            sizes[i] = (uint64_t)info.st_size;
        }
        if (sizes[i] > 0) facts.files |= bits[i];
        free(path);
    }
    facts.pftrace_size = sizes[FILE_PFTRACE];
    facts.pftrace_gz_size = sizes[FILE_GZ];
    facts.json_size = sizes[FILE_JSON];
    facts.summary_json = w->summary;
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 0, to_file, &w->targets[FILE_HTML], err));
    int result = iket_page_write(&sink, &facts, err);
    if (result == 0) result = iket_sink_close(&sink, err);
    if (result != 0) iket_sink_drop(&sink);
    return result;
}

static int write_all(writer *w, decode_outputs *outputs, iket_error *err) {
    if (w->targets[FILE_PFTRACE].output != NULL || w->targets[FILE_GZ].output != NULL) IKET_TRY(write_traces(w, &outputs->facts, err));
    IKET_TRY(iket_pool_run(w->options->pool, 2, write_json_or_summarise, w, err));
    if (w->targets[FILE_HTML].output != NULL) IKET_TRY(write_page(w, err));
    for (int i = 0; i < FILES; i++) {
        if (w->targets[i].output == NULL) continue;
        IKET_TRY(iket_output_commit(&w->targets[i].output, err));
        outputs->paths[outputs->count] = w->targets[i].path;
        outputs->sizes[outputs->count++] = w->targets[i].size;
        w->targets[i].path = NULL;
    }
    return 0;
}

int decode_outputs_write(decode_outputs *outputs, const decode_job *job, const decode_options *o, const iket_trace *trace, const iket_selection *selection, iket_error *err) {
    writer w = {.job = job, .options = o, .trace = trace, .selection = selection, .progress = {.on = o->progress && isatty(STDERR_FILENO)}};
    clock_gettime(CLOCK_MONOTONIC, &w.progress.start);
    int result = choose_targets(w.targets, job, o, &outputs->kept_input, err);
    if (result == 0) result = open_targets(&w, job, o, err);
    if (result == 0) result = write_all(&w, outputs, err);
    free(w.summary);
    end_progress(&w.progress);
    free_targets(w.targets);
    return result;
}

void decode_outputs_free(decode_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) free(outputs->paths[i]);
    outputs->count = 0;
}
