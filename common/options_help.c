// SPDX-License-Identifier: Apache-2.0
// options_help.c: a table for people: --help, and the generated sections of the man page.
#include <string.h>

#include "common/options_table.h"

enum { HELP_COLUMN = 30 };

static void print_option(const iket_option *o, FILE *out) {
    char left[96];
    int used = o->letter != 0 ? snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name) : snprintf(left, sizeof left, "      --%s", o->name);
    if (o->argument != NULL) snprintf(left + used, sizeof left - (size_t)used, " %s", o->argument);
    fprintf(out, "%-*s", HELP_COLUMN, left);
    if (strlen(left) >= HELP_COLUMN) fprintf(out, "\n%*s", HELP_COLUMN, "");
    for (const char *line = o->help; line != NULL;) {
        const char *end = strchr(line, '\n');
        fprintf(out, "%.*s\n", end != NULL ? (int)(end - line) : (int)strlen(line), line);
        if (end != NULL) fprintf(out, "%*s", HELP_COLUMN, "");
        line = end != NULL ? end + 1 : NULL;
    }
}

static void print_verbs(const iket_command *command, FILE *out) {
    fprintf(out, "\nVerbs (default: %s):\n", command->verb_default);
    for (size_t i = 0; i < command->verb_count; i++) fprintf(out, "  %-10s %s\n", command->verbs[i].name, command->verbs[i].purpose);
}

void iket_options_print_help(const iket_command *command, FILE *out) {
    fprintf(out, "%s: %s\n\n", command->name, command->purpose);
    for (size_t i = 0; i < 3 && command->examples[i] != NULL; i++) fprintf(out, "  %s\n", command->examples[i]);
    fprintf(out, "\nUsage: %s %s\n", command->name, command->synopsis);
    for (size_t i = 0; i < iket_option_count(command); i++) {
        const iket_option *o = iket_option_at(command, i);
        if (o->group != NULL) fprintf(out, "\n%s:\n", o->group);
        print_option(o, out);
    }
    if (command->verb_count > 0) print_verbs(command, out);
    if (command->notes != NULL) fprintf(out, "\n%s\n", command->notes);
}

// Text as scdoc's: nothing in it is markup, and its lines stay lines of one indented paragraph.
static void put_scdoc(const char *text, FILE *out) {
    for (; *text != 0; text++) {
        if (strchr("\\*_`#-+[]|;~^", *text) != NULL) fputc('\\', out);
        fputc(*text, out);
        if (*text == '\n') fputc('\t', out);
    }
}

// *--name*, after what stands before it.
static void put_name(const char *before, const char *dashes, const char *name, FILE *out) {
    fprintf(out, "%s*", before);
    put_scdoc(dashes, out);
    put_scdoc(name, out);
    fputc('*', out);
}

static void print_man_option(const iket_option *o, FILE *out) {
    if (o->letter != 0) put_name("", "-", (const char[]){o->letter, 0}, out);
    put_name(o->letter != 0 ? ", " : "", "--", o->name, out);
    if (o->synonym != NULL) put_name(", ", "--", o->synonym, out);
    if (o->argument != NULL) {
        fputs(" _", out);
        put_scdoc(o->argument, out);
        fputc('_', out);
    }
    fputs("\n\t", out);
    put_scdoc(o->help, out);
    if (o->id == IKET_OPTION_HELP) fputs("; *\\-\\-help=bash* prints the completion for bash,\n\t*\\-\\-help=man* what this page says of the options", out);
    fputs("\n\n", out);
}

void iket_options_print_man(const iket_command *command, FILE *out) {
    if (command->verb_count > 0) {
        fputs("# VERBS\n\nWithout a verb: ", out);
        put_scdoc(command->verb_default, out);
        fputs(".\n\n", out);
    }
    for (size_t i = 0; i < command->verb_count; i++) {
        put_name("", "", command->verbs[i].name, out);
        fputs("\n\t", out);
        put_scdoc(command->verbs[i].purpose, out);
        fputs("\n\n", out);
    }
    fputs("# OPTIONS\n\n", out);
    for (size_t i = 0; i < iket_option_count(command); i++) {
        const iket_option *o = iket_option_at(command, i);
        if (o->group != NULL) fprintf(out, "## %s\n\n", o->group);
        print_man_option(o, out);
    }
}
