// SPDX-License-Identifier: Apache-2.0
// rows.c: rows of an input that is a model (a dump, the collector's data); those of a trace.json are in rows_json.c.
#include "decode/include/iket/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/model.h"
#include "decode/rows_json.h"
#include "decode/select_text.h"

// A range that is open, and where its row stands.
typedef struct open_row {
    size_t index;
    const iket_decl *decl;
} open_row;

// The wanted events of a stream, ranges at the place of their begin.
typedef struct stream_rows {
    iket_row *items;
    size_t count, capacity;
    open_row *open;
    size_t open_count, open_capacity;
} stream_rows;

typedef struct emitter {
    const iket_trace *trace;
    const iket_selection *selection;
    unsigned kinds; // that are wanted at all
    iket_row_fn row;
    void *context;
    stream_rows rows;
} emitter;

static iket_row row_of(const iket_trace *trace, const iket_stream *stream, const iket_event *event) {
    const iket_location *location = &trace->locations[stream->location];
    const iket_launch *launch = &trace->launches[location->launch];
    const iket_decl *decl = event->decl;
    iket_row row = {.kind = event->kind == IKET_EVENT_MARKER ? IKET_ROW_MARKER : IKET_ROW_RANGE,
                    .name = trace->strings[decl->name],
                    .kernel = trace->strings[launch->kernel],
                    .graph_key = launch->graph_key == IKET_UNKNOWN ? NULL : trace->strings[launch->graph_key],
                    .launch = launch,
                    .location = location,
                    .lane = stream->lane,
                    .start = event->time,
                    .end = event->time,
                    .payload = event->payload,
                    .event_id = decl->event_id,
                    .end_event_id = IKET_UNKNOWN,
                    .color = decl->color};
    if (event->kind == IKET_EVENT_MARKER) return row;
    row.range_id = decl->range_id;
    row.range_scope = decl->range_scope;
    row.range_type = decl->range_type;
    return row;
}

// The innermost open range of this event: a cursor closes each token range's only open one, and stack ranges from the top.
static void close_row(stream_rows *rows, const iket_event *event) {
    for (size_t i = rows->open_count; i > 0; i--) {
        const open_row *open = &rows->open[i - 1];
        if (open->decl != event->decl) continue;
        iket_row *row = &rows->items[open->index];
        row->end = event->time;
        row->end_payload = event->payload;
        row->unclosed = event->unclosed;
        row->end_event_id = event->unclosed ? IKET_UNKNOWN : event->decl->end_event_id;
        memmove(&rows->open[i - 1], &rows->open[i], (rows->open_count - i) * sizeof *rows->open);
        rows->open_count--;
        return;
    }
}

static int is_wanted(const emitter *e, const iket_event *event) {
    if (event->kind == IKET_EVENT_MARKER) return (e->kinds & IKET_ROW_MARKER) && e->selection->markers[event->decl->name];
    return (e->kinds & IKET_ROW_RANGE) && e->selection->ranges[event->decl->name];
}

static int add_row(emitter *e, const iket_stream *stream, const iket_event *event, iket_error *err) {
    stream_rows *rows = &e->rows;
    iket_row row = row_of(e->trace, stream, event);
    // Nothing to wait for without ranges.
    if (!(e->kinds & IKET_ROW_RANGE)) return iket_selection_overlaps(e->selection, row.start, row.end) ? e->row(e->context, &row, err) : 0;
    IKET_TRY(IKET_RESERVE(rows->items, rows->count, rows->capacity, 1, err));
    if (event->kind == IKET_EVENT_BEGIN) {
        IKET_TRY(IKET_RESERVE(rows->open, rows->open_count, rows->open_capacity, 1, err));
        rows->open[rows->open_count++] = (open_row){rows->count, event->decl};
    }
    rows->items[rows->count++] = row;
    return 0;
}

static int give_stream(emitter *e, size_t index, iket_error *err) {
    iket_cursor cursor;
    iket_event event;
    e->rows.count = e->rows.open_count = 0;
    int more = 1, result = iket_cursor_open(&cursor, e->trace, index, err);
    while (result == 0 && (more = iket_cursor_next(&cursor, &event, err)) > 0) {
        if (!is_wanted(e, &event)) continue;
        if (event.kind == IKET_EVENT_END) {
            close_row(&e->rows, &event);
        } else {
            result = add_row(e, cursor.stream, &event, err);
        }
    }
    iket_cursor_close(&cursor);
    if (more < 0) return -1;
    for (size_t i = 0; i < e->rows.count && result == 0; i++) {
        const iket_row *row = &e->rows.items[i];
        if (iket_selection_overlaps(e->selection, row->start, row->end)) result = e->row(e->context, row, err);
    }
    return result;
}

static int give_lifetime(const emitter *e, const iket_location *location, iket_error *err) {
    if (!iket_selection_overlaps(e->selection, location->start, location->end)) return 0;
    const iket_launch *launch = &e->trace->launches[location->launch];
    iket_row row = {.kind = IKET_ROW_LIFETIME,
                    .name = "",
                    .kernel = e->trace->strings[launch->kernel],
                    .graph_key = launch->graph_key == IKET_UNKNOWN ? NULL : e->trace->strings[launch->graph_key],
                    .launch = launch,
                    .location = location,
                    .lane = IKET_UNKNOWN,
                    .start = location->start,
                    .end = location->end,
                    .event_id = IKET_UNKNOWN,
                    .end_event_id = IKET_UNKNOWN,
                    .color = IKET_UNKNOWN};
    return e->row(e->context, &row, err);
}

static int give_all(emitter *e, iket_error *err) {
    int result = 0;
    for (size_t i = 0; i < e->trace->location_count && result == 0; i++) {
        const iket_location *location = &e->trace->locations[i];
        if (!e->selection->locations[i]) continue;
        if (e->kinds & IKET_ROW_LIFETIME) result = give_lifetime(e, location, err);
        for (uint32_t s = 0; s < location->stream_count && result == 0; s++) result = give_stream(e, location->first_stream + s, err);
    }
    free(e->rows.items);
    free(e->rows.open);
    return result < 0 ? -1 : 0;
}

static int read_model(const char *path, const iket_rows_options *options, const char *head, int got, iket_row_fn row, void *context, iket_error *err) {
    static const iket_selector everything = {0};
    const iket_selector *selector = options->selector != NULL ? options->selector : &everything;
    iket_trace *trace;
    IKET_TRY(iket_open_begun(&trace, path, &options->open, head, got, err));
    iket_selection selection;
    if (options->diagnostics != NULL) *options->diagnostics = trace->diagnostics;
    int result = iket_selection_resolve(&selection, selector, trace, err);
    if (result == 0) {
        emitter e = {.trace = trace, .selection = &selection, .kinds = options->kinds & iket_selector_kinds(selector), .row = row, .context = context};
        result = give_all(&e, err);
        iket_selection_clear(&selection);
    }
    if (result != 0) iket_fail_context(err, "%s", path);
    iket_trace_free(trace);
    return result;
}

int iket_rows_read(const char *path, const iket_rows_options *options, iket_row_fn row, void *context, iket_error *err) {
    char *head = malloc(IKET_HEAD_BYTES);
    if (head == NULL) return iket_fail(err, "%s: out of memory", path);
    int got = iket_open_peek(path, head, err);
    int result = -1;
    if (got > 0 && iket_open_is_json(path, head, got)) {
        result = iket_rows_read_json(path, options, head, (size_t)got, row, context, err);
    } else if (got > 0) {
        result = read_model(path, options, head, got, row, context, err);
    }
    free(head);
    return result;
}
