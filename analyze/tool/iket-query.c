// SPDX-License-Identifier: Apache-2.0
// iket-query: answers about traces on the command line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/query.h"
#include "analyze/timeline.h"
#include "common/output.h"
#include "decode/include/iket/encode.h"

enum {
    OPT_META = 1,
    OPT_FORMAT,
    OPT_CSV,
    OPT_JSON,
    OPT_COLUMNS,
    OPT_SORT,
    OPT_LIMIT,
    OPT_COUNT,
    OPT_VALUES,
    OPT_OUTPUT,
    OPT_FORCE,
    OPT_MEMORY,
    OPT_BY,
    OPT_HIST,
    OPT_ROLES,
    OPT_WAIT,
    OPT_PRODUCER,
    OPT_CONSUMER,
    OPT_FAIL_OVER,
    OPT_EXPECT,
    OPT_TABLE,
    OPT_DAG,
    OPT_QUIET,
};

static const iket_option options[] = {
    {OPT_META, 0, "meta", NULL, "FILE", "schema of a dump (meta.json), or iket.data.json of raw buffers", "Input"},
    {OPT_MEMORY, 0, "memory", NULL, "MIB", "what a piped trace.json may hold back in memory before it\nuses $TMPDIR (256)", NULL},
    IKET_SELECT_PLACE_OPTIONS,
    IKET_SELECT_NAME_OPTIONS,
    {OPT_BY, 0, "by", NULL, "KEYS", "ranges, cadence, payload: group by any of name, kernel, launch,\nsm, cta, warp, role, payload, payload%N (its remainder)", "Analysis"},
    {OPT_ROLES, 0, "roles", NULL, "LIST", "names of warps: 0-3=softmax,12=mma", NULL},
    {OPT_WAIT, 0, "wait", NULL, "REGEX", "which ranges are waits (" IKET_WAIT_DEFAULT ")", NULL},
    {OPT_HIST, 0, "hist", NULL, NULL, "ranges: draw the distributions", NULL},
    {OPT_PRODUCER, 0, "producer", NULL, "NAME", "cadence: the range whose lead over --consumer is asked for", NULL},
    {OPT_CONSUMER, 0, "consumer", NULL, "NAME", "cadence: the range that follows --producer", NULL},
    {OPT_FAIL_OVER, 0, "fail-over", NULL, "PERCENT", "diff: exit 1 when a name is surely slower by more than this", NULL},
    {OPT_EXPECT, 0, "expect", NULL, "NAME=N", "check: each warp has N events of this name; N/cta, N/launch", NULL},
    {OPT_DAG, 0, "dag", NULL, "FILE", "path: the kernel's iket.dag file", NULL},
    {OPT_TABLE, 0, "table", NULL, "NAME", "export: launches, locations, lifetimes, ranges or markers", NULL},
    {OPT_FORMAT, 'F', "format", NULL, "FORMAT", "table (default), csv, json, jsonl", "Output"},
    {OPT_CSV, 0, "csv", NULL, NULL, "the same as --format csv", NULL},
    {OPT_JSON, 0, "json", NULL, NULL, "the same as --format json", NULL},
    {OPT_COLUMNS, 0, "columns", NULL, "A,B,...", "these columns, in this order", NULL},
    {OPT_SORT, 0, "sort", NULL, "COLUMN", "order of the rows, greatest first; COLUMN:asc: least first", NULL},
    {OPT_LIMIT, 'n', "limit", NULL, "N", "at most N rows; 0: all", NULL},
    {OPT_COUNT, 0, "count", NULL, NULL, "only the number of events", NULL},
    {OPT_VALUES, 0, "values", NULL, NULL, "only the events' payloads, one a line", NULL},
    {OPT_OUTPUT, 'o', "output", NULL, "FILE", "write the answer there", NULL},
    {OPT_QUIET, 'q', "quiet", NULL, NULL, "no warnings about damage in the input", NULL},
    {OPT_FORCE, 'f', "force", "clobber", NULL, "replace an existing file", NULL},
};

static const iket_option_words option_words[] = {
    {OPT_BY, "name kernel launch sm cta warp role payload"},
    {OPT_FORMAT, "table csv json jsonl"},
    {OPT_TABLE, "launches locations lifetimes ranges markers"},
    {0, NULL},
};

typedef struct settings {
    int quiet;
    iket_query_options query;
    char **words; // operands in order
    size_t word_count;
} settings;

static int take_format(iket_format *format, const char *value, iket_error *err) {
    static const char *const names[] = {[IKET_FORMAT_TABLE] = "table", [IKET_FORMAT_CSV] = "csv", [IKET_FORMAT_JSON] = "json", [IKET_FORMAT_JSONL] = "jsonl"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(value, names[i]) == 0) {
            *format = (iket_format)i;
            return 0;
        }
    }
    return iket_fail(err, "'%s' is no format (table, csv, json or jsonl)", value);
}

