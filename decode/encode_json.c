// SPDX-License-Identifier: Apache-2.0
// encode_json.c: IKET's own trace.json (doc/FORMAT.md section 5).
//
// The document wants all markers of a launch before all of its ranges, and a trace is not held. So each launch is
// replayed twice, which costs less than writing it once. What stands behind the tables is a walk over the streams, a long
// one in pieces (marks.h), cut into groups that are encoded in parallel and written in order, while the next ones are encoded:
//
//     launch 0   head | markers: stream 0, 1, 2 … | ranges: stream 0, 1, 2 … | lifetimes      launch 1   head | …
//     groups     [ ────────────────────── ][ ──────────────────── ][ ──────────────────── ][ ─── …
//
// A group may begin inside of an array; then whether a row stands before its first one is known when it is written.
#include <stdlib.h>

#include "common/array.h"
#include "common/text.h"
#include "common/version.h"
#include "decode/include/iket/encode.h"
#include "decode/json_launches.h"
#include "decode/json_rows.h"
#include "decode/marks.h"

// A group has about GROUP_EVENTS, but a piece of a stream is not divided. One with more than DIRECT_EVENTS (so deep in ranges
// that it has no marks) is encoded when its turn to be written comes, straight into the sink.
enum { ROW_BYTES = 1024, GROUP_EVENTS = 4096, DIRECT_EVENTS = 4 * IKET_MARK_EVENTS, LIFETIMES_OF_A_STEP = 1024, FLUSH_BYTES = 1024 * 1024 };

typedef enum phase { PHASE_MARKERS, PHASE_RANGES, PHASE_LIFETIMES } phase;

typedef struct position { // in the walk
    size_t entry;
    phase phase;
    uint32_t item; // a stream, or a location of the launch; behind the last one: what ends the array
    size_t mark;   // index + 1 of that from which the stream goes on; 0: its start
} position;

typedef struct bytes {
    uint8_t *data;
    size_t used, capacity;
    char apart[128 - sizeof(uint8_t *) - 2 * sizeof(size_t)]; // no cache line with another thread's: `used` grows by the row
} bytes;

typedef struct group {
    position from, to;
    bytes *bytes;            // of its slot
    uint8_t direct;          // not encoded before it is written
    uint8_t begins_with_row; // the first byte is the comma of a row, in an array that was begun by a group before
    uint8_t ends_array;      // an array begins or ends in it ...
    uint8_t has_rows;        // ... and whether the last one has rows so far
} group;

