// SPDX-License-Identifier: Apache-2.0
// answer.h: the questions of the page's JSON API (doc/api.md), answered from a level file. No HTTP here.
#ifndef IKET_LEVELS_ANSWER_H
#define IKET_LEVELS_ANSWER_H

#include "common/error.h"
#include "common/sink.h"
#include "levels/file.h"

// One argument of the question, decoded: name and value, both NUL-terminated.
typedef struct iket_levels_argument {
    const char *name, *value;
} iket_levels_argument;

typedef struct iket_levels_question {
    const char *what; // "window", "statistics", "activity", "find", "events", "longest", "points", "rows.csv"
    const iket_levels_argument *arguments;
    size_t argument_count;
} iket_levels_question;

typedef enum iket_levels_status { IKET_LEVELS_OK, IKET_LEVELS_BAD_ARGUMENT, IKET_LEVELS_NO_SUCH_QUESTION, IKET_LEVELS_TOO_MUCH, IKET_LEVELS_FAILED } iket_levels_status;

// Writes the answer's body into sink and sets *type to its media type. Other than OK: err has one line, and nothing was flushed.
iket_levels_status iket_levels_answer(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, const char **type, iket_error *err);

#endif
