// SPDX-License-Identifier: Apache-2.0
// options_bash.c: a table as a completion script for bash.
//
//     case of the word before:  an option with known values  ->  these values, also after a comma
//                               one with a DIR               ->  folders
//                               one with a FILE              ->  nothing from here, so that bash completes file names
//                               another with a value         ->  nothing
//     else, the word itself:    -...                         ->  the options
//                               the first operand            ->  verbs and files
//                               another operand              ->  file names by bash
#include <string.h>

#include "common/options_table.h"

typedef enum { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_DIR, VALUE_FREE } value_kind;

static const char *words_of(const iket_command *command, const iket_option *o) {
    for (const iket_option_words *w = command->words; w != NULL && w->words != NULL; w++) {
        if (w->id == o->id) return w->words;
    }
    return NULL;
}

static value_kind kind_of(const iket_command *command, const iket_option *o) {
    if (o->argument == NULL) return VALUE_NONE;
    if (words_of(command, o) != NULL) return VALUE_WORDS;
    if (strcmp(o->argument, "FILE") == 0) return VALUE_FILE;
    return strcmp(o->argument, "DIR") == 0 ? VALUE_DIR : VALUE_FREE;
}

// All spellings of an option, `between` them.
static void print_names(const iket_option *o, const char *between, FILE *out) {
    fprintf(out, "--%s", o->name);
    if (o->synonym != NULL) fprintf(out, "%s--%s", between, o->synonym);
    if (o->letter != 0) fprintf(out, "%s-%c", between, o->letter);
}

// The pattern of a case: all options whose value is of the kind, or of any kind for VALUE_NONE. Returns how many.
static size_t print_pattern(const iket_command *command, value_kind kind, FILE *out) {
    size_t count = 0;
    for (size_t i = 0; i < iket_option_count(command); i++) {
        const iket_option *o = iket_option_at(command, i);
        if (o->argument == NULL || (kind != VALUE_NONE && kind_of(command, o) != kind)) continue;
        fputs(count++ > 0 ? " | " : "    ", out);
        print_names(o, " | ", out);
    }
    if (count > 0) fputs(")\n", out);
    return count;
}

static void print_values(const iket_command *command, FILE *out) {
    fputs("    case $before in\n", out);
    for (size_t i = 0; i < iket_option_count(command); i++) {
        const iket_option *o = iket_option_at(command, i);
        if (kind_of(command, o) != VALUE_WORDS) continue;
        fputs("    ", out);
        print_names(o, " | ", out);
        fprintf(out,
                ")\n"
                "        mapfile -t COMPREPLY < <(compgen -P \"${word%%\"${word##*,}\"}\" -W '%s' -- \"${word##*,}\")\n"
                "        return\n"
                "        ;;\n",
                words_of(command, o));
    }
    if (print_pattern(command, VALUE_FILE, out) > 0) fputs("        return\n        ;;\n", out);
    if (print_pattern(command, VALUE_DIR, out) > 0) fputs("        compopt -o dirnames +o default\n        return\n        ;;\n", out);
    if (print_pattern(command, VALUE_FREE, out) > 0) fputs("        compopt +o default\n        return\n        ;;\n", out);
    fputs("    esac\n", out);
}

// The verb is the first operand, so the words before are looked through: options, their values, operands.
static void print_verbs(const iket_command *command, FILE *out) {
    fputs("    local i operands=0\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n    ",
          out);
    if (print_pattern(command, VALUE_NONE, out) > 0) {
        fputs("            if [[ ${COMP_WORDS[i + 1]} == = ]]; then ((i += 2)); else ((i += 1)); fi\n"
              "            ;;\n",
              out);
    }
    fputs("        -?*) ;;\n"
          "        *) ((operands += 1)) ;;\n"
          "        esac\n"
          "    done\n"
          "    if [[ $operands == 0 ]]; then\n"
          "        compopt -o filenames\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    for (size_t i = 0; i < command->verb_count; i++) fprintf(out, "%s%s", i > 0 ? " " : "", command->verbs[i].name);
    fputs("' -- \"$word\"; compgen -f -- \"$word\")\n"
          "    fi\n",
          out);
}

// The name of the command as a part of a function's name.
static void print_function(const iket_command *command, FILE *out) {
    for (const char *p = command->name; *p != 0; p++) fputc(*p == '-' ? '_' : *p, out);
}

void iket_options_print_bash(const iket_command *command, FILE *out) {
    fprintf(out, "# shellcheck shell=bash\n# Completion of %s, as %s --help=bash prints it.\n_", command->name, command->name);
    print_function(command, out);
    fputs("() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    COMPREPLY=()\n"
          "    # --name=value comes as three words.\n"
          "    if [[ $word == = ]]; then\n"
          "        word=\n"
          "    elif [[ $before == = ]]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n",
          out);
    print_values(command, out);
    fputs("    if [[ $word == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    for (size_t i = 0; i < iket_option_count(command); i++) {
        if (i > 0) fputc(' ', out);
        print_names(iket_option_at(command, i), " ", out);
    }
    fputs("' -- \"$word\")\n"
          "        return\n"
          "    fi\n",
          out);
    if (command->verb_count > 0) print_verbs(command, out);
    fputs("} &&\n    complete -o default -F _", out);
    print_function(command, out);
    fprintf(out, " %s\n", command->name);
}