static int take_number(const char *value, unsigned long long most, uint64_t *number, iket_error *err) {
    unsigned long long parsed;
    IKET_TRY(iket_parse_u64(value, most, &parsed, err));
    *number = parsed;
    return 0;
}

// 5, 5%, 0.25%: in thousandths of a percent.
static int take_percent(const char *value, uint64_t *thousandths, iket_error *err) {
    char *end;
    double percent = strtod(value, &end);
    if (*end == '%') end++;
    if (end == value || *end != 0 || !(percent >= 0) || percent > 1e6) return iket_fail(err, "'%s' is no percentage", value);
    *thousandths = (uint64_t)(percent * 1000 + 0.5);
    return 0;
}

static int take(void *context, int id, const char *value, iket_error *err) {
    settings *s = context;
    iket_query_options *q = &s->query;
    if (iket_is_select_option(id)) return iket_selector_set(&q->selector, id, value, err);
    switch (id) {
    case 0: s->words[s->word_count++] = (char *)(uintptr_t)value; return 0;
    case OPT_META: q->meta = value; return 0;
    case OPT_FORMAT: return take_format(&q->report.format, value, err);
    case OPT_CSV: q->report.format = IKET_FORMAT_CSV; return 0;
    case OPT_JSON: q->report.format = IKET_FORMAT_JSON; return 0;
    case OPT_COLUMNS: q->report.columns = value; return 0;
    case OPT_SORT: q->report.sort = value; return 0;
    case OPT_LIMIT: q->report.has_limit = 1; return take_number(value, UINT64_MAX, &q->report.limit, err);
    case OPT_COUNT: q->count = 1; return 0;
    case OPT_VALUES: q->values = 1; return 0;
    case OPT_OUTPUT: q->output = value; return 0;
    case OPT_FORCE: q->force = 1; return 0;
    case OPT_BY: q->by = value; return 0;
    case OPT_ROLES: q->roles = value; return 0;
    case OPT_WAIT: q->wait = value; return 0;
    case OPT_HIST: q->hist = 1; return 0;
    case OPT_PRODUCER: q->producer = value; return 0;
    case OPT_CONSUMER: q->consumer = value; return 0;
    case OPT_FAIL_OVER: q->has_fail_over = 1; return take_percent(value, &q->fail_over, err);
    case OPT_EXPECT: q->expect[q->expect_count++] = value; return 0;
    case OPT_QUIET: s->quiet = 1; return 0;
    case OPT_DAG: q->dag = value; return 0;
    case OPT_TABLE: q->table = value; return 0;
    case OPT_MEMORY:
        IKET_TRY(take_number(value, 1 << 20, &q->memory, err));
        q->memory <<= 20;
        return 0;
    default: return iket_fail(err, "not handled");
    }
}

// The rows of the verbs' table as those of the command.
static iket_command_verb *command_verbs(void) {
    iket_command_verb *verbs = calloc(iket_verb_count, sizeof *verbs);
    for (size_t i = 0; verbs != NULL && i < iket_verb_count; i++) verbs[i] = (iket_command_verb){iket_verbs[i].name, iket_verbs[i].purpose};
    return verbs;
}

// The first word is a verb when it names one; the rest are inputs.
static int take_words(settings *s, iket_query *query, const iket_verb **verb, iket_error *err) {
    size_t at = 0;
    *verb = s->word_count > 0 ? iket_verb_find(s->words[0]) : NULL;
    if (*verb != NULL) {
        at = 1;
        if (strcmp((*verb)->name, "sql") == 0 && s->word_count > 1) query->statement = s->words[at++];
    } else if (s->word_count > 1 && access(s->words[0], F_OK) != 0 && strpbrk(s->words[0], "./-") == NULL) {
        const char *names[64];
        size_t count = 0;
        for (; count < iket_verb_count && count < 64; count++) names[count] = iket_verbs[count].name;
        const char *near = iket_nearest(s->words[0], names, count);
        if (near != NULL) return iket_fail(err, "%s: neither a verb nor a file; did you mean %s?", s->words[0], near);
        return iket_fail(err, "%s: neither a verb nor a file (--help lists the verbs)", s->words[0]);
    } else {
        const iket_query_options *q = &s->query;
        *verb = iket_verb_find(iket_selector_has(&q->selector, IKET_SELECT_MARKER) || iket_selector_has(&q->selector, IKET_SELECT_RANGE) || q->values || q->count ? "events" : "summary");
    }
    query->verb = (*verb)->name;
    for (; at < s->word_count; at++) IKET_TRY(iket_query_add_input(query, s->words[at], err));
    if (query->input_count == 0) return iket_fail(err, "no input (give a trace.json, a dump, a folder, or - for standard input)");
    return iket_query_name_inputs(query, err);
}

