// SPDX-License-Identifier: Apache-2.0
// One row of a trace.json: a marker, a range or a lifetime, its keys in any order.
#include <stdlib.h>
#include <string.h>

#include "decode/trace_json.h"

typedef enum key_id {
    KEY_OTHER,
    KEY_LOC_IDX,
    KEY_NAME_IDX,
    KEY_NAME,
    KEY_PLACE,
    KEY_PLACES,
    KEY_PLACE_IDXS,
    KEY_TIME,
    KEY_START,
    KEY_END,
    KEY_COLOR,
    KEY_PAYLOAD_TYPE,
    KEY_PAYLOAD_VAL,
    KEY_PAYLOAD,
    KEY_EVENTS,
    KEY_EVENT_ID,
    KEY_RANGE_ID,
    KEY_RANGE_TYPE,
    KEY_RANGE_SCOPE,
    KEY_UNCLOSED,
} key_id;

#define KEY_CASE(literal, id)                                                                                          \
    if (memcmp(p, literal, sizeof(literal) - 1) == 0) return id

// By length first, so that a key costs one or two short comparisons.
static key_id key_of(const iket_scan_text *key) {
    const char *p = key->data;
    switch (key->size) {
    case 5:
        KEY_CASE("endTs", KEY_END);
        KEY_CASE("color", KEY_COLOR);
        break;
    case 6:
        KEY_CASE("locIdx", KEY_LOC_IDX);
        break;
    case 7:
        KEY_CASE("startTs", KEY_START);
        KEY_CASE("eventId", KEY_EVENT_ID);
        KEY_CASE("payload", KEY_PAYLOAD);
        KEY_CASE("rangeId", KEY_RANGE_ID);
        break;
    case 8:
        KEY_CASE("unclosed", KEY_UNCLOSED);
        KEY_CASE("location", KEY_PLACE);
        KEY_CASE("warpLocs", KEY_PLACES);
        break;
    case 9:
        KEY_CASE("timestamp", KEY_TIME);
        KEY_CASE("rangeType", KEY_RANGE_TYPE);
        KEY_CASE("rangeName", KEY_NAME);
        break;
    case 10:
        KEY_CASE("payloadVal", KEY_PAYLOAD_VAL);
        KEY_CASE("rangeColor", KEY_COLOR);
        KEY_CASE("rangeScope", KEY_RANGE_SCOPE);
        KEY_CASE("markerName", KEY_NAME);
        break;
    case 11:
        KEY_CASE("payloadType", KEY_PAYLOAD_TYPE);
        KEY_CASE("warpLocIdxs", KEY_PLACE_IDXS);
        break;
    case 12:
        KEY_CASE("rangeNameIdx", KEY_NAME_IDX);
        KEY_CASE("warpLocation", KEY_PLACE);
        break;
    case 13: KEY_CASE("markerNameIdx", KEY_NAME_IDX); break;
    case 14: KEY_CASE("internalEvents", KEY_EVENTS); break;
    default: break;
    }
    return KEY_OTHER;
}

// ---- payload ----------------------------------------------------------------------------------------------------------

enum { PAYLOAD_TEXT = 64 };

typedef struct payload_in {
    uint32_t type;
    int has_bits, has_text;
    uint64_t bits;
    char text[PAYLOAD_TEXT]; // the typed value, where the bits are not given
} payload_in;

// payloadVal: the bits; or, as some tools write it, the value itself where that cannot be bits.
static int read_payload_value(iket_scan *scan, payload_in *in, int may_be_bits, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c <= 0) return iket_scan_skip(scan, err);
    iket_scan_text text;
    if (c == 'n') return iket_scan_null(scan, err);
    if (c == '"') {
        IKET_TRY(iket_scan_string(scan, &text, err));
    } else {
        const uint8_t *first = scan->at;
        if (may_be_bits && *first != '-') {
            IKET_TRY(iket_scan_number(scan, &text, err));
            if (memchr(text.data, '.', text.size) == NULL && memchr(text.data, 'e', text.size) == NULL && memchr(text.data, 'E', text.size) == NULL) {
                scan->at = (const uint8_t *)text.data;
                in->has_bits = 1;
                return iket_scan_u64(scan, &in->bits, err);
            }
        } else {
            IKET_TRY(iket_scan_number(scan, &text, err));
        }
    }
    if (text.size >= PAYLOAD_TEXT) return iket_scan_fail(scan, err, "a payload of more than %d characters", PAYLOAD_TEXT - 1);
    memcpy(in->text, text.data, text.size);
    in->text[text.size] = 0;
    in->has_text = 1;
    return 0;
}

