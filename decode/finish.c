// SPDX-License-Identifier: Apache-2.0
// finish.c: the one scan over all records that every reader ends with. It fills what only the records tell (the ends of
// streams and lifetimes, counts, flags, diagnostics), so that an encoder can plan its output before it replays.
//
//     locations   [ ···· | ·· | ······ | · ]      cut into tasks of about as many bytes of records
//     tasks        scan   scan  scan    scan       in parallel: each fills its locations and streams, counts for itself
//     sums         ────────────────────────▶       one after another, in the order of the locations
#include <stdlib.h>

#include "common/array.h"
#include "decode/marks.h"

enum { TASK_BYTES = 256 * 1024, TASKS_MAX = 1024 };

typedef struct unmatched { // a warp with a pop that had no push
    size_t location;
    uint64_t time;
    int sibling_open;
} unmatched;

typedef struct launch_sums {
    uint64_t markers, ranges;
} launch_sums;

typedef struct task {
    size_t first, end;        // locations
    iket_diagnostics counts;
    uint64_t *decl_counts;    // [decl_total]
    launch_sums *sums;        // of the launches from that of the first location on
    unmatched *unmatched;
    size_t unmatched_count, unmatched_capacity;
    iket_marks marks;
    iket_replay replay;
} task;

typedef struct scan {
    iket_trace *trace;
    size_t *first_decl;       // [module_count]: where a module's counts begin
    size_t decl_total;
    task *tasks;
    size_t task_count;
} scan;

// ---- one stream, one location ---------------------------------------------------------------------------------------

static int scan_stream(scan *c, task *t, size_t index, iket_error *err) {
    iket_replay *r = &t->replay;
    iket_event event;
    uint32_t decl;
    int more;
    uint64_t next_mark = IKET_MARK_EVENTS;
    iket_replay_fetch(c->trace, index + IKET_FETCH_STREAMS);
    iket_replay_start(r, c->trace, index);
    while ((more = iket_replay_next(r, &event, &decl, err)) > 0) {
        if (event.kind != IKET_EVENT_END) t->decl_counts[c->first_decl[r->module] + decl]++;
        if (__builtin_expect(r->counts.events >= next_mark, 0)) {
            size_t marks = t->marks.count;
            IKET_TRY(iket_marks_add(&t->marks, r, (uint32_t)index, err));
            next_mark += t->marks.count > marks ? IKET_MARK_EVENTS : IKET_MARK_EVENTS / 8;
        }
    }
    return more;
}

static int scan_location(scan *c, task *t, size_t index, iket_error *err) {
    iket_location *location = &c->trace->locations[index];
    launch_sums *sums = &t->sums[location->launch - c->trace->locations[t->first].launch];
    uint64_t unmatched_time = 0, unclosed = 0, unmatched_pops = 0;
    int raw = c->trace->source != IKET_SOURCE_JSON;
    for (uint32_t i = 0; i < location->stream_count; i++) {
        IKET_TRY(scan_stream(c, t, location->first_stream + i, err));
        const iket_replay_counts *n = &t->replay.counts;
        iket_stream *s = &c->trace->streams[location->first_stream + i];
        s->end = n->end;
        s->flags = n->flags;
        s->max_depth = n->max_depth;
        s->first_time = n->least_start;
        s->last_time = n->greatest_end;
        s->event_count = n->events;
        sums->markers += n->markers;
        sums->ranges += n->ranges;
        if (raw) {
            if (s->end > location->end) location->end = s->end;
            t->counts.unmatchedPops += n->unmatched_pops;
            t->counts.unclosedRanges += n->unclosed_ranges;
            t->counts.undecodedBytes += n->undecoded_bytes;
            t->counts.reservedRecords += n->reserved_records;
            t->counts.timeAmbiguousChunks += n->time_ambiguous;
            t->counts.overwrittenBegins += n->overwritten_begins;
        }
        if (n->unmatched_pops > 0 && unmatched_pops == 0) unmatched_time = n->first_unmatched_pop;
        unmatched_pops += n->unmatched_pops;
        unclosed += n->unclosed_ranges;
    }
    if (location->end < location->start) location->end = location->start;
    if (unmatched_pops == 0) return 0;
    IKET_TRY(IKET_RESERVE(t->unmatched, t->unmatched_count, t->unmatched_capacity, 1, err));
    t->unmatched[t->unmatched_count++] = (unmatched){.location = index, .time = unmatched_time, .sibling_open = location->stream_count > 1 && unclosed > 0};
    return 0;
}

