// SPDX-License-Identifier: Apache-2.0
// The three texts of an option table, and how its options are parsed.
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "tests/unit/check.h"

enum { KIND = 1, FOLDER, FORCE };

static const iket_option options[] = {
    {KIND, 'k', "kind", NULL, "LIST", "of a, b_c\n(`all`)", "Input"},
    {FOLDER, 0, "out", "out-dir", "DIR", "where; *here*", "Output"},
    {FORCE, 'f', "force", NULL, NULL, "replace #1", NULL},
};
static const iket_option_words words[] = {{KIND, "a b_c"}, {0, NULL}};
static const iket_command_verb verbs[] = {{"sum", "adds | up"}, {"diff", "compares"}};
static const iket_command command = {
    .name = "a-tool",
    .purpose = "does",
    .synopsis = "[VERB] FILE",
    .examples = {"a-tool x"},
    .notes = "Notes.",
    .options = options,
    .option_count = 3,
    .words = words,
    .verbs = verbs,
    .verb_count = 2,
    .verb_default = "sum, else diff",
};

static char *text_of(void (*print)(const iket_command *command, FILE *out)) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) abort();
    print(&command, out);
    fclose(out);
    return text;
}

static void test_help(void) {
    char *text = text_of(iket_options_print_help);
    const char *wanted = "a-tool: does\n\n  a-tool x\n\nUsage: a-tool [VERB] FILE\n"
                         "\nInput:\n  -k, --kind LIST             of a, b_c\n                              (`all`)\n"
                         "\nOutput:\n      --out DIR               where; *here*\n  -f, --force                 replace #1\n"
                         "\nOther:\n  -h, --help                  print this and end\n  -V, --version               print the version and end\n"
                         "\nVerbs (default: sum, else diff):\n  sum        adds | up\n  diff       compares\n"
                         "\nNotes.\n";
    CHECK(strcmp(text, wanted) == 0, "%s", text);
    free(text);
}

static void test_man(void) {
    char *text = text_of(iket_options_print_man);
    const char *wanted = "# VERBS\n\nWithout a verb: sum, else diff.\n\n*sum*\n\tadds \\| up\n\n*diff*\n\tcompares\n\n"
                         "# OPTIONS\n\n"
                         "## Input\n\n*\\-k*, *\\-\\-kind* _LIST_\n\tof a, b\\_c\n\t(\\`all\\`)\n\n"
                         "## Output\n\n*\\-\\-out*, *\\-\\-out\\-dir* _DIR_\n\twhere\\; \\*here\\*\n\n*\\-f*, *\\-\\-force*\n\treplace \\#1\n\n"
                         "## Other\n\n*\\-h*, *\\-\\-help*\n\tprint this and end; ";
    CHECK(strncmp(text, wanted, strlen(wanted)) == 0, "%s", text);
    free(text);
}

static void test_bash(void) {
    char *text = text_of(iket_options_print_bash);
    const char *const parts[] = {"\n_a_tool() {\n", "\n    --kind | -k)\n", " -W 'a b_c' -- ", "\n    --out | --out-dir)\n        compopt -o dirnames +o default\n", "'--kind -k --out --out-dir --force -f --help -h --version -V'",
                                 "'sum diff'", "complete -o default -F _a_tool a-tool\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) CHECK(strstr(text, parts[i]) != NULL, "lacks %s:\n%s", parts[i], text);
    free(text);
}

typedef struct taken {
    char text[256];
} taken;

static int take(void *context, int id, const char *value, iket_error *err) {
    taken *t = context;
    size_t used = strlen(t->text);
    snprintf(t->text + used, sizeof t->text - used, "%d%s%s ", id, value != NULL ? "=" : "", value != NULL ? value : "");
    return value != NULL && strcmp(value, "bad") == 0 ? iket_fail(err, "is bad") : 0;
}

#define PARSE(result, wanted, ...)                                                                                     \
    do {                                                                                                               \
        char *argv[] = {(char[]){"a-tool"}, __VA_ARGS__};                                                              \
        taken t = {""};                                                                                                \
        iket_options_result got = iket_options_parse(&command, sizeof argv / sizeof *argv, argv, take, &t);            \
        CHECK(got == (result) && strcmp(t.text, wanted) == 0, "%d '%s' instead of '%s'", (int)got, t.text, wanted);    \
    } while (0)
#define WORD(text) ((char[]){text})

static void test_parse(void) {
    PARSE(IKET_OPTIONS_OK, "3 0=x 1=v 2=d ", WORD("-f"), WORD("x"), WORD("--kind"), WORD("v"), WORD("--out-dir=d"));
    PARSE(IKET_OPTIONS_OK, "3 1=v 1=-f 0=- 0=-f ", WORD("-fkv"), WORD("-k"), WORD("-f"), WORD("-"), WORD("--"), WORD("-f"));
    PARSE(IKET_OPTIONS_OK, "1= ", WORD("--kind="));
    PARSE(IKET_OPTIONS_BAD, "", WORD("--kin"), WORD("v"));
    PARSE(IKET_OPTIONS_BAD, "", WORD("--kind"));
    PARSE(IKET_OPTIONS_BAD, "", WORD("--force=1"));
    PARSE(IKET_OPTIONS_BAD, "1=bad ", WORD("--kind=bad"), WORD("x"));
    PARSE(IKET_OPTIONS_BAD, "", WORD("--help=pdf"));
    PARSE(IKET_OPTIONS_DONE, "", WORD("--help=man"), WORD("x"));
    PARSE(IKET_OPTIONS_DONE, "", WORD("--help=bash"));
    PARSE(IKET_OPTIONS_DONE, "3 ", WORD("-f"), WORD("-h"));
}

int main(void) {
    test_help();
    test_man();
    test_bash();
    test_parse();
    return check_failures();
}
