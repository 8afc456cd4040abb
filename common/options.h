// SPDX-License-Identifier: Apache-2.0
// options.h: one table per tool, from which parsing, --help, the man page and the completion come.
//
// Options and operands stand in any order; `--name value`, `--name=value`, `-n value`, `-nvalue`; `--` ends options;
// `-` alone is an operand. Every table has -h/--help and -V/--version added by the parser.
#ifndef IKET_COMMON_OPTIONS_H
#define IKET_COMMON_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

typedef struct iket_option {
    int id;               // what the callback gets; above 0
    char letter;          // 0: none
    const char *name;     // without dashes
    const char *synonym;  // a second name, or NULL
    const char *argument; // the argument's name in the help; NULL: a flag
    const char *help;     // one or more lines, '\n' between them
    const char *group;    // heading under which it is listed; NULL: that of the option before it
} iket_option;

typedef struct iket_command {
    const char *name;        // "iket-decode"
    const char *purpose;     // one line
    const char *synopsis;    // "[OPTIONS] DUMP..."
    const char *examples[3]; // complete command lines
    const char *notes;       // text below the options, or NULL
    const iket_option *options;
    size_t option_count;
} iket_command;

// Called for each option (id above 0, value NULL for a flag) and each operand (id 0) in the order of the command line.
// Returns 0, or -1 with one line in err.
typedef int (*iket_option_fn)(void *context, int id, const char *value, iket_error *err);

typedef enum iket_options_result {
    IKET_OPTIONS_OK,
    IKET_OPTIONS_DONE, // --help or --version was printed on stdout: end with 0
    IKET_OPTIONS_BAD,  // one or two lines were printed on stderr: end with 2
} iket_options_result;

// For a tool's main: the only function of common that prints.
iket_options_result iket_options_parse(const iket_command *command, int argc, char **argv, iket_option_fn fn, void *context);

void iket_options_print_help(const iket_command *command, FILE *out);

// Of `count` candidates the one nearest to `word` by edit distance, or NULL when none is near. For "did you mean".
const char *iket_nearest(const char *word, const char *const *candidates, size_t count);

// Parses a whole decimal number (or 0x…) up to `max`; fails on anything else.
IKET_MUST_CHECK int iket_parse_u64(const char *text, unsigned long long max, unsigned long long *value, iket_error *err);

#endif
