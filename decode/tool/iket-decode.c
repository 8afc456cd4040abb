// SPDX-License-Identifier: Apache-2.0
// iket-decode: raw warp buffers into a timeline.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/gzip.h"
#include "common/options.h"
#include "common/output.h"
#include "decode/tool/tool.h"

enum { OPT_META = 1, OPT_OUTPUT, OPT_EMIT, OPT_NAME, OPT_FORCE, OPT_INFO, OPT_STRICT, OPT_LEVEL, OPT_DAG, OPT_QUIET, OPT_VERBOSE, OPT_NO_PROGRESS, OPT_JOBS };

static const iket_option option_table[] = {
    {OPT_META, 0, "meta", NULL, "FILE", "the schema: meta.json of a dump (not needed where the dump has\nit), iket.data.json of the collector's buffers", "Input"},
    {OPT_INFO, 0, "info", NULL, NULL, "print header, sections, schema, launches and diagnostics, and\nwrite nothing", NULL},
    {OPT_STRICT, 0, "strict", NULL, NULL, "end with 1 when anything was damaged, dropped or unclear", NULL},
    {OPT_OUTPUT, 'o', "output", "output-dir", "DIR", "where to write (default: beside the input); `-` writes the one\nfile of --emit to standard output", "Output"},
    {OPT_EMIT, 'e', "emit", NULL, "LIST", "of pftrace, pftrace.gz, json, html (default: all four)", NULL},
    {OPT_NAME, 0, "name", NULL, "BASE", "base name of the files (default: iket_pid_0x<pid>)", NULL},
    {OPT_FORCE, 'f', "force", "clobber", NULL, "replace files that exist", NULL},
    {OPT_DAG, 0, "dag", NULL, "FILE", "draw the edges of an iket.dag file as arrows in the Perfetto trace", NULL},
    {OPT_LEVEL, 0, "gzip-level", NULL, "N", "1 (fast) to 9 (small), default 5", NULL},
    IKET_SELECT_PLACE_OPTIONS,
    {OPT_JOBS, 'j', "jobs", NULL, "N", "threads (default: as many as processors); the files are the same\nfor any number", "Work"},
    {OPT_QUIET, 'q', "quiet", NULL, NULL, "no summary; errors and warnings only", "Messages"},
    {OPT_VERBOSE, 'v', "verbose", NULL, NULL, "with --info: every launch", NULL},
    {OPT_NO_PROGRESS, 0, "no-progress", NULL, NULL, "no progress on a terminal", NULL},
};

static const iket_option_words option_words[] = {{OPT_EMIT, "pftrace pftrace.gz json html"}, {0, NULL}};

static const iket_command command = {
    .name = "iket-decode",
    .purpose = "turn the raw warp buffers of in-kernel event tracing into a timeline",
    .synopsis = "[OPTIONS] INPUT...",
    .examples = {"iket-decode dump.bin --meta meta.json", "iket-decode --output-dir out run_dir_of_the_collector", "iket-decode --emit json -o - dump.bin | jq .diagnostics"},
    .notes = "INPUT is a dump.bin, the iket.data.bin (with --meta iket.data.json) or run directory\n"
             "of NVIDIA's collector, or a .trace.json[.gz]; `-` is standard input.\n"
             "Exit status: 0 done, 1 --strict met damage or a selection matched nothing, 2 error.",
    .options = option_table,
    .option_count = sizeof option_table / sizeof *option_table,
    .words = option_words,
};

static int append(const char ***list, size_t *count, const char *value, iket_error *err) {
    const char **longer = realloc(*list, (*count + 1) * sizeof **list);
    if (longer == NULL) return iket_fail(err, "out of memory");
    longer[(*count)++] = value;
    *list = longer;
    return 0;
}

static int parse_emit(decode_options *o, const char *list, iket_error *err) {
    static const struct {
        const char *name;
        unsigned emit;
    } kinds[] = {{"pftrace", EMIT_PFTRACE}, {"pftrace.gz", EMIT_PFTRACE_GZ}, {"json", EMIT_JSON}, {"html", EMIT_HTML}, {"all", EMIT_ALL}};
    o->emit = 0;
    o->emit_given = 1;
    while (*list != 0) {
        size_t length = strcspn(list, ","), i = 0;
        while (i < sizeof kinds / sizeof *kinds && (strlen(kinds[i].name) != length || strncmp(kinds[i].name, list, length) != 0)) i++;
        if (i == sizeof kinds / sizeof *kinds) return iket_fail(err, "'%.*s' is not one of pftrace, pftrace.gz, json, html", (int)length, list);
        o->emit |= kinds[i].emit;
        list += length + (list[length] == ',');
    }
    return o->emit != 0 ? 0 : iket_fail(err, "names no file to write");
}