typedef struct json_writer {
    const iket_trace *trace;
    const iket_selection *selection;
    iket_pool *pool;
    iket_sink *sink;
    uint32_t *string_index;   // [string_count]: index in the written stringTable, IKET_UNKNOWN: not written
    uint32_t *location_index; // [location_count]: index in the written locationTable
    iket_json_decl *decls;    // of all modules
    size_t *first_decl;       // [module_count]: where a module's begin
    iket_json_entries entries;
    group *groups;
    size_t group_count, group_capacity;
    bytes *bytes;             // [slots]
    uint8_t array_has_rows;   // of the array in which the written groups end
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

static int describe_decls(json_writer *w, iket_error *err) {
    const iket_trace *trace = w->trace;
    size_t total = 0;
    w->first_decl = malloc((trace->module_count + 1) * sizeof *w->first_decl);
    for (size_t m = 0; m < trace->module_count && w->first_decl != NULL; m++) {
        w->first_decl[m] = total;
        total += trace->modules[m].decl_count;
    }
    w->decls = malloc((total + 1) * sizeof *w->decls);
    if (w->first_decl == NULL || w->decls == NULL) return iket_fail(err, "out of memory (%zu events)", total);
    for (size_t m = 0; m < trace->module_count; m++) {
        for (size_t i = 0; i < trace->modules[m].decl_count; i++) {
            const iket_decl *d = &trace->modules[m].decls[i];
            iket_json_describe_decl(&w->decls[w->first_decl[m] + i], d, w->string_index[d->name]);
        }
    }
    return 0;
}

// The pieces of a decl, which is most often one of the module that is being replayed.
static const iket_json_decl *pieces_of(const json_writer *w, uint32_t module, const iket_decl *decl) {
    for (size_t i = 0; i <= w->trace->module_count; i++) {
        size_t m = i == 0 ? module : i - 1;
        if (m >= w->trace->module_count) continue;
        uintptr_t at = (uintptr_t)decl, first = (uintptr_t)w->trace->modules[m].decls;
        if (at >= first && at < first + w->trace->modules[m].decl_count * sizeof *decl) return &w->decls[w->first_decl[m] + (at - first) / sizeof *decl];
    }
    return NULL; // (every decl is of a module)
}

static int make_room(bytes *b, size_t size, iket_error *err) { return IKET_RESERVE(b->data, b->used, b->capacity, size, err); }

// What a direct group hands on before it is whole.
static int pass_on(const json_writer *w, const group *g) {
    if (!g->direct || g->bytes->used < FLUSH_BYTES) return 0;
    iket_sink_write(w->sink, g->bytes->data, g->bytes->used);
    g->bytes->used = 0;
    return w->sink->failed;
}

// Adds what stands before a row: a comma, but for the first one of an array.
static char *begin_row(group *g, char *at) {
    if (!g->ends_array || g->has_rows) at = PUT(at, ",");
    if (!g->has_rows && !g->ends_array) g->begins_with_row = 1;
    g->has_rows = 1;
    return at;
}

static uint64_t events_before(const json_writer *w, size_t mark) { return mark > 0 ? w->trace->backing->marks->items[mark - 1].state.counts.events : 0; }

// Adds the markers or the ranges of a piece of a stream.
static int write_piece(const json_writer *w, group *g, iket_replay *r, const position *p, iket_error *err) {
    const iket_stream *stream = &w->trace->streams[p->item];
    const iket_event_kind kind = p->phase == PHASE_MARKERS ? IKET_EVENT_MARKER : IKET_EVENT_END;
    const uint32_t wanted = p->phase == PHASE_MARKERS ? IKET_STREAM_HAS_MARKERS : IKET_STREAM_HAS_STACK | IKET_STREAM_HAS_TOKENS;
    uint32_t location = w->location_index[stream->location], index;
    if (location == IKET_UNKNOWN || (stream->flags & wanted) == 0) return 0;
    iket_json_place place;
    iket_json_clock clock = {.size = 0};
    iket_json_describe_place(&place, location);
    bytes *b = g->bytes;
    iket_event e;
    int got = 0;
    iket_replay_fetch(w->trace, (size_t)p->item + IKET_FETCH_STREAMS);
    size_t next = iket_marks_next(w->trace->backing->marks, p->item, p->mark);
    uint64_t end = next > 0 ? events_before(w, next) : UINT64_MAX;
    if (p->mark > 0) {
        IKET_TRY(iket_replay_resume(r, &w->trace->backing->marks->items[p->mark - 1], err));
    } else {
        iket_replay_start(r, w->trace, p->item);
    }
    while (r->counts.events < end && (got = iket_replay_next(r, &e, &index, err)) > 0) {
        if (e.kind != kind || !overlaps(w, kind == IKET_EVENT_END ? e.begin.time : e.time, e.time)) continue;
        if (__builtin_expect(b->capacity - b->used < IKET_JSON_ROW_BYTES, 0)) {
            if (pass_on(w, g) != 0) return 0; // the sink keeps the error
            IKET_TRY(make_room(b, IKET_JSON_ROW_BYTES, err));
        }
        char *at = begin_row(g, (char *)b->data + b->used);
        const iket_json_decl *pieces = pieces_of(w, r->module, e.decl);
        at = kind == IKET_EVENT_MARKER ? iket_json_marker(at, &e, pieces, &place, &clock) : iket_json_range(at, &e, pieces, &place, &clock);
        b->used = (size_t)((uint8_t *)at - b->data);
    }
    return got < 0 ? -1 : 0;
}

static uint32_t lifetimes_end(const iket_launch *launch, uint32_t item) { return launch->location_count - item < LIFETIMES_OF_A_STEP ? launch->location_count : item + LIFETIMES_OF_A_STEP; }

static int write_lifetimes(const json_writer *w, group *g, const iket_launch *launch, uint32_t item, iket_error *err) {
    bytes *b = g->bytes;
    for (uint32_t i = item; i < lifetimes_end(launch, item); i++) {
        const iket_location *l = &w->trace->locations[launch->first_location + i];
        uint32_t location = w->location_index[launch->first_location + i];
        if (location == IKET_UNKNOWN) continue;
        IKET_TRY(make_room(b, ROW_BYTES, err));
        char *at = begin_row(g, (char *)b->data + b->used);
        at = iket_text_u64(PUT(at, "{\"locIdx\":"), location);
        at = iket_text_u64(PUT(at, ",\"startTs\":"), l->start);
        at = iket_text_u64(PUT(at, ",\"endTs\":"), l->end);
        at = PUT(at, "}");
        b->used = (size_t)((uint8_t *)at - b->data);
    }
    return 0;
}

// ---- launches -------------------------------------------------------------------------------------------------------

// A sink's consumer; context is a bytes.
static int add_bytes(void *context, const void *data, size_t size, iket_error *err) {
    bytes *b = context;
    IKET_TRY(make_room(b, size, err));
    memcpy(b->data + b->used, data, size);
    b->used += size;
    return 0;
}

static int add_text(bytes *b, const char *text, iket_error *err) { return add_bytes(b, text, strlen(text), err); }

static int begin_array(group *g, const char *text, iket_error *err) {
    g->ends_array = 1;
    g->has_rows = 0;
    return add_text(g->bytes, text, err);
}

// What a launch says before its rows.
static void write_head(iket_sink *s, const iket_trace *trace, const iket_launch *l) {
    iket_sink_printf(s, "{\"contextId\":%llu,\"gridId\":%llu,\"kernelName\":", (unsigned long long)l->context_id, (unsigned long long)l->grid_id);
    iket_json_string(s, trace->strings[l->kernel]);
    iket_sink_printf(s, ",\"gridDimX\":%u,\"gridDimY\":%u,\"gridDimZ\":%u,\"blockDimX\":%u,\"blockDimY\":%u,\"blockDimZ\":%u", l->grid_dim[0], l->grid_dim[1], l->grid_dim[2],
                     l->block_dim[0], l->block_dim[1], l->block_dim[2]);
    if (l->has_cluster) {
        iket_sink_printf(s, ",\"enabledCluster\":{\"x\":%u,\"y\":%u,\"z\":%u},\"singleClusterActive\":%u", l->enabled_cluster[0], l->enabled_cluster[1], l->enabled_cluster[2],
                         l->single_cluster_active);
    }
    if (l->host_start != 0) iket_sink_printf(s, ",\"hostStartNs\":%llu", (unsigned long long)l->host_start);
    if (l->host_end != 0) iket_sink_printf(s, ",\"hostEndNs\":%llu", (unsigned long long)l->host_end);
}

static int begin_launch(const json_writer *w, group *g, const iket_json_entry *e, iket_error *err) {
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 4 * ROW_BYTES, add_bytes, g->bytes, err));
    iket_sink_text(&sink, e->before != NULL ? e->before : ",\n");
    write_head(&sink, w->trace, &w->trace->launches[e->launch]);
    int result = iket_sink_close(&sink, err);
    return result == 0 ? begin_array(g, ",\"markers\":[", err) : -1;
}

