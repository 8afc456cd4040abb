// SPDX-License-Identifier: Apache-2.0
// parts.c: see parts.h. A closed stream's bytes may end in a record that reached into the spare slot, and its count of
// events includes those that were dropped or overwritten; what is stored whole, and from where on, is found here, where
// the declarations are known.
#include "parts.h"

#include "crc32.h"
#include "ring.h"

#include <string.h>

static uint32_t get32(const unsigned char *from) {
    uint32_t value;
    memcpy(&value, from, 4);
    return value;
}
static uint64_t get64(const unsigned char *from) {
    uint64_t value;
    memcpy(&value, from, 8);
    return value;
}
static void put16(unsigned char *to, uint32_t value) {
    uint16_t narrow = (uint16_t)value;
    memcpy(to, &narrow, 2);
}
static void put32(unsigned char *to, uint32_t value) { memcpy(to, &value, 4); }

// The bytes of the record that starts here, by the module's declarations; 0 where none starts.
static size_t record_size(const struct attached_module *module, const unsigned char *record) {
    uint32_t first = get32(record);
    uint32_t id = module->extended ? get32(record + 4) : first & 31;
    if (first == 0 && (!module->extended || id == 0)) return 0;
    unsigned payload = id < sizeof module->payload_of_id ? module->payload_of_id[id] : 255;
    if (module->extended) return payload == 0 || payload == 255 ? 8 : 16;
    if (module_long_payload(payload)) return 16;
    return module->wide || (payload != 0 && payload != 255) ? 8 : 4;
}

// What a lane left in its region.
struct stream {
    const unsigned char *part;  // the warp's header
    unsigned char *header;      // where the chunk's goes, before the records, or NULL
    uint32_t lane;
    int first;                  // it is the warp's first lane
    int closed;
    int owned;                  // the memory is ours
    unsigned char *records;
    size_t used;                // bytes
    size_t next;                // keep last: where the next record would have gone
    uint64_t events;            // that it led, when closed
    uint64_t left_out;          // form B: that other lanes led
    uint64_t time;              // a globaltimer not before the last record
};

// Of these, what can be decoded. The records begin at oldest and go on at 0 when they reach the end.
struct kept {
    size_t bytes;
    size_t oldest;
    uint64_t dropped;
    uint64_t overwritten;
};

static uint32_t flags_of(const unsigned char *part) { return get32(part + 4) >> 16; }

// The size that all records of the chunk have; 0 where they differ.
static size_t fixed_size(const struct attached_module *module, uint32_t flags) {
    if ((flags & IKET_CHUNK_EVEN) != 0) return 16;
    return module->mixed ? 0 : module->extended || module->wide ? 8 : 4;
}

// The events of a closed stream beyond those that it has. They were counted in 32 bits.
static uint64_t events_beyond(const struct stream *stream, uint64_t count) {
    return stream->events - count + (stream->events < count ? (uint64_t)UINT32_MAX + 1 : 0);
}

// Records one after the other up to where none starts or the last one that is whole ends.
static struct kept walk(const struct attached_module *module, const struct stream *stream) {
    struct kept kept = {0, 0, 0, 0};
    uint64_t count = 0;
    size_t least = module->extended || module->wide ? 8 : 4, fixed = fixed_size(module, flags_of(stream->part));
    while (kept.bytes + least <= stream->used) {
        size_t size = record_size(module, stream->records + kept.bytes);
        if (size != 0 && fixed != 0) size = fixed;
        if (size == 0 || kept.bytes + size > stream->used) break;
        kept.bytes += size;
        count++;
    }
    if (stream->closed) kept.dropped = events_beyond(stream, count);
    return kept;
}

// A ring: where it went round, the oldest record is the one that the next would have overwritten.
static struct kept ring_kept(const struct stream *stream, size_t size) {
    struct kept kept = {.bytes = stream->used, .overwritten = events_beyond(stream, stream->used / size)};
    if (kept.overwritten != 0) kept.oldest = stream->next;
    return kept;
}

// A ring whose warp did not end. It says itself whether it went round, but not how often.
static struct kept open_ring_kept(const struct attached_module *module, const struct stream *stream, size_t region, size_t size) {
    size_t last = region - size;
    if (region < size || stream->used < region || record_size(module, stream->records + last) == 0) return walk(module, stream);
    struct ring_run run = ring_find(stream->records, region, size, (uint32_t)stream->time);
    return (struct kept){.bytes = run.bytes, .oldest = run.oldest, .overwritten = 1};
}

