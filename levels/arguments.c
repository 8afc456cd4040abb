// SPDX-License-Identifier: Apache-2.0
// arguments.c: the arguments of a question as numbers, each checked: they come from the network.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/question.h"

static iket_levels_status bad_number(iket_error *err, const char *name, const char *text, const char *what) {
    iket_fail(err, "%s: '%.64s' is no %s", name, text, what);
    return IKET_LEVELS_BAD_ARGUMENT;
}

int iket_levels_intervals_add(iket_levels_intervals *intervals, uint64_t from, uint64_t to, iket_error *err) {
    if (from >= to) return 0;
    if (intervals->count > 0 && intervals->list[intervals->count - 1].to == from) {
        intervals->list[intervals->count - 1].to = to;
        return 0;
    }
    IKET_TRY(IKET_RESERVE(intervals->list, intervals->count, intervals->capacity, 1, err));
    intervals->list[intervals->count++] = (iket_levels_interval){from, to};
    return 0;
}

const char *iket_levels_text(const iket_levels_question *question, const char *name) {
    for (size_t i = 0; i < question->argument_count; i++) {
        if (strcmp(question->arguments[i].name, name) == 0) return question->arguments[i].value;
    }
    return NULL;
}

// One decimal number at *text, which moves behind it. Returns -1 where there is none, or none that fits.
static int digits(const char **text, uint64_t *value) {
    const char *at = *text;
    if (!isdigit((unsigned char)*at)) return -1;
    *value = 0;
    for (; isdigit((unsigned char)*at); at++) {
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) || __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value)) return -1;
    }
    *text = at;
    return 0;
}

iket_levels_status iket_levels_whole(const iket_levels_question *question, const char *name, uint64_t least, uint64_t most, uint64_t *value, iket_error *err) {
    const char *text = iket_levels_text(question, name), *at = text;
    uint64_t number;
    if (text == NULL) return IKET_LEVELS_OK;
    if (digits(&at, &number) != 0 || *at != 0) return bad_number(err, name, text, "whole number");
    if (number < least || number > most) {
        iket_fail(err, "%s: %llu is out of range (%llu to %llu)", name, (unsigned long long)number, (unsigned long long)least, (unsigned long long)most);
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    *value = number;
    return IKET_LEVELS_OK;
}

iket_levels_status iket_levels_time(const iket_levels_question *question, const char *name, iket_levels_moment *moment, iket_error *err) {
    const double limit = 4611686018427387904.0; // 2^62: floor and ceil fit, and sums of two do
    const char *text = iket_levels_text(question, name), *at = text;
    if (text == NULL) return IKET_LEVELS_OK;
    uint64_t whole;
    if (digits(&at, &whole) == 0 && *at == 0 && whole < (uint64_t)1 << 62) { // exact, past 2^53 too
        *moment = (iket_levels_moment){(double)whole, (int64_t)whole, (int64_t)whole};
        return IKET_LEVELS_OK;
    }
    char *end = NULL;
    if (strspn(text, "0123456789.eE+-") != strlen(text) || *text == 0) return bad_number(err, name, text, "number");
    double value = strtod(text, &end);
    if (end == text || *end != 0 || !isfinite(value)) return bad_number(err, name, text, "number");
    if (value >= limit || value <= -limit) return bad_number(err, name, text, "time (it is too large)");
    *moment = (iket_levels_moment){value, (int64_t)floor(value), (int64_t)ceil(value)};
    return IKET_LEVELS_OK;
}

iket_levels_status iket_levels_pair(const char **text, const char *name, uint64_t most, iket_levels_interval *interval, iket_error *err) {
    const char *start = *text;
    if (digits(text, &interval->from) != 0 || **text != '-') return bad_number(err, name, start, "interval (write A-B)");
    (*text)++;
    if (digits(text, &interval->to) != 0) return bad_number(err, name, start, "interval (write A-B)");
    if (interval->from < interval->to && interval->to <= most) return IKET_LEVELS_OK;
    iket_fail(err, "%s: %llu-%llu is not within 0-%llu (the end is excluded)", name, (unsigned long long)interval->from, (unsigned long long)interval->to,
              (unsigned long long)most);
    return IKET_LEVELS_BAD_ARGUMENT;
}

iket_levels_status iket_levels_span(const char **text, const char *name, uint64_t least, uint64_t most, iket_levels_interval *span, iket_error *err) {
    const char *start = *text;
    if (digits(text, &span->from) != 0) return bad_number(err, name, start, "number");
    span->to = span->from;
    if (**text == '-') {
        (*text)++;
        if (digits(text, &span->to) != 0) return bad_number(err, name, start, "span (write A-B)");
    }
    if (span->from >= least && span->from <= span->to && span->to <= most) {
        span->to++;
        return IKET_LEVELS_OK;
    }
    iket_fail(err, "%s: %llu-%llu does not ascend or is past %llu", name, (unsigned long long)span->from, (unsigned long long)span->to, (unsigned long long)most);
    return IKET_LEVELS_BAD_ARGUMENT;
}

iket_levels_status iket_levels_pairs(const char *text, const char *name, uint64_t most, iket_levels_intervals *intervals, iket_error *err) {
    uint64_t past = 0;
    for (;;) {
        iket_levels_interval pair;
        IKET_LEVELS_TRY(iket_levels_pair(&text, name, most, &pair, err));
        if (pair.from < past) {
            iket_fail(err, "%s: %llu-%llu lies before the end of the interval before it", name, (unsigned long long)pair.from, (unsigned long long)pair.to);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        past = pair.to;
        if (iket_levels_intervals_add(intervals, pair.from, pair.to, err) != 0) return IKET_LEVELS_FAILED;
        if (*text == 0) return IKET_LEVELS_OK;
        if (*text != ',') return bad_number(err, name, text, "list of intervals (write A-B,C-D)");
        text++;
    }
}

iket_levels_status iket_levels_list(const char *text, const char *name, char separator, uint64_t limit, uint64_t *numbers, size_t most, size_t *count, iket_error *err) {
    *count = 0;
    for (;;) {
        uint64_t value;
        if (digits(&text, &value) != 0) return bad_number(err, name, text, "number");
        if (value >= limit) {
            iket_fail(err, "%s: there is no %llu (there are %llu)", name, (unsigned long long)value, (unsigned long long)limit);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        if (*count == most) {
            iket_fail(err, "%s: more than %zu numbers", name, most);
            return IKET_LEVELS_TOO_MUCH;
        }
        numbers[(*count)++] = value;
        if (*text == 0) return IKET_LEVELS_OK;
        if (*text != separator) return bad_number(err, name, text, "list of numbers");
        text++;
    }
}
