// SPDX-License-Identifier: Apache-2.0
// csv.c: the events of a selection as RFC 4180 lines, those of the page's export (viewer/js/csv.js). Written as it goes:
// nothing is held but the place of the lane at hand.
#include <stdlib.h>
#include <string.h>

#include "levels/number_text.h"
#include "levels/question.h"
#include "levels/scope.h"

enum { MOST_EVENTS = 5000000 };

static const char header[] =
    "launch,kernel,sm,gpc,tpc,cta_x,cta_y,cta_z,warp,lane,role,kind,name,depth,start_ns,end_ns,dur_ns,payload,end_payload,unclosed\r\n";

static const char *const kind_names[] = {"warp lifetime", "range", "token range", "marker", "launch", "diagnostic", "event"};

// Where a lane is: nodes, -1 where it lies under none of that kind.
typedef struct place {
    int32_t launch, sm, cta, warp;
    int32_t lane; // number in its warp
} place;

static place place_of(const iket_levels *levels, uint32_t lane) {
    place p = {-1, -1, -1, -1, -1};
    for (int32_t node = (int32_t)levels->lane_node[lane]; node >= 0; node = levels->node_parent[node]) {
        switch (levels->node_kind[node]) {
        case IKET_LEVELS_NODE_LAUNCH: p.launch = node; break;
        case IKET_LEVELS_SM: p.sm = node; break;
        case IKET_LEVELS_CTA: p.cta = node; break;
        case IKET_LEVELS_WARP: p.warp = node; break;
        case IKET_LEVELS_RANGES:
        case IKET_LEVELS_MARKERS:
        case IKET_LEVELS_NODE_TOKEN: p.lane = levels->node_a[node]; break;
        default: break;
        }
    }
    return p;
}

static void put_field(iket_sink *sink, const char *text) {
    if (strpbrk(text, "\",\r\n") == NULL) {
        iket_sink_text(sink, text);
        return;
    }
    iket_sink_text(sink, "\"");
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        iket_sink_write(sink, text, (size_t)(quote - text) + 1);
        iket_sink_text(sink, "\"");
    }
    iket_sink_text(sink, text);
    iket_sink_text(sink, "\"");
}

static void put_signed(iket_sink *sink, int64_t value) {
    uint8_t *at = iket_sink_reserve(sink, IKET_TEXT_NUMBER);
    iket_sink_commit(sink, (uint8_t *)iket_text_i64((char *)at, value));
}

// ",A,B,C" of a node's numbers, ",,," without a node.
static void put_numbers(iket_sink *sink, const iket_levels *levels, int32_t node) {
    const int32_t *const numbers[] = {levels->node_a, levels->node_b, levels->node_c};
    for (int i = 0; i < 3; i++) {
        iket_sink_text(sink, ",");
        if (node >= 0) put_signed(sink, numbers[i][node]);
    }
}

static const char *class_text(const iket_levels *levels, uint32_t cls) { return cls < levels->class_count ? iket_levels_string(levels, levels->class_name[cls]) : ""; }

static const char *role_of(const iket_levels *levels, int32_t warp) {
    int32_t role = warp >= 0 ? levels->node_role[warp] : -1;
    if (role < 0 || (uint32_t)role >= levels->role_count) return "";
    return levels->role_class[role] < 0 ? "-" : class_text(levels, (uint32_t)levels->role_class[role]);
}

// The columns that all events of a lane share: up to the role.
static void put_place(iket_sink *sink, const iket_levels *levels, const place *p) {
    uint32_t lane = p->launch >= 0 ? levels->node_lane[p->launch] : 0;
    if (p->launch >= 0 && lane < levels->node_lane[p->launch + 1] && levels->lane_first[lane] < levels->event_count) { // else the page takes it for none
        put_field(sink, iket_levels_string(levels, levels->node_name[p->launch]));
        iket_sink_text(sink, ",");
        put_field(sink, class_text(levels, levels->cls[levels->lane_first[lane]]));
    } else {
        iket_sink_text(sink, ",");
    }
    put_numbers(sink, levels, p->sm);
    put_numbers(sink, levels, p->cta);
    iket_sink_text(sink, ",");
    if (p->warp >= 0) put_signed(sink, levels->node_a[p->warp]);
    iket_sink_text(sink, ",");
    if (p->lane >= 0) put_signed(sink, p->lane);
    iket_sink_text(sink, ",");
    put_field(sink, role_of(levels, p->warp));
}

