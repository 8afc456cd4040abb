// SPDX-License-Identifier: Apache-2.0
// build_tables.c: the answer "tables" (doc/api.md), written into the file as it will be sent.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "levels/builder.h"

static void put_integer(iket_sink *sink, int64_t value, int comma) {
    uint8_t *at = iket_sink_reserve(sink, IKET_TEXT_NUMBER + 1);
    if (comma) *at++ = ',';
    iket_sink_commit(sink, (uint8_t *)iket_text_i64((char *)at, value));
}

// A column of numbers: KEY[1,2,3]
#define PUT_COLUMN(sink, key, count, expression)                                                                       \
    do {                                                                                                               \
        iket_sink_text((sink), key "[");                                                                               \
        for (size_t i = 0; i < (count); i++) put_integer((sink), (int64_t)(expression), i > 0);                        \
        iket_sink_text((sink), "]");                                                                                   \
    } while (0)

static const char *string_of(const iket_levels_builder *b, uint32_t string) { return iket_levels_strings_get(&b->names.strings, string); }

// The extra annotations of an event as JSON, "{}" for none.
static const char *extra_of(const iket_levels_builder *b, uint64_t event) {
    const iket_levels_note *notes = b->columns.note;
    uint64_t from = 0, to = b->header.note.count;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (notes[middle].event < event) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    for (; from < b->header.note.count && notes[from].event == event; from++) {
        if (notes[from].kind == IKET_LEVELS_NOTE_EXTRA) return (const char *)b->note_texts.data + notes[from].bits;
    }
    return "{}";
}

static void put_note(iket_sink *sink, int *first, const char *before, uint64_t count, const char *what) {
    char text[IKET_TEXT_NUMBER + 1], grouped[2 * IKET_TEXT_NUMBER], *to = grouped, message[512];
    *iket_text_u64(text, count) = 0;
    size_t digits = strlen(text);
    for (size_t i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0) *to++ = ',';
        *to++ = text[i];
    }
    *to = 0;
    snprintf(message, sizeof message, "%s%s%s", before, grouped, what);
    if (!*first) iket_sink_text(sink, ",");
    *first = 0;
    iket_json_string(sink, message);
}

// What was odd about the file, in plain words: the same as the page says.
static void put_notes(const iket_levels_builder *b, iket_sink *sink) {
    int first = 1;
    uint64_t open = 0;
    iket_sink_text(sink, ",\"notes\":[");
    if (b->cut > 0) put_note(sink, &first, "The file ends in the middle of a packet: ", b->cut, " bytes at its end were left out.");
    if (b->cut_why.message[0] != 0) {
        if (!first) iket_sink_text(sink, ",");
        first = 0;
        iket_json_string(sink, b->cut_why.message);
    }
    for (size_t i = 0; i < b->names.track_count; i++) open += b->names.tracks[i].depth;
    if (open > 0) put_note(sink, &first, "", open, " slices have no end in the file and are drawn with length zero.");
    if (b->unopened > 0) put_note(sink, &first, "", b->unopened, " ends of slices have no begin in the file and were left out.");
    if (b->too_deep > 0) put_note(sink, &first, "", b->too_deep, " ranges are nested deeper than 512 and were left out.");
    if (b->unknown_tracks > 0) put_note(sink, &first, "", b->unknown_tracks, " events belong to no described track and were left out.");
    iket_sink_text(sink, "]");
}

static void put_classes(const iket_levels_builder *b, iket_sink *sink) {
    iket_sink_text(sink, ",\"classes\":[");
    for (size_t i = 0; i < b->names.class_count; i++) {
        const iket_levels_class_sums *s = &b->class_sums[i];
        iket_sink_printf(sink, "%s{\"name\":%" PRIu32 ",\"kind\":%u,\"count\":%" PRIu64 ",\"min\":%" PRIu64 ",\"max\":%" PRIu64 ",\"total\":\"%" PRIu64 "\"}", i > 0 ? "," : "",
                         b->names.classes[i].name, b->names.classes[i].kind, s->count, s->min, s->max, s->total);
    }
    iket_sink_text(sink, "]");
}