// ---- the walk -------------------------------------------------------------------------------------------------------

static void start_at(const json_writer *w, position *p, size_t index, phase first) {
    *p = (position){.entry = index, .phase = first};
    if (index < w->entries.count && first != PHASE_LIFETIMES) p->item = w->entries.items[index].first_stream;
}

static int is_at(const position *a, const position *b) { return a->entry == b->entry && a->phase == b->phase && a->item == b->item && a->mark == b->mark; }

// Past what is written of a launch's streams. Returns the events that it replays.
static uint64_t step_stream(const json_writer *w, position *p) {
    uint64_t before = events_before(w, p->mark);
    p->mark = iket_marks_next(w->trace->backing->marks, p->item, p->mark);
    if (p->mark > 0) return events_before(w, p->mark) - before;
    return w->trace->streams[p->item++].event_count - before;
}

// One step: a piece of a stream, some lifetimes, or what ends an array. Returns about how many events that costs.
static uint64_t step(const json_writer *w, position *p) {
    const iket_json_entry *e = &w->entries.items[p->entry];
    if (p->phase == PHASE_LIFETIMES) {
        const iket_launch *launch = &w->trace->launches[e->launch];
        uint32_t end = lifetimes_end(launch, p->item), count = end - p->item;
        p->item = end;
        if (count > 0) return count;
        start_at(w, p, p->entry + 1, PHASE_MARKERS);
    } else if (p->item < e->end_stream) {
        return step_stream(w, p);
    } else {
        start_at(w, p, p->entry, p->phase + 1);
    }
    return 1;
}

static int write_step(const json_writer *w, group *g, iket_replay *r, const position *p, iket_error *err) {
    const iket_json_entry *e = &w->entries.items[p->entry];
    if (p->phase == PHASE_LIFETIMES) {
        const iket_launch *launch = &w->trace->launches[e->launch];
        return p->item < launch->location_count ? write_lifetimes(w, g, launch, p->item, err) : add_text(g->bytes, "]}", err);
    }
    if (p->phase == PHASE_MARKERS && p->item == e->first_stream && p->mark == 0) IKET_TRY(begin_launch(w, g, e, err));
    if (p->item < e->end_stream) return write_piece(w, g, r, p, err);
    return begin_array(g, p->phase == PHASE_MARKERS ? "],\"ranges\":[" : "],\"warpLifetimes\":[", err);
}

