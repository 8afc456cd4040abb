// SPDX-License-Identifier: Apache-2.0
#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/version.h"

enum { ID_HELP = -1, ID_VERSION = -2, NAMES_MAX = 160 };

static const iket_option help_option = {ID_HELP, 'h', "help", NULL, NULL, "print this and end", "Other"};
static const iket_option version_option = {ID_VERSION, 'V', "version", NULL, NULL, "print the version and end", NULL};

static const iket_option *at(const iket_command *command, size_t i) {
    if (i < command->option_count) return &command->options[i];
    return i == command->option_count ? &help_option : &version_option;
}

static size_t count_of(const iket_command *command) { return command->option_count + 2; }

static const iket_option *find_name(const iket_command *command, const char *name, size_t length) {
    for (size_t i = 0; i < count_of(command); i++) {
        const iket_option *o = at(command, i);
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
        if (o->synonym != NULL && strlen(o->synonym) == length && strncmp(o->synonym, name, length) == 0) return o;
    }
    return NULL;
}

static const iket_option *find_letter(const iket_command *command, char letter) {
    for (size_t i = 0; i < count_of(command); i++) {
        if (at(command, i)->letter == letter) return at(command, i);
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
    for (size_t i = 0; i < count_of(command) && n + 2 <= NAMES_MAX; i++) {
        names[n++] = at(command, i)->name;
        if (at(command, i)->synonym != NULL) names[n++] = at(command, i)->synonym;
    }
    char word[64];
    if (length >= sizeof word) return NULL;
    memcpy(word, name, length);
    word[length] = 0;
    return iket_nearest(word, names, n);
}

static iket_options_result apply(const iket_command *command, const iket_option *option, const char *value, iket_option_fn fn, void *context) {
    if (option->id == ID_HELP) {
        iket_options_print_help(command, stdout);
        return IKET_OPTIONS_DONE;
    }
    if (option->id == ID_VERSION) {
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
    if (o->argument == NULL && value != NULL) return bad(command, "--%s takes no value", o->name, o->name);
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

static void print_option(const iket_option *o, FILE *out) {
    char left[96];
    int used = o->letter != 0 ? snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name) : snprintf(left, sizeof left, "      --%s", o->name);
    if (o->argument != NULL) snprintf(left + used, sizeof left - (size_t)used, " %s", o->argument);
    fprintf(out, "%-30s", left);
    if (strlen(left) >= 30) fprintf(out, "\n%30s", "");
    for (const char *line = o->help; line != NULL;) {
        const char *end = strchr(line, '\n');
        fprintf(out, "%.*s\n", end != NULL ? (int)(end - line) : (int)strlen(line), line);
        if (end != NULL) fprintf(out, "%30s", "");
        line = end != NULL ? end + 1 : NULL;
    }
}

void iket_options_print_help(const iket_command *command, FILE *out) {
    fprintf(out, "%s: %s\n\n", command->name, command->purpose);
    for (size_t i = 0; i < 3 && command->examples[i] != NULL; i++) fprintf(out, "  %s\n", command->examples[i]);
    fprintf(out, "\nUsage: %s %s\n", command->name, command->synopsis);
    for (size_t i = 0; i < count_of(command); i++) {
        const iket_option *o = at(command, i);
        if (o->group != NULL) fprintf(out, "\n%s:\n", o->group);
        print_option(o, out);
    }
    if (command->notes != NULL) fprintf(out, "\n%s\n", command->notes);
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
