// SPDX-License-Identifier: Apache-2.0
// reader.c: packets, their times and the clock. What is in them: reader_names.c, reader_event.c.
#include "levels/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "levels/wire.h"

enum { CLOCK = 64, PACKET = 0x0A, LENGTH_BYTES = 5 };
enum { MOST_PACKET = 256 << 20 }; // a packet is held whole, and gzip makes a large one of a small file; ours take some kilobytes

// The page holds times as doubles: whole nanoseconds up to here, 104 days.
#define LAST_TIME ((UINT64_C(1) << 53) - 1)

int iket_levels_refuse(const iket_levels_reader *reader, iket_error *err, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return iket_fail(err, "byte 0x%" PRIx64 ": %s", reader->source.offset + (uint64_t)(reader->at - reader->source.data), text);
}

int iket_levels_skip(iket_levels_reader *reader, iket_levels_message *m, uint64_t tag, iket_error *err) {
    const uint8_t *field = m->at;
    uint64_t value;
    iket_levels_message inner;
    switch (tag & 7) {
    case 0: IKET_TRY(iket_levels_varint(reader, m, &value, err)); break;
    case 1: IKET_TRY(iket_levels_fixed64(reader, m, &value, err)); break;
    case 2: return iket_levels_enter(reader, m, &inner, err);
    case 5: m->at += 4; break;
    default: reader->at = field; return iket_levels_refuse(reader, err, "wire type %u is not one of protobuf (the file is damaged)", (unsigned)(tag & 7));
    }
    return m->at <= m->limit ? 0 : iket_levels_past(reader, field, err);
}

static int set_clock(iket_levels_reader *reader, uint64_t time, iket_error *err) {
    iket_levels_names *names = reader->names;
    if (!names->has_t0) {
        names->t0 = time;
        names->has_t0 = 1;
    }
    // Lanes are searched by time, so it never goes back.
    uint64_t since = time >= names->t0 ? time - names->t0 : 0;
    if (since > LAST_TIME) return iket_levels_refuse(reader, err, "the clock jumps by more than 104 days (the file is damaged)");
    if (since > reader->time) reader->time = since;
    return 0;
}

static int read_clocks(iket_levels_reader *reader, iket_levels_message m, iket_error *err) {
    uint64_t tag;
    iket_levels_message clock;
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        if (tag != 0x0A) {
            IKET_TRY(iket_levels_skip(reader, &m, tag, err));
            continue;
        }
        IKET_TRY(iket_levels_enter(reader, &m, &clock, err));
        uint64_t id = 0, time = 0;
        reader->at = clock.at;
        while (clock.at < clock.limit) {
            IKET_TRY(iket_levels_varint(reader, &clock, &tag, err));
            if (tag == 0x08) {
                IKET_TRY(iket_levels_varint(reader, &clock, &id, err));
            } else if (tag == 0x10) {
                IKET_TRY(iket_levels_varint(reader, &clock, &time, err));
            } else {
                IKET_TRY(iket_levels_skip(reader, &clock, tag, err));
            }
        }
        IKET_TRY(iket_levels_leave(reader, &clock, err));
        if (id == CLOCK) IKET_TRY(set_clock(reader, time, err));
    }
    return iket_levels_leave(reader, &m, err);
}

static int advance(iket_levels_reader *reader, const uint8_t *packet, uint64_t delta, iket_error *err) {
    if (delta > LAST_TIME - reader->time) return iket_levels_refuse_at(reader, packet, "a time is more than 104 days after the first one (the file is damaged)", err);
    reader->time += delta;
    return 0;
}

