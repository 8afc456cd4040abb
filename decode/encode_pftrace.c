// SPDX-License-Identifier: Apache-2.0
// encode_pftrace.c: the whole trace as one packet sequence, sorted by time over all warps (doc/pftrace.md).
//
//     waiting: sources by first time     [ launch | warp | stream | warp | … ]
//                                            │ when their time comes
//     heap of live sources by (next time, source) ──▶ least ──▶ packets
//
// A source is a launch (its slice), a warp (its lifetime with its first stream inside) or a further stream. Only live
// sources hold a cursor, so memory follows the warps that run at once. Within a source the order is that of the records;
// a time that runs backwards is moved up to the one before it, and kept beside the event.
#include <stdlib.h>

#include "common/array.h"
#include "common/utf8.h"
#include "decode/pftrace.h"
#include "decode/window.h"

enum {
    DEPTH_MAX = 500, // Perfetto keeps 512 a track
    KIND_LAUNCH = 0, KIND_WARP, KIND_STREAM,
    RANK_RANGES = 0, RANK_MARKERS, RANK_TOKENS, RANKS_OF_A_STREAM = 1000,
    QUEUES_MAX = 128, // that many kernels run at once on a GPU
};

typedef struct token_track {
    const iket_decl *decl;
    uint32_t uuid;
} token_track;

typedef struct source {
    uint64_t next;       // time of its next event
    uint32_t id;         // position in the order of sources, which settles equal times
    uint8_t kind, stage; // stage of a launch or lifetime: 0 to begin, 1 begun
    uint8_t has_window, has_ahead;
    uint32_t index;      // of the launch, location or stream
    uint32_t location;
    uint32_t warp_uuid, range_uuid, marker_uuid;
    token_track *tokens;
    size_t token_count, token_capacity;
    iket_window window;
    iket_event ahead;
    uint64_t last;       // least time its next event may have
} source;

typedef struct waiting {
    uint64_t time;
    uint32_t id;
} waiting;

typedef struct encoder {
    iket_pf pf;
    iket_pf_tracks tracks;
    waiting *waiting;
    size_t waiting_count, waiting_next;
    source **heap;
    size_t heap_count, heap_capacity;
    uint32_t *warp_uuid;  // [location_count]: shared by the streams of a warp
    uint32_t *queue;      // [launch_count]: row in which the launch overlaps no other, from 1; 0: there was none left
    uint32_t queue_count;
    uint64_t row_uuid[QUEUES_MAX]; // of the overview's rows; the first is the root track
} encoder;

// ---- sources --------------------------------------------------------------------------------------------------------

// Whether a warp's first stream nests inside its lifetime, so that both share the warp's track.
static int nests(const iket_trace *trace, const iket_location *l) {
    if (l->stream_count == 0) return 0;
    const iket_stream *s = &trace->streams[l->first_stream];
    if (s->event_count == 0) return 1;
    return (s->flags & IKET_STREAM_BACKWARDS) == 0 && s->first_time >= l->start && s->last_time <= l->end;
}

