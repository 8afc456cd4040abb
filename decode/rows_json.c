// SPDX-License-Identifier: Apache-2.0
// rows_json.c: rows of a trace.json, filtered as they come. What a selector says of a launch, a place or a name is asked
// once each and remembered, so that a row costs three loads.
#include "decode/rows_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "decode/select_text.h"
#include "decode/trace_json.h"

enum { UNASKED = 0, NO = 1, YES = 2 };

// An answer for each id, asked when first met.
typedef struct answers {
    uint8_t *items;
    size_t count;
} answers;

typedef struct filter {
    iket_trace_json doc;
    const iket_selector *selector;
    uint8_t *launches; // [doc.launch_count] once known
    size_t launch_count;
    answers places, markers, ranges;
    uint64_t from, to;
    int ready;         // launches and time are resolved
    int nothing;       // a selector matches nothing; err has the line
    unsigned kinds;
    uint64_t given;
    iket_row_fn row;
    void *context;
} filter;

unsigned iket_selector_kinds(const iket_selector *selector) {
    unsigned kinds = IKET_ROW_MARKER | IKET_ROW_RANGE | IKET_ROW_LIFETIME;
    int marker = iket_selector_has(selector, IKET_SELECT_MARKER), range = iket_selector_has(selector, IKET_SELECT_RANGE);
    if (marker || range) kinds = (marker ? IKET_ROW_MARKER : 0u) | (range ? IKET_ROW_RANGE : 0u);
    return kinds;
}

// ---- launches and time ------------------------------------------------------------------------------------------------

static const char *graph_key_of(const filter *f, const iket_launch *launch) {
    return launch->graph_key == IKET_UNKNOWN ? NULL : iket_json_name(&f->doc, launch->graph_key);
}

// The kernels' names are among those that stand in the rows, each once. place[name] is the kernel's place in names + 1.
static size_t kernel_names(const filter *f, const char **names, uint32_t *place) {
    size_t count = 0;
    for (size_t i = 0; i < f->doc.launch_count; i++) {
        uint32_t id = f->doc.launches[i].kernel;
        if (place[id >> 1] != 0) continue;
        names[count++] = iket_json_name(&f->doc, id);
        place[id >> 1] = (uint32_t)count;
    }
    return count;
}

static int resolve_kernels(filter *f, iket_error *err) {
    const char **names = calloc(f->doc.launch_count + 1, sizeof *names);
    uint32_t *place = calloc(f->doc.names.inline_count + 1, sizeof *place);
    uint8_t *wanted = calloc(f->doc.launch_count + 1, 1);
    int result = iket_fail(err, "out of memory (%zu launches)", f->doc.launch_count);
    if (names != NULL && place != NULL && wanted != NULL) result = iket_selector_kernels(f->selector, names, kernel_names(f, names, place), wanted, err);
    for (size_t i = 0; result == 0 && i < f->doc.launch_count; i++) f->launches[i] = wanted[place[f->doc.launches[i].kernel >> 1] - 1];
    free(names);
    free(place);
    free(wanted);
    return result;
}

static uint64_t start_of(const iket_trace_json *doc) {
    uint64_t start = UINT64_MAX;
    for (size_t i = 0; i < doc->launch_count; i++) {
        if (doc->launches[i].start < start) start = doc->launches[i].start;
    }
    return start;
}

static int is_selected(const filter *f, const iket_launch *launch) { return iket_selector_launch(f->selector, graph_key_of(f, launch), launch->ordinal); }