static uint64_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The bits of a typed value in text form.
static int bits_of_text(iket_scan *scan, payload_in *in, iket_error *err) {
    char *end = in->text;
    const char *text = in->text;
    if (in->type == IKET_PAYLOAD_F32) {
        in->bits = float_bits(strtof(text, &end));
    } else if (in->type == IKET_PAYLOAD_F64) {
        in->bits = double_bits(strtod(text, &end));
    } else if (text[0] == '-') {
        in->bits = (uint64_t)strtoll(text, &end, 10);
    } else {
        in->bits = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
    }
    if (end == text || *end != 0) return iket_scan_fail(scan, err, "a payload that does not fit its payloadType");
    return 0;
}

static int finish_payload(iket_scan *scan, payload_in *in, uint8_t *type, uint64_t *bits, iket_error *err) {
    *type = 0;
    *bits = 0;
    if (in->type == IKET_PAYLOAD_NONE) return 0;
    unsigned size = in->type <= IKET_PAYLOAD_U64 ? iket_payload_size(in->type) : 0;
    if (size == 0) return iket_scan_fail(scan, err, "payloadType %u is not known", in->type);
    if (!in->has_bits && !in->has_text) return iket_scan_fail(scan, err, "a payloadType without payloadVal");
    if (!in->has_bits) IKET_TRY(bits_of_text(scan, in, err));
    *type = (uint8_t)in->type;
    *bits = size == 8 ? in->bits : in->bits & (((uint64_t)1 << 8 * size) - 1);
    return 0;
}

static int read_payload_key(iket_scan *scan, key_id id, payload_in *in, iket_error *err) {
    if (id == KEY_PAYLOAD_TYPE) return iket_json_read_u32(scan, &in->type, err);
    if (id == KEY_PAYLOAD_VAL) {
        // The common case first: plain digits.
        if (*scan->at >= '1' && *scan->at <= '9') {
            const uint8_t *p = scan->at;
            while (*p >= '0' && *p <= '9') p++;
            if (p < scan->end && *p != '.' && (*p | 0x20) != 'e') {
                in->has_bits = 1;
                return iket_scan_u64(scan, &in->bits, err);
            }
        }
        return read_payload_value(scan, in, 1, err);
    }
    if (in->has_bits) return iket_scan_skip(scan, err);
    return read_payload_value(scan, in, 0, err);
}

// ---- places and names -------------------------------------------------------------------------------------------------

static int read_index(iket_scan *scan, uint32_t *id, iket_error *err) {
    uint64_t value;
    IKET_TRY(iket_scan_u64(scan, &value, err));
    if (value > 0x7FFFFFF0) return iket_scan_fail(scan, err, "an index of %llu", (unsigned long long)value);
    *id = (uint32_t)value * 2;
    return 0;
}

static int read_inline_place(iket_trace_json *doc, uint32_t *id, iket_error *err) {
    iket_location place;
    IKET_TRY(iket_json_read_place(&doc->scan, &place, err));
    return iket_json_add_place(&doc->places, &place, 1, id, err);
}

// [start, end]: one place twice, or two.
static int read_two_places(iket_trace_json *doc, int inlined, iket_json_row *row, iket_error *err) {
    iket_scan *scan = &doc->scan;
    uint32_t ids[2];
    int count = 0, first = 1, more;
    IKET_TRY(iket_scan_array(scan, err));
    while ((more = iket_scan_item(scan, &first, err)) > 0) {
        uint32_t id;
        IKET_TRY(inlined ? read_inline_place(doc, &id, err) : read_index(scan, &id, err));
        if (count < 2) ids[count++] = id;
    }
    if (more < 0) return -1;
    if (count == 0) return iket_scan_fail(scan, err, "a range without a place");
    row->location = ids[0];
    if (count == 2 && ids[1] != ids[0]) row->flags |= IKET_JSON_TWO_PLACES;
    return 0;
}

// ---- rows -------------------------------------------------------------------------------------------------------------

static int read_event(iket_scan *scan, uint32_t *event_id, uint8_t *type, uint64_t *bits, iket_error *err) {
    iket_scan_text key;
    payload_in payload;
    payload.type = 0;
    payload.has_bits = payload.has_text = 0;
    int first = 1, more;
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        key_id id = key_of(&key);
        if (id == KEY_EVENT_ID) {
            IKET_TRY(iket_json_read_u32(scan, event_id, err));
        } else if (id == KEY_PAYLOAD_TYPE || id == KEY_PAYLOAD_VAL || id == KEY_PAYLOAD) {
            IKET_TRY(read_payload_key(scan, id, &payload, err));
        } else {
            IKET_TRY(iket_scan_skip(scan, err));
        }
    }
    if (more < 0) return -1;
    return finish_payload(scan, &payload, type, bits, err);
}

