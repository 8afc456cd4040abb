// SPDX-License-Identifier: Apache-2.0
// The packets that are packed by hand have the bytes of protobuf-c's: of every kind of event and payload, and of tracks.
#include "decode/pftrace_event.h"

#include <inttypes.h>

#include "tests/unit/check.h"

typedef struct event {
    uint64_t delta, track, name;
    unsigned type, category;
    iket_payload payload;
    iket_pf_extra extra;
} event;

static size_t pack_by_library(const event *e, uint8_t *at) {
    Iket__Perfetto__DebugAnnotation notes[3], *list[3] = {&notes[0], &notes[1], &notes[2]};
    uint64_t category = e->category, bits;
    size_t count = 0;
    for (int i = 0; i < 3; i++) iket__perfetto__debug_annotation__init(&notes[i]);
    if (e->payload.type != IKET_PAYLOAD_NONE) {
        Iket__Perfetto__DebugAnnotation *n = &notes[count++];
        n->has_name_iid = 1;
        n->name_iid = e->type == IKET_PF_END ? IKET_PF_NAME_END_PAYLOAD : IKET_PF_NAME_PAYLOAD;
        switch (iket_pf_payload_class(e->payload, &bits)) {
        case IKET_PF_PAYLOAD_UINT: n->has_uint_value = 1, n->uint_value = e->payload.bits; break;
        case IKET_PF_PAYLOAD_INT: n->has_int_value = 1, n->int_value = iket_payload_signed(e->payload); break;
        case IKET_PF_PAYLOAD_DOUBLE: n->has_double_value = 1, n->double_value = iket_payload_double(e->payload); break;
        default: n->has_pointer_value = 1, n->pointer_value = e->payload.bits; break;
        }
    }
    if (e->extra.unclosed) {
        notes[count].has_name_iid = notes[count].has_bool_value = notes[count].bool_value = 1;
        notes[count++].name_iid = IKET_PF_NAME_UNCLOSED;
    }
    if (e->extra.has_recorded) {
        notes[count].has_name_iid = notes[count].has_uint_value = 1;
        notes[count].uint_value = e->extra.recorded_at;
        notes[count++].name_iid = IKET_PF_NAME_RECORDED_AT;
    }
    Iket__Perfetto__TrackEvent track_event = IKET__PERFETTO__TRACK_EVENT__INIT;
    track_event.has_type = track_event.has_track_uuid = 1;
    track_event.type = e->type;
    track_event.track_uuid = e->track;
    track_event.n_debug_annotations = count;
    track_event.debug_annotations = list;
    if (e->type != IKET_PF_END) {
        track_event.n_category_iids = 1;
        track_event.category_iids = &category;
        track_event.has_name_iid = 1;
        track_event.name_iid = e->name;
    }
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.has_timestamp = packet.has_trusted_packet_sequence_id = 1;
    packet.timestamp = e->delta;
    packet.trusted_packet_sequence_id = IKET_PF_SEQUENCE;
    packet.track_event = &track_event;
    at[0] = 0x0A;
    at[1] = (uint8_t)iket__perfetto__trace_packet__get_packed_size(&packet);
    return 2 + iket__perfetto__trace_packet__pack(&packet, at + 2);
}

static void compare(const event *e) {
    uint8_t ours[IKET_PF_EVENT_BYTES], theirs[2 * IKET_PF_EVENT_BYTES];
    uint64_t bits;
    unsigned payload_class = iket_pf_payload_class(e->payload, &bits);
    size_t size = (size_t)(iket_pf_put_event(ours, e->delta, e->type, e->track, e->name, e->category, payload_class, bits, &e->extra) - ours), wanted = pack_by_library(e, theirs);
    CHECK(size == wanted && memcmp(ours, theirs, size) == 0, "type %u, payload type %u of %" PRIx64 ", %zu bytes for %zu", e->type, e->payload.type, e->payload.bits, size, wanted);
}

static void compare_track(const iket_pf_track *t) {
    uint8_t ours[IKET_PF_EVENT_BYTES], theirs[2 * IKET_PF_EVENT_BYTES];
    char name[IKET_PF_TRACK_NAME_MAX + 1] = "";
    memcpy(name, t->name, t->name_size);
    Iket__Perfetto__TrackDescriptor d = IKET__PERFETTO__TRACK_DESCRIPTOR__INIT;
    d.has_uuid = d.has_parent_uuid = d.has_sibling_order_rank = d.has_sibling_merge_behavior = 1;
    d.uuid = t->uuid;
    d.parent_uuid = t->parent;
    d.name = name;
    d.sibling_order_rank = t->rank;
    d.sibling_merge_behavior = IKET_PF_MERGE_NONE;
    d.has_child_ordering = (protobuf_c_boolean)t->is_group;
    d.child_ordering = IKET_PF_ORDER_EXPLICIT;
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.has_trusted_packet_sequence_id = 1;
    packet.trusted_packet_sequence_id = IKET_PF_SEQUENCE;
    packet.track_descriptor = &d;
    theirs[0] = 0x0A;
    theirs[1] = (uint8_t)iket__perfetto__trace_packet__get_packed_size(&packet);
    size_t wanted = 2 + iket__perfetto__trace_packet__pack(&packet, theirs + 2), size = (size_t)(iket_pf_put_track(ours, t) - ours);
    CHECK(size == wanted && memcmp(ours, theirs, size) == 0, "track %" PRIu64 ", rank %" PRId32 ", %zu bytes for %zu", t->uuid, t->rank, size, wanted);
}

static void compare_tracks(void) {
    static const char text[] = "a name of a track as long as it may be, which is sixty-four bytes";
    static const uint64_t numbers[] = {1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    static const int32_t ranks[] = {0, 1, 127, 128, INT32_MAX, -1, INT32_MIN};
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++) {
            for (size_t size = 0; size <= IKET_PF_TRACK_NAME_MAX; size += 16) {
                iket_pf_track t = {.uuid = numbers[i], .parent = numbers[j], .name = text, .name_size = size, .rank = ranks[(i + j) % 7], .is_group = (i ^ j) & 1};
                compare_track(&t);
            }
        }
    }
}

int main(void) {
    compare_tracks();
    static const uint64_t values[] = {0, 1, 127, 128, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x80000000, 0xFFFFFFFF, UINT64_C(1) << 63, UINT64_MAX, 0x3FC00000, UINT64_C(0x4009000000000000)};
    static const uint64_t numbers[] = {1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    for (unsigned type = IKET_PF_BEGIN; type <= IKET_PF_INSTANT; type++) {
        for (uint8_t payload_type = 0; payload_type <= IKET_PAYLOAD_U64; payload_type++) {
            if (iket_payload_type_name(payload_type) == NULL) continue;
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                unsigned size = iket_payload_size(payload_type);
                uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
                event e = {.delta = numbers[v % 7], .track = numbers[(v + 1) % 7], .name = numbers[(v + 2) % 7], .type = type, .category = IKET_PF_CAT_LIFETIME + (unsigned)v % 4,
                           .payload = {values[v] & mask, payload_type}};
                compare(&e);
                e.extra.unclosed = 1;
                compare(&e);
                e.extra.has_recorded = 1;
                e.extra.recorded_at = UINT64_C(1796096489335662304);
                compare(&e);
            }
        }
    }
    return check_failures();
}
