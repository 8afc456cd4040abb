// SPDX-License-Identifier: Apache-2.0
// pftrace_packet.c: the packets that are not written per event, through protobuf-c.
#include <stdlib.h>

#include "decode/pftrace_event.h"

enum { CLOCK_BOOTTIME = 6, CLOCK_OURS = 64, CLEARED_AND_NEEDS_STATE = 3, CATEGORY_COMPUTE = 2 };

typedef struct sink_buffer {
    ProtobufCBuffer base;
    iket_sink *sink;
} sink_buffer;

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data) { iket_sink_write(((sink_buffer *)buffer)->sink, data, size); }

int iket_pf_packet(iket_pf *pf, Iket__Perfetto__TracePacket *packet, int has_time, uint64_t time, iket_error *err) {
    packet->has_trusted_packet_sequence_id = 1;
    packet->trusted_packet_sequence_id = IKET_PF_SEQUENCE;
    if (has_time) {
        packet->has_timestamp = 1;
        packet->timestamp = time - pf->now;
        pf->now = time;
    }
    size_t size = iket__perfetto__trace_packet__get_packed_size(packet);
    uint8_t *at = iket_sink_reserve(pf->sink, 16);
    *at++ = 0x0A;
    iket_sink_commit(pf->sink, iket_pf_put_varint(at, size));
    sink_buffer buffer = {.base = {.append = append}, .sink = pf->sink};
    iket__perfetto__trace_packet__pack_to_buffer(packet, &buffer.base);
    return pf->sink->failed ? iket_fail(err, "%s", pf->sink->error.message) : 0;
}

static Iket__Perfetto__InternedName **intern(size_t count) {
    Iket__Perfetto__InternedName **list = malloc((count + 1) * sizeof *list), *names = malloc((count + 1) * sizeof *names);
    if (list == NULL || names == NULL) {
        free(list);
        free(names);
        return NULL;
    }
    for (size_t i = 0; i <= count; i++) { // list[0] owns the names, so it stands for an empty list as well
        iket__perfetto__interned_name__init(&names[i]);
        names[i].has_iid = 1;
        names[i].iid = i + 1;
        list[i] = &names[i];
    }
    return list;
}

static void drop_interned(Iket__Perfetto__InternedName **list) {
    if (list != NULL) free(list[0]);
    free(list);
}

static void name_categories(Iket__Perfetto__InternedName **list) {
    static const char *const categories[] = {"launch", "lifetime", "range", "token", "marker", "diagnostic", "overview"};
    for (size_t i = 0; i < IKET_PF_CAT_COUNT; i++) list[i]->name = (char *)(uintptr_t)categories[i];
}

static void name_annotations(Iket__Perfetto__InternedName **list) {
    static const char *const annotations[] = {
#define NAME(id, text) text,
        IKET_PF_ANNOTATIONS(NAME)
#undef NAME
    };
    for (size_t i = 0; i + 1 < IKET_PF_NAME_END; i++) list[i]->name = (char *)(uintptr_t)annotations[i];
}

// What GPU slices are named by: a stage for each kernel (under its string's iid), then the queues.
typedef struct stage_list {
    Iket__Perfetto__RenderStageSpecification *stages, **list;
    char (*queue_names)[32];
    size_t count;
} stage_list;

static void drop_stages(stage_list *s) {
    free(s->stages);
    free(s->list);
    free(s->queue_names);
}

static void add_stage(stage_list *s, uint64_t iid, const char *name) {
    Iket__Perfetto__RenderStageSpecification *stage = &s->stages[s->count];
    iket__perfetto__render_stage_specification__init(stage);
    stage->has_iid = stage->has_category = 1;
    stage->iid = iid;
    stage->category = CATEGORY_COMPUTE;
    stage->name = (char *)(uintptr_t)name;
    s->list[s->count++] = stage;
}

static int name_stages(stage_list *s, const iket_trace *trace, uint32_t queues) {
    size_t most = trace->string_count + queues + 1;
    uint8_t *seen = calloc(most, 1);
    s->stages = calloc(most, sizeof *s->stages);
    s->list = calloc(most, sizeof *s->list);
    s->queue_names = calloc(queues + 1, sizeof *s->queue_names);
    if (seen == NULL || s->stages == NULL || s->list == NULL || s->queue_names == NULL) {
        free(seen);
        return -1;
    }
    for (size_t i = 0; i < trace->launch_count; i++) {
        uint32_t kernel = trace->launches[i].kernel;
        if (!seen[kernel]) add_stage(s, iket_pf_string_iid(kernel), trace->strings[kernel]);
        seen[kernel] = 1;
    }
    for (uint32_t i = 1; i <= queues; i++) {
        snprintf(s->queue_names[i], sizeof s->queue_names[i], "Kernels %u", i);
        add_stage(s, iket_pf_queue_iid(trace, i), s->queue_names[i]);
    }
    free(seen);
    return 0;
}

