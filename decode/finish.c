// SPDX-License-Identifier: Apache-2.0
// finish.c: the one scan over all records that every reader ends with. It fills what only the records tell (the ends of
// streams and lifetimes, counts, flags, diagnostics), so that an encoder can plan its output before it replays.
#include <stdlib.h>

#include "decode/model.h"

static int note_unmatched_pop(iket_trace *trace, const iket_location *l, uint64_t time, int sibling_open, iket_error *err) {
    if (sibling_open) {
        return iket_model_note(trace, err,
                               "a pop without a push on warp %u of CTA (%u, %u, %u) at %llu ns, while another lane of that warp has an open push: "
                               "divergence split the range (push and pop where the same lanes run)",
                               l->warp, l->cta[0], l->cta[1], l->cta[2], (unsigned long long)time);
    }
    return iket_model_note(trace, err, "a pop without a push on warp %u of CTA (%u, %u, %u) at %llu ns (the pop was left out, the rest is intact)", l->warp, l->cta[0],
                           l->cta[1], l->cta[2], (unsigned long long)time);
}

static int scan_stream(iket_trace *trace, size_t index, iket_replay_counts *counts, iket_error *err) {
    iket_cursor cursor;
    iket_event event;
    int more = iket_cursor_open(&cursor, trace, index, err) == 0 ? 1 : -1;
    while (more > 0) {
        more = iket_cursor_next(&cursor, &event, err);
        if (more > 0 && event.kind != IKET_EVENT_END) ((iket_decl *)(uintptr_t)event.decl)->count++; // the model is still being built
    }
    if (more == 0) *counts = *iket_cursor_counts(&cursor);
    iket_cursor_close(&cursor);
    return more;
}

static int scan_location(iket_trace *trace, iket_location *location, iket_launch *launch, iket_error *err) {
    uint64_t unmatched_time = 0, unclosed = 0, unmatched = 0;
    iket_diagnostics *d = &trace->diagnostics;
    int raw = trace->source != IKET_SOURCE_JSON;
    for (uint32_t i = 0; i < location->stream_count; i++) {
        iket_stream *s = &trace->streams[location->first_stream + i];
        iket_replay_counts c = {0};
        IKET_TRY(scan_stream(trace, location->first_stream + i, &c, err));
        s->end = c.end;
        s->flags = c.flags;
        s->max_depth = c.max_depth;
        s->first_time = c.least_start;
        s->last_time = c.greatest_end;
        s->event_count = c.events;
        launch->marker_count += c.markers;
        launch->range_count += c.ranges;
        if (raw) {
            if (s->end > location->end) location->end = s->end;
            d->unmatchedPops += c.unmatched_pops;
            d->unclosedRanges += c.unclosed_ranges;
            d->undecodedBytes += c.undecoded_bytes;
            d->reservedRecords += c.reserved_records;
            d->timeAmbiguousChunks += c.time_ambiguous;
        }
        if (c.unmatched_pops > 0 && unmatched == 0) unmatched_time = c.first_unmatched_pop;
        unmatched += c.unmatched_pops;
        unclosed += c.unclosed_ranges;
    }
    if (location->end < location->start) location->end = location->start;
    if (unmatched > 0) IKET_TRY(note_unmatched_pop(trace, location, unmatched_time, location->stream_count > 1 && unclosed > 0, err));
    return 0;
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
    for (size_t i = 0; i < trace->launch_count; i++) {
        iket_launch *launch = &trace->launches[i];
        launch->start = UINT64_MAX;
        launch->end = 0;
        for (uint32_t j = 0; j < launch->location_count; j++) {
            iket_location *location = &trace->locations[launch->first_location + j];
            IKET_TRY(scan_location(trace, location, launch, err));
            if (location->start < launch->start) launch->start = location->start;
            if (location->end > launch->end) launch->end = location->end;
        }
        if (launch->location_count > 0 && launch->start < trace->start) trace->start = launch->start;
        if (launch->location_count > 0 && launch->end > trace->end) trace->end = launch->end;
        trace->marker_count += launch->marker_count;
        trace->range_count += launch->range_count;
    }
    return number_launches(trace, err);
}
