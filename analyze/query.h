// SPDX-License-Identifier: Apache-2.0
// query.h: what a verb of iket-query is given. A verb is one file (verb_NAME.c) and one row of the table in verbs.c.
#ifndef IKET_ANALYZE_QUERY_H
#define IKET_ANALYZE_QUERY_H

#include "analyze/columns.h"
#include "analyze/report.h"
#include "decode/include/iket/rows.h"

typedef struct iket_query_options {
    iket_selector selector;
    iket_report_options report;
    const char *meta;      // --meta
    const char *output;    // -o; NULL: standard output
    int force;
    uint64_t memory;       // --memory
    int values, count;     // --values, --count
    const char *by;        // --by
    const char *roles;     // --roles
    const char *wait;      // --wait
    const char *producer, *consumer;
    const char *dag;       // --dag
    const char *table;     // --table
    uint64_t fail_over;    // --fail-over, in thousandths of a percent
    int has_fail_over;
    const char **expect;   // --expect, each NAME=COUNT[/warp|/cta|/launch]
    size_t expect_count;
    int hist;              // --hist
} iket_query_options;

// An input after folders were opened: the path, and the short name by which the answer calls it.
typedef struct iket_query_input {
    char *path, *name; // owned
    size_t operand;    // which word of the command line it came from
    iket_diagnostics diagnostics; // once it was read
} iket_query_input;

typedef struct iket_query {
    const iket_query_options *options;
    const char *verb;
    iket_query_input *inputs;
    size_t input_count, input_capacity, operand_count;
    const char *statement;   // of `sql`; NULL: none
    char **kept;             // owned: names that the report borrows
    size_t kept_count;
    iket_trace **traces;     // [input_count] by iket_query_open
    iket_sink *sink;         // the answer goes here
    iket_report *report;     // opened on it
} iket_query;

typedef struct iket_verb {
    const char *name;
    const char *purpose;
    // 0: answered; 1: the answer is no, or nothing matches (err has a line, or is empty where the answer says it); -1: error
    int (*run)(iket_query *query, iket_error *err);
} iket_verb;

extern const iket_verb iket_verbs[];
extern const size_t iket_verb_count;
const iket_verb *iket_verb_find(const char *name); // NULL: none

// Adds an input: a file, "-", or a folder with the traces in it. Then iket_query_name_inputs once.
IKET_MUST_CHECK int iket_query_add_input(iket_query *query, const char *path, iket_error *err);
IKET_MUST_CHECK int iket_query_name_inputs(iket_query *query, iket_error *err);

// Opens all inputs as models, query->traces.
IKET_MUST_CHECK int iket_query_open(iket_query *query, iket_error *err);

// The same as columns; *sets has query->input_count elements, empty where an input lacks what is selected. 0; 1: all lack
// it; -1: an error. iket_query_unload frees them.
IKET_MUST_CHECK int iket_query_load(iket_query *query, iket_columns **sets, iket_error *err);
void iket_query_unload(iket_query *query, iket_columns *sets);

void iket_query_free(iket_query *query);

// The verbs.
int iket_verb_events(iket_query *query, iket_error *err);
int iket_verb_summary(iket_query *query, iket_error *err);
int iket_verb_ranges(iket_query *query, iket_error *err);
int iket_verb_warps(iket_query *query, iket_error *err);
int iket_verb_gaps(iket_query *query, iket_error *err);
int iket_verb_cadence(iket_query *query, iket_error *err);
int iket_verb_payload(iket_query *query, iket_error *err);
int iket_verb_path(iket_query *query, iket_error *err);
int iket_verb_diff(iket_query *query, iket_error *err);
int iket_verb_check(iket_query *query, iket_error *err);
int iket_verb_export(iket_query *query, iket_error *err);
int iket_verb_sql(iket_query *query, iket_error *err);

#endif
