// SPDX-License-Identifier: Apache-2.0
// reader_event.c: one event of a track; nearly all of a file is these.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/text.h"
#include "common/utf8.h"
#include "levels/wire.h"

typedef struct annotation {
    uint64_t iid, bits;
    unsigned type; // iket_levels_payload
    iket_levels_message name, text; // at NULL: none
} annotation;

// ---- annotations that have no column: the members of a JSON object -------------------------------------------------

static int put_string(iket_sink *sink, iket_levels_message text, iket_error *err) {
    char *clean = iket_utf8_clean((const char *)text.at, (size_t)(text.limit - text.at));
    if (clean == NULL) return iket_fail(err, "out of memory (a text of %zu bytes)", (size_t)(text.limit - text.at));
    iket_json_string(sink, clean);
    free(clean);
    return 0;
}

// Numbers that a double does not hold are texts: JSON's readers would round them.
static int put_value(iket_sink *sink, const annotation *a, iket_error *err) {
    if (a->type == IKET_LEVELS_TEXT) return put_string(sink, a->text, err);
    uint8_t *at = iket_sink_reserve(sink, IKET_TEXT_NUMBER + 2);
    if (a->type == IKET_LEVELS_DOUBLE) {
        double value;
        memcpy(&value, &a->bits, sizeof value);
        iket_sink_commit(sink, (uint8_t *)iket_text_f64((char *)at, value));
        return 0;
    }
    int64_t value = (int64_t)a->bits;
    int is_signed = a->type == IKET_LEVELS_INT;
    const int64_t most = (INT64_C(1) << 53) - 1;
    int exact = is_signed ? value >= -most && value <= most : a->bits <= (uint64_t)most;
    if (!exact) *at++ = '"';
    at = (uint8_t *)(is_signed ? iket_text_i64((char *)at, value) : iket_text_u64((char *)at, a->bits));
    if (!exact) *at++ = '"';
    iket_sink_commit(sink, at);
    return 0;
}

// An annotation that was not declared so far has a name from then on: a later declaration of another one is refused, so that
// every reading takes an event for the same.
static int name_annotation(iket_levels_reader *reader, uint64_t iid, uint32_t *index, iket_error *err) {
    char text[40];
    *index = iket_levels_map_get(&reader->names->annotation_of, iid);
    if (*index != IKET_LEVELS_NONE) return 0;
    if (!reader->defines) return iket_fail(err, "the file changed while it was read (try again)");
    int size = snprintf(text, sizeof text, "annotation %" PRIu64, iid);
    IKET_TRY(iket_levels_strings_add(&reader->names->interned, text, (size_t)size, index, err));
    return iket_levels_map_set(&reader->names->annotation_of, iid, *index, err);
}

static int put_name(iket_levels_reader *reader, iket_sink *sink, const annotation *a, iket_error *err) {
    if (a->name.at != NULL) return put_string(sink, a->name, err);
    uint32_t index;
    IKET_TRY(name_annotation(reader, a->iid, &index, err));
    iket_json_string(sink, iket_levels_strings_get(&reader->names->interned, index));
    return 0;
}

// Adds a member to reader->extra, which then ends with "}" and a NUL.
static int add_extra(iket_levels_reader *reader, const annotation *a, int first, iket_error *err) {
    iket_sink sink;
    reader->extra.used = first ? 0 : reader->extra.used - 2;
    IKET_TRY(iket_sink_open(&sink, 1024, iket_memory_flush, &reader->extra, err));
    iket_sink_text(&sink, first ? "{" : ",");
    int result = put_name(reader, &sink, a, err);
    if (result == 0) {
        iket_sink_text(&sink, ":");
        result = put_value(&sink, a, err);
    }
    iket_sink_write(&sink, "}", 2);
    if (result != 0) {
        iket_sink_drop(&sink);
        return -1;
    }
    return iket_sink_close(&sink, err);
}

// ---- annotations ----------------------------------------------------------------------------------------------------

static iket_levels_use use_of(const iket_levels_names *names, const annotation *a) {
    if (a->name.at != NULL) return iket_levels_use_of_annotation((const char *)a->name.at, (size_t)(a->name.limit - a->name.at));
    if (a->iid < sizeof names->annotation_use) return (iket_levels_use)names->annotation_use[a->iid];
    uint32_t index = iket_levels_map_get(&names->annotation_of, a->iid);
    if (index == IKET_LEVELS_NONE) return IKET_LEVELS_USE_EXTRA;
    const char *text = iket_levels_strings_get(&names->interned, index);
    return iket_levels_use_of_annotation(text, strlen(text));
}

static int parse_annotation(iket_levels_reader *reader, iket_levels_message m, annotation *a, iket_error *err) {
    uint64_t tag;
    *a = (annotation){.type = IKET_LEVELS_NO_PAYLOAD};
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        switch (tag) {
        case 0x08: IKET_TRY(iket_levels_varint(reader, &m, &a->iid, err)); break;
        case 0x10:
        case 0x18:
        case 0x20:
        case 0x38:
            IKET_TRY(iket_levels_varint(reader, &m, &a->bits, err));
            a->type = tag == 0x20 ? IKET_LEVELS_INT : tag == 0x38 ? IKET_LEVELS_POINTER : IKET_LEVELS_UINT;
            break;
        case 0x29:
            IKET_TRY(iket_levels_fixed64(reader, &m, &a->bits, err));
            a->type = IKET_LEVELS_DOUBLE;
            break;
        case 0x32:
            IKET_TRY(iket_levels_enter(reader, &m, &a->text, err));
            a->type = IKET_LEVELS_TEXT;
            break;
        case 0x52: IKET_TRY(iket_levels_enter(reader, &m, &a->name, err)); break;
        default: IKET_TRY(iket_levels_skip(reader, &m, tag, err));
        }
    }
    return iket_levels_leave(reader, &m, err);
}

