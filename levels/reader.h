// SPDX-License-Identifier: Apache-2.0
// reader.h: reads a .pftrace of our layout (doc/pftrace.md), packet by packet; private to the builder.
//
//     0A length body | 0A length body | ...      a body is (tag, value)*, a tag is (field << 3 | wire type)
//
// What viewer/worker/pftrace.js tolerates is tolerated, what it refuses is refused. Refused beside that, for the file is read
// twice and its events are searched by time: numbers of names that are given a second time, categories that were never
// declared, times past 2^53. The first reading (`defines`) fills the names and the tracks; later ones may begin at any packet
// of a plain file whose time is known.
#ifndef IKET_LEVELS_READER_H
#define IKET_LEVELS_READER_H

#include "common/sink.h"
#include "levels/names.h"
#include "levels/source.h"

enum { IKET_LEVELS_BEGIN = 1, IKET_LEVELS_END = 2, IKET_LEVELS_AT_ONCE = 3 };

// What an event has beside its type, track and name; the fields that belong to it are valid only then.
enum {
    IKET_LEVELS_HAS_PAYLOAD = 1, IKET_LEVELS_HAS_END_PAYLOAD = 2, IKET_LEVELS_HAS_UNCLOSED = 4, IKET_LEVELS_HAS_RECORDED = 8,
    IKET_LEVELS_HAS_EXTRA = 16, IKET_LEVELS_HAS_TEXT = 32, IKET_LEVELS_HAS_FLOWS = 64,
};

typedef struct iket_levels_packet_event {
    uint64_t time;             // ns since t0
    uint32_t type, track;
    unsigned has;
    uint64_t name, category;   // iids
    uint64_t payload, end_payload, recorded;
    uint8_t payload_type, end_payload_type;
} iket_levels_packet_event;

typedef struct iket_levels_flow {
    uint64_t id;
    int reaches;               // else it leaves
} iket_levels_flow;

struct iket_levels_reader;
typedef int (*iket_levels_event_fn)(void *context, struct iket_levels_reader *reader, const iket_levels_packet_event *event, iket_error *err);

// Called before a packet that needs bytes which are not at hand, with its offset and the time before it: about once a megabyte.
typedef int (*iket_levels_pause_fn)(void *context, struct iket_levels_reader *reader, uint64_t offset, iket_error *err);

typedef struct iket_levels_reader {
    iket_levels_source source;
    iket_levels_names *names;  // only read unless `defines`
    int defines;
    uint64_t end;              // of the file: where to stop, UINT64_MAX: at its end
    uint64_t time, packet;     // ns since t0; offset of the packet at hand
    const uint8_t *at;         // of the message at hand, for messages
    uint64_t unknown_tracks;   // events that were left out
    uint64_t cut;              // bytes of a packet that is not whole, at the end
    iket_error cut_why;        // "" or why gzip data ends early
    char *text;                // of an event with a name of its own: clean, NUL-terminated
    iket_memory extra;         // of an event with extra annotations: a JSON object, NUL-terminated
    iket_levels_flow *flows;
    size_t flow_count, flow_capacity;
    iket_levels_event_fn event;
    iket_levels_pause_fn pause; // NULL: none
    void *context;
} iket_levels_reader;

// Opens at a packet's offset with the time of the packet before it. The other fields are set by the caller beforehand.
IKET_MUST_CHECK int iket_levels_reader_open(iket_levels_reader *reader, int fd, uint64_t offset, uint64_t time, iket_error *err);
IKET_MUST_CHECK int iket_levels_reader_run(iket_levels_reader *reader, iket_error *err);
void iket_levels_reader_close(iket_levels_reader *reader);

// "byte 0x12: …" at reader->at. Returns -1.
__attribute__((format(printf, 3, 4))) int iket_levels_refuse(const iket_levels_reader *reader, iket_error *err, const char *format, ...);

#endif
