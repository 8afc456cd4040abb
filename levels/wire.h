// SPDX-License-Identifier: Apache-2.0
// wire.h: the values of protobuf's wire format; private to the builder.
//
// A message is at .. limit, both within the bytes at hand, behind which at least 128 zero bytes may be read: a tag and a
// number that begin before the limit never lead out of those. What reached past the limit is found at its next check.
#ifndef IKET_LEVELS_WIRE_H
#define IKET_LEVELS_WIRE_H

#include <string.h>

#include "levels/reader.h"

typedef struct iket_levels_message {
    const uint8_t *at, *limit;
} iket_levels_message;

static inline int iket_levels_refuse_at(iket_levels_reader *reader, const uint8_t *at, const char *why, iket_error *err) {
    reader->at = at;
    iket_levels_refuse(reader, err, "%s", why);
    return -1; // which the compiler sees here: what a failed call leaves unset is not used
}

static inline int iket_levels_long_varint(iket_levels_reader *reader, iket_levels_message *m, uint64_t *value, iket_error *err) {
    const uint8_t *at = m->at;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        result |= (uint64_t)(*at & 127) << (shift < 64 ? shift : 63);
        if (*at++ < 128) {
            *value = result;
            m->at = at;
            return 0;
        }
    }
    return iket_levels_refuse_at(reader, m->at, "a number is longer than ten bytes (the file is damaged)", err);
}

static inline int iket_levels_varint(iket_levels_reader *reader, iket_levels_message *m, uint64_t *value, iket_error *err) {
    const uint8_t *at = m->at;
    if (at[0] < 128) {
        *value = at[0];
        m->at = at + 1;
        return 0;
    }
    if (at[1] < 128) {
        *value = (at[0] & 127u) | (uint64_t)at[1] << 7;
        m->at = at + 2;
        return 0;
    }
    return iket_levels_long_varint(reader, m, value, err);
}

static inline int iket_levels_past(iket_levels_reader *reader, const uint8_t *at, iket_error *err) {
    return iket_levels_refuse_at(reader, at, "a field reaches past the end of its message (the file is damaged)", err);
}

// A length-delimited field that begins here: `inner` is its content, m stands behind it.
static inline int iket_levels_enter(iket_levels_reader *reader, iket_levels_message *m, iket_levels_message *inner, iket_error *err) {
    const uint8_t *field = m->at;
    uint64_t length;
    IKET_TRY(iket_levels_varint(reader, m, &length, err));
    if (m->at > m->limit || length > (uint64_t)(m->limit - m->at)) return iket_levels_past(reader, field, err);
    *inner = (iket_levels_message){m->at, m->at + length};
    m->at += length;
    return 0;
}

static inline int iket_levels_fixed64(iket_levels_reader *reader, iket_levels_message *m, uint64_t *value, iket_error *err) {
    if (m->at > m->limit || m->limit - m->at < 8) return iket_levels_past(reader, m->at, err);
    memcpy(value, m->at, 8);
    m->at += 8;
    return 0;
}

// Passes by the value of a field that is not known.
IKET_MUST_CHECK int iket_levels_skip(iket_levels_reader *reader, iket_levels_message *m, uint64_t tag, iket_error *err);

// For the end of a message's fields: what was read last must end where the message does.
static inline int iket_levels_leave(iket_levels_reader *reader, const iket_levels_message *m, iket_error *err) {
    return m->at == m->limit ? 0 : iket_levels_past(reader, m->limit, err);
}

// What a packet may hold, by the file that reads it.
IKET_MUST_CHECK int iket_levels_read_names(iket_levels_reader *reader, iket_levels_message m, iket_error *err);  // reader_names.c
IKET_MUST_CHECK int iket_levels_read_track(iket_levels_reader *reader, iket_levels_message m, iket_error *err);
IKET_MUST_CHECK int iket_levels_read_event(iket_levels_reader *reader, iket_levels_message m, iket_error *err);  // reader_event.c

#endif