static void put_nodes(const iket_levels_builder *b, iket_sink *sink) {
    const iket_levels_columns *c = &b->columns;
    iket_sink_text(sink, ",\"nodes\":{");
    PUT_COLUMN(sink, "\"kind\":", b->node_count, c->node_kind[i]);
    PUT_COLUMN(sink, ",\"parent\":", b->node_count, c->node_parent[i]);
    PUT_COLUMN(sink, ",\"last\":", b->node_count, c->node_last[i]);
    PUT_COLUMN(sink, ",\"name\":", b->node_count, c->node_name[i]);
    PUT_COLUMN(sink, ",\"a\":", b->node_count, c->node_a[i]);
    PUT_COLUMN(sink, ",\"b\":", b->node_count, c->node_b[i]);
    PUT_COLUMN(sink, ",\"c\":", b->node_count, c->node_c[i]);
    PUT_COLUMN(sink, ",\"laneFirst\":", b->node_count + 1, c->node_lane[i]);
    iket_sink_text(sink, "},\"lanes\":{");
    PUT_COLUMN(sink, "\"node\":", b->lane_count, c->lane_node[i]);
    PUT_COLUMN(sink, ",\"depth\":", b->lane_count, c->lane_depth[i]);
    PUT_COLUMN(sink, ",\"first\":", (size_t)b->lane_count + 1, c->lane_first[i]);
    iket_sink_text(sink, "}");
}

static void put_categories(const iket_levels_builder *b, iket_sink *sink) {
    iket_sink_text(sink, ",\"categories\":{");
    PUT_COLUMN(sink, "\"of\":", b->names.class_count, b->category_of[i]);
    PUT_COLUMN(sink, ",\"classes\":", (size_t)IKET_LEVELS_CATEGORIES, b->category_class[i]);
    PUT_COLUMN(sink, ",\"own\":", b->names.class_count, b->class_sums[i].own);
    iket_sink_text(sink, "}");
}

static void put_launches(const iket_levels_builder *b, iket_sink *sink) {
    const iket_levels_columns *c = &b->columns;
    iket_sink_text(sink, ",\"launches\":[");
    for (size_t i = 0; i < b->launch_count; i++) {
        uint64_t event = b->launches[i].event;
        iket_sink_printf(sink, "%s{\"node\":%" PRIu32 ",\"event\":%" PRIu64 ",\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"cls\":%u,\"extra\":", i > 0 ? "," : "", b->launches[i].node,
                         event, c->start[event], c->end[event], c->cls[event]);
        iket_sink_text(sink, extra_of(b, event));
        iket_sink_text(sink, "}");
    }
    iket_sink_text(sink, "]");
}

// A warp's lifetime: its first lane, from the first slice to the last. -1: it has none.
static int64_t warp_time(const iket_levels_builder *b, size_t warp, int want_end) {
    const iket_levels_columns *c = &b->columns;
    uint32_t node = b->warps[warp].node, lane = c->node_lane[node];
    if (lane == c->node_lane[node + 1] || c->lane_first[lane] == c->lane_first[lane + 1]) return -1;
    return (int64_t)(want_end ? c->end[c->lane_first[lane + 1] - 1] : c->start[c->lane_first[lane]]);
}

static void put_warps(const iket_levels_builder *b, iket_sink *sink) {
    iket_sink_text(sink, ",\"warps\":{");
    PUT_COLUMN(sink, "\"node\":", b->warp_count, b->warps[i].node);
    PUT_COLUMN(sink, ",\"start\":", b->warp_count, warp_time(b, i, 0));
    PUT_COLUMN(sink, ",\"end\":", b->warp_count, warp_time(b, i, 1));
    PUT_COLUMN(sink, ",\"role\":", b->warp_count, b->warps[i].role);
    iket_sink_text(sink, "}");
}

