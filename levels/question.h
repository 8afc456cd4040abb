// SPDX-License-Identifier: Apache-2.0
// question.h: what the answers of answer.h share: reading arguments, small loops over sorted columns, numbers as JSON.
//
// Arguments come from the network: each is checked before it is used, and an answer says no before it writes anything.
#ifndef IKET_LEVELS_QUESTION_H
#define IKET_LEVELS_QUESTION_H

#include "common/text.h"
#include "levels/answer.h"

// Leaves the enclosing function unless the status is OK.
#define IKET_LEVELS_TRY(expression)                                                                                    \
    do {                                                                                                               \
        iket_levels_status status_of_it = (expression);                                                                \
        if (status_of_it != IKET_LEVELS_OK) return status_of_it;                                                       \
    } while (0)

// A time that was asked for, in ns since t0, perhaps between two. Times of events are whole: t > x is t > floor(x),
// t >= x is t >= ceil(x).
typedef struct iket_levels_moment {
    double value;
    int64_t floor, ceil;
} iket_levels_moment;

// The least whole time after x, and the least at or after x: what the searches below look for.
static inline uint64_t iket_levels_after(const iket_levels_moment *x) { return x->floor < 0 ? 0 : (uint64_t)x->floor + 1; }
static inline uint64_t iket_levels_at(const iket_levels_moment *x) { return x->ceil < 0 ? 0 : (uint64_t)x->ceil; }

// [from, to): numbers of nodes, lanes or events.
typedef struct iket_levels_interval {
    uint64_t from, to;
} iket_levels_interval;

typedef struct iket_levels_intervals {
    iket_levels_interval *list; // owned
    size_t count, capacity;
} iket_levels_intervals;

int iket_levels_intervals_add(iket_levels_intervals *intervals, uint64_t from, uint64_t to, iket_error *err); // joined to the last one where they meet

// Whether each argument is one of the words of `known`, given once and not too long.
iket_levels_status iket_levels_check_arguments(const iket_levels_question *question, const char *known, iket_error *err);

// The text of an argument, NULL where it is not given.
const char *iket_levels_text(const iket_levels_question *question, const char *name);

// A whole number in [least, most]; *value keeps its default where the argument is not given.
iket_levels_status iket_levels_whole(const iket_levels_question *question, const char *name, uint64_t least, uint64_t most, uint64_t *value, iket_error *err);

// A finite number, fractions and signs allowed; *moment keeps its default where the argument is not given.
iket_levels_status iket_levels_time(const iket_levels_question *question, const char *name, iket_levels_moment *moment, iket_error *err);

// A-B at *text, which moves behind it: A < B <= most.
iket_levels_status iket_levels_pair(const char **text, const char *name, uint64_t most, iket_levels_interval *interval, iket_error *err);

// A or A-B at *text, B included; *span has it excluded. least <= A <= B <= most.
iket_levels_status iket_levels_span(const char **text, const char *name, uint64_t least, uint64_t most, iket_levels_interval *span, iket_error *err);

// A-B,C-D: ascending and apart.
iket_levels_status iket_levels_pairs(const char *text, const char *name, uint64_t most, iket_levels_intervals *intervals, iket_error *err);

// Numbers below `limit` with separators between them (1,2,3 or 1.2.3), at most `most` of them, which numbers[] has room for.
iket_levels_status iket_levels_list(const char *text, const char *name, char separator, uint64_t limit, uint64_t *numbers, size_t most, size_t *count, iket_error *err);

// The least index in [from, to) whose value is at least `value`; the values ascend.
static inline uint64_t iket_levels_search(const uint64_t *values, uint64_t from, uint64_t to, uint64_t value) {
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (values[middle] >= value) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
}

// The same from `from` on by steps that double: near finds are cheap.
static inline uint64_t iket_levels_gallop(const uint64_t *values, uint64_t from, uint64_t to, uint64_t value) {
    uint64_t step = 1;
    while (from + step < to && values[from + step] < value) {
        from += step;
        step *= 2;
    }
    return iket_levels_search(values, from, from + step < to ? from + step : to, value);
}

uint32_t iket_levels_lane_of(const iket_levels *levels, uint64_t event);

// The node of that kind at or above `node`, -1: there is none.
int32_t iket_levels_above(const iket_levels *levels, int32_t node, enum iket_levels_node_kind kind);

// The kind of an event's class; IKET_LEVELS_OTHER where the class is none of the file's.
static inline unsigned iket_levels_kind_of(const iket_levels *levels, uint64_t event) {
    return levels->cls[event] < levels->class_count ? levels->class_kind[levels->cls[event]] : IKET_LEVELS_OTHER;
}

// The first note of an event, for the kinds that follow one another; note_count where it has none.
uint64_t iket_levels_first_note(const iket_levels *levels, uint64_t event);

// The note of that kind, NULL: it has none.
const iket_levels_note *iket_levels_note_of(const iket_levels *levels, uint64_t event, enum iket_levels_note_kind kind);

// The JSON text of an event's extra annotations, NULL: it has none.
const char *iket_levels_extra(const iket_levels *levels, uint64_t event);

// ---- writing --------------------------------------------------------------------------------------------------------

static inline void iket_levels_put(iket_sink *sink, uint64_t value) {
    uint8_t *at = iket_sink_reserve(sink, IKET_TEXT_NUMBER);
    iket_sink_commit(sink, (uint8_t *)iket_text_u64((char *)at, value));
}

static inline void iket_levels_put_double(iket_sink *sink, double value) {
    if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value) { // 12000, not 1.2e+04
        iket_levels_put(sink, (uint64_t)value);
        return;
    }
    uint8_t *at = iket_sink_reserve(sink, IKET_TEXT_NUMBER);
    iket_sink_commit(sink, (uint8_t *)iket_text_f64((char *)at, value));
}

// `,"NAME":[…]` for each of start, length, cls, flags, payloadType and payload.
void iket_levels_put_columns(iket_sink *sink, const iket_levels *levels, const uint64_t *events, size_t count);

// Ascending. `scratch` has room for as many.
void iket_levels_sort(uint64_t *values, uint64_t *scratch, size_t count);

// ---- the questions --------------------------------------------------------------------------------------------------

typedef iket_levels_status iket_levels_answer_fn(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err);

iket_levels_answer_fn iket_levels_window, iket_levels_statistics, iket_levels_activity, iket_levels_find, iket_levels_events, iket_levels_longest, iket_levels_points,
    iket_levels_csv;

#endif
