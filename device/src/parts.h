// SPDX-License-Identifier: Apache-2.0
// parts.h: makes FORMAT's chunks from what warps left in the pool (iket/pool_layout.h). They go to the session's
// writer, which keeps pointing to the memory that is given here.
#ifndef IKET_DEVICE_PARTS_H
#define IKET_DEVICE_PARTS_H

#include "session.h"

// Adds the chunks of closed parts that follow one another. With owned set the memory is a copy that may be changed:
// headers are then written in place, and a part without lane regions is one piece.
int parts_add_closed(struct iket_session *session, unsigned char *parts, size_t bytes, int owned, struct iket_recorder_error *error);

// What was there of a warp that still runs. The first lane's records are copied up to their end, or whole.
struct open_part {
    const unsigned char *header;
    const unsigned char *first;
    size_t first_bytes;
    const unsigned char *lanes;  // 32 regions
    size_t lane_bytes;
    uint64_t time;               // %globaltimer afterwards
};
int parts_add_open(struct iket_session *session, const struct open_part *open, struct iket_recorder_error *error);

#endif
