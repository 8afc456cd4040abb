// SPDX-License-Identifier: Apache-2.0
// encode_json.c: IKET's own trace.json (doc/FORMAT.md section 5).
//
// The document wants all markers of a launch before all of its ranges, and a trace is not held. So each launch is
// replayed twice, which costs less than writing it once. A row is put together from fixed pieces and decimal numbers
// straight in the sink's buffer.
#include <stdlib.h>

#include "common/text.h"
#include "common/version.h"
#include "decode/include/iket/encode.h"

enum { ROW_BYTES = 1024 }; // more than any row takes

typedef struct json_writer {
    const iket_trace *trace;
    const iket_selection *selection;
    iket_sink *sink;
    uint32_t *string_index;   // [string_count]: index in the written stringTable, IKET_UNKNOWN: not written
    uint32_t *location_index; // [location_count]: index in the written locationTable
} json_writer;

static char *put(char *at, const char *text, size_t size) {
    memcpy(at, text, size);
    return at + size;
}
#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static int overlaps(const json_writer *w, uint64_t start, uint64_t end) { return w->selection == NULL || iket_selection_overlaps(w->selection, start, end); }

static int location_selected(const json_writer *w, size_t i) {
    if (w->selection != NULL && !w->selection->locations[i]) return 0;
    return overlaps(w, w->trace->locations[i].start, w->trace->locations[i].end);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static void write_strings(json_writer *w) {
    uint32_t next = 0;
    for (size_t i = 0; i < w->trace->string_count; i++) w->string_index[i] = IKET_UNKNOWN;
    iket_sink_text(w->sink, "\"stringTable\":[");
    for (size_t m = 0; m < w->trace->module_count; m++) {
        for (size_t d = 0; d < w->trace->modules[m].decl_count; d++) {
            uint32_t name = w->trace->modules[m].decls[d].name;
            if (w->string_index[name] != IKET_UNKNOWN) continue;
            if (next > 0) iket_sink_text(w->sink, ",");
            iket_json_string(w->sink, w->trace->strings[name]);
            w->string_index[name] = next++;
        }
    }
    iket_sink_text(w->sink, "],\n");
}

static char *put_known(char *at, uint32_t value) { return value == IKET_UNKNOWN ? PUT(at, "-1") : iket_text_u64(at, value); }

static void write_locations(json_writer *w) {
    uint32_t next = 0;
    iket_sink_text(w->sink, "\"locationTable\":[");
    for (size_t i = 0; i < w->trace->location_count; i++) {
        const iket_location *l = &w->trace->locations[i];
        w->location_index[i] = IKET_UNKNOWN;
        if (!location_selected(w, i)) continue;
        char *at = (char *)iket_sink_reserve(w->sink, ROW_BYTES);
        if (next > 0) at = PUT(at, ",\n");
        at = put_known(PUT(at, "{\"smId\":"), l->sm);
        at = put_known(PUT(at, ",\"tpcId\":"), l->tpc);
        at = put_known(PUT(at, ",\"gpcId\":"), l->gpc);
        at = iket_text_u64(PUT(at, ",\"ctaId\":["), l->cta[0]);
        at = iket_text_u64(PUT(at, ","), l->cta[1]);
        at = iket_text_u64(PUT(at, ","), l->cta[2]);
        at = iket_text_u64(PUT(at, "],\"warpId\":"), l->warp);
        at = PUT(at, "}");
        iket_sink_commit(w->sink, (uint8_t *)at);
        w->location_index[i] = next++;
    }
    iket_sink_text(w->sink, "],\n");
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static char *put_payload(char *at, iket_payload payload) {
    if (payload.type == IKET_PAYLOAD_NONE) return at;
    at = iket_text_u64(PUT(at, ",\"payloadType\":"), payload.type);
    at = iket_text_u64(PUT(at, ",\"payloadVal\":"), payload.bits);
    at = PUT(at, ",\"payload\":");
    return at + iket_payload_text(payload, at);
}

static char *put_marker(const json_writer *w, char *at, const iket_event *e, uint32_t location) {
    at = iket_text_u64(PUT(at, "{\"locIdx\":"), location);
    at = iket_text_u64(PUT(at, ",\"markerNameIdx\":"), w->string_index[e->decl->name]);
    at = iket_text_u64(PUT(at, ",\"timestamp\":"), e->time);
    at = iket_text_u64(PUT(at, ",\"color\":"), e->decl->color);
    return PUT(put_payload(at, e->payload), "}");
}

static char *put_internal(char *at, uint32_t event_id, uint64_t time, iket_payload payload) {
    at = PUT(at, "{");
    if (event_id != IKET_UNKNOWN) at = PUT(iket_text_u64(PUT(at, "\"eventId\":"), event_id), ",");
    at = iket_text_u64(PUT(at, "\"timestamp\":"), time);
    return PUT(put_payload(at, payload), "}");
}

static char *put_range(const json_writer *w, char *at, const iket_event *e, uint32_t location) {
    const iket_decl *d = e->decl;
    at = iket_text_u64(PUT(at, "{\"rangeNameIdx\":"), w->string_index[d->name]);
    at = iket_text_u64(PUT(at, ",\"startTs\":"), e->begin.time);
    at = iket_text_u64(PUT(at, ",\"endTs\":"), e->time);
    at = iket_text_u64(PUT(at, ",\"warpLocIdxs\":["), location);
    at = iket_text_u64(PUT(at, ","), location);
    at = put_internal(PUT(at, "],\"internalEvents\":["), d->event_id, e->begin.time, e->begin.payload);
    if (!e->unclosed) at = put_internal(PUT(at, ","), d->end_event_id, e->recorded, e->payload);
    at = iket_text_u64(PUT(at, "],\"rangeId\":"), d->range_id);
    at = iket_text_u64(PUT(at, ",\"rangeType\":"), d->range_type);
    at = iket_text_u64(PUT(at, ",\"rangeScope\":"), d->range_scope);
    at = iket_text_u64(PUT(at, ",\"rangeColor\":"), d->color);
    if (e->unclosed) at = PUT(at, ",\"unclosed\":true");
    return PUT(at, "}");
}

// Writes the markers or the ranges of one stream; *written tells whether a row stands before.
static int write_stream(json_writer *w, size_t stream, iket_event_kind kind, int *written, iket_error *err) {
    iket_cursor cursor;
    iket_event e;
    int got = iket_cursor_open(&cursor, w->trace, stream, err) == 0 ? 1 : -1;
    uint32_t location = w->location_index[w->trace->streams[stream].location];
    while (got > 0 && !w->sink->failed) {
        got = iket_cursor_next(&cursor, &e, err);
        if (got <= 0 || e.kind != kind) continue;
        if (!overlaps(w, kind == IKET_EVENT_END ? e.begin.time : e.time, e.time)) continue;
        char *at = (char *)iket_sink_reserve(w->sink, ROW_BYTES);
        if (*written) at = PUT(at, ",");
        at = kind == IKET_EVENT_MARKER ? put_marker(w, at, &e, location) : put_range(w, at, &e, location);
        iket_sink_commit(w->sink, (uint8_t *)at);
        *written = 1;
    }
    iket_cursor_close(&cursor);
    return got < 0 ? -1 : 0;
}

static int write_events(json_writer *w, const iket_launch *launch, iket_event_kind kind, iket_error *err) {
    const uint32_t unwanted = kind == IKET_EVENT_MARKER ? ~(uint32_t)IKET_STREAM_HAS_MARKERS : ~(uint32_t)(IKET_STREAM_HAS_STACK | IKET_STREAM_HAS_TOKENS);
    int written = 0;
    for (uint32_t i = 0; i < launch->location_count; i++) {
        const iket_location *l = &w->trace->locations[launch->first_location + i];
        if (w->location_index[launch->first_location + i] == IKET_UNKNOWN) continue;
        for (uint32_t s = 0; s < l->stream_count; s++) {
            if ((w->trace->streams[l->first_stream + s].flags & ~unwanted) == 0) continue;
            IKET_TRY(write_stream(w, l->first_stream + s, kind, &written, err));
        }
    }
    return 0;
}

static void write_lifetimes(json_writer *w, const iket_launch *launch) {
    int written = 0;
    for (uint32_t i = 0; i < launch->location_count; i++) {
        const iket_location *l = &w->trace->locations[launch->first_location + i];
        if (w->location_index[launch->first_location + i] == IKET_UNKNOWN) continue;
        char *at = (char *)iket_sink_reserve(w->sink, ROW_BYTES);
        if (written) at = PUT(at, ",");
        at = iket_text_u64(PUT(at, "{\"locIdx\":"), w->location_index[launch->first_location + i]);
        at = iket_text_u64(PUT(at, ",\"startTs\":"), l->start);
        at = iket_text_u64(PUT(at, ",\"endTs\":"), l->end);
        at = PUT(at, "}");
        iket_sink_commit(w->sink, (uint8_t *)at);
        written = 1;
    }
}

// ---- launches -------------------------------------------------------------------------------------------------------

static int launch_selected(const json_writer *w, const iket_launch *launch) {
    for (uint32_t i = 0; i < launch->location_count; i++) {
        if (w->location_index[launch->first_location + i] != IKET_UNKNOWN) return 1;
    }
    return 0;
}

static int write_launch(json_writer *w, const iket_launch *l, iket_error *err) {
    iket_sink *s = w->sink;
    iket_sink_printf(s, "{\"contextId\":%llu,\"gridId\":%llu,\"kernelName\":", (unsigned long long)l->context_id, (unsigned long long)l->grid_id);
    iket_json_string(s, w->trace->strings[l->kernel]);
    iket_sink_printf(s, ",\"gridDimX\":%u,\"gridDimY\":%u,\"gridDimZ\":%u,\"blockDimX\":%u,\"blockDimY\":%u,\"blockDimZ\":%u", l->grid_dim[0], l->grid_dim[1], l->grid_dim[2],
                     l->block_dim[0], l->block_dim[1], l->block_dim[2]);
    if (l->has_cluster) {
        iket_sink_printf(s, ",\"enabledCluster\":{\"x\":%u,\"y\":%u,\"z\":%u},\"singleClusterActive\":%u", l->enabled_cluster[0], l->enabled_cluster[1], l->enabled_cluster[2],
                         l->single_cluster_active);
    }
    if (l->host_start != 0) iket_sink_printf(s, ",\"hostStartNs\":%llu", (unsigned long long)l->host_start);
    if (l->host_end != 0) iket_sink_printf(s, ",\"hostEndNs\":%llu", (unsigned long long)l->host_end);
    iket_sink_text(s, ",\"markers\":[");
    IKET_TRY(write_events(w, l, IKET_EVENT_MARKER, err));
    iket_sink_text(s, "],\"ranges\":[");
    IKET_TRY(write_events(w, l, IKET_EVENT_END, err));
    iket_sink_text(s, "],\"warpLifetimes\":[");
    write_lifetimes(w, l);
    iket_sink_text(s, "]}");
    return 0;
}

// The launches of one graph key (IKET_UNKNOWN: the eager ones) as an array.
static int write_launches(json_writer *w, uint32_t graph_key, size_t first, iket_error *err) {
    int written = 0;
    iket_sink_text(w->sink, "[");
    for (size_t i = first; i < w->trace->launch_count; i++) {
        const iket_launch *l = &w->trace->launches[i];
        if (l->graph_key != graph_key || !launch_selected(w, l)) continue;
        iket_sink_text(w->sink, written ? ",\n" : "\n");
        IKET_TRY(write_launch(w, l, err));
        written = 1;
    }
    iket_sink_text(w->sink, "]");
    return 0;
}

static int write_graphs(json_writer *w, iket_error *err) {
    uint8_t *done = calloc(w->trace->string_count + 1, 1);
    if (done == NULL) return iket_fail(err, "out of memory (%zu names)", w->trace->string_count);
    int written = 0, result = 0;
    iket_sink_text(w->sink, ",\n\"graphLaunches\":{");
    for (size_t i = 0; i < w->trace->launch_count && result == 0; i++) {
        const iket_launch *l = &w->trace->launches[i];
        if (l->graph_key == IKET_UNKNOWN || done[l->graph_key] || !launch_selected(w, l)) continue;
        done[l->graph_key] = 1;
        iket_sink_text(w->sink, written ? ",\n" : "\n");
        iket_json_string(w->sink, w->trace->strings[l->graph_key]);
        iket_sink_text(w->sink, ":");
        result = write_launches(w, l->graph_key, i, err);
        written = 1;
    }
    iket_sink_text(w->sink, "}}\n");
    free(done);
    return result;
}

static void write_meta(json_writer *w) {
    static const char *const sources[] = {[IKET_SOURCE_DUMP] = "dump", [IKET_SOURCE_COLLECTOR] = "collector", [IKET_SOURCE_JSON] = "trace.json"};
    iket_sink_printf(w->sink, "{\"meta\":{\"version\":1,\"generator\":\"iket-decode %s\",\"source\":\"%s\",\"pid\":%llu", IKET_VERSION, sources[w->trace->source],
                     (unsigned long long)w->trace->pid);
    if (w->trace->device_json != NULL) {
        iket_sink_text(w->sink, ",\"device\":");
        iket_sink_text(w->sink, w->trace->device_json);
    }
    const char *separator = "";
    iket_sink_text(w->sink, "},\n\"diagnostics\":{");
#define WRITE_COUNTER(name) iket_sink_printf(w->sink, "%s\"" #name "\":%llu", separator, (unsigned long long)w->trace->diagnostics.name), separator = ",";
    IKET_DIAGNOSTICS(WRITE_COUNTER)
#undef WRITE_COUNTER
    iket_sink_text(w->sink, "},\n");
}

int iket_write_json(const iket_trace *trace, const iket_selection *selection, iket_sink *sink, iket_error *err) {
    json_writer w = {.trace = trace, .selection = selection, .sink = sink};
    w.string_index = malloc((trace->string_count + 1) * sizeof *w.string_index);
    w.location_index = malloc((trace->location_count + 1) * sizeof *w.location_index);
    int result = w.string_index == NULL || w.location_index == NULL ? iket_fail(err, "out of memory (%zu places)", trace->location_count) : 0;
    if (result == 0) {
        write_meta(&w);
        write_strings(&w);
        write_locations(&w);
        iket_sink_text(sink, "\"launches\":");
        result = write_launches(&w, IKET_UNKNOWN, 0, err);
        if (result == 0) result = write_graphs(&w, err);
    }
    free(w.string_index);
    free(w.location_index);
    if (result == 0 && sink->failed) result = iket_fail(err, "%s", sink->error.message);
    return result;
}
