// SPDX-License-Identifier: Apache-2.0
// events: the markers, ranges and lifetimes that are selected, one a row, in one pass over the input.
#include <stdio.h>
#include <string.h>

#include "analyze/query.h"

enum {
    INPUT, KIND, NAME, KERNEL, LAUNCH, GRAPH, GRID_ID, CONTEXT_ID, SM, TPC, GPC, CTA, CTA_X, CTA_Y, CTA_Z, WARP, LANE, TS, DUR, PAYLOAD_TYPE, PAYLOAD,
    END_PAYLOAD_TYPE, END_PAYLOAD, EVENT_ID, RANGE_ID, RANGE_TYPE, UNCLOSED, COLUMNS
};

static const iket_column columns[COLUMNS] = {
    [INPUT] = {"input", NULL, IKET_COLUMN_INPUT},
    [KIND] = {"kind", NULL, IKET_COLUMN_TABLE},
    [NAME] = {"name", NULL, IKET_COLUMN_TABLE},
    [KERNEL] = {"kernel", NULL, 0},
    [LAUNCH] = {"launch", NULL, IKET_COLUMN_TABLE},
    [GRAPH] = {"graph", NULL, 0},
    [GRID_ID] = {"grid_id", NULL, 0},
    [CONTEXT_ID] = {"context_id", NULL, 0},
    [SM] = {"sm", NULL, IKET_COLUMN_TABLE},
    [TPC] = {"tpc", NULL, 0},
    [GPC] = {"gpc", NULL, 0},
    [CTA] = {"cta", NULL, IKET_COLUMN_TABLE | IKET_COLUMN_SHORT},
    [CTA_X] = {"cta_x", NULL, 0},
    [CTA_Y] = {"cta_y", NULL, 0},
    [CTA_Z] = {"cta_z", NULL, 0},
    [WARP] = {"warp", NULL, IKET_COLUMN_TABLE},
    [LANE] = {"lane", NULL, 0},
    [TS] = {"ts_ns", NULL, IKET_COLUMN_TABLE},
    [DUR] = {"dur_ns", "dur", IKET_COLUMN_TABLE | IKET_COLUMN_DURATION},
    [PAYLOAD_TYPE] = {"payload_type", NULL, 0},
    [PAYLOAD] = {"payload", NULL, IKET_COLUMN_TABLE},
    [END_PAYLOAD_TYPE] = {"end_payload_type", NULL, 0},
    [END_PAYLOAD] = {"end_payload", NULL, 0},
    [EVENT_ID] = {"event_id", NULL, 0},
    [RANGE_ID] = {"range_id", NULL, 0},
    [RANGE_TYPE] = {"range_type", NULL, 0},
    [UNCLOSED] = {"unclosed", NULL, 0},
};

typedef struct events {
    iket_query *query;
    const char *input;
    uint64_t seen;
    int begun;     // the section was started
    int wants_cta; // the short form of the CTA's place
} events;

static const char *kind_name(const iket_row *row) {
    if (row->kind == IKET_ROW_MARKER) return "marker";
    if (row->kind == IKET_ROW_LIFETIME) return "lifetime";
    return row->range_type == IKET_RANGE_TOKEN ? "token" : "range";
}

static int begin(events *e, iket_error *err) {
    if (e->begun) return 0;
    e->begun = 1;
    IKET_TRY(iket_report_section(e->query->report, "rows", columns, COLUMNS, 0, err));
    e->wants_cta = iket_report_wants(e->query->report, CTA);
    return 0;
}

static int give_value(events *e, const iket_row *row, iket_error *err) {
    char text[IKET_PAYLOAD_TEXT];
    if (row->payload.type == IKET_PAYLOAD_NONE) return 0;
    if (e->query->options->report.has_limit && e->query->options->report.limit != 0 && e->seen == e->query->options->report.limit) return 1;
    e->seen++;
    size_t size = iket_payload_text(row->payload, text);
    int quoted = text[0] == '"';
    iket_sink *sink = e->query->sink;
    iket_sink_write(sink, text + quoted, size - 2 * (size_t)quoted);
    iket_sink_text(sink, "\n");
    return sink->failed ? iket_fail(err, "%s", sink->error.message) : 0;
}