// ---- tasks ----------------------------------------------------------------------------------------------------------

static int run_task(void *context, size_t index, iket_error *err) {
    scan *c = context;
    task *t = &c->tasks[index];
    size_t launches = c->trace->locations[t->end - 1].launch - c->trace->locations[t->first].launch + 1;
    t->decl_counts = calloc(c->decl_total + 1, sizeof *t->decl_counts);
    t->sums = calloc(launches, sizeof *t->sums);
    int result = t->decl_counts == NULL || t->sums == NULL ? iket_fail(err, "%s: out of memory (%zu launches)", c->trace->path, launches) : 0;
    for (size_t i = t->first; i < t->end && result == 0; i++) result = scan_location(c, t, i, err);
    iket_replay_free(&t->replay);
    return result;
}

static uint64_t bytes_of(const iket_trace *trace, const iket_location *l) {
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < l->stream_count; s++) {
        const iket_stream *stream = &trace->streams[l->first_stream + s];
        if (trace->source == IKET_SOURCE_JSON) {
            bytes += stream->source_count * sizeof(iket_stored_event);
        } else {
            for (uint32_t i = 0; i < stream->source_count; i++) bytes += trace->backing->segments[stream->source + i].size + sizeof(iket_segment);
        }
    }
    return bytes + sizeof *l;
}

static int cut_tasks(scan *c, iket_error *err) {
    const iket_trace *trace = c->trace;
    uint64_t total = 0, used = 0;
    for (size_t i = 0; i < trace->location_count; i++) total += bytes_of(trace, &trace->locations[i]);
    uint64_t share = total / TASKS_MAX > TASK_BYTES ? total / TASKS_MAX : TASK_BYTES;
    c->tasks = calloc((size_t)(total / share) + 2, sizeof *c->tasks);
    if (c->tasks == NULL) return iket_fail(err, "%s: out of memory (%zu places)", trace->path, trace->location_count);
    for (size_t i = 0; i < trace->location_count; i++) {
        if (c->task_count == 0 || used >= share) {
            c->tasks[c->task_count++].first = i;
            used = 0;
        }
        c->tasks[c->task_count - 1].end = i + 1;
        used += bytes_of(trace, &trace->locations[i]);
    }
    return 0;
}

static int number_decls(scan *c, iket_error *err) {
    const iket_trace *trace = c->trace;
    c->first_decl = malloc((trace->module_count + 1) * sizeof *c->first_decl);
    if (c->first_decl == NULL) return iket_fail(err, "%s: out of memory (%zu modules)", trace->path, trace->module_count);
    for (size_t i = 0; i < trace->module_count; i++) {
        c->first_decl[i] = c->decl_total;
        c->decl_total += trace->modules[i].decl_count;
    }
    return 0;
}

// ---- sums -----------------------------------------------------------------------------------------------------------

static int note_unmatched_pop(iket_trace *trace, const unmatched *u, iket_error *err) {
    const iket_location *l = &trace->locations[u->location];
    if (u->sibling_open) {
        return iket_model_note(trace, err,
                               "a pop without a push on warp %u of CTA (%u, %u, %u) at %llu ns, while another lane of that warp has an open push: "
                               "divergence split the range (push and pop where the same lanes run)",
                               l->warp, l->cta[0], l->cta[1], l->cta[2], (unsigned long long)u->time);
    }
    return iket_model_note(trace, err, "a pop without a push on warp %u of CTA (%u, %u, %u) at %llu ns (the pop was left out, the rest is intact)", l->warp, l->cta[0],
                           l->cta[1], l->cta[2], (unsigned long long)u->time);
}

