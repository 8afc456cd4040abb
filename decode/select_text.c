// SPDX-License-Identifier: Apache-2.0
#include "decode/select_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

// ---- numbers ------------------------------------------------------------------------------------------------------------

static int add_span(iket_number_set *set, uint64_t first, uint64_t last, iket_error *err) {
    IKET_TRY(IKET_RESERVE(set->spans, set->count, set->capacity, 1, err));
    set->spans[set->count].first = first;
    set->spans[set->count++].last = last;
    return 0;
}

// One decimal number; *at moves behind it.
static int number(const char **at, const char *text, uint64_t *value, iket_error *err) {
    if (!isdigit((unsigned char)**at)) return iket_fail(err, "'%s' is no set of numbers (write 0-3,7)", text);
    *value = 0;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (*value > (UINT64_MAX - 9) / 10) return iket_fail(err, "'%s' has a number that is too large", text);
        *value = *value * 10 + (uint64_t)(**at - '0');
    }
    return 0;
}

// 0-3,7 up to `end`.
static int parse_set(iket_number_set *set, const char *at, const char *end, const char *text, iket_error *err) {
    for (;;) {
        uint64_t first, last;
        IKET_TRY(number(&at, text, &first, err));
        last = first;
        if (*at == '-') {
            at++;
            IKET_TRY(number(&at, text, &last, err));
            if (last < first) return iket_fail(err, "'%s': %llu-%llu runs backwards", text, (unsigned long long)first, (unsigned long long)last);
        }
        IKET_TRY(add_span(set, first, last, err));
        if (at == end) return 0;
        if (*at != ',') return iket_fail(err, "'%s' is no set of numbers (write 0-3,7)", text);
        at++;
    }
}

int iket_set_has(const iket_number_set *set, uint64_t value) {
    for (size_t i = 0; i < set->count; i++) {
        if (value >= set->spans[i].first && value <= set->spans[i].last) return 1;
    }
    return 0;
}

// ---- the kinds of text ----------------------------------------------------------------------------------------------------

static int parse_name(iket_condition *c, iket_error *err) {
    if (strncmp(c->text, "regex:", 6) != 0) {
        c->name = strdup(c->text);
        return c->name != NULL ? 0 : iket_fail(err, "out of memory");
    }
    c->regex = malloc(sizeof *c->regex);
    if (c->regex == NULL) return iket_fail(err, "out of memory");
    int status = regcomp(c->regex, c->text + 6, REG_EXTENDED | REG_NOSUB);
    if (status == 0) return 0;
    char why[128];
    regerror(status, c->regex, why, sizeof why);
    free(c->regex);
    c->regex = NULL;
    return iket_fail(err, "'%s' is no regular expression: %s", c->text + 6, why);
}

// 0-3,7 | KEY | KEY#SET | KEY[SET]
static int parse_launch(iket_condition *c, iket_error *err) {
    const char *text = c->text, *end = text + strlen(text);
    if (*text == 0) return iket_fail(err, "a launch's number or a graph's key is missing");
    if (strspn(text, "0123456789,-") == (size_t)(end - text)) return parse_set(&c->set, text, end, text, err);
    const char *open = NULL;
    if (end[-1] == ']') open = strrchr(text, '[');
    if (open != NULL) {
        end--;
    } else {
        open = strrchr(text, '#');
    }
    if (open != NULL) IKET_TRY(parse_set(&c->set, open + 1, end, text, err));
    c->name = strndup(text, open != NULL ? (size_t)(open - text) : strlen(text));
    return c->name != NULL ? 0 : iket_fail(err, "out of memory");
}

static int parse_cta(iket_condition *c, iket_error *err) {
    const char *at = c->text;
    for (int axis = 0; axis < 3; axis++) {
        uint64_t value;
        if (*at == '*') {
            c->cta[axis] = IKET_UNKNOWN;
            at++;
        } else {
            if (!isdigit((unsigned char)*at) || number(&at, c->text, &value, NULL) != 0 || value >= IKET_UNKNOWN) {
                return iket_fail(err, "'%s' is no CTA (write X,Y,Z, where each may be *)", c->text);
            }
            c->cta[axis] = (uint32_t)value;
        }
        // X alone stands for X,*,*: most grids have one dimension.
        if (*at == 0) {
            for (int rest = axis + 1; rest < 3; rest++) c->cta[rest] = IKET_UNKNOWN;
            return 0;
        }
        if (*at != ',' || axis == 2) break;
        at++;
    }
    return iket_fail(err, "'%s' is no CTA (write X,Y,Z, where each may be *)", c->text);
}