static int read_annotation(iket_levels_reader *reader, iket_levels_message m, iket_levels_packet_event *event, iket_error *err) {
    annotation a;
    IKET_TRY(parse_annotation(reader, m, &a, err));
    switch (use_of(reader->names, &a)) {
    case IKET_LEVELS_USE_PAYLOAD:
        event->payload = a.bits;
        event->payload_type = (uint8_t)a.type;
        if (a.type != IKET_LEVELS_NO_PAYLOAD) event->has |= IKET_LEVELS_HAS_PAYLOAD;
        return 0;
    case IKET_LEVELS_USE_END:
        event->end_payload = a.bits;
        event->end_payload_type = (uint8_t)a.type;
        if (a.type != IKET_LEVELS_NO_PAYLOAD) event->has |= IKET_LEVELS_HAS_END_PAYLOAD;
        return 0;
    case IKET_LEVELS_USE_UNCLOSED:
        if (a.bits != 0) event->has |= IKET_LEVELS_HAS_UNCLOSED;
        return 0;
    case IKET_LEVELS_USE_RECORDED:
        event->recorded = a.bits;
        event->has |= IKET_LEVELS_HAS_RECORDED;
        return 0;
    case IKET_LEVELS_USE_EXTRA: break;
    }
    IKET_TRY(add_extra(reader, &a, (event->has & IKET_LEVELS_HAS_EXTRA) == 0, err));
    event->has |= IKET_LEVELS_HAS_EXTRA;
    return 0;
}

// ---- the event ------------------------------------------------------------------------------------------------------

static int read_category(iket_levels_reader *reader, iket_levels_message *m, iket_levels_packet_event *event, iket_error *err) {
    iket_levels_message packed;
    IKET_TRY(iket_levels_enter(reader, m, &packed, err));
    if (packed.at == packed.limit) return 0;
    return iket_levels_varint(reader, &packed, &event->category, err);
}

static int read_flow(iket_levels_reader *reader, iket_levels_message *m, int reaches, iket_levels_packet_event *event, iket_error *err) {
    if (!(event->has & IKET_LEVELS_HAS_FLOWS)) reader->flow_count = 0;
    event->has |= IKET_LEVELS_HAS_FLOWS;
    IKET_TRY(IKET_RESERVE(reader->flows, reader->flow_count, reader->flow_capacity, 1, err));
    reader->flows[reader->flow_count] = (iket_levels_flow){.reaches = reaches};
    return iket_levels_fixed64(reader, m, &reader->flows[reader->flow_count++].id, err);
}

static int read_text(iket_levels_reader *reader, iket_levels_message *m, iket_levels_packet_event *event, iket_error *err) {
    iket_levels_message text;
    IKET_TRY(iket_levels_enter(reader, m, &text, err));
    free(reader->text);
    reader->text = iket_utf8_clean((const char *)text.at, (size_t)(text.limit - text.at));
    event->has |= IKET_LEVELS_HAS_TEXT;
    return reader->text != NULL ? 0 : iket_fail(err, "out of memory (a name of %zu bytes)", (size_t)(text.limit - text.at));
}

int iket_levels_read_event(iket_levels_reader *reader, iket_levels_message m, iket_error *err) {
    iket_levels_packet_event event;
    uint64_t tag, type = 0, uuid = 0;
    iket_levels_message inner;
    const uint8_t *begin = m.at;
    event.has = 0;
    event.name = event.category = 0;
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        switch (tag) {
        case 0x48: IKET_TRY(iket_levels_varint(reader, &m, &type, err)); break;
        case 0x58: IKET_TRY(iket_levels_varint(reader, &m, &uuid, err)); break;
        case 0x50: IKET_TRY(iket_levels_varint(reader, &m, &event.name, err)); break;
        case 0x18: IKET_TRY(iket_levels_varint(reader, &m, &event.category, err)); break;
        case 0x1A: IKET_TRY(read_category(reader, &m, &event, err)); break;
        case 0x22:
            IKET_TRY(iket_levels_enter(reader, &m, &inner, err));
            IKET_TRY(read_annotation(reader, inner, &event, err));
            break;
        case 0x179: IKET_TRY(read_flow(reader, &m, 0, &event, err)); break;
        case 0x181: IKET_TRY(read_flow(reader, &m, 1, &event, err)); break;
        case 0xBA: IKET_TRY(read_text(reader, &m, &event, err)); break;
        default: IKET_TRY(iket_levels_skip(reader, &m, tag, err));
        }
    }
    IKET_TRY(iket_levels_leave(reader, &m, err));
    if (type < IKET_LEVELS_BEGIN || type > IKET_LEVELS_AT_ONCE) return 0;
    event.track = iket_levels_track_of(reader->names, uuid);
    if (event.track == IKET_LEVELS_NONE) {
        reader->unknown_tracks++;
        return 0;
    }
    event.type = (uint32_t)type;
    event.time = reader->time;
    reader->at = begin;
    return reader->event(reader->context, reader, &event, err);
}