static int read_packet(iket_levels_reader *reader, iket_levels_message m, iket_error *err) {
    const uint8_t *packet = m.at;
    uint64_t tag, delta = 0, clock = 0, ignored;
    iket_levels_message inner, event = {NULL, NULL};
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        switch (tag) {
        case 0x40: IKET_TRY(iket_levels_varint(reader, &m, &delta, err)); break;            // timestamp
        case 0x5A: IKET_TRY(iket_levels_enter(reader, &m, &event, err)); break;             // track_event
        case 0x50:                                                                          // the sequence: there is one,
        case 0x68: IKET_TRY(iket_levels_varint(reader, &m, &ignored, err)); break;          // and its flags
        case 0x32: IKET_TRY(iket_levels_enter(reader, &m, &inner, err)); IKET_TRY(read_clocks(reader, inner, err)); break;
        case 0x62:
            IKET_TRY(iket_levels_enter(reader, &m, &inner, err));
            if (reader->defines) IKET_TRY(iket_levels_read_names(reader, inner, err));
            break;
        case 0x1E2:
            IKET_TRY(iket_levels_enter(reader, &m, &inner, err));
            if (reader->defines) IKET_TRY(iket_levels_read_track(reader, inner, err));
            break;
        case 0x1D0: IKET_TRY(iket_levels_varint(reader, &m, &clock, err)); break;           // timestamp_clock_id
        default: IKET_TRY(iket_levels_skip(reader, &m, tag, err));
        }
    }
    if (m.at != m.limit) return iket_levels_refuse_at(reader, packet, "a packet ends in the middle of a field (the file is damaged)", err);
    if (clock == 0 || clock == CLOCK) IKET_TRY(advance(reader, packet, delta, err));
    return event.at != NULL ? iket_levels_read_event(reader, event, err) : 0;
}

// Whole packets of the bytes at hand. Sets *at to the first that is not whole.
static int read_at_hand(iket_levels_reader *reader, const uint8_t **at, iket_error *err) {
    const iket_levels_source *source = &reader->source;
    while (*at < source->end) {
        reader->packet = source->offset + (uint64_t)(*at - source->data);
        if (reader->packet >= reader->end) return 0;
        if (**at != PACKET) return iket_levels_refuse_at(reader, *at, "a packet should begin here (this is no .pftrace that iket-decode wrote, or it is damaged)", err);
        const uint8_t *p = *at + 1;
        uint64_t length = 0;
        unsigned shift = 0;
        while (p < source->end && shift < 7 * LENGTH_BYTES && *p >= 128) {
            length |= (uint64_t)(*p++ & 127) << shift;
            shift += 7;
        }
        if (shift >= 7 * LENGTH_BYTES) return iket_levels_refuse_at(reader, *at, "a packet says that it is over 32 GB long (the file is damaged)", err);
        if (p == source->end) return 0;
        length |= (uint64_t)*p++ << shift;
        if (length > MOST_PACKET) return iket_levels_refuse_at(reader, *at, "a packet says that it is over 256 MB long (the file is damaged)", err);
        if (length > (uint64_t)(source->end - p)) return 0;
        IKET_TRY(read_packet(reader, (iket_levels_message){p, p + length}, err));
        *at = p + length;
    }
    return 0;
}

int iket_levels_reader_open(iket_levels_reader *reader, int fd, uint64_t offset, uint64_t time, iket_error *err) {
    reader->time = time;
    return iket_levels_source_open(&reader->source, fd, offset, err);
}

int iket_levels_reader_run(iket_levels_reader *reader, iket_error *err) {
    iket_levels_source *source = &reader->source;
    const uint8_t *at = source->data;
    int more = 1;
    while (more > 0) {
        IKET_TRY(read_at_hand(reader, &at, err));
        uint64_t offset = source->offset + (uint64_t)(at - source->data);
        if (offset >= reader->end) return 0;
        if (reader->pause != NULL) IKET_TRY(reader->pause(reader->context, reader, offset, err));
        more = iket_levels_source_more(source, at, &reader->cut_why);
        at = source->data;
    }
    // Of gzip data that ends early, all that was whole has been read.
    if (more < 0 && !source->gzip) return iket_fail(err, "%s", reader->cut_why.message);
    if (source->offset == 0 && source->data == source->end) {
        return more < 0 ? iket_fail(err, "%s", reader->cut_why.message) : iket_fail(err, "the file is empty");
    }
    reader->cut = (uint64_t)(source->end - source->data);
    return reader->names->has_t0 ? 0 : iket_fail(err, "the file holds no clock snapshot: it is not a trace that iket-decode wrote");
}

void iket_levels_reader_close(iket_levels_reader *reader) {
    iket_levels_source_close(&reader->source);
    free(reader->text);
    free(reader->extra.data);
    free(reader->flows);
    reader->text = NULL;
    reader->extra = (iket_memory){0};
    reader->flows = NULL;
}
