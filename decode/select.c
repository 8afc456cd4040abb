// SPDX-License-Identifier: Apache-2.0
// select.c: a selector resolved against a whole model. Each option is asked by itself first, so that the one that matches
// nothing can be named; then what all of them leave.
#include "decode/include/iket/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/select_text.h"

static const char *graph_key_of(const iket_trace *trace, const iket_launch *launch) {
    return launch->graph_key == IKET_UNKNOWN ? NULL : trace->strings[launch->graph_key];
}

// The distinct strings at which mark is set, in the order of the table; the caller frees the array.
static const char **marked_strings(const iket_trace *trace, const uint8_t *mark, size_t *count, iket_error *err) {
    const char **names = calloc(trace->string_count + 1, sizeof *names);
    *count = 0;
    if (names == NULL) {
        iket_fail(err, "out of memory (%zu names)", trace->string_count);
        return NULL;
    }
    for (size_t i = 0; i < trace->string_count; i++) {
        if (mark[i]) names[(*count)++] = trace->strings[i];
    }
    return names;
}

// ---- kernels and launches ------------------------------------------------------------------------------------------------

static int select_kernels(iket_selection *s, const iket_selector *selector, const iket_trace *trace, uint8_t *mark, iket_error *err) {
    memset(mark, 0, trace->string_count);
    for (size_t i = 0; i < trace->launch_count; i++) mark[trace->launches[i].kernel] = 1;
    size_t count;
    const char **names = marked_strings(trace, mark, &count, err);
    uint8_t *wanted = calloc(count + 1, 1);
    int result = names != NULL && wanted != NULL ? iket_selector_kernels(selector, names, count, wanted, err) : iket_fail(err, "out of memory");
    if (result == 0) {
        for (size_t i = 0, n = 0; i < trace->string_count; i++) {
            if (mark[i]) mark[i] = wanted[n++];
        }
        for (size_t i = 0; i < trace->launch_count; i++) s->launches[i] = mark[trace->launches[i].kernel];
    }
    free(names);
    free(wanted);
    return result;
}

// "launches 0-4; graph_exec_1:0#0-1"
static void describe_launches(const iket_trace *trace, char *text, size_t size) {
    uint32_t eager = 0;
    size_t used = 0;
    for (size_t i = 0; i < trace->launch_count; i++) eager += trace->launches[i].graph_key == IKET_UNKNOWN;
    int n = eager > 1 ? snprintf(text, size, "launches: 0-%u", eager - 1) : snprintf(text, size, "launches: %s", eager == 1 ? "0" : "");
    used = (size_t)n;
    for (size_t i = 0, shown = 0; i < trace->launch_count && shown < 8; i++) {
        const char *key = graph_key_of(trace, &trace->launches[i]);
        if (key == NULL || trace->launches[i].ordinal != 0 || used + 70 > size) continue;
        n = snprintf(text + used, size - used, "%s%.60s", eager > 0 || shown > 0 ? ", " : "", key);
        used += (size_t)n;
        shown++;
    }
}

static int select_launches(iket_selection *s, const iket_selector *selector, const iket_trace *trace, iket_error *err) {
    size_t left = 0;
    for (size_t k = 0; k < selector->count; k++) {
        const iket_condition *c = &selector->conditions[k];
        if (c->id != IKET_SELECT_LAUNCH) continue;
        int found = 0;
        for (size_t i = 0; i < trace->launch_count && !found; i++) {
            found = iket_condition_launch(c, graph_key_of(trace, &trace->launches[i]), trace->launches[i].ordinal);
        }
        if (found) continue;
        char text[700];
        describe_launches(trace, text, sizeof text);
        iket_fail(err, "--launch %s matches nothing (%s)", c->text, text);
        return 1;
    }
    for (size_t i = 0; i < trace->launch_count; i++) {
        const iket_launch *launch = &trace->launches[i];
        if (!iket_selector_launch(selector, graph_key_of(trace, launch), launch->ordinal)) s->launches[i] = 0;
        left += s->launches[i];
    }
    if (left > 0 || trace->launch_count == 0) return 0;
    iket_fail(err, "no launch is selected by both --kernel and --launch (each alone matches some)");
    return 1;
}

// ---- places ---------------------------------------------------------------------------------------------------------------

static const char *option_of(int id) { return id == IKET_SELECT_CTA ? "--cta" : id == IKET_SELECT_WARP ? "--warp" : "--sm"; }

// What a place option that matches nothing could have matched.
static void describe_places(const iket_trace *trace, const iket_selection *s, int id, char *text, size_t size) {
    uint32_t most[3] = {0, 0, 0}, least = IKET_UNKNOWN, greatest = 0;
    for (size_t i = 0; i < trace->location_count; i++) {
        const iket_location *l = &trace->locations[i];
        if (!s->launches[l->launch]) continue;
        for (int axis = 0; axis < 3; axis++) most[axis] = l->cta[axis] > most[axis] ? l->cta[axis] : most[axis];
        uint32_t value = id == IKET_SELECT_WARP ? l->warp : l->sm;
        if (value < least) least = value;
        if (value > greatest) greatest = value;
    }
    if (id == IKET_SELECT_CTA) {
        snprintf(text, size, "CTAs go up to %u,%u,%u", most[0], most[1], most[2]);
    } else {
        snprintf(text, size, "%s: %u-%u", id == IKET_SELECT_WARP ? "warps" : "SMs", least, greatest);
    }
}