// A time with its unit, exact in nanoseconds: 1500, 1.5us, 2ms, 0.001s.
static int parse_time(const char *at, const char *end, const char *text, uint64_t *time, iket_error *err) {
    static const struct {
        const char *name;
        int digits; // of a fraction that are whole nanoseconds
    } units[] = {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}, {"", 0}};
    const char *digits_end = at + strspn(at, "0123456789.");
    if (digits_end > end) digits_end = end;
    int shift = -1;
    for (size_t i = 0; i < sizeof units / sizeof units[0] && shift < 0; i++) {
        if ((size_t)(end - digits_end) == strlen(units[i].name) && memcmp(digits_end, units[i].name, (size_t)(end - digits_end)) == 0) shift = units[i].digits;
    }
    if (shift < 0 || at == digits_end || !isdigit((unsigned char)*at)) return iket_fail(err, "'%s' is no time span (write A..B with ns, us, ms or s)", text);
    uint64_t value = 0;
    int after_point = -1, overflow = 0;
    for (; at < digits_end; at++) {
        if (*at == '.') {
            if (after_point >= 0) return iket_fail(err, "'%s' is no time span (write A..B with ns, us, ms or s)", text);
            after_point = 0;
            continue;
        }
        if (after_point >= 0 && ++after_point > shift) {
            if (*at != '0') return iket_fail(err, "'%s' is finer than a nanosecond", text);
            continue;
        }
        overflow |= __builtin_mul_overflow(value, (uint64_t)10, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
    }
    for (int i = after_point > 0 ? (after_point < shift ? after_point : shift) : 0; i < shift; i++) overflow |= __builtin_mul_overflow(value, (uint64_t)10, &value);
    if (overflow) return iket_fail(err, "'%s' does not fit 64 bits of nanoseconds", text);
    *time = value;
    return 0;
}

static int parse_span(iket_condition *c, iket_error *err) {
    const char *dots = strstr(c->text, "..");
    if (dots == NULL) return iket_fail(err, "'%s' is no time span (write A..B with ns, us, ms or s)", c->text);
    const char *end = c->text + strlen(c->text);
    c->has_from = dots > c->text;
    c->has_to = dots + 2 < end;
    if (c->has_from) IKET_TRY(parse_time(c->text, dots, c->text, &c->from, err));
    if (c->has_to) IKET_TRY(parse_time(dots + 2, end, c->text, &c->to, err));
    return 0;
}

static int parse(iket_condition *c, iket_error *err) {
    switch (c->id) {
    case IKET_SELECT_LAUNCH: return parse_launch(c, err);
    case IKET_SELECT_CTA: return parse_cta(c, err);
    case IKET_SELECT_WARP:
    case IKET_SELECT_SM: return parse_set(&c->set, c->text, c->text + strlen(c->text), c->text, err);
    case IKET_SELECT_TIME: return parse_span(c, err);
    default: return parse_name(c, err);
    }
}

static void free_condition(iket_condition *c) {
    if (c->regex != NULL) regfree(c->regex);
    free(c->regex);
    free(c->name);
    free(c->text);
    free(c->set.spans);
}

int iket_selector_set(iket_selector *selector, int id, const char *text, iket_error *err) {
    IKET_TRY(IKET_RESERVE(selector->conditions, selector->count, selector->capacity, 1, err));
    iket_condition *c = &selector->conditions[selector->count];
    *c = (iket_condition){.id = id, .text = strdup(text)};
    if (c->text == NULL) return iket_fail(err, "out of memory");
    if (parse(c, err) != 0) {
        free_condition(c);
        return -1;
    }
    selector->count++;
    return 0;
}

int iket_selector_has(const iket_selector *selector, int id) {
    for (size_t i = 0; i < selector->count; i++) {
        if (id == 0 || selector->conditions[i].id == id) return 1;
    }
    return 0;
}

void iket_selector_clear(iket_selector *selector) {
    for (size_t i = 0; i < selector->count; i++) free_condition(&selector->conditions[i]);
    free(selector->conditions);
    *selector = (iket_selector){0};
}

// ---- questions --------------------------------------------------------------------------------------------------------------

int iket_condition_names(const iket_condition *c, const char *name) {
    return c->regex != NULL ? regexec(c->regex, name, 0, NULL, 0) == 0 : strcmp(c->name, name) == 0;
}

int iket_condition_launch(const iket_condition *c, const char *graph_key, uint32_t ordinal) {
    if (c->name == NULL) return graph_key == NULL && iket_set_has(&c->set, ordinal);
    return graph_key != NULL && strcmp(c->name, graph_key) == 0 && (c->set.count == 0 || iket_set_has(&c->set, ordinal));
}

int iket_condition_place(const iket_condition *c, const iket_location *place) {
    if (c->id == IKET_SELECT_WARP) return iket_set_has(&c->set, place->warp);
    if (c->id == IKET_SELECT_SM) return iket_set_has(&c->set, place->sm);
    for (int axis = 0; axis < 3; axis++) {
        if (c->cta[axis] != IKET_UNKNOWN && c->cta[axis] != place->cta[axis]) return 0;
    }
    return 1;
}