// Runs the verb with its answer going to `out`.
static int answer(iket_query *query, const iket_verb *verb, iket_output *out, iket_error *err) {
    iket_sink sink;
    const iket_query_options *q = query->options;
    iket_report_options report = q->report;
    report.many_inputs = query->input_count > 1;
    IKET_TRY(iket_sink_open(&sink, 0, iket_output_flush, out, err));
    query->sink = &sink;
    int result = iket_report_open(&query->report, &report, verb->name, &sink, err);
    if (result == 0) {
        iket_error later;
        result = verb->run(query, err);
        int closed = iket_report_close(query->report, &later);
        if (closed != 0 && result >= 0) result = iket_fail(err, "%s", later.message);
    }
    // The rows that came before an error are given.
    int flushed = iket_sink_close(&sink, result < 0 ? NULL : err);
    return flushed == 0 ? result : -1;
}

// What the inputs' readers counted as damage, a line each: figures of a damaged trace are figures of a part.
static void warn(const iket_command *command, const iket_query *query) {
    for (size_t i = 0; i < query->input_count; i++) {
        const iket_diagnostics *d = &query->inputs[i].diagnostics;
        const struct {
            const char *name;
            uint64_t count;
        } counters[] = {
#define IKET_NAME_COUNTER(name) {#name, d->name},
            IKET_DIAGNOSTICS(IKET_NAME_COUNTER)
#undef IKET_NAME_COUNTER
        };
        for (size_t k = 0; k < sizeof counters / sizeof counters[0]; k++) {
            char text[400];
            if (counters[k].count == 0) continue;
            iket_diagnostic_text(counters[k].name, counters[k].count, text, sizeof text);
            fprintf(stderr, "%s: warning: %s: %s\n", command->name, query->inputs[i].name, text);
        }
    }
}

static int run(const iket_command *command, settings *s, iket_error *err) {
    iket_query query = {.options = &s->query};
    const iket_verb *verb;
    iket_output *out = NULL;
    err->message[0] = 0;
    int result = take_words(s, &query, &verb, err);
    if (result == 0) result = iket_output_open(&out, s->query.output != NULL ? s->query.output : "-", (s->query.force ? IKET_OUTPUT_FORCE : 0) | (strcmp(verb->name, "export") == 0 && s->query.table == NULL ? IKET_OUTPUT_BINARY : 0), err);
    if (result == 0) result = answer(&query, verb, out, err);
    iket_error late;
    if (result >= 0 && out != NULL && iket_output_commit(&out, &late) != 0) result = iket_fail(err, "%s", late.message);
    iket_output_discard(&out);
    // `check` says it itself.
    if (result >= 0 && !s->quiet && strcmp(verb->name, "check") != 0) warn(command, &query);
    iket_query_free(&query);
    return result;
}

int main(int argc, char **argv) {
    iket_command_verb *verbs = command_verbs();
    const iket_command command = {
        .name = "iket-query",
        .purpose = "answer questions about traces of GPU kernels",
        .synopsis = "[VERB] [OPTIONS] TRACE...",
        .examples = {"iket-query iket_pid_0x1092.trace.json", "iket-query --marker store_index --values trace.json.gz",
                     "iket-query events --range mma_wait --warp 4-7 --time 10us..20us --csv run.trace.json"},
        .notes = "TRACE is a trace.json (plain, gzip, NVIDIA's too), a dump.bin, a collector's\n"
                 "iket.data.json or iket.data.bin, a folder of them, or - for standard input.\n"
                 "Exit status: 0 answered, 1 the answer is no or nothing matches, 2 an error.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .words = option_words,
        .verbs = verbs,
        .verb_count = verbs != NULL ? iket_verb_count : 0,
        .verb_default = "events with a selection or --values or --count, else summary",
    };
    settings s = {.query = {.memory = (uint64_t)256 << 20, .expect = calloc((size_t)argc, sizeof *s.query.expect)}, .words = calloc((size_t)argc, sizeof *s.words)};
    iket_error err;
    int status = 2;
    iket_output_guard_signals();
    iket_options_result parsed = s.words == NULL || s.query.expect == NULL ? IKET_OPTIONS_BAD : iket_options_parse(&command, argc, argv, take, &s);
    if (parsed == IKET_OPTIONS_DONE) status = 0;
    if (parsed == IKET_OPTIONS_OK) {
        int result = run(&command, &s, &err);
        if (result != 0 && err.message[0] != 0) fprintf(stderr, "%s: %s\n", command.name, err.message);
        status = result < 0 ? 2 : result;
    }
    if (iket_output_close_stdout(&err) != 0) {
        fprintf(stderr, "%s: %s\n", command.name, err.message);
        status = 2;
    }
    iket_selector_clear(&s.query.selector);
    free(s.query.expect);
    free(s.words);
    free(verbs);
    return status;
}