static int add_task(scan *c, task *t, iket_error *err) {
    iket_trace *trace = c->trace;
    iket_diagnostics *d = &trace->diagnostics;
    d->unmatchedPops += t->counts.unmatchedPops;
    d->unclosedRanges += t->counts.unclosedRanges;
    d->undecodedBytes += t->counts.undecodedBytes;
    d->reservedRecords += t->counts.reservedRecords;
    d->timeAmbiguousChunks += t->counts.timeAmbiguousChunks;
    d->overwrittenBegins += t->counts.overwrittenBegins;
    for (size_t m = 0; m < trace->module_count; m++) {
        for (size_t i = 0; i < trace->modules[m].decl_count; i++) trace->modules[m].decls[i].count += t->decl_counts[c->first_decl[m] + i];
    }
    uint32_t first = trace->locations[t->first].launch, last = trace->locations[t->end - 1].launch;
    for (uint32_t i = first; i <= last; i++) {
        trace->launches[i].marker_count += t->sums[i - first].markers;
        trace->launches[i].range_count += t->sums[i - first].ranges;
    }
    IKET_TRY(iket_marks_move(trace->backing->marks, &t->marks, err));
    for (size_t i = 0; i < t->unmatched_count; i++) IKET_TRY(note_unmatched_pop(trace, &t->unmatched[i], err));
    return 0;
}

static void span_launches(iket_trace *trace) {
    for (size_t i = 0; i < trace->launch_count; i++) {
        iket_launch *launch = &trace->launches[i];
        launch->start = UINT64_MAX;
        launch->end = 0;
        for (uint32_t j = 0; j < launch->location_count; j++) {
            const iket_location *location = &trace->locations[launch->first_location + j];
            if (location->start < launch->start) launch->start = location->start;
            if (location->end > launch->end) launch->end = location->end;
        }
        if (launch->location_count > 0 && launch->start < trace->start) trace->start = launch->start;
        if (launch->location_count > 0 && launch->end > trace->end) trace->end = launch->end;
        trace->marker_count += launch->marker_count;
        trace->range_count += launch->range_count;
    }
}

// An eager launch is numbered among the eager ones, a graph's among those of its key.
static int number_launches(iket_trace *trace, iket_error *err) {
    uint32_t *next = calloc(trace->string_count + 1, sizeof *next); // the last one: of the eager launches
    if (next == NULL) return iket_fail(err, "out of memory (%zu names)", trace->string_count);
    for (size_t i = 0; i < trace->launch_count; i++) {
        iket_launch *launch = &trace->launches[i];
        launch->ordinal = next[launch->graph_key == IKET_UNKNOWN ? trace->string_count : launch->graph_key]++;
    }
    free(next);
    return 0;
}

int iket_model_finish(iket_trace *trace, iket_error *err) {
    scan c = {.trace = trace};
    struct iket_backing *b = trace->backing;
    if (b->marks == NULL) b->marks = calloc(1, sizeof *b->marks);
    if (b->marks == NULL) return iket_fail(err, "%s: out of memory", trace->path);
    iket_marks_free(b->marks);
    int result = iket_replay_prepare(trace, err);
    if (result == 0) result = number_decls(&c, err);
    if (result == 0) result = cut_tasks(&c, err);
    if (result == 0) result = iket_pool_run(trace->backing->pool, c.task_count, run_task, &c, err);
    for (size_t i = 0; i < c.task_count; i++) {
        if (result == 0) result = add_task(&c, &c.tasks[i], err);
        free(c.tasks[i].decl_counts);
        free(c.tasks[i].sums);
        free(c.tasks[i].unmatched);
        iket_marks_free(&c.tasks[i].marks);
    }
    free(c.tasks);
    free(c.first_decl);
    if (result != 0) return -1;
    iket_marks_sort(trace->backing->marks);
    span_launches(trace);
    return number_launches(trace, err);
}