static struct kept kept_of(const struct attached_module *module, const struct stream *stream, size_t region) {
    uint32_t flags = flags_of(stream->part);
    size_t size = fixed_size(module, flags);
    struct kept kept;
    if ((flags & IKET_CHUNK_KEEPS_LAST) != 0) {
        kept = stream->closed ? ring_kept(stream, size) : open_ring_kept(module, stream, region, size);
    } else if (stream->closed && size != 0) {
        kept = (struct kept){.bytes = stream->used, .dropped = events_beyond(stream, stream->used / size)};
    } else {
        kept = walk(module, stream);
    }
    return kept;
}

// The size that would have held everything.
static void fit_advice(struct iket_session *session, int first, size_t stored, uint64_t dropped) {
    uint64_t needed = stored + 16 * dropped;
    struct iket_session_report *report = &session->report;
    uint64_t *lane = first ? &report->sufficient_first_lane_bytes : &report->sufficient_other_lane_bytes;
    uint64_t with_overhead = first ? needed : needed + IKET_LANE_HEADER + IKET_SPARE_BYTES;
    if (with_overhead > *lane) *lane = (with_overhead + 15) / 16 * 16;
    double times = first && stored > 0 ? (double)needed / (double)stored : 0;
    if (times > session->pool_shortage) session->pool_shortage = times;
}

static void count_chunk(struct iket_session *session, const struct stream *stream, const struct kept *kept) {
    session->report.chunks++;
    session->report.record_bytes += kept->bytes;
    session->report.dropped_events += kept->dropped + stream->left_out;
    session->report.overwritten_events += kept->overwritten;
    session->form_b_dropped += stream->left_out;
    if (kept->dropped != 0) fit_advice(session, stream->first, kept->bytes, kept->dropped);
}

static uint32_t at_most_32_bits(uint64_t value) { return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value; }

// The header of the warp with the lane's own values.
static void fill_header(unsigned char *header, const struct stream *stream, const struct kept *kept, uint32_t crc) {
    int ring = (flags_of(stream->part) & IKET_CHUNK_KEEPS_LAST) != 0;
    uint64_t dropped = kept->dropped + stream->left_out, time = stream->closed ? get64(stream->part + 40) : stream->time;
    uint32_t flags = flags_of(stream->part) & (IKET_CHUNK_WIDE | IKET_CHUNK_EVEN | IKET_CHUNK_KEEPS_LAST);
    flags |= stream->closed ? IKET_CHUNK_CLOSED | IKET_CHUNK_LAST : 0;
    flags |= !ring && dropped != 0 ? IKET_CHUNK_DROPPED : 0;
    if (header != stream->part) memcpy(header, stream->part, CHUNK_HEADER_BYTES);
    put16(header + 6, flags);
    put16(header + 90, stream->lane);
    put32(header + 96, 0);
    put32(header + 100, stream->closed ? (uint32_t)kept->bytes : 0);
    put32(header + 104, at_most_32_bits(ring ? kept->overwritten : dropped));
    put32(header + 108, 0);
    put32(header + 112, (uint32_t)(CHUNK_HEADER_BYTES + (kept->bytes + 15) / 16 * 16));
    put32(header + 116, crc);
    memset(header + 120, 0, 8);
    if (ring) memcpy(header + 120, &time, 8);
    if (!stream->closed) memset(header + 40, 0, 8);
}

// Adds a stream as a chunk of its own. region is the size of its region, where it is open.
static int add_chunk(struct iket_session *session, const struct stream *stream, size_t region, struct iket_recorder_error *error) {
    const struct attached_module *module = modules_find(&session->modules, get64(stream->part + 8));
    if (module == NULL)
        return rec_fail(error, "the pool holds records of a module that is not known (0x%llx)", (unsigned long long)get64(stream->part + 8));
    if ((flags_of(stream->part) & IKET_CHUNK_KEEPS_LAST) != 0 && fixed_size(module, flags_of(stream->part)) == 0)
        return rec_fail(error, "the pool is damaged: the records of a ring differ in size: something wrote over it");
    struct kept kept = kept_of(module, stream, region);
    size_t until_end = stream->used - kept.oldest < kept.bytes ? stream->used - kept.oldest : kept.bytes;
    size_t padding = (16 - kept.bytes % 16) % 16;
    uint32_t crc = 0;
    count_chunk(session, stream, &kept);
    struct chunk_batch *batch = writer_reserve(&session->writer, error);
    if (batch == NULL) return -1;
    if (stream->closed) {
        crc = rec_crc32(0, stream->records + kept.oldest, until_end);
        crc = rec_crc32(crc, stream->records, kept.bytes - until_end);
    }
    unsigned char *header = stream->header != NULL ? stream->header : batch_header(batch);
    fill_header(header, stream, &kept, crc);
    batch_add(batch, header, CHUNK_HEADER_BYTES);
    if (stream->owned && until_end == kept.bytes && kept.oldest == 0) {
        memset(stream->records + kept.bytes, 0, padding);
        batch_add(batch, stream->records, kept.bytes + padding);
        return 0;
    }
    batch_add(batch, stream->records + kept.oldest, until_end);
    if (until_end < kept.bytes) batch_add(batch, stream->records, kept.bytes - until_end);
    batch_pad(batch, padding);
    return 0;
}

