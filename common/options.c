// SPDX-License-Identifier: Apache-2.0
#include "common/options_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/version.h"

enum { NAMES_MAX = 160 };

static const iket_option help_option = {IKET_OPTION_HELP, 'h', "help", NULL, NULL, "print this and end", "Other"};
static const iket_option version_option = {IKET_OPTION_VERSION, 'V', "version", NULL, NULL, "print the version and end", NULL};

const iket_option *iket_option_at(const iket_command *command, size_t i) {
    if (i < command->option_count) return &command->options[i];
    return i == command->option_count ? &help_option : &version_option;
}

size_t iket_option_count(const iket_command *command) { return command->option_count + 2; }

static const iket_option *find_name(const iket_command *command, const char *name, size_t length) {
    for (size_t i = 0; i < iket_option_count(command); i++) {
        const iket_option *o = iket_option_at(command, i);
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
        if (o->synonym != NULL && strlen(o->synonym) == length && strncmp(o->synonym, name, length) == 0) return o;
    }
    return NULL;
}

static const iket_option *find_letter(const iket_command *command, char letter) {
    for (size_t i = 0; i < iket_option_count(command); i++) {
        if (iket_option_at(command, i)->letter == letter) return iket_option_at(command, i);
    }
    return NULL;
}

// Edit distance with adjacent swaps, of words below 64 characters.
static size_t distance(const char *a, const char *b) {
    enum { MAX = 64 };
    size_t n = strlen(a), m = strlen(b), rows[3][MAX];
    if (n >= MAX || m >= MAX) return MAX;
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++) last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[m];
}

const char *iket_nearest(const char *word, const char *const *candidates, size_t count) {
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, candidates[i]);
        if (d < least) {
            least = d;
            best = candidates[i];
        }
    }
    return best;
}

static iket_options_result bad(const iket_command *command, const char *format, const char *what, const char *hint) {
    fprintf(stderr, "%s: ", command->name);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    if (hint != NULL) {
        fprintf(stderr, "%s: did you mean --%s? (--help lists the options)\n", command->name, hint);
    } else {
        fprintf(stderr, "%s: --help lists the options\n", command->name);
    }
    return IKET_OPTIONS_BAD;
}

static const char *nearest_option(const iket_command *command, const char *name, size_t length) {
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < iket_option_count(command) && n + 2 <= NAMES_MAX; i++) {
        names[n++] = iket_option_at(command, i)->name;
        if (iket_option_at(command, i)->synonym != NULL) names[n++] = iket_option_at(command, i)->synonym;
    }
    char word[64];
    if (length >= sizeof word) return NULL;
    memcpy(word, name, length);
    word[length] = 0;
    return iket_nearest(word, names, n);
}

static iket_options_result print_help(const iket_command *command, const char *form) {
    if (form == NULL) {
        iket_options_print_help(command, stdout);
    } else if (strcmp(form, "man") == 0) {
        iket_options_print_man(command, stdout);
    } else if (strcmp(form, "bash") == 0) {
        iket_options_print_bash(command, stdout);
    } else {
        return bad(command, "--help=%s: there is no such form (man, bash or none)", form, NULL);
    }
    return IKET_OPTIONS_DONE;
}

static iket_options_result apply(const iket_command *command, const iket_option *option, const char *value, iket_option_fn fn, void *context) {
    if (option->id == IKET_OPTION_HELP) return print_help(command, value);
    if (option->id == IKET_OPTION_VERSION) {
        printf("%s %s\n", command->name, IKET_VERSION);
        return IKET_OPTIONS_DONE;
    }
    iket_error err;
    if (fn(context, option->id, value, &err) == 0) return IKET_OPTIONS_OK;
    fprintf(stderr, "%s: --%s: %s\n", command->name, option->name, err.message);
    return IKET_OPTIONS_BAD;
}

static iket_options_result parse_long(const iket_command *command, int argc, char **argv, int *i, iket_option_fn fn, void *context) {
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const iket_option *o = find_name(command, name, length);
    if (o == NULL) return bad(command, "unknown option %s", argv[*i], nearest_option(command, name, length));
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (o->argument == NULL && value != NULL && o->id != IKET_OPTION_HELP) return bad(command, "--%s takes no value", o->name, o->name);
    if (o->argument != NULL && value == NULL) {
        if (*i + 1 >= argc) return bad(command, "--%s needs a value", o->name, NULL);
        value = argv[++*i];
    }
    return apply(command, o, value, fn, context);
}

static iket_options_result parse_letters(const iket_command *command, int argc, char **argv, int *i, iket_option_fn fn, void *context) {
    const char *p = argv[*i] + 1;
    while (*p != 0) {
        const iket_option *o = find_letter(command, *p);
        if (o == NULL) return bad(command, "unknown option %s", argv[*i], nearest_option(command, argv[*i] + 1, strlen(argv[*i] + 1)));
        const char *value = NULL;
        p++;
        if (o->argument != NULL) {
            if (*p != 0) {
                value = p;
                p += strlen(p);
            } else if (*i + 1 < argc) {
                value = argv[++*i];
            } else {
                return bad(command, "--%s needs a value", o->name, NULL);
            }
        }
        iket_options_result result = apply(command, o, value, fn, context);
        if (result != IKET_OPTIONS_OK) return result;
    }
    return IKET_OPTIONS_OK;
}

iket_options_result iket_options_parse(const iket_command *command, int argc, char **argv, iket_option_fn fn, void *context) {
    int only_operands = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        iket_options_result result = IKET_OPTIONS_OK;
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = 1;
        } else if (!only_operands && strncmp(word, "--", 2) == 0) {
            result = parse_long(command, argc, argv, &i, fn, context);
        } else if (!only_operands && word[0] == '-' && word[1] != 0) {
            result = parse_letters(command, argc, argv, &i, fn, context);
        } else {
            iket_error err;
            if (fn(context, 0, word, &err) != 0) {
                fprintf(stderr, "%s: %s\n", command->name, err.message);
                result = IKET_OPTIONS_BAD;
            }
        }
        if (result != IKET_OPTIONS_OK) return result;
    }
    return IKET_OPTIONS_OK;
}

int iket_parse_u64(const char *text, unsigned long long max, unsigned long long *value, iket_error *err) {
    int hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hexadecimal ? text + 2 : text;
    if (!isxdigit((unsigned char)digits[0])) return iket_fail(err, "'%s' is not a number", text);
    char *end;
    errno = 0;
    unsigned long long v = strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (*end != 0) return iket_fail(err, "'%s' is not a number", text);
    if (errno != 0 || v > max) return iket_fail(err, "%s is too large (at most %llu)", text, max);
    *value = v;
    return 0;
}
