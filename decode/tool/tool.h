// SPDX-License-Identifier: Apache-2.0
// tool.h: the parts of the iket-decode command.
//
//     iket-decode.c   options, exit status
//     inputs.c        operands -> jobs: what to read, where to write, under which name
//     outputs.c       one trace -> its files
//     report.c        the summary on stderr, --info on stdout
#ifndef IKET_DECODE_TOOL_H
#define IKET_DECODE_TOOL_H

#include "decode/include/iket/encode.h"

enum { EMIT_PFTRACE = 1, EMIT_PFTRACE_GZ = 2, EMIT_JSON = 4, EMIT_HTML = 8, EMIT_ALL = 15 };

typedef struct decode_options {
    const char **operands, **metas;
    size_t operand_count, meta_count;
    const char *output_dir; // NULL: beside the input; "-": standard output
    const char *name;       // base name of the outputs, NULL: from the input
    const char *dag;        // iket.dag file whose edges become arrows, NULL: none
    unsigned emit;          // EMIT_*
    int emit_given, gzip_level;
    int force, info, strict, quiet, verbose, progress;
    unsigned jobs;          // threads, 0: as many as processors
    iket_pool *pool;        // owned by main
    iket_selector selector;
} decode_options;

typedef struct decode_job {
    char *path, *meta; // meta NULL: none
    char *folder;      // of the outputs; "-": standard output
    char *base;        // base name of the outputs
    uint64_t pid, context_id;
    int is_json;       // the input is a trace.json
} decode_job;

typedef struct decode_jobs {
    decode_job *jobs; // owned, with their strings
    size_t count, capacity;
    size_t without_data; // collector's process folders that hold no raw buffers
} decode_jobs;

// Turns the operands into jobs. A folder is a collector's run, one of its pid_* folders, or one with a dump.bin. Prints a
// line on stderr for each process folder without raw buffers.
IKET_MUST_CHECK int decode_jobs_find(decode_jobs *jobs, const decode_options *options, iket_error *err);
void decode_jobs_free(decode_jobs *jobs);

typedef struct decode_outputs { // what was written
    char *paths[4];
    uint64_t sizes[4];
    size_t count;
    iket_pftrace_facts facts;
    unsigned kept_input; // the trace.json was left out, since it is the input
} decode_outputs;

// Fails before anything is decoded when an output exists and --force was not given.
IKET_MUST_CHECK int decode_outputs_check(const decode_job *job, const decode_options *options, iket_error *err);
IKET_MUST_CHECK int decode_outputs_write(decode_outputs *outputs, const decode_job *job, const decode_options *options, const iket_trace *trace,
                                         const iket_selection *selection, iket_error *err);
void decode_outputs_free(decode_outputs *outputs);

void decode_report_info(const iket_trace *trace, int verbose);                          // on stdout
void decode_report_summary(const iket_trace *trace, const decode_outputs *outputs, const iket_selection *selection); // on stderr
void decode_report_losses(const iket_trace *trace);                                     // on stderr
void decode_report_warnings(const iket_trace *trace, const decode_outputs *outputs);    // on stderr

// For a trace without any event: fails with what was launched and what was declared. A collector's trace of lifetimes
// alone is let through with a warning on stderr.
int decode_report_no_event(const iket_trace *trace, iket_error *err);

// Whether a diagnostics counter is above 0.
int decode_has_damage(const iket_trace *trace);

#endif
