// SPDX-License-Identifier: Apache-2.0
// ring.h: where the oldest record is in a ring whose warp still runs, or never ended.
//
// The warp keeps no count in memory. Its ring is full when the last record is there; then time goes up from the oldest
// record to the newest, round the end, and back at one place: between the newest and the oldest.
//
//   time:  | 17 18 19 | 12 13 14 15 16 |        oldest: 12, newest: 19
//
// A ring that was written to while it was copied may have more such places close together, around the record that was
// written; the longest run of records between two of them is what can be trusted.
#ifndef IKET_DEVICE_RING_H
#define IKET_DEVICE_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring_run {
    size_t oldest;  // byte
    size_t bytes;   // from there on, round the end
};

// The records of a full ring: bytes, a multiple of the records' size, each beginning with its time. now has the low 32
// bits of a time that is not before the newest.
struct ring_run ring_find(const unsigned char *records, size_t bytes, size_t size, uint32_t now);

#endif