static int by_time(const void *a, const void *b) {
    const waiting *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void wait_for(encoder *e, uint64_t time, size_t id) { e->waiting[e->waiting_count++] = (waiting){time, (uint32_t)id}; }

// Source ids: launches, then locations, then streams.
static int collect(encoder *e, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    size_t most = trace->launch_count + trace->location_count + trace->stream_count;
    e->waiting = malloc((most + 1) * sizeof *e->waiting);
    e->warp_uuid = calloc(trace->location_count + 1, sizeof *e->warp_uuid);
    if (e->waiting == NULL || e->warp_uuid == NULL) return iket_fail(err, "out of memory (%zu streams)", trace->stream_count);
    for (size_t i = 0; i < trace->launch_count; i++) {
        if (iket_pf_launch_selected(&e->pf, i)) wait_for(e, trace->launches[i].start, i);
    }
    for (size_t i = 0; i < trace->location_count; i++) {
        const iket_location *l = &trace->locations[i];
        if (!iket_pf_location_selected(&e->pf, i)) continue;
        wait_for(e, l->start, trace->launch_count + i);
        for (uint32_t s = nests(trace, l) ? 1 : 0; s < l->stream_count; s++) {
            const iket_stream *stream = &trace->streams[l->first_stream + s];
            if (stream->event_count > 0) wait_for(e, stream->first_time, trace->launch_count + trace->location_count + l->first_stream + s);
        }
    }
    int sorted = 1;
    for (size_t i = 1; i < e->waiting_count && sorted; i++) sorted = by_time(&e->waiting[i - 1], &e->waiting[i]) <= 0;
    if (!sorted) qsort(e->waiting, e->waiting_count, sizeof *e->waiting, by_time);
    return 0;
}

static void free_source(source *s) {
    if (s == NULL) return;
    if (s->has_window) iket_window_close(&s->window);
    free(s->tokens);
    free(s);
}

static int open_stream(encoder *e, source *s, size_t stream, iket_error *err) {
    const iket_selection *selection = e->pf.selection;
    s->has_window = 1;
    return iket_window_open(&s->window, e->pf.trace, stream, selection != NULL ? selection->from : 0, selection != NULL ? selection->to : UINT64_MAX, err);
}

// Reads the stream's next event into s->ahead. Its packet time is not before the source's last one.
static int read_ahead(source *s, iket_error *err) {
    int got = s->has_window ? iket_window_next(&s->window, &s->ahead, err) : 0;
    if (got < 0) return -1;
    s->has_ahead = got > 0;
    if (s->has_ahead) s->next = s->ahead.time > s->last ? s->ahead.time : s->last;
    return 0;
}

static source *open_source(encoder *e, uint32_t id, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    source *s = calloc(1, sizeof *s);
    if (s == NULL) {
        iket_fail(err, "out of memory (a warp)");
        return NULL;
    }
    s->id = id;
    int result = 0;
    if (id < trace->launch_count) {
        s->kind = KIND_LAUNCH;
        s->index = id;
        s->next = trace->launches[id].start;
    } else if (id - trace->launch_count < trace->location_count) {
        s->kind = KIND_WARP;
        s->index = s->location = id - (uint32_t)trace->launch_count;
        const iket_location *l = &trace->locations[s->index];
        s->next = s->last = l->start;
        if (nests(trace, l)) result = open_stream(e, s, l->first_stream, err);
    } else {
        s->kind = KIND_STREAM;
        s->index = id - (uint32_t)(trace->launch_count + trace->location_count);
        s->location = trace->streams[s->index].location;
        result = open_stream(e, s, s->index, err);
        if (result == 0) result = read_ahead(s, err);
    }
    if (result == 0) return s;
    free_source(s);
    return NULL;
}

// ---- tracks of a stream ---------------------------------------------------------------------------------------------

static uint32_t warp_track(encoder *e, source *s, iket_error *err) {
    uint32_t *uuid = &e->warp_uuid[s->location];
    if (*uuid == 0) *uuid = (uint32_t)iket_pf_warp_track(&e->tracks, s->location, err);
    return *uuid;
}

// A track below the warp's for one kind of event of one stream: "markers", or "lane 5 markers" past the first stream.
static uint32_t leaf_track(encoder *e, source *s, const char *what, const char *name, int32_t rank, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    const iket_location *l = &trace->locations[s->location];
    uint32_t stream = s->kind == KIND_WARP ? l->first_stream : s->index, number = stream - l->first_stream;
    uint32_t warp = warp_track(e, s, err);
    if (warp == 0) return 0;
    char prefix[32] = "";
    if (number > 0 && trace->streams[stream].lane != IKET_UNKNOWN) snprintf(prefix, sizeof prefix, "lane %u ", trace->streams[stream].lane);
    if (number > 0 && trace->streams[stream].lane == IKET_UNKNOWN) snprintf(prefix, sizeof prefix, "stream %u ", number);
    size_t room = strlen(prefix) + strlen(what) + strlen(name) + 1;
    char *text = malloc(room);
    if (text == NULL) {
        iket_fail(err, "out of memory (a track)");
        return 0;
    }
    snprintf(text, room, "%s%s%s", prefix, what, name);
    uint32_t uuid = (uint32_t)iket_pf_new_track(&e->tracks, warp, text, (int32_t)(number % 1000000) * RANKS_OF_A_STREAM + rank, 0, err);
    free(text);
    return uuid;
}

static uint32_t token_track_of(encoder *e, source *s, const iket_decl *decl, iket_error *err) {
    for (size_t i = 0; i < s->token_count; i++) {
        if (s->tokens[i].decl == decl) return s->tokens[i].uuid;
    }
    if (IKET_RESERVE(s->tokens, s->token_count, s->token_capacity, 1, err) != 0) return 0;
    uint32_t uuid = leaf_track(e, s, "token ", e->pf.trace->strings[decl->name], RANK_TOKENS + (int32_t)(s->token_count % (RANKS_OF_A_STREAM - RANK_TOKENS)), err);
    s->tokens[s->token_count++] = (token_track){decl, uuid};
    return uuid;
}

static uint32_t range_track(encoder *e, source *s, iket_error *err) {
    if (s->kind == KIND_WARP) return warp_track(e, s, err);
    if (s->range_uuid == 0) s->range_uuid = leaf_track(e, s, "ranges", "", RANK_RANGES, err);
    return s->range_uuid;
}

// ---- events ---------------------------------------------------------------------------------------------------------

static int write_stream_event(encoder *e, source *s, iket_error *err) {
    const iket_event *event = &s->ahead;
    iket_pf_extra extra = {.unclosed = event->unclosed};
    int is_token = event->decl->pos == IKET_POS_TOKEN, type = IKET_PF_INSTANT, category = IKET_PF_CAT_MARKER;
    uint32_t track;
    if (event->kind == IKET_EVENT_MARKER) {
        if (s->marker_uuid == 0) s->marker_uuid = leaf_track(e, s, "markers", "", RANK_MARKERS, err);
        track = s->marker_uuid;
        e->pf.facts.instants++;
    } else {
        type = event->kind == IKET_EVENT_BEGIN ? IKET_PF_BEGIN : IKET_PF_END;
        category = is_token ? IKET_PF_CAT_TOKEN : IKET_PF_CAT_RANGE;
        if (!is_token && event->depth >= DEPTH_MAX) {
            e->pf.facts.too_deep += type == IKET_PF_BEGIN;
            return 0;
        }
        track = is_token ? token_track_of(e, s, event->decl, err) : range_track(e, s, err);
        e->pf.facts.slices += type == IKET_PF_BEGIN;
    }
    if (track == 0) return -1;
    if (type == IKET_PF_END) {
        extra.end_payload = event->payload;
    } else {
        extra.payload = event->payload;
    }
    if (event->recorded < s->next && !event->unclosed) {
        extra.has_recorded = 1;
        extra.recorded_at = event->recorded;
    }
    iket_pf_event(&e->pf, s->next, type, track, iket_pf_string_iid(event->decl->name), category, &extra);
    return 0;
}

// The next event of a warp: begin of its lifetime, its stream's events, end of its lifetime. 1: there is more, 0: done.
static int step_warp(encoder *e, source *s, iket_error *err) {
    const iket_location *l = &e->pf.trace->locations[s->location];
    uint32_t track = warp_track(e, s, err);
    if (track == 0) return -1;
    if (s->stage == 0) {
        iket_pf_event(&e->pf, s->next, IKET_PF_BEGIN, track, iket_pf_lifetime_iid(e->pf.trace), IKET_PF_CAT_LIFETIME, NULL);
        e->pf.facts.slices++;
        s->stage = 1;
    } else if (s->has_ahead) {
        IKET_TRY(write_stream_event(e, s, err));
    } else {
        iket_pf_event(&e->pf, s->next, IKET_PF_END, track, 0, 0, NULL);
        return 0;
    }
    s->last = s->next;
    IKET_TRY(read_ahead(s, err));
    if (!s->has_ahead) s->next = l->end > s->last ? l->end : s->last;
    return 1;
}

static int step_stream(encoder *e, source *s, iket_error *err) {
    if (!s->has_ahead) return 0;
    IKET_TRY(write_stream_event(e, s, err));
    s->last = s->next;
    IKET_TRY(read_ahead(s, err));
    return s->has_ahead;
}

// ---- launches -------------------------------------------------------------------------------------------------------

enum { LAUNCH_NOTES = 10 };

typedef struct launch_notes {
    Iket__Perfetto__DebugAnnotation notes[LAUNCH_NOTES], *list[LAUNCH_NOTES];
    size_t count;
} launch_notes;

static Iket__Perfetto__DebugAnnotation *add_note(launch_notes *n, int name) {
    Iket__Perfetto__DebugAnnotation *a = &n->notes[n->count];
    iket__perfetto__debug_annotation__init(a);
    a->has_name_iid = 1;
    a->name_iid = (uint64_t)name;
    n->list[n->count++] = a;
    return a;
}

static void note_number(launch_notes *n, int name, uint64_t value) {
    Iket__Perfetto__DebugAnnotation *a = add_note(n, name);
    a->has_uint_value = 1;
    a->uint_value = value;
}

static int begin_launch(encoder *e, source *s, uint64_t track, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    const iket_launch *l = &trace->launches[s->index];
    char grid[48], block[48];
    snprintf(grid, sizeof grid, "%u x %u x %u", l->grid_dim[0], l->grid_dim[1], l->grid_dim[2]);
    snprintf(block, sizeof block, "%u x %u x %u", l->block_dim[0], l->block_dim[1], l->block_dim[2]);
    launch_notes notes = {.count = 0};
    note_number(&notes, IKET_PF_NAME_LAUNCH, l->ordinal);
    note_number(&notes, IKET_PF_NAME_GRID_ID, l->grid_id);
    note_number(&notes, IKET_PF_NAME_CONTEXT_ID, l->context_id);
    add_note(&notes, IKET_PF_NAME_GRID)->string_value = grid;
    add_note(&notes, IKET_PF_NAME_BLOCK)->string_value = block;
    if (l->graph_key != IKET_UNKNOWN) add_note(&notes, IKET_PF_NAME_GRAPH_KEY)->string_value = trace->strings[l->graph_key];
    note_number(&notes, IKET_PF_NAME_WARPS, l->location_count);
    note_number(&notes, IKET_PF_NAME_SMS, e->tracks.sm_of_launch[s->index]);
    note_number(&notes, IKET_PF_NAME_MARKERS, l->marker_count);
    note_number(&notes, IKET_PF_NAME_RANGES, l->range_count);
    uint64_t category = IKET_PF_CAT_LAUNCH;
    Iket__Perfetto__TrackEvent event = IKET__PERFETTO__TRACK_EVENT__INIT;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.n_debug_annotations = notes.count;
    event.debug_annotations = notes.list;
    event.has_type = event.has_name_iid = event.has_track_uuid = 1;
    event.type = IKET_PF_BEGIN;
    event.name_iid = iket_pf_string_iid(l->kernel);
    event.track_uuid = track;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.track_event = &event;
    e->pf.facts.slices++;
    return iket_pf_packet(&e->pf, &packet, 1, s->next, err);
}

// For Perfetto's compute tab and its gpu_slice table.
static int render_stage(encoder *e, source *s, iket_error *err) {
    const iket_launch *l = &e->pf.trace->launches[s->index];
    Iket__Perfetto__GpuRenderStageEvent__Dim3 dims[2] = {IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__DIM3__INIT, IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__DIM3__INIT};
    for (int i = 0; i < 2; i++) {
        const uint32_t *from = i == 0 ? l->grid_dim : l->block_dim;
        dims[i].has_x = dims[i].has_y = dims[i].has_z = 1;
        dims[i].x = from[0];
        dims[i].y = from[1];
        dims[i].z = from[2];
    }
    Iket__Perfetto__GpuRenderStageEvent__Launch launch = IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__LAUNCH__INIT;
    launch.grid_size = &dims[0];
    launch.workgroup_size = &dims[1];
    Iket__Perfetto__GpuRenderStageEvent stage = IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__INIT;
    stage.has_event_id = stage.has_duration = stage.has_context = stage.has_hw_queue_iid = stage.has_stage_iid = 1;
    stage.event_id = (uint64_t)s->index + 1;
    stage.duration = l->end - l->start;
    stage.context = 1;
    stage.hw_queue_iid = iket_pf_queue_iid(e->pf.trace, e->queue[s->index] > 0 ? e->queue[s->index] : QUEUES_MAX);
    stage.stage_iid = iket_pf_string_iid(l->kernel);
    stage.name = e->pf.trace->strings[l->kernel];
    stage.launch = &launch;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.gpu_render_stage_event = &stage;
    return iket_pf_packet(&e->pf, &packet, 1, s->next, err);
}

// The root's own row, which Perfetto shows at once; its slices say how much a launch holds. Launches that overlap go into
// rows below it.
static int begin_row(encoder *e, source *s, iket_error *err) {
    const iket_launch *l = &e->pf.trace->launches[s->index];
    if (e->queue[s->index] == 0) return 0;
    uint64_t *uuid = &e->row_uuid[e->queue[s->index] - 1], category = IKET_PF_CAT_OVERVIEW;
    if (e->queue[s->index] == 1) *uuid = e->tracks.root;
    if (*uuid == 0) *uuid = iket_pf_new_track(&e->tracks, e->tracks.root, "Launches at the same time", (int32_t)e->queue[s->index], 0, err);
    if (*uuid == 0) return -1;
    char name[256];
    snprintf(name, sizeof name, "%.120s", e->pf.trace->strings[l->kernel]);
    while (name[0] != 0 && !iket_utf8_valid(name, strlen(name))) name[strlen(name) - 1] = 0; // cut between characters
    size_t used = strlen(name);
    snprintf(name + used, sizeof name - used, "%s: %u warps, %llu events", strlen(e->pf.trace->strings[l->kernel]) > used ? "…" : "", l->location_count,
             (unsigned long long)(l->marker_count + l->range_count));
    Iket__Perfetto__TrackEvent event = IKET__PERFETTO__TRACK_EVENT__INIT;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.has_type = event.has_track_uuid = 1;
    event.type = IKET_PF_BEGIN;
    event.name = name;
    event.track_uuid = *uuid;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.track_event = &event;
    e->pf.facts.slices++;
    return iket_pf_packet(&e->pf, &packet, 1, s->next, err);
}

static int step_launch(encoder *e, source *s, iket_error *err) {
    uint64_t track = iket_pf_launch_track(&e->tracks, s->index, err);
    if (track == 0) return -1;
    if (s->stage == 1) {
        iket_pf_event(&e->pf, s->next, IKET_PF_END, track, 0, 0, NULL);
        if (e->queue[s->index] > 0) iket_pf_event(&e->pf, s->next, IKET_PF_END, e->row_uuid[e->queue[s->index] - 1], 0, 0, NULL);
        return 0;
    }
    IKET_TRY(begin_row(e, s, err));
    IKET_TRY(render_stage(e, s, err));
    IKET_TRY(begin_launch(e, s, track, err));
    s->stage = 1;
    s->next = e->pf.trace->launches[s->index].end;
    return 1;
}

// Launches that run at once go into different rows and queues, since slices of one do not overlap.
static int assign_queues(encoder *e, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    uint64_t busy_until[QUEUES_MAX] = {0};
    e->queue = calloc(trace->launch_count + 1, sizeof *e->queue);
    if (e->queue == NULL) return iket_fail(err, "out of memory (%zu launches)", trace->launch_count);
    for (size_t i = 0; i < e->waiting_count; i++) {
        if (e->waiting[i].id >= trace->launch_count) continue;
        const iket_launch *l = &trace->launches[e->waiting[i].id];
        uint32_t q = 0;
        while (q < e->queue_count && busy_until[q] > l->start) q++;
        if (q == QUEUES_MAX) continue;
        if (q == e->queue_count) e->queue_count++;
        busy_until[q] = l->end;
        e->queue[e->waiting[i].id] = q + 1;
    }
    return 0;
}

// ---- diagnostics ----------------------------------------------------------------------------------------------------

static int write_diagnostic(encoder *e, uint64_t *group, int32_t rank, const char *counter, uint64_t count, const char *text, iket_error *err) {
    if (*group == 0) *group = iket_pf_new_track(&e->tracks, e->tracks.root, "Diagnostics", 0, 1, err);
    uint64_t track = *group != 0 ? iket_pf_new_track(&e->tracks, *group, counter, rank, 0, err) : 0;
    if (track == 0) return -1;
    launch_notes notes = {.count = 0};
    add_note(&notes, IKET_PF_NAME_COUNTER)->string_value = (char *)(uintptr_t)counter;
    note_number(&notes, IKET_PF_NAME_COUNT, count);
    uint64_t category = IKET_PF_CAT_DIAGNOSTIC;
    Iket__Perfetto__TrackEvent event = IKET__PERFETTO__TRACK_EVENT__INIT;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.n_debug_annotations = notes.count;
    event.debug_annotations = notes.list;
    event.has_type = event.has_track_uuid = 1;
    event.type = IKET_PF_INSTANT;
    event.name = (char *)(uintptr_t)text;
    event.track_uuid = track;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.track_event = &event;
    e->pf.facts.instants++;
    return iket_pf_packet(&e->pf, &packet, 1, e->pf.now, err);
}

static int write_diagnostics(encoder *e, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    uint64_t group = 0;
    int32_t rank = 0;
    char text[512];
#define WRITE(name)                                                                                                    \
    if (trace->diagnostics.name > 0) {                                                                                 \
        iket_diagnostic_text(#name, trace->diagnostics.name, text, sizeof text);                                       \
        IKET_TRY(write_diagnostic(e, &group, rank++, #name, trace->diagnostics.name, text, err));                      \
    }
    IKET_DIAGNOSTICS(WRITE)
#undef WRITE
    for (size_t i = 0; i < trace->note_count; i++) IKET_TRY(write_diagnostic(e, &group, rank++, "note", trace->notes[i].count, trace->notes[i].text, err));
    return 0;
}

// ---- the merge ------------------------------------------------------------------------------------------------------

static int before(const source *a, const source *b) { return a->next != b->next ? a->next < b->next : a->id < b->id; }

static void sift_down(encoder *e, size_t at) {
    source *moving = e->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= e->heap_count) break;
        if (child + 1 < e->heap_count && before(e->heap[child + 1], e->heap[child])) child++;
        if (!before(e->heap[child], moving)) break;
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = moving;
}

static int push(encoder *e, source *s, iket_error *err) {
    if (IKET_RESERVE(e->heap, e->heap_count, e->heap_capacity, 1, err) != 0) {
        free_source(s);
        return -1;
    }
    size_t at = e->heap_count++;
    while (at > 0 && before(s, e->heap[(at - 1) / 2])) {
        e->heap[at] = e->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    e->heap[at] = s;
    return 0;
}

// Opens the sources whose first time is not after the least event at hand.
static int activate(encoder *e, iket_error *err) {
    while (e->waiting_next < e->waiting_count && (e->heap_count == 0 || e->waiting[e->waiting_next].time <= e->heap[0]->next)) {
        source *s = open_source(e, e->waiting[e->waiting_next++].id, err);
        if (s == NULL) return -1;
        if (s->kind == KIND_STREAM && !s->has_ahead) {
            free_source(s); // nothing of it lies in the selected time
        } else {
            IKET_TRY(push(e, s, err));
        }
    }
    return 0;
}

static int merge(encoder *e, iket_error *err) {
    for (;;) {
        IKET_TRY(activate(e, err));
        if (e->heap_count == 0) return 0;
        source *s = e->heap[0];
        int more = s->kind == KIND_LAUNCH ? step_launch(e, s, err) : s->kind == KIND_WARP ? step_warp(e, s, err) : step_stream(e, s, err);
        if (more < 0) return -1;
        if (more == 0) {
            e->heap[0] = e->heap[--e->heap_count];
            free_source(s);
        }
        if (e->heap_count > 0) sift_down(e, 0);
        if (e->pf.sink->failed) return iket_fail(err, "%s", e->pf.sink->error.message);
    }
}

int iket_write_pftrace(const iket_trace *trace, const iket_selection *selection, iket_sink *sink, iket_pftrace_facts *facts, iket_error *err) {
    encoder e = {.pf = {.trace = trace, .selection = selection, .sink = sink}};
    int result = collect(&e, err);
    if (result == 0) result = assign_queues(&e, err);
    if (result == 0) result = iket_pf_preamble(&e.pf, e.waiting_count > 0 ? e.waiting[0].time : 0, e.queue_count, err);
    if (result == 0) result = iket_pf_tracks_open(&e.tracks, &e.pf, err);
    if (result == 0) result = write_diagnostics(&e, err);
    if (result == 0) result = merge(&e, err);
    for (size_t i = 0; i < e.heap_count; i++) free_source(e.heap[i]);
    if (facts != NULL) *facts = e.pf.facts;
    iket_pf_tracks_close(&e.tracks);
    free(e.heap);
    free(e.waiting);
    free(e.warp_uuid);
    free(e.queue);
    return result;
}
