// SPDX-License-Identifier: Apache-2.0
// select_text.h: the texts of selectors, parsed; and the questions that one launch, place or name can be asked. For
// select.c, which asks them of a whole model, and for rows.c, which asks them of rows as they come.
#ifndef IKET_DECODE_SELECT_TEXT_H
#define IKET_DECODE_SELECT_TEXT_H

#include <regex.h>

#include "decode/include/iket/select.h"

// Numbers: first-last, first-last, ...
typedef struct iket_number_set {
    struct {
        uint64_t first, last;
    } *spans;
    size_t count, capacity;
} iket_number_set;

typedef struct iket_condition {
    int id;               // IKET_SELECT_*
    char *text;           // as given
    char *name;           // a name, or a graph's key
    regex_t *regex;       // regex:EXPR; NULL: `name` is meant literally
    iket_number_set set;  // of launches, warps, SMs; a graph's indices (none: all)
    uint32_t cta[3];      // IKET_UNKNOWN: any
    uint64_t from, to;    // time
    int has_from, has_to;
} iket_condition;

int iket_set_has(const iket_number_set *set, uint64_t number);

// Whether a condition's own name or expression says this name. A kernel's part is not looked at.
int iket_condition_names(const iket_condition *condition, const char *name);

// graph_key NULL: an eager launch.
int iket_condition_launch(const iket_condition *condition, const char *graph_key, uint32_t ordinal);
int iket_condition_place(const iket_condition *condition, const iket_location *place); // cta, warp, sm

// A time of the command line against a trace that starts at `start`: below it, it counts from it.
static inline uint64_t iket_condition_time(uint64_t time, uint64_t start) { return time < start ? start + time : time; }

// Whether events of this name are wanted; id is IKET_SELECT_MARKER or IKET_SELECT_RANGE.
int iket_selector_name(const iket_selector *selector, int id, const char *name);

// "nothing is named X; did you mean Y?" for the list of what is there. Returns 1.
int iket_nothing_named(iket_error *err, const char *option, const char *text, const char *const *names, size_t count, const char *what);

#endif
