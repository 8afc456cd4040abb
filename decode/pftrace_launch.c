// SPDX-License-Identifier: Apache-2.0
// pftrace_launch.c: what a Perfetto trace says once: its launches, as slices and for the compute tab, and its diagnostics.
#include <stdlib.h>

#include "common/utf8.h"
#include "decode/pftrace_batch.h"

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

static int begin_launch(iket_pf_encoder *e, size_t launch, uint64_t time, uint64_t track, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    const iket_launch *l = &trace->launches[launch];
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
    note_number(&notes, IKET_PF_NAME_SMS, e->tracks.sm_of_launch[launch]);
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
    return iket_pf_packet(&e->pf, &packet, 1, time, err);
}

// For Perfetto's compute tab and its gpu_slice table.
static int render_stage(iket_pf_encoder *e, size_t launch, uint64_t time, iket_error *err) {
    const iket_launch *l = &e->pf.trace->launches[launch];
    Iket__Perfetto__GpuRenderStageEvent__Dim3 dims[2] = {IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__DIM3__INIT, IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__DIM3__INIT};
    for (int i = 0; i < 2; i++) {
        const uint32_t *from = i == 0 ? l->grid_dim : l->block_dim;
        dims[i].has_x = dims[i].has_y = dims[i].has_z = 1;
        dims[i].x = from[0];
        dims[i].y = from[1];
        dims[i].z = from[2];
    }
    Iket__Perfetto__GpuRenderStageEvent__Launch sizes = IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__LAUNCH__INIT;
    sizes.grid_size = &dims[0];
    sizes.workgroup_size = &dims[1];
    Iket__Perfetto__GpuRenderStageEvent stage = IKET__PERFETTO__GPU_RENDER_STAGE_EVENT__INIT;
    stage.has_event_id = stage.has_duration = stage.has_context = stage.has_hw_queue_iid = stage.has_stage_iid = 1;
    stage.event_id = (uint64_t)launch + 1;
    stage.duration = l->end - l->start;
    stage.context = 1;
    stage.hw_queue_iid = iket_pf_queue_iid(e->pf.trace, e->queue[launch] > 0 ? e->queue[launch] : IKET_PF_QUEUES_MAX);
    stage.stage_iid = iket_pf_string_iid(l->kernel);
    stage.name = e->pf.trace->strings[l->kernel];
    stage.launch = &sizes;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.gpu_render_stage_event = &stage;
    return iket_pf_packet(&e->pf, &packet, 1, time, err);
}

// The root's own row, which Perfetto shows at once; its slices say how much a launch holds. Launches that overlap go into
// rows below it.
static int begin_row(iket_pf_encoder *e, size_t launch, uint64_t time, iket_error *err) {
    const iket_launch *l = &e->pf.trace->launches[launch];
    if (e->queue[launch] == 0) return 0;
    uint64_t *uuid = &e->row_uuid[e->queue[launch] - 1], category = IKET_PF_CAT_OVERVIEW;
    if (e->queue[launch] == 1) *uuid = e->tracks.root;
    if (*uuid == 0) *uuid = iket_pf_new_track(&e->tracks, e->tracks.root, "Launches at the same time", (int32_t)e->queue[launch], 0, err);
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
    return iket_pf_packet(&e->pf, &packet, 1, time, err);
}

int iket_pf_write_launch(iket_pf_encoder *e, size_t launch, int is_end, uint64_t time, iket_error *err) {
    uint64_t track = iket_pf_launch_track(&e->tracks, launch, err);
    if (track == 0) return -1;
    if (is_end) {
        iket_pf_event(&e->pf, time, IKET_PF_END, track, 0, 0, NULL);
        if (e->queue[launch] > 0) iket_pf_event(&e->pf, time, IKET_PF_END, e->row_uuid[e->queue[launch] - 1], 0, 0, NULL);
        return 0;
    }
    IKET_TRY(begin_row(e, launch, time, err));
    IKET_TRY(render_stage(e, launch, time, err));
    return begin_launch(e, launch, time, track, err);
}

// Launches that run at once go into different rows and queues, since slices of one do not overlap.
int iket_pf_assign_queues(iket_pf_encoder *e, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    uint64_t busy_until[IKET_PF_QUEUES_MAX] = {0};
    e->queue = calloc(trace->launch_count + 1, sizeof *e->queue);
    if (e->queue == NULL) return iket_fail(err, "out of memory (%zu launches)", trace->launch_count);
    for (size_t i = 0; i < e->waiting_count; i++) {
        if (e->waiting[i] >= trace->launch_count) continue;
        const iket_launch *l = &trace->launches[e->waiting[i]];
        uint32_t q = 0;
        while (q < e->queue_count && busy_until[q] > l->start) q++;
        if (q == IKET_PF_QUEUES_MAX) continue;
        if (q == e->queue_count) e->queue_count++;
        busy_until[q] = l->end;
        e->queue[e->waiting[i]] = q + 1;
    }
    return 0;
}

// ---- diagnostics ----------------------------------------------------------------------------------------------------

static int write_diagnostic(iket_pf_encoder *e, uint64_t *group, int32_t rank, const char *counter, uint64_t count, const char *text, iket_error *err) {
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

int iket_pf_write_diagnostics(iket_pf_encoder *e, iket_error *err) {
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
