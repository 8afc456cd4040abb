// SPDX-License-Identifier: Apache-2.0
// stats.h: exact statistics of integers in memory bound by how many different ones there are.
//
// Durations are multiples of the timer's step, so that millions of ranges have some thousands of different ones: a tally
// counts each value. Percentiles come from the sorted counts and are exact (nearest rank); nothing is estimated.
#ifndef IKET_ANALYZE_STATS_H
#define IKET_ANALYZE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/report.h"
#include "common/error.h"

typedef struct iket_tally_entry {
    uint64_t value, count; // count 0: free
} iket_tally_entry;

// Zero-initialise; iket_tally_free.
typedef struct iket_tally {
    iket_tally_entry *entries; // open addressing; after iket_tally_sort: by value, `used` of them
    size_t slots, used;
    uint64_t count;
    iket_wide total;
} iket_tally;

IKET_MUST_CHECK int iket_tally_add(iket_tally *tally, uint64_t value, uint64_t times, iket_error *err);

// Puts the entries in the order of their values. Nothing is added afterwards.
void iket_tally_sort(iket_tally *tally);

// Of a sorted tally with count > 0: the least value that at least `percent` percent of all do not exceed.
uint64_t iket_tally_percentile(const iket_tally *tally, unsigned percent);

void iket_tally_free(iket_tally *tally);

typedef struct iket_stats {
    uint64_t count;
    iket_wide total;
    uint64_t min, p50, p90, p99, max; // 0 when count is 0
} iket_stats;

// Sorts the tally.
iket_stats iket_tally_stats(iket_tally *tally);

#endif