static int give_row(void *context, const iket_row *row, iket_error *err) {
    events *e = context;
    const iket_query_options *options = e->query->options;
    if (options->count) {
        e->seen++;
        return 0;
    }
    if (options->values) return give_value(e, row, err);
    IKET_TRY(begin(e, err));
    char cta[40];
    const iket_location *at = row->location;
    if (e->wants_cta) snprintf(cta, sizeof cta, "%u,%u,%u", at->cta[0], at->cta[1], at->cta[2]);
    int marker = row->kind == IKET_ROW_MARKER, range = row->kind == IKET_ROW_RANGE;
    iket_cell cells[COLUMNS];
    cells[INPUT] = iket_cell_text(e->input);
    cells[KIND] = iket_cell_text(kind_name(row));
    cells[NAME] = iket_cell_text(row->kind == IKET_ROW_LIFETIME ? NULL : row->name);
    cells[KERNEL] = iket_cell_text(row->kernel);
    cells[LAUNCH] = iket_cell_uint(row->launch->ordinal);
    cells[GRAPH] = iket_cell_text(row->graph_key);
    cells[GRID_ID] = iket_cell_uint(row->launch->grid_id);
    cells[CONTEXT_ID] = iket_cell_uint(row->launch->context_id);
    cells[SM] = iket_cell_u32(at->sm);
    cells[TPC] = iket_cell_u32(at->tpc);
    cells[GPC] = iket_cell_u32(at->gpc);
    cells[CTA] = e->wants_cta ? iket_cell_text(cta) : iket_cell_none();
    cells[CTA_X] = iket_cell_uint(at->cta[0]);
    cells[CTA_Y] = iket_cell_uint(at->cta[1]);
    cells[CTA_Z] = iket_cell_uint(at->cta[2]);
    cells[WARP] = iket_cell_uint(at->warp);
    cells[LANE] = iket_cell_u32(row->lane);
    cells[TS] = iket_cell_uint(row->start);
    cells[DUR] = marker ? iket_cell_none() : iket_cell_uint(row->end - row->start);
    cells[PAYLOAD_TYPE] = iket_cell_text(row->payload.type == IKET_PAYLOAD_NONE ? NULL : iket_payload_type_name(row->payload.type));
    cells[PAYLOAD] = iket_cell_payload(row->payload);
    cells[END_PAYLOAD_TYPE] = iket_cell_text(row->end_payload.type == IKET_PAYLOAD_NONE ? NULL : iket_payload_type_name(row->end_payload.type));
    cells[END_PAYLOAD] = iket_cell_payload(row->end_payload);
    cells[EVENT_ID] = iket_cell_u32(row->event_id);
    cells[RANGE_ID] = range ? iket_cell_uint(row->range_id) : iket_cell_none();
    cells[RANGE_TYPE] = range ? iket_cell_uint(row->range_type) : iket_cell_none();
    cells[UNCLOSED] = range ? iket_cell_bool(row->unclosed) : iket_cell_none();
    return iket_report_row(e->query->report, cells, err);
}

int iket_verb_events(iket_query *query, iket_error *err) {
    const iket_query_options *options = query->options;
    iket_rows_options rows = {.open = {.meta = options->meta},
                              .kinds = IKET_ROW_MARKER | IKET_ROW_RANGE,
                              .selector = &options->selector,
                              .memory = options->memory};
    events e = {.query = query};
    int result = 0;
    size_t matched = 0;
    for (size_t i = 0; i < query->input_count && result >= 0; i++) {
        e.input = query->inputs[i].name;
        rows.diagnostics = &query->inputs[i].diagnostics;
        result = iket_rows_read(query->inputs[i].path, &rows, give_row, &e, err);
        matched += result == 0;
    }
    if (result < 0) return -1;
    if (options->count) iket_sink_printf(query->sink, "%llu\n", (unsigned long long)e.seen);
    if (matched == 0) return 1; // the last input's message says why
    return options->count || options->values ? 0 : begin(&e, err);
}