// Once all launches are known. 0, 1 or -1 as iket_rows_read.
static int resolve(filter *f, iket_error *err) {
    f->ready = 1;
    f->launch_count = f->doc.launch_count;
    free(f->launches);
    f->launches = calloc(f->launch_count + 1, 1);
    if (f->launches == NULL) return iket_fail(err, "out of memory (%zu launches)", f->launch_count);
    memset(f->launches, 1, f->launch_count);
    if (iket_selector_has(f->selector, IKET_SELECT_KERNEL)) {
        int result = resolve_kernels(f, err);
        if (result != 0) return result;
    }
    for (size_t i = 0; i < f->launch_count; i++) f->launches[i] = f->launches[i] && is_selected(f, &f->doc.launches[i]);
    uint64_t start = start_of(&f->doc);
    iket_selector_time(f->selector, start == UINT64_MAX ? 0 : start, &f->from, &f->to);
    return 0;
}

// ---- rows -------------------------------------------------------------------------------------------------------------

static int remember(answers *a, uint32_t id, iket_error *err) {
    if (id < a->count) return 0;
    size_t capacity = a->count;
    IKET_TRY(IKET_RESERVE(a->items, a->count, capacity, id + 1 - a->count, err));
    memset(a->items + a->count, UNASKED, capacity - a->count);
    a->count = capacity;
    return 0;
}

// YES or NO, -1: out of memory.
static int ask_place(filter *f, uint32_t id, iket_error *err) {
    IKET_TRY(remember(&f->places, id, err));
    if (f->places.items[id] == UNASKED) f->places.items[id] = iket_selector_place(f->selector, iket_json_location(&f->doc, id)) ? YES : NO;
    return f->places.items[id];
}

static int ask_name(filter *f, answers *a, int option, uint32_t id, iket_error *err) {
    IKET_TRY(remember(a, id, err));
    if (a->items[id] == UNASKED) a->items[id] = iket_selector_name(f->selector, option, iket_json_name(&f->doc, id)) ? YES : NO;
    return a->items[id];
}

// 1: the row is selected, 0: it is not, -1: error.
static int is_row_selected(filter *f, const iket_json_row *row, iket_error *err) {
    uint64_t end = row->kind == IKET_JSON_MARKER ? row->start : row->end;
    if (f->ready ? !f->launches[row->launch] : !is_selected(f, &f->doc.launches[row->launch])) return 0;
    if (row->start > f->to || end < f->from) return 0;
    int answer = ask_place(f, row->location, err);
    if (answer == YES && row->kind == IKET_JSON_MARKER) answer = ask_name(f, &f->markers, IKET_SELECT_MARKER, row->name, err);
    if (answer == YES && row->kind == IKET_JSON_RANGE) answer = ask_name(f, &f->ranges, IKET_SELECT_RANGE, row->name, err);
    return answer < 0 ? -1 : answer == YES;
}

static int take_row(void *context, const iket_json_row *in, iket_error *err) {
    filter *f = context;
    if (!f->ready && (iket_selector_has(f->selector, IKET_SELECT_KERNEL) || iket_selector_has(f->selector, IKET_SELECT_TIME))) {
        int result = resolve(f, err);
        f->nothing = result > 0;
        if (result != 0) return result;
    }
    int selected = is_row_selected(f, in, err);
    if (selected <= 0) return selected;
    const iket_launch *launch = &f->doc.launches[in->launch];
    iket_row row = {.kind = in->kind,
                    .name = in->kind == IKET_JSON_LIFETIME ? "" : iket_json_name(&f->doc, in->name),
                    .kernel = iket_json_name(&f->doc, launch->kernel),
                    .graph_key = graph_key_of(f, launch),
                    .launch = launch,
                    .location = iket_json_location(&f->doc, in->location),
                    .lane = IKET_UNKNOWN,
                    .start = in->start,
                    .end = in->kind == IKET_JSON_MARKER || in->end < in->start ? in->start : in->end,
                    .payload = {in->bits, in->payload_type},
                    .end_payload = {in->end_bits, in->end_payload_type},
                    .event_id = in->event_id,
                    .end_event_id = in->end_event_id,
                    .color = in->color};
    if (in->kind == IKET_JSON_RANGE) {
        row.range_id = in->range_id;
        row.range_scope = in->range_scope;
        row.range_type = (uint8_t)(in->range_type == IKET_RANGE_TOKEN ? IKET_RANGE_TOKEN : IKET_RANGE_STACK);
        row.unclosed = in->flags & IKET_JSON_UNCLOSED ? 1 : 0;
    }
    f->given++;
    return f->row(f->context, &row, err);
}

