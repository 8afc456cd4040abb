// SPDX-License-Identifier: Apache-2.0
// pftrace_event.h: the packets of events and of the tracks below them, packed by hand, for they are nearly all of a Perfetto
// trace; private. A unit test compares their bytes with protobuf-c's.
//
//     0A len | 40 time | 50 sequence | 5A len | 18 category | 22 len annotation … | 48 type | 50 name | 58 track
//
// Keys are field number << 3 | wire type; field numbers stand in proto/iket_perfetto.proto.
#ifndef IKET_DECODE_PFTRACE_EVENT_H
#define IKET_DECODE_PFTRACE_EVENT_H

#include <string.h>

#include "decode/pftrace.h"

enum {
    IKET_PF_SEQUENCE = 1,
    IKET_PF_EVENT_BYTES = 128, // more than such a packet takes: below that, every length fits one byte
};

static inline uint8_t *iket_pf_put_varint(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *iket_pf_put_annotation(uint8_t *at, int name, int key, uint64_t value) {
    at[0] = 4 << 3 | 2;
    at[2] = 1 << 3;
    at[3] = (uint8_t)name;
    at[4] = (uint8_t)key;
    uint8_t *end = iket_pf_put_varint(at + 5, value);
    at[1] = (uint8_t)(end - at - 2);
    return end;
}

static inline uint8_t *iket_pf_put_payload(uint8_t *at, int name, unsigned payload_class, uint64_t bits) {
    static const uint8_t keys[] = {[IKET_PF_PAYLOAD_UINT] = 3 << 3, [IKET_PF_PAYLOAD_INT] = 4 << 3, [IKET_PF_PAYLOAD_DOUBLE] = 5 << 3 | 1, [IKET_PF_PAYLOAD_POINTER] = 7 << 3};
    if (payload_class == IKET_PF_PAYLOAD_NONE) return at;
    if (payload_class != IKET_PF_PAYLOAD_DOUBLE) return iket_pf_put_annotation(at, name, keys[payload_class], bits);
    const uint8_t head[] = {4 << 3 | 2, 2 + 1 + sizeof bits, 1 << 3, (uint8_t)name, keys[payload_class]};
    memcpy(at, head, sizeof head);
    memcpy(at + sizeof head, &bits, sizeof bits);
    return at + sizeof head + sizeof bits;
}

// What a payload is packed as, and the bits for that.
static inline unsigned iket_pf_payload_class(iket_payload payload, uint64_t *bits) {
    *bits = payload.bits;
    switch (payload.type) {
    case IKET_PAYLOAD_NONE: return IKET_PF_PAYLOAD_NONE;
    case IKET_PAYLOAD_I8:
    case IKET_PAYLOAD_I16:
    case IKET_PAYLOAD_I32:
    case IKET_PAYLOAD_I64: *bits = (uint64_t)iket_payload_signed(payload); return IKET_PF_PAYLOAD_INT;
    case IKET_PAYLOAD_POINTER: return IKET_PF_PAYLOAD_POINTER;
    case IKET_PAYLOAD_F32:
    case IKET_PAYLOAD_F64: break;
    default: return IKET_PF_PAYLOAD_UINT;
    }
    double value = iket_payload_double(payload);
    memcpy(bits, &value, sizeof value);
    return IKET_PF_PAYLOAD_DOUBLE;
}

// Writes the packet at `at`, where there is room for IKET_PF_EVENT_BYTES, and returns its end. `delta`: time since the
// packet with a time before it. extra: what its unclosed and recorded fields say; NULL: neither.
static inline uint8_t *iket_pf_put_event(uint8_t *at, uint64_t delta, unsigned type, uint64_t track, uint64_t name_iid, unsigned category,
                                         unsigned payload_class, uint64_t payload_bits, const iket_pf_extra *extra) {
    uint8_t *packet = at, *event;
    at[0] = 0x0A;
    at[2] = 8 << 3;
    at = iket_pf_put_varint(at + 3, delta);
    at[0] = 10 << 3;
    at[1] = IKET_PF_SEQUENCE;
    at[2] = 11 << 3 | 2;
    event = at += 4; // behind its length
    if (type != IKET_PF_END) {
        at[0] = 3 << 3;
        at[1] = (uint8_t)category;
        at += 2;
    }
    if (payload_class != IKET_PF_PAYLOAD_NONE) at = iket_pf_put_payload(at, type == IKET_PF_END ? IKET_PF_NAME_END_PAYLOAD : IKET_PF_NAME_PAYLOAD, payload_class, payload_bits);
    if (extra != NULL && extra->unclosed) at = iket_pf_put_annotation(at, IKET_PF_NAME_UNCLOSED, 2 << 3, 1);
    if (extra != NULL && extra->has_recorded) at = iket_pf_put_annotation(at, IKET_PF_NAME_RECORDED_AT, 3 << 3, extra->recorded_at);
    at[0] = 9 << 3;
    at[1] = (uint8_t)type;
    at += 2;
    if (type != IKET_PF_END) {
        *at = 10 << 3;
        at = iket_pf_put_varint(at + 1, name_iid);
    }
    *at = 11 << 3;
    at = iket_pf_put_varint(at + 1, track);
    event[-1] = (uint8_t)(at - event);
    packet[1] = (uint8_t)(at - packet - 2);
    return at;
}

// A track below another one.
typedef struct iket_pf_track {
    uint64_t uuid, parent;
    const char *name;
    size_t name_size; // at most IKET_PF_TRACK_NAME_MAX
    int32_t rank;
    int is_group;     // its children stand by their ranks
} iket_pf_track;

enum { IKET_PF_TRACK_NAME_MAX = 64, IKET_PF_MERGE_NONE = 2, IKET_PF_ORDER_EXPLICIT = 3 };

// Writes the packet that describes a track, as iket_pf_put_event: a trace of many small warps is full of them.
//
//     0A len | 50 sequence | E2 03 len | 08 uuid | 12 len name | 28 parent | 58 order | 60 rank | 78 merge
static inline uint8_t *iket_pf_put_track(uint8_t *at, const iket_pf_track *track) {
    const uint8_t head[] = {0x0A, 0, 10 << 3, IKET_PF_SEQUENCE, 0xE2, 0x03, 0, 1 << 3};
    uint8_t *packet = at, *descriptor;
    memcpy(at, head, sizeof head);
    descriptor = at + sizeof head - 1; // behind its length
    at = iket_pf_put_varint(at + sizeof head, track->uuid);
    at[0] = 2 << 3 | 2;
    at[1] = (uint8_t)track->name_size;
    memcpy(at + 2, track->name, track->name_size);
    at += 2 + track->name_size;
    *at = 5 << 3;
    at = iket_pf_put_varint(at + 1, track->parent);
    if (track->is_group) {
        at[0] = 11 << 3;
        at[1] = IKET_PF_ORDER_EXPLICIT;
        at += 2;
    }
    *at = 12 << 3;
    at = iket_pf_put_varint(at + 1, (uint64_t)(int64_t)track->rank);
    at[0] = 15 << 3;
    at[1] = IKET_PF_MERGE_NONE;
    at += 2;
    descriptor[-1] = (uint8_t)(at - descriptor);
    packet[1] = (uint8_t)(at - packet - 2);
    return at;
}

#endif