static int select_places(iket_selection *s, const iket_selector *selector, const iket_trace *trace, iket_error *err) {
    size_t count = 0;
    for (size_t i = 0; i < trace->location_count; i++) {
        const iket_location *l = &trace->locations[i];
        s->locations[i] = s->launches[l->launch] && iket_selector_place(selector, l);
        count += s->locations[i];
    }
    if (count > 0 || trace->location_count == 0) return 0;
    for (size_t k = 0; k < selector->count; k++) {
        const iket_condition *c = &selector->conditions[k];
        if (c->id < IKET_SELECT_CTA || c->id > IKET_SELECT_SM) continue;
        int found = 0;
        for (size_t i = 0; i < trace->location_count && !found; i++) found = s->launches[trace->locations[i].launch] && iket_condition_place(c, &trace->locations[i]);
        if (found) continue;
        char text[128];
        describe_places(trace, s, c->id, text, sizeof text);
        iket_fail(err, "%s %s matches nothing (%s)", option_of(c->id), c->text, text);
        return 1;
    }
    iket_fail(err, "no warp is in all of what was selected (each option alone matches some)");
    return 1;
}

// ---- names ------------------------------------------------------------------------------------------------------------------

// Marks the names of declared markers (or ranges) in mark.
static void mark_declared(const iket_trace *trace, int id, uint8_t *mark) {
    memset(mark, 0, trace->string_count);
    for (size_t i = 0; i < trace->module_count; i++) {
        for (size_t k = 0; k < trace->modules[i].decl_count; k++) {
            const iket_decl *d = &trace->modules[i].decls[k];
            if (d->pos != IKET_POS_POP && (d->pos == IKET_POS_MARKER) == (id == IKET_SELECT_MARKER)) mark[d->name] = 1;
        }
    }
}

static int select_names(const iket_selector *selector, const iket_trace *trace, int id, uint8_t *wanted, uint8_t *mark, iket_error *err) {
    mark_declared(trace, id, mark);
    for (size_t k = 0; k < selector->count; k++) {
        const iket_condition *c = &selector->conditions[k];
        if (c->id != id) continue;
        int found = 0;
        for (size_t i = 0; i < trace->string_count && !found; i++) found = mark[i] && iket_condition_names(c, trace->strings[i]);
        if (found) continue;
        size_t count;
        const char **names = marked_strings(trace, mark, &count, err);
        if (names == NULL) return -1;
        int marker = id == IKET_SELECT_MARKER;
        iket_nothing_named(err, marker ? "--marker" : "--range", c->text, names, count, marker ? "markers" : "ranges");
        free(names);
        return 1;
    }
    for (size_t i = 0; i < trace->string_count; i++) wanted[i] = (uint8_t)iket_selector_name(selector, id, trace->strings[i]);
    return 0;
}

static int select_time(iket_selection *s, const iket_selector *selector, const iket_trace *trace, iket_error *err) {
    iket_selector_time(selector, trace->start <= trace->end ? trace->start : 0, &s->from, &s->to);
    if (!iket_selector_has(selector, IKET_SELECT_TIME) || trace->start > trace->end || iket_selection_overlaps(s, trace->start, trace->end)) return 0;
    iket_fail(err, "--time matches nothing (the trace goes from %llu to %llu ns, which is %llu ns)", (unsigned long long)trace->start, (unsigned long long)trace->end,
              (unsigned long long)(trace->end - trace->start));
    return 1;
}

static int resolve(iket_selection *s, const iket_selector *selector, const iket_trace *trace, uint8_t *mark, iket_error *err) {
    int result = select_kernels(s, selector, trace, mark, err);
    if (result == 0) result = select_launches(s, selector, trace, err);
    if (result == 0) result = select_places(s, selector, trace, err);
    if (result == 0) result = select_names(selector, trace, IKET_SELECT_MARKER, s->markers, mark, err);
    if (result == 0) result = select_names(selector, trace, IKET_SELECT_RANGE, s->ranges, mark, err);
    if (result == 0) result = select_time(s, selector, trace, err);
    return result;
}

int iket_selection_resolve(iket_selection *selection, const iket_selector *selector, const iket_trace *trace, iket_error *err) {
    uint8_t *mark = malloc(trace->string_count + 1);
    *selection = (iket_selection){.launches = calloc(trace->launch_count + 1, 1),
                                  .locations = calloc(trace->location_count + 1, 1),
                                  .markers = calloc(trace->string_count + 1, 1),
                                  .ranges = calloc(trace->string_count + 1, 1)};
    int result = -1;
    if (mark == NULL || selection->launches == NULL || selection->locations == NULL || selection->markers == NULL || selection->ranges == NULL) {
        iket_fail(err, "out of memory (%zu locations)", trace->location_count);
    } else {
        result = resolve(selection, selector, trace, mark, err);
    }
    free(mark);
    if (result != 0) iket_selection_clear(selection);
    return result;
}

void iket_selection_clear(iket_selection *selection) {
    free(selection->launches);
    free(selection->locations);
    free(selection->markers);
    free(selection->ranges);
    *selection = (iket_selection){0};
}
