// SPDX-License-Identifier: Apache-2.0
#include "levels/answer.h"

#include <string.h>

#include "levels/question.h"

#define SELECTORS "launch kernel sm cta warp name time role class under lanes from to"

enum { MOST_TEXT = 4096, MOST_ROWS_TEXT = 65536 };

static const struct {
    const char *what;
    iket_levels_answer_fn *answer;
    const char *type;
    const char *arguments; // that it knows
} questions[] = {
    {"window", iket_levels_window, "application/json", SELECTORS " ns_per_pixel"},
    {"statistics", iket_levels_statistics, "application/json", SELECTORS},
    {"activity", iket_levels_activity, "application/octet-stream", "rows sms from to bins"},
    {"events", iket_levels_events, "application/json", "ids"},
    {"find", iket_levels_find, "application/json", NULL}, // by the way in which it is to be found
    {"longest", iket_levels_longest, "application/json", SELECTORS " limit"},
    {"points", iket_levels_points, "application/json", SELECTORS " limit"},
    {"rows.csv", iket_levels_csv, "text/csv; charset=utf-8", SELECTORS},
};

// Whether `name` is one of the words of `list`.
static int is_one_of(const char *name, const char *list) {
    size_t length = strlen(name);
    for (const char *at = list; *at != 0;) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0) return 1;
        at += word;
        at += strspn(at, " ");
    }
    return 0;
}

iket_levels_status iket_levels_check_arguments(const iket_levels_question *question, const char *known, iket_error *err) {
    for (size_t i = 0; i < question->argument_count; i++) {
        const iket_levels_argument *a = &question->arguments[i];
        if (!is_one_of(a->name, known)) {
            iket_fail(err, "%s has no argument '%.64s' (it has %s)", question->what, a->name, known);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(question->arguments[k].name, a->name) != 0) continue;
            iket_fail(err, "%s is given twice", a->name);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        if (strlen(a->value) <= (strcmp(a->name, "rows") == 0 ? MOST_ROWS_TEXT : MOST_TEXT)) continue;
        iket_fail(err, "%s is too long (ask in parts)", a->name);
        return IKET_LEVELS_TOO_MUCH;
    }
    return IKET_LEVELS_OK;
}

iket_levels_status iket_levels_answer(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, const char **type, iket_error *err) {
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        if (strcmp(questions[i].what, question->what) != 0) continue;
        if (questions[i].arguments != NULL) IKET_LEVELS_TRY(iket_levels_check_arguments(question, questions[i].arguments, err));
        *type = questions[i].type;
        return questions[i].answer(levels, question, sink, err);
    }
    iket_fail(err, "there is no question '%.64s'", question->what);
    return IKET_LEVELS_NO_SUCH_QUESTION;
}