static void put_payload(iket_sink *sink, unsigned type, uint64_t bits) {
    uint8_t *at = iket_sink_reserve(sink, IKET_LEVELS_NUMBER_TEXT);
    iket_sink_commit(sink, (uint8_t *)iket_levels_payload_text((char *)at, type, bits));
}

static void put_event(iket_sink *sink, const iket_levels *levels, uint64_t i, unsigned depth) {
    const iket_levels_note *note = levels->flags[i] & IKET_LEVELS_END_PAYLOAD ? iket_levels_note_of(levels, i, IKET_LEVELS_NOTE_END_PAYLOAD) : NULL;
    unsigned kind = iket_levels_kind_of(levels, i);
    iket_sink_text(sink, ",");
    iket_sink_text(sink, kind_names[kind < sizeof kind_names / sizeof kind_names[0] ? kind : IKET_LEVELS_OTHER]);
    iket_sink_text(sink, ",");
    put_field(sink, class_text(levels, levels->cls[i]));
    iket_sink_text(sink, ",");
    iket_levels_put(sink, depth);
    iket_sink_text(sink, ",");
    iket_levels_put(sink, levels->header->t0 + levels->start[i]);
    iket_sink_text(sink, ",");
    if (!(levels->flags[i] & IKET_LEVELS_INSTANT)) iket_levels_put(sink, levels->header->t0 + levels->end[i]);
    iket_sink_text(sink, ",");
    if (!(levels->flags[i] & IKET_LEVELS_INSTANT)) iket_levels_put(sink, levels->end[i] - levels->start[i]);
    iket_sink_text(sink, ",");
    if (levels->payload_type[i] != IKET_LEVELS_NO_PAYLOAD) put_payload(sink, levels->payload_type[i], levels->payload[i]);
    iket_sink_text(sink, ",");
    if (note != NULL) put_payload(sink, note->type, note->bits);
    iket_sink_text(sink, levels->flags[i] & IKET_LEVELS_UNCLOSED ? ",1\r\n" : ",\r\n");
}

// The columns of one lane, in a sink of its own, so that they are made once a lane.
typedef struct lane_text {
    iket_memory bytes;
    uint32_t lane;
    int valid;
} lane_text;

static int make_lane_text(lane_text *text, const iket_levels *levels, uint64_t event, iket_error *err) {
    if (text->valid && event < levels->lane_first[text->lane + 1]) return 0;
    text->lane = iket_levels_lane_of(levels, event);
    text->valid = 1;
    text->bytes.used = 0;
    place p = place_of(levels, text->lane);
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 1024, iket_memory_flush, &text->bytes, err));
    put_place(&sink, levels, &p);
    return iket_sink_close(&sink, err);
}

static int put_rows(const iket_levels *levels, const iket_levels_scope *scope, const iket_levels_intervals *events, iket_sink *sink, iket_error *err) {
    lane_text text = {.valid = 0};
    int result = 0;
    iket_sink_text(sink, header);
    for (size_t k = 0; k < events->count && result == 0; k++) {
        for (uint64_t i = events->list[k].from; i < events->list[k].to && result == 0 && !sink->failed; i++) {
            if (!iket_levels_scope_has(scope, levels->cls[i])) continue;
            result = make_lane_text(&text, levels, i, err);
            iket_sink_write(sink, text.bytes.data, text.bytes.used);
            put_event(sink, levels, i, levels->lane_depth[text.lane]);
        }
    }
    free(text.bytes.data);
    return result;
}

iket_levels_status iket_levels_csv(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    iket_levels_scope scope;
    iket_levels_intervals events = {.count = 0};
    iket_levels_status status = iket_levels_scope_open(&scope, levels, question, err);
    if (status == IKET_LEVELS_OK && iket_levels_scope_events(&scope, levels, IKET_LEVELS_TOUCHES, &events, err) != 0) status = IKET_LEVELS_FAILED;
    if (status == IKET_LEVELS_OK && iket_levels_scope_count(&scope, levels, &events, MOST_EVENTS) > MOST_EVENTS) {
        iket_fail(err, "more than %d events are selected (narrow the selection, or use iket-query or iket-decode on the file)", MOST_EVENTS);
        status = IKET_LEVELS_TOO_MUCH;
    }
    if (status == IKET_LEVELS_OK && put_rows(levels, &scope, &events, sink, err) != 0) status = IKET_LEVELS_FAILED;
    free(events.list);
    iket_levels_scope_clear(&scope);
    return status;
}