static int take_option(void *context, int id, const char *value, iket_error *err) {
    decode_options *o = context;
    unsigned long long number;
    if (iket_is_select_option(id)) return iket_selector_set(&o->selector, id, value, err);
    switch (id) {
    case 0: return append(&o->operands, &o->operand_count, value, err);
    case OPT_META: return append(&o->metas, &o->meta_count, value, err);
    case OPT_OUTPUT: o->output_dir = value; break;
    case OPT_EMIT: return parse_emit(o, value, err);
    case OPT_NAME:
        if (value[0] == 0 || strchr(value, '/') != NULL) return iket_fail(err, "'%s' is not a file name (-o chooses the folder)", value);
        o->name = value;
        break;
    case OPT_DAG: o->dag = value; break;
    case OPT_FORCE: o->force = 1; break;
    case OPT_INFO: o->info = 1; break;
    case OPT_STRICT: o->strict = 1; break;
    case OPT_LEVEL:
        IKET_TRY(iket_parse_u64(value, 9, &number, err));
        if (number == 0) return iket_fail(err, "is 1 to 9");
        o->gzip_level = (int)number;
        break;
    case OPT_JOBS:
        IKET_TRY(iket_parse_u64(value, IKET_POOL_THREADS_MAX, &number, err));
        if (number == 0) return iket_fail(err, "is 1 to %d", IKET_POOL_THREADS_MAX);
        o->jobs = (unsigned)number;
        break;
    case OPT_QUIET: o->quiet = 1; break;
    case OPT_VERBOSE: o->verbose = 1; break;
    default: o->progress = 0; break;
    }
    return 0;
}

static int fail(const iket_error *err, int status) {
    fprintf(stderr, "iket-decode: %s\n", err->message);
    return status;
}

static int write_files(const decode_job *job, const decode_options *o, const iket_trace *trace) {
    iket_error err;
    iket_selection selection;
    decode_outputs outputs = {.count = 0};
    if (trace->marker_count + trace->range_count == 0 && decode_report_no_event(trace, &err) != 0) return fail(&err, 2);
    int resolved = iket_selection_resolve(&selection, &o->selector, trace, &err);
    if (resolved != 0) return fail(&err, resolved > 0 ? 1 : 2);
    int result = decode_outputs_write(&outputs, job, o, trace, iket_selector_has(&o->selector, 0) ? &selection : NULL, &err);
    if (result == 0) {
        decode_report_warnings(trace, &outputs);
        if (o->quiet) {
            decode_report_losses(trace);
        } else {
            decode_report_summary(trace, &outputs, iket_selector_has(&o->selector, 0) ? &selection : NULL);
        }
    }
    iket_selection_clear(&selection);
    decode_outputs_free(&outputs);
    return result == 0 ? 0 : fail(&err, 2);
}

static int run_job(const decode_job *job, const decode_options *o) {
    iket_error err;
    iket_trace *trace;
    iket_open_options open_options = {.meta = job->meta, .pid = job->pid, .pool = o->pool};
    if (!o->info && decode_outputs_check(job, o, &err) != 0) return fail(&err, 2);
    if (iket_trace_open(&trace, job->path, &open_options, &err) != 0) return fail(&err, 2);
    int status = 0;
    if (o->info) {
        decode_report_info(trace, o->verbose);
    } else {
        status = write_files(job, o, trace);
    }
    if (status == 0 && o->strict && decode_has_damage(trace)) status = 1;
    iket_trace_free(trace);
    return status;
}

static int run(const decode_options *o) {
    iket_error err;
    decode_jobs jobs = {.count = 0};
    int status = 0;
    if (decode_jobs_find(&jobs, o, &err) != 0) {
        decode_jobs_free(&jobs);
        return fail(&err, 2);
    }
    if (jobs.count == 0) status = 2; // the lines about folders without data are printed
    for (size_t i = 0; i < jobs.count; i++) {
        int one = run_job(&jobs.jobs[i], o);
        if (one > status) status = one;
    }
    decode_jobs_free(&jobs);
    return status;
}

// A table of this size goes back to the system as soon as it is freed. Left to itself glibc keeps ever larger ones, and a
// dump of a million warps is put together from several of them, one after the other.
enum { GIVEN_BACK_BYTES = 128 * 1024 };

int main(int argc, char **argv) {
    decode_options o = {.emit = EMIT_ALL, .gzip_level = IKET_GZIP_LEVEL, .progress = 1};
    iket_error err;
    iket_output_guard_signals();
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
#endif
    iket_options_result parsed = iket_options_parse(&command, argc, argv, take_option, &o);
    int status = parsed == IKET_OPTIONS_BAD ? 2 : 0;
    if (parsed == IKET_OPTIONS_OK && o.operand_count == 0) {
        fputs("iket-decode: no input (give a dump.bin, a collector's run directory or a trace.json)\niket-decode: --help lists the options\n", stderr);
        status = 2;
    } else if (parsed == IKET_OPTIONS_OK) {
        status = iket_pool_open(&o.pool, o.jobs, &err) == 0 ? run(&o) : fail(&err, 2);
    }
    iket_pool_close(&o.pool);
    iket_selector_clear(&o.selector);
    free(o.operands);
    free(o.metas);
    if (iket_output_close_stdout(&err) != 0) status = fail(&err, 2);
    return status;
}
