// SPDX-License-Identifier: Apache-2.0
// parts.h: makes FORMAT's chunks from what warps left in the pool (iket/pool_layout.h).
#ifndef IKET_DEVICE_PARTS_H
#define IKET_DEVICE_PARTS_H

#include "session.h"

// Writes the chunks of closed parts that follow one another.
int parts_write_closed(struct iket_session *session, const unsigned char *parts, size_t bytes, struct iket_recorder_error *error);

// Writes the chunks of a warp that still runs: header, the first lane's records, 32 lane regions.
int parts_write_open(struct iket_session *session, const unsigned char *header, const unsigned char *first, size_t first_bytes,
                     const unsigned char *lanes, size_t lane_bytes, struct iket_recorder_error *error);

#endif