static void put_roles(const iket_levels_builder *b, iket_sink *sink) {
    size_t at = 0;
    iket_sink_text(sink, ",\"roles\":[");
    for (size_t i = 0; i < b->role_count; i++) {
        const iket_levels_role *r = &b->roles[i];
        iket_sink_printf(sink, "%s{\"class\":%" PRId32 ",\"warps\":%" PRIu64 ",\"lifetime\":%" PRId64 ",\"own\":[", i > 0 ? "," : "", r->cls, r->warps, r->lifetime);
        for (size_t first = at; at < b->role_own_count && b->role_own[at].role == i; at++) {
            iket_sink_printf(sink, "%s[%" PRIu32 ",%" PRId64 "]", at > first ? "," : "", b->role_own[at].cls, b->role_own[at].time);
        }
        iket_sink_text(sink, "]}");
    }
    iket_sink_text(sink, "]");
}

typedef struct diagnostic {
    uint64_t cls, event;
} diagnostic;

static int by_class(const void *x, const void *y) {
    const diagnostic *a = x, *b = y;
    if (a->cls != b->cls) return a->cls < b->cls ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

// By class, then in the order of events. In our files they come first of all events, so that the search ends early.
static int put_diagnostics(const iket_levels_builder *b, iket_sink *sink, iket_error *err) {
    uint64_t count = 0, found = 0;
    for (size_t i = 0; i < b->names.class_count; i++) count += b->names.classes[i].kind == IKET_LEVELS_DIAGNOSTIC ? b->class_sums[i].count : 0;
    diagnostic *list = malloc((count + 1) * sizeof *list);
    if (list == NULL) return iket_fail(err, "out of memory (%" PRIu64 " diagnostics)", count);
    for (uint64_t i = 0; i < b->event_count && found < count; i++) {
        if (b->names.classes[b->columns.cls[i]].kind == IKET_LEVELS_DIAGNOSTIC) list[found++] = (diagnostic){b->columns.cls[i], i};
    }
    qsort(list, found, sizeof *list, by_class);
    iket_sink_text(sink, ",\"diagnostics\":[");
    for (uint64_t i = 0; i < found; i++) {
        iket_sink_text(sink, i > 0 ? ",{\"text\":" : "{\"text\":");
        iket_json_string(sink, string_of(b, b->names.classes[list[i].cls].name));
        iket_sink_text(sink, ",\"extra\":");
        iket_sink_text(sink, extra_of(b, list[i].event));
        iket_sink_text(sink, "}");
    }
    iket_sink_text(sink, "]");
    free(list);
    return 0;
}

static int put_tables(const iket_levels_builder *b, iket_sink *sink, iket_error *err) {
    iket_sink_printf(sink, "{\"version\":1,\"t0\":\"%" PRIu64 "\",\"span\":%" PRIu64 ",\"device\":", b->names.t0, b->header.span);
    iket_json_string(sink, b->device != NULL ? b->device : "");
    iket_sink_printf(sink, ",\"events\":%" PRIu64 ",\"strings\":[", b->event_count);
    for (size_t i = 0; i < b->names.strings.count; i++) {
        if (i > 0) iket_sink_text(sink, ",");
        iket_json_string(sink, string_of(b, (uint32_t)i));
    }
    iket_sink_text(sink, "]");
    put_notes(b, sink);
    put_classes(b, sink);
    put_nodes(b, sink);
    put_categories(b, sink);
    put_launches(b, sink);
    put_warps(b, sink);
    put_roles(b, sink);
    IKET_TRY(put_diagnostics(b, sink, err));
    iket_sink_printf(sink, ",\"arrows\":%" PRIu64 "}", b->arrow_count);
    return 0;
}

int iket_levels_write_tables(iket_levels_builder *b, iket_error *err) {
    iket_memory text = {0};
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 0, iket_memory_flush, &text, err));
    int result = put_tables(b, &sink, err);
    if (iket_sink_close(&sink, result == 0 ? err : NULL) != 0) result = -1;
    if (result == 0) result = iket_levels_append(b, &b->header.tables_json, text.data, text.used, 1, err);
    free(text.data);
    return result;
}
