// SPDX-License-Identifier: Apache-2.0
// check: whether a trace can be trusted, one line a condition. A condition that cannot be looked at in an input of this
// kind is `skipped`, one that is merely worth knowing is a `note`; only `failed` makes the exit status 1.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query.h"
#include "common/options.h"

enum { INPUT, CHECK, STATUS, DETAIL, COLUMNS };

static const iket_column columns[COLUMNS] = {
    [INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [CHECK] = {"check", NULL, IKET_COLUMN_TABLE},
    [STATUS] = {"status", NULL, IKET_COLUMN_TABLE},
    [DETAIL] = {"detail", NULL, IKET_COLUMN_TABLE | IKET_COLUMN_LEFT},
};

typedef struct checker {
    iket_report *report;
    const iket_columns *columns;
    size_t failed, checked;
} checker;

typedef enum check_status { OK, FAILED, NOTE, SKIPPED } check_status;

__attribute__((format(printf, 5, 6))) static int say(checker *k, const char *check, check_status status, iket_error *err, const char *format, ...) {
    static const char *const words[] = {"ok", "failed", "note", "skipped"};
    char detail[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    k->checked++;
    k->failed += status == FAILED;
    iket_cell cells[COLUMNS];
    cells[INPUT] = iket_cell_text(k->columns->input);
    cells[CHECK] = iket_cell_text(check);
    cells[STATUS] = iket_cell_text(words[status]);
    cells[DETAIL] = iket_cell_text(detail);
    return iket_report_row(k->report, cells, err) < 0 ? -1 : 0;
}

static const char *s(uint64_t count) { return count == 1 ? "" : "s"; }

#define LL(n) ((unsigned long long)(n))

static int check_events(checker *k, iket_error *err) {
    const iket_trace *t = k->columns->trace;
    uint64_t count = t->marker_count + t->range_count;
    if (count == 0) return say(k, "events", FAILED, err, "no event in %zu launch%s", t->launch_count, t->launch_count == 1 ? "" : "es");
    return say(k, "events", OK, err, "%llu marker%s and %llu range%s in %zu launch%s", LL(t->marker_count), s(t->marker_count), LL(t->range_count), s(t->range_count), t->launch_count,
               t->launch_count == 1 ? "" : "es");
}

static int check_complete(checker *k, iket_error *err) {
    const iket_diagnostics *d = &k->columns->trace->diagnostics;
    if (d->droppedEvents != 0 || d->warpsWithoutChunk != 0 || d->overflowedWarps != 0) {
        return say(k, "complete", FAILED, err, "%llu event%s dropped, %llu warp%s without a buffer, %llu overflowed (record with a larger buffer)", LL(d->droppedEvents),
                   s(d->droppedEvents), LL(d->warpsWithoutChunk), s(d->warpsWithoutChunk), LL(d->overflowedWarps));
    }
    if (d->overwrittenEvents != 0) {
        return say(k, "complete", OK, err, "no event was dropped; of each stream the last ones were kept (%llu earlier overwritten)", LL(d->overwrittenEvents));
    }
    return say(k, "complete", OK, err, "no event was dropped");
}

static int check_intact(checker *k, iket_error *err) {
    const iket_diagnostics *d = &k->columns->trace->diagnostics;
    if (d->truncated != 0) return say(k, "intact", FAILED, err, "the file is cut off");
    if (d->corruptChunks != 0 || d->corruptSections != 0 || d->missingChunks != 0 || d->undecodedBytes != 0 || d->reservedRecords != 0) {
        return say(k, "intact", FAILED, err, "%llu corrupt section%s, %llu corrupt and %llu missing chunks, %llu undecoded byte%s, %llu reserved record%s", LL(d->corruptSections),
                   s(d->corruptSections), LL(d->corruptChunks), LL(d->missingChunks), LL(d->undecodedBytes), s(d->undecodedBytes), LL(d->reservedRecords), s(d->reservedRecords));
    }
    return say(k, "intact", OK, err, "everything was decoded");
}

static int check_pairs(checker *k, iket_error *err) {
    const iket_diagnostics *d = &k->columns->trace->diagnostics;
    if (d->unclosedRanges != 0 || d->unmatchedPops != 0) {
        return say(k, "pairs", FAILED, err, "%llu range%s still open at the end, %llu pop%s without a push", LL(d->unclosedRanges), s(d->unclosedRanges), LL(d->unmatchedPops),
                   s(d->unmatchedPops));
    }
    return say(k, "pairs", OK, err, "every range has its begin and its end");
}

// Stack ranges of one warp that overlap without nesting; of a recording, warps that several lanes led.
static int check_nesting(checker *k, iket_error *err) {
    const iket_trace *t = k->columns->trace;
    uint64_t warps = 0;
    for (size_t i = 0; i < t->location_count; i++) warps += t->locations[i].stream_count > 1;
    if (warps == 0) return say(k, "nesting", OK, err, "the ranges of every warp nest");
    if (t->source == IKET_SOURCE_JSON) return say(k, "nesting", FAILED, err, "ranges overlap without nesting on %llu warp%s (or their lanes had diverged)", LL(warps), s(warps));
    return say(k, "nesting", NOTE, err, "%llu warp%s diverged: several lanes led events", LL(warps), s(warps));
}

static int check_times(checker *k, iket_error *err) {
    const iket_columns *c = k->columns;
    uint64_t backwards = 0, outside = 0;
    for (size_t i = 0; i < c->trace->stream_count; i++) backwards += (c->trace->streams[i].flags & IKET_STREAM_BACKWARDS) != 0;
    for (size_t i = 0; i < c->range_count; i++) {
        const iket_location *l = &c->trace->locations[c->location[i]];
        outside += c->start[i] < l->start || c->end[i] > l->end;
    }
    uint64_t ambiguous = c->trace->diagnostics.timeAmbiguousChunks;
    if (backwards == 0 && outside == 0 && ambiguous == 0) return say(k, "times", OK, err, "times grow, and ranges lie within their warp's lifetime");
    return say(k, "times", FAILED, err, "%llu stream%s with times that run backwards, %llu range%s outside the warp's lifetime, %llu ambiguous chunk%s", LL(backwards), s(backwards),
               LL(outside), s(outside), LL(ambiguous), s(ambiguous));
}

// Every warp of the grid left something: CTAs times warps a CTA.
static int check_warps(checker *k, iket_error *err) {
    const iket_columns *c = k->columns;
    size_t lacking = 0, looked = 0;
    char first[256] = "";
    for (size_t i = 0; i < c->trace->launch_count; i++) {
        const iket_launch *l = &c->trace->launches[i];
        iket_wide ctas = (iket_wide)l->grid_dim[0] * l->grid_dim[1] * l->grid_dim[2], threads = (iket_wide)l->block_dim[0] * l->block_dim[1] * l->block_dim[2];
        iket_wide expected = ctas * ((threads + 31) / 32);
        if (!c->selection.launches[i] || expected == 0 || l->single_cluster_active) continue;
        looked++;
        if (expected <= l->location_count) continue;
        if (lacking++ == 0) {
            snprintf(first, sizeof first, "launch %u of %.60s has %u of %llu warps", l->ordinal, iket_launch_kernel(c, l), l->location_count,
                     expected > UINT64_MAX ? UINT64_MAX : LL(expected));
        }
    }
    if (looked == 0) return say(k, "warps", SKIPPED, err, "no launch whose grid says how many warps there are");
    if (lacking == 0) return say(k, "warps", OK, err, "every warp of %zu grid%s was seen", looked, s(looked));
    // A kernel may leave warps unannotated: our recorder then has no buffer of them.
    return say(k, "warps", NOTE, err, "%s%s", first, lacking > 1 ? ", and others" : "");
}

// How near the fullest warp buffer came to its end. Only the collector's data say how large buffers were.
static int check_headroom(checker *k, iket_error *err) {
    const iket_trace *t = k->columns->trace;
    if (t->fullest_room == 0) return say(k, "headroom", SKIPPED, err, "this input does not say how large the buffers were");
    return say(k, "headroom", t->fullest_used > t->fullest_room ? FAILED : OK, err, "the fullest warp buffer has %llu of %llu bytes", LL(t->fullest_used), LL(t->fullest_room));
}

// Names that were declared and never recorded. A trace.json has no declarations.
static int check_names(checker *k, iket_error *err) {
    const iket_columns *c = k->columns;
    const iket_trace *t = c->trace;
    if (t->source == IKET_SOURCE_JSON) return say(k, "names", SKIPPED, err, "a trace.json does not say what was declared");
    uint8_t *seen = calloc(t->string_count + 1, 1);
    if (seen == NULL) return iket_fail(err, "out of memory (%zu names)", t->string_count);
    for (size_t i = 0; i < c->range_count; i++) seen[c->name[i]] = 1;
    for (size_t i = 0; i < c->marker_count; i++) seen[c->marker_name[i]] = 1;
    char list[600] = "";
    size_t used = 0, unseen = 0;
    for (size_t m = 0; m < t->module_count; m++) {
        for (size_t i = 0; i < t->modules[m].decl_count; i++) {
            const iket_decl *d = &t->modules[m].decls[i];
            if (seen[d->name] || d->pos == IKET_POS_POP) continue;
            seen[d->name] = 1;
            if (unseen++ >= 8) continue;
            int n = snprintf(list + used, sizeof list - used, "%s%.60s", unseen > 1 ? ", " : "", t->strings[d->name]);
            if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
        }
    }
    free(seen);
    if (unseen == 0) return say(k, "names", OK, err, "every declared name was recorded");
    return say(k, "names", NOTE, err, "declared but never recorded: %s%s", list, unseen > 8 ? ", ..." : "");
}

// ---- --expect -----------------------------------------------------------------------------------------------------------

typedef struct expectation {
    char name[128];
    unsigned long long count;
    enum { PER_WARP, PER_CTA, PER_LAUNCH } per;
} expectation;

// NAME=COUNT[/warp|/cta|/launch]
static int parse(const char *text, expectation *e, iket_error *err) {
    static const char *const units[] = {"/warp", "/cta", "/launch"};
    const char *equals = strrchr(text, '=');
    char number[32];
    size_t size = equals != NULL ? (size_t)(equals - text) : 0;
    if (size == 0 || size >= sizeof e->name) return iket_fail(err, "--expect: '%s' is no expectation (write NAME=COUNT, NAME=COUNT/cta or NAME=COUNT/launch)", text);
    memcpy(e->name, text, size);
    e->name[size] = 0;
    size_t digits = strcspn(equals + 1, "/");
    e->per = PER_WARP;
    if (digits == 0 || digits >= sizeof number) return iket_fail(err, "--expect: '%s' has no count", text);
    int unit = 0;
    while (unit < 3 && strcmp(equals + 1 + digits, units[unit]) != 0) unit++;
    if (unit == 3 && equals[1 + digits] != 0) return iket_fail(err, "--expect: '%s': a count is /warp, /cta or /launch", text);
    if (unit < 3) e->per = unit == 0 ? PER_WARP : unit == 1 ? PER_CTA : PER_LAUNCH;
    memcpy(number, equals + 1, digits);
    number[digits] = 0;
    IKET_TRY(iket_parse_u64(number, UINT64_MAX, &e->count, err));
    return 0;
}

static uint64_t count_at(const iket_columns *c, size_t location, const char *name) {
    uint64_t count = 0;
    for (size_t i = c->first_range[location]; i < c->first_range[location + 1]; i++) count += (c->flags[i] & IKET_RANGE_SELECTED) && strcmp(iket_range_name(c, i), name) == 0;
    for (size_t i = c->first_marker[location]; i < c->first_marker[location + 1]; i++) count += c->marker_selected[i] && strcmp(c->trace->strings[c->marker_name[i]], name) == 0;
    return count;
}

static int same_unit(const iket_trace *t, const expectation *e, size_t a, size_t b) {
    const iket_location *x = &t->locations[a], *y = &t->locations[b];
    if (e->per == PER_WARP || x->launch != y->launch) return a == b;
    return e->per == PER_LAUNCH || memcmp(x->cta, y->cta, sizeof x->cta) == 0;
}

static int check_expectation(checker *k, const char *text, iket_error *err) {
    static const char *const units[] = {"warp", "CTA", "launch"};
    const iket_columns *c = k->columns;
    expectation e;
    IKET_TRY(parse(text, &e, err));
    uint64_t units_seen = 0, wrong = 0, got = 0, example = 0;
    size_t where = 0;
    for (size_t i = 0, next; i < c->trace->location_count; i = next) {
        uint64_t count = 0;
        for (next = i; next < c->trace->location_count && same_unit(c->trace, &e, i, next); next++) count += c->selection.locations[next] ? count_at(c, next, e.name) : 0;
        if (!c->selection.locations[i]) continue;
        units_seen++;
        got += count;
        if (count == e.count) continue;
        if (wrong++ == 0) {
            where = i;
            example = count;
        }
    }
    char check[160];
    snprintf(check, sizeof check, "expect %s", e.name);
    if (wrong == 0) return say(k, check, OK, err, "%llu a %s on %llu, %llu in all", e.count, units[e.per], LL(units_seen), LL(got));
    const iket_location *l = &c->trace->locations[where];
    return say(k, check, FAILED, err, "%llu of %llu %ss have another number than %llu: warp %u of CTA %u,%u,%u has %llu; %llu in all", LL(wrong), LL(units_seen), units[e.per], e.count,
               l->warp, l->cta[0], l->cta[1], l->cta[2], LL(example), LL(got));
}

// ---- the verb -----------------------------------------------------------------------------------------------------------

static int check_input(checker *k, const iket_query_options *options, iket_error *err) {
    IKET_TRY(check_events(k, err));
    IKET_TRY(check_complete(k, err));
    IKET_TRY(check_intact(k, err));
    IKET_TRY(check_pairs(k, err));
    IKET_TRY(check_nesting(k, err));
    IKET_TRY(check_times(k, err));
    IKET_TRY(check_warps(k, err));
    IKET_TRY(check_headroom(k, err));
    IKET_TRY(check_names(k, err));
    for (size_t i = 0; i < options->expect_count; i++) IKET_TRY(check_expectation(k, options->expect[i], err));
    return 0;
}

int iket_verb_check(iket_query *q, iket_error *err) {
    iket_columns *sets = NULL;
    int result = iket_query_load(q, &sets, err);
    checker k = {.report = q->report};
    if (result == 0) result = iket_report_section(q->report, "rows", columns, COLUMNS, 0, err);
    for (size_t i = 0; i < q->input_count && result == 0; i++) {
        k.columns = &sets[i];
        if (sets[i].trace != NULL) result = check_input(&k, q->options, err);
    }
    iket_query_unload(q, sets);
    if (result != 0 || k.failed == 0) return result;
    iket_fail(err, "%zu of %zu checks failed", k.failed, k.checked);
    return 1;
}
