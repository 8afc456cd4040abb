// SPDX-License-Identifier: Apache-2.0
// options.h: one table per tool, from which parsing, --help, the man page and the completion come.
//
// Options and operands stand in any order; `--name value`, `--name=value`, `-n value`, `-nvalue`; `--` ends options;
// `-` alone is an operand. Every table has -h/--help and -V/--version added by the parser. `--help=man` gives the sections
// of the man page in scdoc's syntax, `--help=bash` the completion: the build uses them (iket_man_page in cmake/Iket.cmake).
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
    const char *help;     // one or more lines, '\n' between them; none begins with a dot, which scdoc loses
    const char *group;    // heading under which it is listed; NULL: that of the option before it
} iket_option;

// A first operand that says what is to be done.
typedef struct iket_command_verb {
    const char *name;
    const char *purpose; // one line
} iket_command_verb;

// For the completion: what the value of an option can be, or the members of a list with commas.
typedef struct iket_option_words {
    int id;
    const char *words; // with a space between them; ends the table when NULL
} iket_option_words;

typedef struct iket_command {
    const char *name;        // "iket-decode"
    const char *purpose;     // one line
    const char *synopsis;    // "[OPTIONS] DUMP..."
    const char *examples[3]; // complete command lines
    const char *notes;       // text below the options, or NULL
    const iket_option *options;
    size_t option_count;
    const iket_option_words *words; // or NULL. Values called FILE and DIR are completed by names of files and folders
    const iket_command_verb *verbs; // or NULL
    size_t verb_count;
    const char *verb_default; // what an omitted verb means
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
void iket_options_print_man(const iket_command *command, FILE *out);  // scdoc: the sections VERBS and OPTIONS
void iket_options_print_bash(const iket_command *command, FILE *out); // a script that bash sources

// Of `count` candidates the one nearest to `word` by edit distance, or NULL when none is near. For "did you mean".
const char *iket_nearest(const char *word, const char *const *candidates, size_t count);

// Parses a whole decimal number (or 0x…) up to `max`; fails on anything else.
IKET_MUST_CHECK int iket_parse_u64(const char *text, unsigned long long max, unsigned long long *value, iket_error *err);

#endif