int iket_selector_launch(const iket_selector *selector, const char *graph_key, uint32_t ordinal) {
    for (size_t i = 0; i < selector->count; i++) {
        const iket_condition *c = &selector->conditions[i];
        if (c->id == IKET_SELECT_LAUNCH && iket_condition_launch(c, graph_key, ordinal)) return 1;
    }
    return !iket_selector_has(selector, IKET_SELECT_LAUNCH);
}

int iket_selector_place(const iket_selector *selector, const iket_location *place) {
    for (int id = IKET_SELECT_CTA; id <= IKET_SELECT_SM; id++) {
        int holds = !iket_selector_has(selector, id);
        for (size_t i = 0; i < selector->count && !holds; i++) holds = selector->conditions[i].id == id && iket_condition_place(&selector->conditions[i], place);
        if (!holds) return 0;
    }
    return 1;
}

int iket_selector_name(const iket_selector *selector, int id, const char *name) {
    // Without one of its own, a kind of event is wanted unless only the other kind was asked for.
    int other = id == IKET_SELECT_MARKER ? IKET_SELECT_RANGE : IKET_SELECT_MARKER;
    if (!iket_selector_has(selector, id)) return !iket_selector_has(selector, other);
    for (size_t i = 0; i < selector->count; i++) {
        if (selector->conditions[i].id == id && iket_condition_names(&selector->conditions[i], name)) return 1;
    }
    return 0;
}

void iket_selector_time(const iket_selector *selector, uint64_t start, uint64_t *from, uint64_t *to) {
    *from = 0;
    *to = UINT64_MAX;
    int any = 0;
    for (size_t i = 0; i < selector->count; i++) {
        const iket_condition *c = &selector->conditions[i];
        if (c->id != IKET_SELECT_TIME) continue;
        uint64_t first = c->has_from ? iket_condition_time(c->from, start) : 0;
        uint64_t last = c->has_to ? iket_condition_time(c->to, start) : UINT64_MAX;
        if (!any || first < *from) *from = first;
        if (!any || last > *to) *to = last;
        any = 1;
    }
}

// ---- answers in words ---------------------------------------------------------------------------------------------------

// The first names of a list, with commas, up to a length that fits a line.
static void list_names(char *text, size_t size, const char *const *names, size_t count) {
    enum { MOST = 8 };
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && i < MOST && used + 4 < size; i++) {
        int n = snprintf(text + used, size - used, "%s%.60s%s", i > 0 ? ", " : "", names[i], strlen(names[i]) > 60 ? "..." : "");
        used += n > 0 ? (size_t)n : 0;
        if (used >= size) used = size - 1;
    }
    if (count > MOST && used + 24 < size) snprintf(text + used, size - used, " and %zu more", count - MOST);
}

int iket_nothing_named(iket_error *err, const char *option, const char *text, const char *const *names, size_t count, const char *what) {
    char list[600];
    list_names(list, sizeof list, names, count);
    const char *near = strncmp(text, "regex:", 6) == 0 ? NULL : iket_nearest(text, names, count);
    if (near != NULL) {
        iket_fail(err, "%s %s matches nothing; did you mean %s? (%s: %s)", option, text, near, what, list);
    } else if (count > 0) {
        iket_fail(err, "%s %s matches nothing (%s: %s)", option, text, what, list);
    } else {
        iket_fail(err, "%s %s matches nothing (there are no %s)", option, text, what);
    }
    return 1;
}

// What one --kernel condition selects: 0, 1 or -1 as below.
static int match_kernel(const iket_condition *c, const char *const *names, size_t count, uint8_t *wanted, iket_error *err) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (!iket_condition_names(c, names[i])) continue;
        wanted[i] = 1;
        found++;
    }
    if (found > 0) return 0;
    const char *candidates[8];
    size_t last = 0;
    for (size_t i = 0; c->regex == NULL && i < count; i++) {
        if (strstr(names[i], c->name) == NULL) continue;
        if (found < 8) candidates[found] = names[i];
        last = i;
        found++;
    }
    if (found == 0) return iket_nothing_named(err, "--kernel", c->text, names, count, "kernels");
    if (found == 1) {
        wanted[last] = 1;
        return 0;
    }
    char list[600];
    list_names(list, sizeof list, candidates, found < 8 ? found : 8);
    return iket_fail(err, "--kernel %s is a part of %zu kernel names: %s (give the whole name, or regex:%s for all)", c->text, found, list, c->text);
}

int iket_selector_kernels(const iket_selector *selector, const char *const *names, size_t count, uint8_t *wanted, iket_error *err) {
    int given = 0;
    memset(wanted, 0, count);
    for (size_t i = 0; i < selector->count; i++) {
        if (selector->conditions[i].id != IKET_SELECT_KERNEL) continue;
        given = 1;
        int result = match_kernel(&selector->conditions[i], names, count, wanted, err);
        if (result != 0) return result;
    }
    if (!given) memset(wanted, 1, count);
    return 0;
}