static int write_preamble(iket_pf *pf, uint64_t start, Iket__Perfetto__InternedData *interned, iket_error *err) {
    Iket__Perfetto__ClockSnapshot__Clock clocks[2] = {IKET__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT, IKET__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT};
    Iket__Perfetto__ClockSnapshot__Clock *clock_list[2] = {&clocks[0], &clocks[1]};
    for (int i = 0; i < 2; i++) {
        clocks[i].has_clock_id = clocks[i].has_timestamp = 1;
        clocks[i].clock_id = i == 0 ? CLOCK_OURS : CLOCK_BOOTTIME;
        clocks[i].timestamp = start;
    }
    clocks[0].has_is_incremental = clocks[0].is_incremental = 1;
    Iket__Perfetto__ClockSnapshot snapshot = IKET__PERFETTO__CLOCK_SNAPSHOT__INIT;
    snapshot.n_clocks = 2;
    snapshot.clocks = clock_list;
    Iket__Perfetto__TracePacketDefaults defaults = IKET__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
    defaults.has_timestamp_clock_id = 1;
    defaults.timestamp_clock_id = CLOCK_OURS;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.has_sequence_flags = 1;
    packet.sequence_flags = CLEARED_AND_NEEDS_STATE;
    packet.clock_snapshot = &snapshot;
    packet.trace_packet_defaults = &defaults;
    packet.interned_data = interned;
    pf->now = start;
    return iket_pf_packet(pf, &packet, 0, 0, err);
}

int iket_pf_preamble(iket_pf *pf, uint64_t start, uint32_t queues, iket_error *err) {
    const iket_trace *trace = pf->trace;
    Iket__Perfetto__InternedData interned = IKET__PERFETTO__INTERNED_DATA__INIT;
    Iket__Perfetto__GraphicsContext context = IKET__PERFETTO__GRAPHICS_CONTEXT__INIT, *contexts = &context;
    context.has_iid = context.has_pid = 1;
    context.iid = 1;
    context.pid = (int32_t)(trace->pid & INT32_MAX);
    interned.n_graphics_contexts = 1;
    interned.graphics_contexts = &contexts;
    interned.n_event_names = trace->string_count + 1;
    interned.n_event_categories = IKET_PF_CAT_COUNT;
    interned.n_debug_annotation_names = IKET_PF_NAME_END - 1;
    interned.event_names = intern(interned.n_event_names);
    interned.event_categories = intern(interned.n_event_categories);
    interned.debug_annotation_names = intern(interned.n_debug_annotation_names);
    stage_list stages = {.count = 0};
    int result;
    if (interned.event_names == NULL || interned.event_categories == NULL || interned.debug_annotation_names == NULL || name_stages(&stages, trace, queues) != 0) {
        result = iket_fail(err, "out of memory (%zu names)", trace->string_count);
    } else {
        for (size_t i = 0; i < trace->string_count; i++) interned.event_names[i]->name = trace->strings[i];
        interned.event_names[trace->string_count]->name = (char *)(uintptr_t)"warp lifetime";
        name_categories(interned.event_categories);
        name_annotations(interned.debug_annotation_names);
        interned.n_gpu_specifications = stages.count;
        interned.gpu_specifications = stages.list;
        result = write_preamble(pf, start, &interned, err);
    }
    drop_interned(interned.event_names);
    drop_interned(interned.event_categories);
    drop_interned(interned.debug_annotation_names);
    drop_stages(&stages);
    return result;
}

void iket_pf_event(iket_pf *pf, uint64_t time, int type, uint64_t track, uint64_t name_iid, int category, const iket_pf_extra *extra) {
    static const iket_pf_extra nothing = {0};
    uint8_t *at = iket_sink_reserve(pf->sink, IKET_PF_EVENT_BYTES);
    if (extra == NULL) extra = &nothing;
    iket_sink_commit(pf->sink, iket_pf_put_event(at, time - pf->now, (unsigned)type, track, name_iid, (unsigned)category, extra->payload_class, extra->payload_bits, extra));
    pf->now = time;
}
