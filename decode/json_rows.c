// SPDX-License-Identifier: Apache-2.0
#include "decode/json_rows.h"

#include <string.h>

#include "common/text.h"

enum { LOW_DIGITS = 8, LOW_VALUES = 100000000 };

static char *put(char *at, const char *text, size_t size) {
    memcpy(at, text, size);
    return at + size;
}
#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static void end_piece(iket_json_piece *piece, const char *end) { piece->size = (uint32_t)(end - piece->text); }

static void describe_event(iket_json_piece *piece, int is_first, uint32_t event_id) {
    char *at = is_first ? PUT(piece->text, "{") : PUT(piece->text, ",{");
    if (event_id != IKET_UNKNOWN) at = PUT(iket_text_u64(PUT(at, "\"eventId\":"), event_id), ",");
    end_piece(piece, PUT(at, "\"timestamp\":"));
}

void iket_json_describe_decl(iket_json_decl *pieces, const iket_decl *d, uint32_t name) {
    end_piece(&pieces->marker, PUT(iket_text_u64(PUT(pieces->marker.text, ",\"markerNameIdx\":"), name), ",\"timestamp\":"));
    end_piece(&pieces->marker_end, iket_text_u64(PUT(pieces->marker_end.text, ",\"color\":"), d->color));
    end_piece(&pieces->range, PUT(iket_text_u64(PUT(pieces->range.text, "{\"rangeNameIdx\":"), name), ",\"startTs\":"));
    describe_event(&pieces->first_event, 1, d->event_id);
    describe_event(&pieces->last_event, 0, d->end_event_id);
    char *at = iket_text_u64(PUT(pieces->range_end.text, "],\"rangeId\":"), d->range_id);
    at = iket_text_u64(PUT(at, ",\"rangeType\":"), d->range_type);
    at = iket_text_u64(PUT(at, ",\"rangeScope\":"), d->range_scope);
    end_piece(&pieces->range_end, iket_text_u64(PUT(at, ",\"rangeColor\":"), d->color));
}

void iket_json_describe_place(iket_json_place *pieces, uint32_t location) {
    end_piece(&pieces->marker, iket_text_u64(PUT(pieces->marker.text, "{\"locIdx\":"), location));
    char *at = iket_text_u64(PUT(pieces->range.text, ",\"warpLocIdxs\":["), location);
    end_piece(&pieces->range, PUT(iket_text_u64(PUT(at, ","), location), "],\"internalEvents\":["));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// Copies the whole room of a piece, which costs less than a copy of a length that is not known beforehand.
static inline char *put_piece(char *at, const iket_json_piece *piece) {
    memcpy(at, piece->text, sizeof piece->text);
    return at + piece->size;
}

static char *start_clock(char *at, uint64_t time, iket_json_clock *clock) {
    clock->high = time / LOW_VALUES;
    clock->size = clock->high == 0 ? 0 : (uint32_t)(iket_text_u64(clock->text, clock->high) - clock->text);
    return iket_text_u64(at, time);
}

static inline char *put_time(char *at, uint64_t time, iket_json_clock *clock) {
    uint64_t high = time / LOW_VALUES;
    if (__builtin_expect(clock->size == 0 || high != clock->high, 0)) return start_clock(at, time, clock);
    memcpy(at, clock->text, sizeof clock->text);
    return iket_text_8_digits(at + clock->size, (uint32_t)(time - high * LOW_VALUES));
}

static char *put_payload(char *at, iket_payload payload) {
    at = iket_text_u64(PUT(at, ",\"payloadType\":"), payload.type);
    char *value = PUT(at, ",\"payloadVal\":"), *end = iket_text_u64(value, payload.bits);
    at = PUT(end, ",\"payload\":");
    int is_signed = payload.type == IKET_PAYLOAD_I8 || payload.type == IKET_PAYLOAD_I16 || payload.type == IKET_PAYLOAD_I32 || payload.type == IKET_PAYLOAD_I64;
    if (payload.type == IKET_PAYLOAD_F32 || payload.type == IKET_PAYLOAD_F64) return at + iket_payload_text(payload, at);
    if (is_signed && iket_payload_signed(payload) < 0) return iket_text_i64(at, iket_payload_signed(payload));
    return put(at, value, (size_t)(end - value));
}

char *iket_json_marker(char *at, const iket_event *e, const iket_json_decl *decl, const iket_json_place *place, iket_json_clock *clock) {
    at = put_time(put_piece(put_piece(at, &place->marker), &decl->marker), e->time, clock);
    at = put_piece(at, &decl->marker_end);
    if (e->payload.type != IKET_PAYLOAD_NONE) at = put_payload(at, e->payload);
    return PUT(at, "}");
}

char *iket_json_range(char *at, const iket_event *e, const iket_json_decl *decl, const iket_json_place *place, iket_json_clock *clock) {
    char *start = put_piece(at, &decl->range);
    at = put_time(start, e->begin.time, clock);
    size_t start_size = (size_t)(at - start);
    at = put_time(PUT(at, ",\"endTs\":"), e->time, clock);
    at = put_piece(put_piece(at, &place->range), &decl->first_event);
    at = put(at, start, start_size);
    if (e->begin.payload.type != IKET_PAYLOAD_NONE) at = put_payload(at, e->begin.payload);
    at = PUT(at, "}");
    if (!e->unclosed) {
        at = put_time(put_piece(at, &decl->last_event), e->recorded, clock);
        if (e->payload.type != IKET_PAYLOAD_NONE) at = put_payload(at, e->payload);
        at = PUT(at, "}");
    }
    at = put_piece(at, &decl->range_end);
    return e->unclosed ? PUT(at, ",\"unclosed\":true}") : PUT(at, "}");
}
