// SPDX-License-Identifier: Apache-2.0
// parts.c: see parts.h. A closed stream's bytes may end in a record that reached into the spare slot, and its count of
// events includes those that were dropped; what is stored whole is found here, where the declarations are known.
#include "parts.h"

#include "crc32.h"

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
    int long_payload = payload == 7 || payload == 14 || payload == 15 || payload == 16;
    if (module->extended) return payload == 0 || payload == 255 ? 8 : 16;
    if (long_payload) return 16;
    return module->wide || (payload != 0 && payload != 255) ? 8 : 4;
}

struct whole_records {
    uint32_t bytes;
    uint32_t count;
};

// Where the last record that lies in the bytes ends. Records of an open stream end where none starts.
static struct whole_records whole_records(const struct attached_module *module, const unsigned char *records, size_t bytes) {
    struct whole_records whole = {0, 0};
    size_t least = module->extended || module->wide ? 8 : 4;
    while (whole.bytes + least <= bytes) {
        size_t size = record_size(module, records + whole.bytes);
        if (size == 0 || whole.bytes + size > bytes) break;
        whole.bytes += (uint32_t)size;
        whole.count++;
    }
    return whole;
}

// Form B drops what groups without the first lane record, and no size would hold that: there only a full region counts.
static void fit_advice(struct iket_session *session, const unsigned char *part, int is_first, size_t used, uint32_t stored,
                       uint32_t dropped) {
    if ((get32(part + 4) >> 16 & IKET_PART_FORM_B) != 0 && used < get32(part + 124)) {
        session->form_b_dropped += dropped;
        return;
    }
    uint64_t needed = stored + 16 * (uint64_t)dropped;
    struct iket_session_report *report = &session->report;
    uint64_t *lane = is_first ? &report->sufficient_first_lane_bytes : &report->sufficient_other_lane_bytes;
    uint64_t with_overhead = is_first ? needed : needed + IKET_LANE_HEADER + IKET_SPARE_BYTES;
    if (with_overhead > *lane) *lane = (with_overhead + 15) / 16 * 16;
    double times = is_first && stored > 0 ? (double)needed / stored : 0;
    if (times > session->pool_shortage) session->pool_shortage = times;
}

// One chunk of a stream. The header is the warp's; the lane's own values replace those of the first lane.
static int write_chunk(struct iket_session *session, const unsigned char *part, uint32_t lane, int is_first, int closed,
                       const unsigned char *records, size_t used, uint64_t attempted, struct iket_recorder_error *error) {
    const struct attached_module *module = modules_find(&session->modules, get64(part + 8));
    if (module == NULL) return rec_fail(error, "the pool holds records of a module that is not known (0x%llx)", (unsigned long long)get64(part + 8));
    struct whole_records whole = whole_records(module, records, used);
    uint64_t dropped = closed && attempted > whole.count ? attempted - whole.count : 0;
    uint32_t flags = (get32(part + 4) >> 16) & IKET_CHUNK_WIDE;
    flags |= closed ? IKET_CHUNK_CLOSED | IKET_CHUNK_LAST : 0;
    flags |= dropped != 0 ? IKET_CHUNK_DROPPED : 0;
    unsigned char header[IKET_PART_HEADER];
    memcpy(header, part, sizeof header);
    put16(header + 6, flags);
    put16(header + 90, lane);
    put32(header + 96, 0);
    put32(header + 100, closed ? whole.bytes : 0);
    put32(header + 104, dropped > UINT32_MAX ? UINT32_MAX : (uint32_t)dropped);
    put32(header + 108, 0);
    put32(header + 112, (uint32_t)sizeof header + (whole.bytes + 7) / 8 * 8);
    put32(header + 116, closed ? rec_crc32(records, whole.bytes) : 0);
    memset(header + 120, 0, 8);
    if (!closed) memset(header + 40, 0, 8);
    session->report.chunks++;
    session->report.record_bytes += whole.bytes;
    session->report.dropped_events += dropped;
    if (dropped != 0) fit_advice(session, part, is_first, used, whole.bytes, (uint32_t)dropped);
    return dump_warp_chunk(&session->dump, header, records, whole.bytes, error);
}

static int damaged(const unsigned char *part, size_t left, struct iket_recorder_error *error) {
    return rec_fail(error, "the pool is damaged: no part of a warp where one must be (magic 0x%08x, %zu bytes left): something "
                    "wrote over it", left >= 4 ? get32(part) : 0, left);
}

static int write_closed_part(struct iket_session *session, const unsigned char *part, uint32_t bytes, struct iket_recorder_error *error) {
    uint32_t used = get32(part + 100), first_lane = get32(part + 88) >> 16;
    size_t at = IKET_PART_HEADER + (size_t)(used + 15) / 16 * 16;
    if (at > bytes) return damaged(part, bytes, error);
    session->report.warps++;
    REC_TRY(launches_note(&session->launches, part, error));
    REC_TRY(write_chunk(session, part, first_lane, 1, 1, part + IKET_PART_HEADER, used, get32(part + 104), error));
    while (at + IKET_LANE_HEADER <= bytes) {
        const unsigned char *lane = part + at;
        uint32_t lane_used = get32(lane + 4);
        size_t end = at + IKET_LANE_HEADER + (size_t)(lane_used + 15) / 16 * 16;
        if (end > bytes) return damaged(lane, bytes - at, error);
        REC_TRY(write_chunk(session, part, get32(lane), 0, 1, lane + IKET_LANE_HEADER, lane_used, get32(lane + 8), error));
        at = end;
    }
    return 0;
}

int parts_write_closed(struct iket_session *session, const unsigned char *parts, size_t bytes, struct iket_recorder_error *error) {
    for (size_t at = 0; at < bytes;) {
        if (bytes - at < IKET_PART_HEADER || get32(parts + at) != IKET_CHUNK_MAGIC) return damaged(parts + at, bytes - at, error);
        uint32_t size = get32(parts + at + 112);
        if (size < IKET_PART_HEADER || size > bytes - at || size % 16 != 0) return damaged(parts + at, bytes - at, error);
        REC_TRY(write_closed_part(session, parts + at, size, error));
        at += size;
    }
    return 0;
}

int parts_write_open(struct iket_session *session, const unsigned char *header, const unsigned char *first, size_t first_bytes,
                     const unsigned char *lanes, size_t lane_bytes, struct iket_recorder_error *error) {
    session->report.warps++;
    session->report.running_warps++;
    REC_TRY(launches_note(&session->launches, header, error));
    REC_TRY(write_chunk(session, header, get32(header + 88) >> 16, 1, 0, first, first_bytes, 0, error));
    for (uint32_t lane = 0; lane < 32 && lane_bytes > IKET_LANE_HEADER + IKET_SPARE_BYTES; lane++) {
        const unsigned char *records = lanes + lane * lane_bytes + IKET_LANE_HEADER;
        if (get32(records) == 0 && get32(records + 4) == 0) continue;
        size_t bytes = lane_bytes - IKET_LANE_HEADER - IKET_SPARE_BYTES;
        REC_TRY(write_chunk(session, header, lane, 0, 0, records, bytes, 0, error));
    }
    return 0;
}