static int read_events(iket_scan *scan, iket_json_row *row, iket_error *err) {
    int count = 0, first = 1, more;
    IKET_TRY(iket_scan_array(scan, err));
    while ((more = iket_scan_item(scan, &first, err)) > 0) {
        if (count == 0) {
            IKET_TRY(read_event(scan, &row->event_id, &row->payload_type, &row->bits, err));
        } else if (count == 1) {
            IKET_TRY(read_event(scan, &row->end_event_id, &row->end_payload_type, &row->end_bits, err));
        } else {
            IKET_TRY(iket_scan_skip(scan, err));
        }
        count++;
    }
    return more;
}

enum { HAS_NAME = 1, HAS_PLACE = 2, HAS_START = 4, HAS_END = 8 };

// The value of one key; sets the HAS_* bit that it gives.
static int read_value(iket_trace_json *doc, key_id id, iket_json_row *row, payload_in *payload, unsigned *has, iket_error *err) {
    iket_scan *scan = &doc->scan;
    int flag;
    switch (id) {
    case KEY_LOC_IDX: *has |= HAS_PLACE; return read_index(scan, &row->location, err);
    case KEY_PLACE_IDXS: *has |= HAS_PLACE; return read_two_places(doc, 0, row, err);
    case KEY_PLACES: *has |= HAS_PLACE; return read_two_places(doc, 1, row, err);
    case KEY_PLACE: *has |= HAS_PLACE; return read_inline_place(doc, &row->location, err);
    case KEY_NAME_IDX: *has |= HAS_NAME; return read_index(scan, &row->name, err);
    case KEY_NAME: *has |= HAS_NAME; return iket_json_read_name(doc, &row->name, err);
    case KEY_TIME:
    case KEY_START: *has |= HAS_START; return iket_scan_u64(scan, &row->start, err);
    case KEY_END: *has |= HAS_END; return iket_scan_u64(scan, &row->end, err);
    case KEY_COLOR: return iket_json_read_u32(scan, &row->color, err);
    case KEY_PAYLOAD_TYPE:
    case KEY_PAYLOAD_VAL:
    case KEY_PAYLOAD: return read_payload_key(scan, id, payload, err);
    case KEY_EVENTS: return read_events(scan, row, err);
    case KEY_RANGE_ID: return iket_json_read_u32(scan, &row->range_id, err);
    case KEY_RANGE_TYPE: return iket_json_read_u32(scan, &row->range_type, err);
    case KEY_RANGE_SCOPE: return iket_json_read_u32(scan, &row->range_scope, err);
    case KEY_UNCLOSED:
        IKET_TRY(iket_scan_bool(scan, &flag, err));
        if (flag) row->flags |= IKET_JSON_UNCLOSED;
        return 0;
    default: return iket_scan_skip(scan, err);
    }
}

static int check_complete(iket_scan *scan, unsigned kind, unsigned has, iket_error *err) {
    static const struct {
        unsigned kind, needs;
        const char *name, *keys[4];
    } kinds[] = {{IKET_JSON_MARKER, HAS_NAME | HAS_PLACE | HAS_START, "marker", {"markerNameIdx", "locIdx", "timestamp", ""}},
                 {IKET_JSON_RANGE, HAS_NAME | HAS_PLACE | HAS_START | HAS_END, "range", {"rangeNameIdx", "warpLocIdxs", "startTs", "endTs"}},
                 {IKET_JSON_LIFETIME, HAS_PLACE | HAS_START | HAS_END, "warpLifetime", {"", "locIdx", "startTs", "endTs"}}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        unsigned lacking = kinds[i].kind == kind ? kinds[i].needs & ~has : 0;
        if (lacking != 0) return iket_scan_fail(scan, err, "a %s without %s ends here", kinds[i].name, kinds[i].keys[__builtin_ctz(lacking)]);
    }
    return 0;
}

int iket_json_read_row(iket_trace_json *doc, unsigned kind, iket_json_row *row, iket_error *err) {
    iket_scan *scan = &doc->scan;
    *row = (iket_json_row){.kind = (uint8_t)kind, .color = IKET_UNKNOWN, .event_id = IKET_UNKNOWN, .end_event_id = IKET_UNKNOWN, .range_type = IKET_RANGE_STACK};
    iket_scan_text key;
    payload_in payload;
    payload.type = 0;
    payload.has_bits = payload.has_text = 0;
    unsigned has = 0;
    int first = 1, more;
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) IKET_TRY(read_value(doc, key_of(&key), row, &payload, &has, err));
    if (more < 0) return -1;
    IKET_TRY(check_complete(scan, kind, has, err));
    if (payload.type != 0) IKET_TRY(finish_payload(scan, &payload, &row->payload_type, &row->bits, err));
    return 0;
}