// ---- when nothing came ------------------------------------------------------------------------------------------------

// A kind of place that a condition alone matches nowhere.
static int explain_places(const filter *f, iket_error *err) {
    const iket_json_places *p = &f->doc.places;
    for (size_t k = 0; k < f->selector->count; k++) {
        const iket_condition *c = &f->selector->conditions[k];
        if (c->id < IKET_SELECT_CTA || c->id > IKET_SELECT_SM) continue;
        int found = 0;
        uint32_t least = IKET_UNKNOWN, greatest = 0, most[3] = {0, 0, 0};
        for (size_t i = 0; i < p->table_count + p->inline_count && !found; i++) {
            const iket_location *l = i < p->table_count ? &p->table[i] : &p->inlined[i - p->table_count];
            found = iket_condition_place(c, l);
            uint32_t value = c->id == IKET_SELECT_WARP ? l->warp : l->sm;
            least = value < least ? value : least;
            greatest = value > greatest ? value : greatest;
            for (int axis = 0; axis < 3; axis++) most[axis] = l->cta[axis] > most[axis] ? l->cta[axis] : most[axis];
        }
        if (found) continue;
        if (c->id == IKET_SELECT_CTA) {
            iket_fail(err, "--cta %s matches nothing (CTAs go up to %u,%u,%u)", c->text, most[0], most[1], most[2]);
        } else {
            iket_fail(err, "--%s %s matches nothing (%s: %u-%u)", c->id == IKET_SELECT_WARP ? "warp" : "sm", c->text, c->id == IKET_SELECT_WARP ? "warps" : "SMs", least, greatest);
        }
        return 1;
    }
    return 0;
}

static int explain_launches(const filter *f, iket_error *err) {
    const iket_trace_json *doc = &f->doc;
    for (size_t k = 0; k < f->selector->count; k++) {
        const iket_condition *c = &f->selector->conditions[k];
        if (c->id != IKET_SELECT_LAUNCH) continue;
        uint32_t eager = 0;
        int found = 0;
        char graphs[500] = "";
        size_t used = 0, shown = 0;
        for (size_t i = 0; i < doc->launch_count && !found; i++) {
            const char *key = graph_key_of(f, &doc->launches[i]);
            found = iket_condition_launch(c, key, doc->launches[i].ordinal);
            eager += key == NULL;
            if (key == NULL || doc->launches[i].ordinal != 0 || used + 70 > sizeof graphs || shown == 8) continue;
            used += (size_t)snprintf(graphs + used, sizeof graphs - used, ", %.60s", key);
            shown++;
        }
        if (found) continue;
        if (eager > 1) {
            iket_fail(err, "--launch %s matches nothing (launches: 0-%u%s)", c->text, eager - 1, graphs);
        } else {
            iket_fail(err, "--launch %s matches nothing (launches: %s%s)", c->text, eager == 1 ? "0" : "", eager == 0 && used > 0 ? graphs + 2 : graphs);
        }
        return 1;
    }
    return 0;
}

// A name that no table has. Which names are markers' and which ranges' the tables do not say.
static int explain_names(const filter *f, iket_error *err) {
    const iket_json_names *n = &f->doc.names;
    const char **names = calloc(n->table_count + n->inline_count + 1, sizeof *names);
    if (names == NULL) return iket_fail(err, "out of memory (%zu names)", n->table_count);
    size_t count = 0;
    for (size_t i = 0; i < n->table_count; i++) names[count++] = n->table[i];
    // Of an older file the names stand between those of kernels and graphs.
    for (size_t i = 0; i < n->inline_count && n->table_count == 0; i++) names[count++] = n->inlined[i];
    int result = 0;
    for (size_t k = 0; k < f->selector->count && result == 0; k++) {
        const iket_condition *c = &f->selector->conditions[k];
        if (c->id != IKET_SELECT_MARKER && c->id != IKET_SELECT_RANGE) continue;
        int found = 0;
        for (size_t i = 0; i < count && !found; i++) found = iket_condition_names(c, names[i]);
        if (!found) result = iket_nothing_named(err, c->id == IKET_SELECT_MARKER ? "--marker" : "--range", c->text, names, count, "names");
    }
    free(names);
    return result;
}

