// SPDX-License-Identifier: Apache-2.0
#include "decode/json_launches.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/sink.h"
#include "common/text.h"

enum { SMALL_TEXT = 1024 };

typedef struct order {
    const iket_trace *trace;
    const uint32_t *location_index;
    iket_json_entries *entries;
} order;

static int launch_selected(const order *o, const iket_launch *launch) {
    for (uint32_t i = 0; i < launch->location_count; i++) {
        if (o->location_index[launch->first_location + i] != IKET_UNKNOWN) return 1;
    }
    return 0;
}

static iket_json_entry entry_of(const order *o, uint32_t launch) {
    const iket_launch *l = &o->trace->launches[launch];
    iket_json_entry e = {.launch = launch};
    for (uint32_t i = 0; i < l->location_count; i++) {
        const iket_location *location = &o->trace->locations[l->first_location + i];
        if (location->stream_count == 0) continue;
        if (e.end_stream == 0) e.first_stream = location->first_stream;
        e.end_stream = location->first_stream + location->stream_count;
    }
    return e;
}

// Adds a launch and those that follow it by next[], all of one array; `before` stands before the first.
static int add_launches(const order *o, uint32_t first, const uint32_t *next, const char *before, iket_error *err) {
    for (uint32_t i = first; i != IKET_UNKNOWN; i = next[i]) {
        IKET_TRY(IKET_RESERVE(o->entries->items, o->entries->count, o->entries->capacity, 1, err));
        iket_json_entry *e = &o->entries->items[o->entries->count++];
        *e = entry_of(o, i);
        if (before != NULL && (e->before = strdup(before)) == NULL) return iket_fail(err, "out of memory");
        before = NULL;
    }
    return 0;
}

// What stands between the launches of one array and the first of the next graph.
static int add_graph(const order *o, uint32_t launch, const uint32_t *next, int is_first, iket_error *err) {
    uint32_t key = o->trace->launches[launch].graph_key;
    iket_memory text = {0};
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, SMALL_TEXT, iket_memory_flush, &text, err));
    if (o->entries->count == 0) iket_sink_text(&sink, "[");
    iket_sink_text(&sink, is_first ? "],\n\"graphLaunches\":{\n" : "],\n");
    iket_json_string(&sink, o->trace->strings[key]);
    iket_sink_write(&sink, ":[\n", 4); // with its NUL
    int result = iket_sink_close(&sink, err);
    if (result == 0) result = add_launches(o, launch, next, (const char *)text.data, err);
    free(text.data);
    return result;
}

// The launches of each array in a row: first[key], and behind each launch the next of its array. first[string_count]: the eager ones.
static void link_launches(const order *o, uint32_t *first, uint32_t *next) {
    for (size_t i = 0; i <= o->trace->string_count; i++) first[i] = IKET_UNKNOWN;
    for (size_t i = o->trace->launch_count; i-- > 0;) {
        const iket_launch *l = &o->trace->launches[i];
        if (!launch_selected(o, l)) continue;
        uint32_t *link = &first[l->graph_key == IKET_UNKNOWN ? o->trace->string_count : l->graph_key];
        next[i] = *link;
        *link = (uint32_t)i;
    }
}

int iket_json_order_launches(iket_json_entries *entries, const iket_trace *trace, const uint32_t *location_index, iket_error *err) {
    const order o = {.trace = trace, .location_index = location_index, .entries = entries};
    uint32_t *first = malloc((trace->string_count + 1) * sizeof *first), *next = malloc((trace->launch_count + 1) * sizeof *next);
    int result = first == NULL || next == NULL ? iket_fail(err, "out of memory (%zu launches)", trace->launch_count) : 0;
    if (result == 0) {
        link_launches(&o, first, next);
        result = add_launches(&o, first[trace->string_count], next, "[\n", err);
    }
    for (size_t i = 0; i < trace->launch_count && result == 0; i++) {
        uint32_t key = trace->launches[i].graph_key;
        if (key == IKET_UNKNOWN || first[key] != i) continue;
        result = add_graph(&o, (uint32_t)i, next, entries->graphs == 0, err);
        entries->graphs++;
    }
    free(first);
    free(next);
    return result;
}

void iket_json_entries_free(iket_json_entries *entries) {
    for (size_t i = 0; i < entries->count; i++) free(entries->items[i].before);
    free(entries->items);
    *entries = (iket_json_entries){.count = 0};
}
