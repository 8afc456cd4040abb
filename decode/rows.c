// SPDX-License-Identifier: Apache-2.0
// rows.c: rows of an input that is a model (a dump, the collector's data); those of a trace.json are in rows_json.c.
#include "decode/include/iket/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/model.h"
#include "decode/rows_json.h"

// A stream's events, ranges at the place of their begin.
typedef struct stream_rows {
    iket_row *items;
    size_t count, capacity;
    size_t *open; // of each open range its index in items: the stack ranges first in, last out; tokens by search
    size_t open_count, open_capacity;
} stream_rows;

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

static void close_row(stream_rows *rows, const iket_trace *trace, const iket_event *event) {
    for (size_t i = rows->open_count; i > 0; i--) {
        iket_row *row = &rows->items[rows->open[i - 1]];
        // The innermost open one of this event: a stack range or, of that name, a token range.
        if (row->range_type != event->decl->range_type || row->event_id != event->decl->event_id || row->range_id != event->decl->range_id ||
            row->start != event->begin.time || strcmp(row->name, trace->strings[event->decl->name]) != 0) {
            continue;
        }
        row->end = event->time;
        row->end_payload = event->payload;
        row->unclosed = event->unclosed;
        row->end_event_id = event->unclosed ? IKET_UNKNOWN : event->decl->end_event_id;
        memmove(&rows->open[i - 1], &rows->open[i], (rows->open_count - i) * sizeof *rows->open);
        rows->open_count--;
        return;
    }
}

static int collect(stream_rows *rows, const iket_trace *trace, size_t index, iket_error *err) {
    iket_cursor cursor;
    iket_event event;
    rows->count = rows->open_count = 0;
    int more = iket_cursor_open(&cursor, trace, index, err) == 0 ? 1 : -1;
    while (more > 0 && (more = iket_cursor_next(&cursor, &event, err)) > 0) {
        if (event.kind == IKET_EVENT_END) {
            close_row(rows, trace, &event);
            continue;
        }
        if (IKET_RESERVE(rows->items, rows->count, rows->capacity, 1, err) != 0 || IKET_RESERVE(rows->open, rows->open_count, rows->open_capacity, 1, err) != 0) more = -1;
        if (more < 0) break;
        if (event.kind == IKET_EVENT_BEGIN) rows->open[rows->open_count++] = rows->count;
        rows->items[rows->count++] = row_of(trace, &trace->streams[index], &event);
    }
    iket_cursor_close(&cursor);
    return more < 0 ? -1 : 0;
}

typedef struct emitter {
    const iket_rows_options *options;
    const iket_selection *selection;
    iket_row_fn row;
    void *context;
} emitter;

static int give_lifetime(const emitter *e, const iket_trace *trace, const iket_location *location, iket_error *err) {
    if (!iket_selection_overlaps(e->selection, location->start, location->end)) return 0;
    const iket_launch *launch = &trace->launches[location->launch];
    iket_row row = {.kind = IKET_ROW_LIFETIME,
                    .name = "",
                    .kernel = trace->strings[launch->kernel],
                    .graph_key = launch->graph_key == IKET_UNKNOWN ? NULL : trace->strings[launch->graph_key],
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

// The selection's masks are by string; a row has the text, so its declaration's name is looked up once a row by address.
static int wanted(const emitter *e, const iket_row *row) {
    if (!(e->options->kinds & row->kind) || !iket_selection_overlaps(e->selection, row->start, row->end)) return 0;
    return e->options->selector == NULL || iket_selector_name(e->options->selector, row->kind == IKET_ROW_MARKER ? IKET_SELECT_MARKER : IKET_SELECT_RANGE, row->name);
}

static int give_location(const emitter *e, stream_rows *rows, const iket_trace *trace, const iket_location *location, iket_error *err) {
    if (e->options->kinds & IKET_ROW_LIFETIME) {
        int result = give_lifetime(e, trace, location, err);
        if (result != 0) return result;
    }
    if (!(e->options->kinds & (IKET_ROW_MARKER | IKET_ROW_RANGE))) return 0;
    for (uint32_t s = 0; s < location->stream_count; s++) {
        IKET_TRY(collect(rows, trace, location->first_stream + s, err));
        for (size_t i = 0; i < rows->count; i++) {
            int result = wanted(e, &rows->items[i]) ? e->row(e->context, &rows->items[i], err) : 0;
            if (result != 0) return result;
        }
    }
    return 0;
}

static int give_all(const emitter *e, const iket_trace *trace, iket_error *err) {
    stream_rows rows = {0};
    int result = 0;
    for (size_t i = 0; i < trace->location_count && result == 0; i++) {
        if (e->selection->locations[i]) result = give_location(e, &rows, trace, &trace->locations[i], err);
    }
    free(rows.items);
    free(rows.open);
    return result < 0 ? -1 : 0;
}

static int read_model(const char *path, const iket_rows_options *options, const char *head, int got, iket_row_fn row, void *context, iket_error *err) {
    static const iket_selector everything = {0};
    iket_trace *trace;
    IKET_TRY(iket_open_begun(&trace, path, &options->open, head, got, err));
    iket_selection selection;
    int result = iket_selection_resolve(&selection, options->selector != NULL ? options->selector : &everything, trace, err);
    if (result == 0) {
        emitter e = {options, &selection, row, context};
        result = give_all(&e, trace, err);
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