// Each option alone matches something (or may: which names are markers the tables do not say).
static int explain_rest(const filter *f, iket_error *err) {
    const iket_condition *c = f->selector->conditions;
    if (f->selector->count == 0) return 0;
    if (f->selector->count == 1 && c->id == IKET_SELECT_MARKER) {
        iket_fail(err, "--marker %s matches no marker (for ranges use --range)", c->text);
    } else if (f->selector->count == 1 && c->id == IKET_SELECT_RANGE) {
        iket_fail(err, "--range %s matches no range (for markers use --marker)", c->text);
    } else {
        iket_fail(err, "nothing is in all of what was selected (each option alone matches some)");
    }
    return 1;
}

static int explain(filter *f, iket_error *err) {
    int result = f->ready ? 0 : resolve(f, err);
    if (result == 0) result = explain_launches(f, err);
    if (result == 0) result = explain_places(f, err);
    if (result == 0) result = explain_names(f, err);
    return result == 0 ? explain_rest(f, err) : result;
}

// ---- reading ------------------------------------------------------------------------------------------------------------

static int read_rows(filter *f, const iket_rows_options *options, iket_error *err) {
    const iket_selector *s = f->selector;
    iket_json_reader reader = {.kinds = f->kinds, .memory = options->memory, .row = take_row, .context = f};
    if (f->doc.source.mapped) {
        if (iket_selector_has(s, IKET_SELECT_TIME)) {
            iket_json_reader lifetimes = {.kinds = IKET_JSON_LIFETIME};
            IKET_TRY(iket_trace_json_rows(&f->doc, &lifetimes, err));
        }
        int result = resolve(f, err);
        if (result != 0) return result;
        reader.launches = f->launches;
    } else {
        // What a part of a kernel's name or a time from the start means is known at the end only.
        reader.hold = iket_selector_has(s, IKET_SELECT_KERNEL) || iket_selector_has(s, IKET_SELECT_TIME);
    }
    int result = iket_trace_json_rows(&f->doc, &reader, err);
    if (f->nothing) return 1;
    if (result == 0 && f->given == 0) result = explain(f, err);
    return result;
}

static int open_source(iket_byte_source *source, const char *path, const char *head, size_t size, iket_error *err) {
    if (strcmp(path, "-") == 0) return iket_byte_source_open_rest(source, head, size, STDIN_FILENO, err);
    return iket_byte_source_open(source, path, err);
}

int iket_rows_read_json(const char *path, const iket_rows_options *options, const char *head, size_t size, iket_row_fn row, void *context, iket_error *err) {
    static const iket_selector everything = {0};
    filter f = {.selector = options->selector != NULL ? options->selector : &everything, .row = row, .context = context, .to = UINT64_MAX};
    f.kinds = options->kinds & iket_selector_kinds(f.selector);
    iket_byte_source source = {0};
    int result = open_source(&source, path, head, size, err);
    if (result == 0) result = iket_trace_json_open(&f.doc, &source, err);
    if (result == 0) result = read_rows(&f, options, err);
    if (options->diagnostics != NULL) *options->diagnostics = f.doc.diagnostics;
    if (result != 0) iket_fail_context(err, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
    iket_byte_source_close(&source);
    iket_trace_json_close(&f.doc);
    free(f.launches);
    free(f.places.items);
    free(f.markers.items);
    free(f.ranges.items);
    return result;
}
