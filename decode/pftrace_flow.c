// SPDX-License-Identifier: Apache-2.0
// pftrace_flow.c: begins of ranges with arrows (Perfetto's flows). They are few, so their packets go through protobuf-c.
#include <stdlib.h>

#include "decode/pftrace_batch.h"
#include "decode/pftrace_event.h"

size_t iket_pf_find_flows(const iket_flows *flows, size_t stream) {
    size_t first = 0, end = flows->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (flows->ends[middle].stream < stream) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

uint32_t iket_pf_flows_at(const iket_flows *flows, iket_pf_source *s, size_t stream, uint32_t ordinal) {
    uint32_t count = 0;
    for (; s->flow_at < flows->count && flows->ends[s->flow_at].stream == stream && flows->ends[s->flow_at].begin <= ordinal; s->flow_at++) {
        count += flows->ends[s->flow_at].begin == ordinal; // those before belong to ranges outside of the selected time
    }
    return count;
}

static void set_payload(Iket__Perfetto__DebugAnnotation *note, const iket_pf_extra *x) {
    note->has_uint_value = x->payload_class == IKET_PF_PAYLOAD_UINT;
    note->uint_value = x->payload_bits;
    note->has_int_value = x->payload_class == IKET_PF_PAYLOAD_INT;
    note->int_value = (int64_t)x->payload_bits;
    note->has_pointer_value = x->payload_class == IKET_PF_PAYLOAD_POINTER;
    note->pointer_value = x->payload_bits;
    note->has_double_value = x->payload_class == IKET_PF_PAYLOAD_DOUBLE;
    memcpy(&note->double_value, &x->payload_bits, sizeof x->payload_bits);
}

static void add_arrows(Iket__Perfetto__TrackEvent *event, const iket_flows *flows, const iket_pf_extra *x, uint64_t *ids) {
    event->flow_ids = ids;
    event->terminating_flow_ids = ids + x->flow_count;
    for (uint32_t i = 0; i < x->flow_count; i++) {
        const iket_flow_end *end = &flows->ends[x->flow_first + i];
        if (end->is_target) {
            event->terminating_flow_ids[event->n_terminating_flow_ids++] = end->flow;
        } else {
            event->flow_ids[event->n_flow_ids++] = end->flow;
        }
    }
}

int iket_pf_write_flow_begin(iket_pf_encoder *e, const iket_pf_task *task, const iket_pf_record *r, uint64_t time, iket_error *err) {
    iket_pf_source *s = e->sources[r->from >> IKET_PF_FROM_BITS];
    const iket_pf_extra *x = &task->extras[r->bits];
    uint64_t track = r->track, category = IKET_PF_CAT_LIFETIME + (r->from & 3);
    if (r->from & IKET_PF_IS_PENDING) {
        if (iket_pf_uuid_of(s, r->track) == 0) IKET_TRY(iket_pf_describe_track(e, s, r->track, err));
        track = iket_pf_uuid_of(s, r->track);
    }
    uint64_t *ids = calloc(2 * (size_t)x->flow_count, sizeof *ids);
    if (ids == NULL) return iket_fail(err, "out of memory (%u arrows)", x->flow_count);
    Iket__Perfetto__DebugAnnotation notes[2] = {IKET__PERFETTO__DEBUG_ANNOTATION__INIT, IKET__PERFETTO__DEBUG_ANNOTATION__INIT}, *list[2] = {&notes[0], &notes[1]};
    Iket__Perfetto__TrackEvent event = IKET__PERFETTO__TRACK_EVENT__INIT;
    event.debug_annotations = list;
    if (x->payload_class != IKET_PF_PAYLOAD_NONE) {
        Iket__Perfetto__DebugAnnotation *note = list[event.n_debug_annotations++];
        note->has_name_iid = 1;
        note->name_iid = IKET_PF_NAME_PAYLOAD;
        set_payload(note, x);
    }
    if (x->has_recorded) {
        Iket__Perfetto__DebugAnnotation *note = list[event.n_debug_annotations++];
        note->has_name_iid = note->has_uint_value = 1;
        note->name_iid = IKET_PF_NAME_RECORDED_AT;
        note->uint_value = x->recorded_at;
    }
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.has_type = event.has_name_iid = event.has_track_uuid = 1;
    event.type = IKET_PF_BEGIN;
    event.name_iid = r->name;
    event.track_uuid = track;
    add_arrows(&event, e->flows, x, ids);
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.track_event = &event;
    int result = iket_pf_packet(&e->pf, &packet, 1, time, err);
    free(ids);
    return result;
}
