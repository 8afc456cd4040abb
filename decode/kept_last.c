// SPDX-License-Identifier: Apache-2.0
// kept_last.c: a chunk whose recorder kept the last events of its stream and wrote over the earlier ones (chunk flag 32).
//
//     start of the warp          first record        last record   reference
//        |  …overwritten… … … … … | r1  r2  r3  …  rn |              |
//                                 ^ rn less the time from r1 to rn   ^ given; rn is the last time before it that has rn's 32 bits
//
// The records are read once beforehand: for the time from the first to the last, and for how often each token's id occurs.
// In a closed chunk what is open at its beginning has its end in it, so an id with an odd number of records begins with an
// end. Whether a record is the first of its id is remembered in first_is_end, a byte a declaration.
#include <stdlib.h>

#include "decode/replay.h"

enum { SEEN_EVEN = 0, SEEN_ODD = 1, SETTLED = 2 };

// Reads the segment as if it began far from both ends of time. Returns the number of its records.
static size_t read_ahead(const iket_replay *r, const iket_segment *segment, uint8_t *odd, uint64_t *first, uint64_t *last) {
    iket_segment alone = *segment;
    alone.flags &= ~(uint32_t)(IKET_SEGMENT_KEPT_LAST | IKET_SEGMENT_COUNTED_BACK);
    alone.start = UINT64_C(1) << 63;
    iket_replay probe = {.trace = r->trace, .stream = r->stream, .segment = &alone, .segments_end = &alone + 1};
    iket_record record;
    size_t count = 0;
    while (iket_replay_raw_record(&probe, &record)) {
        if (count++ == 0) *first = record.time;
        *last = record.time;
        if (record.op == IKET_OP_TOKEN_BEGIN) odd[record.index] ^= SEEN_ODD;
    }
    return count;
}

int iket_replay_begin_kept_last(iket_replay *r, const iket_segment *segment) {
    size_t decls = r->trace->modules[segment->module].decl_count;
    uint64_t first = 0, last = 0;
    r->first_is_end = calloc(decls + 1, 1);
    if (r->first_is_end == NULL) return -1;
    if (read_ahead(r, segment, r->first_is_end, &first, &last) > 0 && (segment->flags & IKET_SEGMENT_COUNTED_BACK)) {
        uint64_t before = (uint32_t)segment->start - (uint32_t)last, length = last - first;
        uint64_t at = segment->start > before ? segment->start - before : 0; // of the last record
        if (last < first) {
            r->reference = at > UINT64_MAX - (first - last) ? UINT64_MAX : at + (first - last);
        } else {
            r->reference = at > length ? at - length : 0;
        }
    }
    if (!(segment->flags & IKET_SEGMENT_CLOSED)) memset(r->first_is_end, SETTLED, decls);
    return 0;
}

int iket_replay_ends_overwritten(iket_replay *r, uint32_t index, size_t found) {
    uint8_t seen = r->first_is_end[index];
    r->first_is_end[index] = SETTLED;
    if (seen != SEEN_ODD || found != 0) return 0;
    r->counts.overwritten_begins++;
    return 1;
}