static int encode_group(const json_writer *w, group *g, iket_error *err) {
    iket_replay replay = {.at = NULL};
    int result = 0;
    for (position p = g->from; !is_at(&p, &g->to) && result == 0; (void)step(w, &p)) result = write_step(w, g, &replay, &p, err);
    iket_replay_free(&replay);
    return result;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

// Cuts the walk into groups.
static int plan_groups(json_writer *w, iket_error *err) {
    position at;
    start_at(w, &at, 0, PHASE_MARKERS);
    while (at.entry < w->entries.count) {
        IKET_TRY(IKET_RESERVE(w->groups, w->group_count, w->group_capacity, 1, err));
        group *g = &w->groups[w->group_count++];
        uint64_t events = 0;
        *g = (group){.from = at};
        do {
            position p = at;
            uint64_t of_step = step(w, &p);
            if (events > 0 && events + of_step > GROUP_EVENTS) break;
            events += of_step;
            at = p;
        } while (events < GROUP_EVENTS && at.entry < w->entries.count);
        g->to = at;
        g->direct = events > DIRECT_EVENTS;
    }
    return 0;
}

static int make_group(void *context, size_t index, unsigned slot, iket_error *err) {
    json_writer *w = context;
    group *g = &w->groups[index];
    g->bytes = &w->bytes[slot];
    g->bytes->used = 0;
    return g->direct ? 0 : encode_group(w, g, err);
}

static int write_group(void *context, size_t index, unsigned slot, iket_error *err) {
    (void)slot;
    json_writer *w = context;
    group *g = &w->groups[index];
    if (g->direct) {
        g->ends_array = !w->array_has_rows; // so that its first row has a comma or not
        IKET_TRY(encode_group(w, g, err));
    }
    size_t skipped = !g->direct && g->begins_with_row && !w->array_has_rows;
    iket_sink_write(w->sink, g->bytes->data + skipped, g->bytes->used - skipped);
    if (g->ends_array || g->has_rows) w->array_has_rows = g->has_rows;
    return w->sink->failed ? iket_fail(err, "%s", w->sink->error.message) : 0;
}

static int write_launches(json_writer *w, iket_error *err) {
    w->bytes = calloc(iket_pool_slots(w->pool), sizeof *w->bytes);
    if (w->bytes == NULL) return iket_fail(err, "out of memory (%u threads)", iket_pool_threads(w->pool));
    IKET_TRY(plan_groups(w, err));
    return iket_pool_run_ordered(w->pool, w->group_count, make_group, write_group, w, err);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static int write_all_launches(json_writer *w, iket_error *err) {
    iket_sink_text(w->sink, "\"launches\":");
    IKET_TRY(iket_json_order_launches(&w->entries, w->trace, w->location_index, err));
    if (w->entries.count == 0) iket_sink_text(w->sink, "[");
    IKET_TRY(write_launches(w, err));
    iket_sink_text(w->sink, w->entries.graphs > 0 ? "]}}\n" : "],\n\"graphLaunches\":{}}\n");
    return 0;
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

static void free_writer(json_writer *w) {
    for (unsigned i = 0; i < iket_pool_slots(w->pool) && w->bytes != NULL; i++) free(w->bytes[i].data);
    free(w->bytes);
    free(w->groups);
    iket_json_entries_free(&w->entries);
    free(w->decls);
    free(w->first_decl);
    free(w->string_index);
    free(w->location_index);
}

int iket_write_json(const iket_trace *trace, const iket_selection *selection, iket_pool *pool, iket_sink *sink, iket_error *err) {
    json_writer w = {.trace = trace, .selection = selection, .pool = pool, .sink = sink};
    w.string_index = malloc((trace->string_count + 1) * sizeof *w.string_index);
    w.location_index = malloc((trace->location_count + 1) * sizeof *w.location_index);
    int result = w.string_index == NULL || w.location_index == NULL ? iket_fail(err, "out of memory (%zu places)", trace->location_count) : 0;
    if (result == 0) {
        write_meta(&w);
        write_strings(&w);
        write_locations(&w);
        result = describe_decls(&w, err);
    }
    if (result == 0) result = write_all_launches(&w, err);
    free_writer(&w);
    if (result == 0 && sink->failed) result = iket_fail(err, "%s", sink->error.message);
    return result;
}