static int damaged(const unsigned char *part, size_t left, struct iket_recorder_error *error) {
    return rec_fail(error, "the pool is damaged: no part of a warp where one must be (magic 0x%08x, %zu bytes left): something "
                    "wrote over it", left >= 4 ? get32(part) : 0, left);
}

static int add_closed_part(struct iket_session *session, unsigned char *part, uint32_t bytes, int owned, struct iket_recorder_error *error) {
    uint32_t used = get32(part + 100);
    size_t at = IKET_PART_HEADER + ((size_t)used + 15) / 16 * 16;
    if (at > bytes || get32(part + 116) > used) return damaged(part, bytes, error);
    struct stream stream = {.part = part, .lane = get32(part + 88) >> 16, .first = 1, .closed = 1, .owned = owned,
                            .records = part + IKET_PART_HEADER, .used = used, .next = get32(part + 116), .events = get32(part + 104)};
    if ((flags_of(part) & IKET_PART_FORM_B) != 0) stream.left_out = get32(part + 120);
    session->report.warps++;
    REC_TRY(launches_note(&session->launches, part, error));
    struct stream first = stream;
    stream.first = 0, stream.left_out = 0;
    while (at + IKET_LANE_HEADER <= bytes) {
        unsigned char *lane = part + at;
        uint32_t lane_used = get32(lane + 4);
        size_t end = at + IKET_LANE_HEADER + ((size_t)lane_used + 15) / 16 * 16;
        if (end > bytes || get32(lane + 12) > lane_used) return damaged(lane, bytes - at, error);
        stream.lane = get32(lane), stream.records = lane + IKET_LANE_HEADER, stream.used = lane_used;
        stream.events = get32(lane + 8), stream.next = get32(lane + 12);
        REC_TRY(add_chunk(session, &stream, 0, error));
        at = end;
    }
    first.header = owned ? part : NULL;
    return add_chunk(session, &first, 0, error);
}

int parts_add_closed(struct iket_session *session, unsigned char *parts, size_t bytes, int owned, struct iket_recorder_error *error) {
    for (size_t at = 0; at < bytes;) {
        if (bytes - at < IKET_PART_HEADER || get32(parts + at) != IKET_CHUNK_MAGIC) return damaged(parts + at, bytes - at, error);
        uint32_t size = get32(parts + at + 112);
        // Small parts lie one after the other and come from the device: ask for the ones after the next.
        for (size_t line = 0; line < 256; line += 64) __builtin_prefetch(parts + at + 768 + line);
        if (size < IKET_PART_HEADER || size > bytes - at || size % 16 != 0) return damaged(parts + at, bytes - at, error);
        REC_TRY(add_closed_part(session, parts + at, size, owned, error));
        at += size;
    }
    return 0;
}

int parts_add_open(struct iket_session *session, const struct open_part *open, struct iket_recorder_error *error) {
    size_t all_lanes = 32 * open->lane_bytes, part = get32(open->header + 112), overhead = IKET_PART_HEADER + 2 * IKET_SPARE_BYTES;
    size_t region = part < overhead + all_lanes ? 0 : (part - overhead - all_lanes) & ~(size_t)15;
    struct stream stream = {.part = open->header, .lane = get32(open->header + 88) >> 16, .first = 1, .time = open->time,
                            .records = (unsigned char *)(uintptr_t)open->first, .used = open->first_bytes};
    session->report.warps++;
    session->report.running_warps++;
    REC_TRY(launches_note(&session->launches, open->header, error));
    REC_TRY(add_chunk(session, &stream, region, error));
    size_t lane_overhead = IKET_LANE_HEADER + IKET_SPARE_BYTES;
    for (uint32_t lane = 0; lane < 32 && open->lane_bytes > lane_overhead; lane++) {
        stream.lane = lane, stream.first = 0;
        stream.records = (unsigned char *)(uintptr_t)open->lanes + lane * open->lane_bytes + IKET_LANE_HEADER;
        stream.used = open->lane_bytes - lane_overhead;
        if (get32(stream.records) == 0 && get32(stream.records + 4) == 0) continue;
        REC_TRY(add_chunk(session, &stream, stream.used, error));
    }
    return 0;
}
