// SPDX-License-Identifier: Apache-2.0
// tally.h: per class the sum, the exact percentiles and the histogram of the durations of many events, in memory that does
// not grow with them.
#ifndef IKET_LEVELS_TALLY_H
#define IKET_LEVELS_TALLY_H

#include "levels/question.h"

// Bins of a histogram: 0 holds zero, i holds [2^((i-1)/4), 2^(i/4)).
enum { IKET_TALLY_QUARTERS = 258, IKET_TALLY_PERCENTILES = 3 };

__extension__ typedef unsigned __int128 iket_tally_sum;

typedef struct iket_tally {
    uint32_t cls;
    uint64_t count, least, greatest;
    uint64_t percentile[IKET_TALLY_PERCENTILES]; // p50, p90, p99, by nearest rank
    iket_tally_sum total;
    uint64_t histogram[IKET_TALLY_QUARTERS];
} iket_tally;

typedef struct iket_tallies iket_tallies;

// Takes all memory that is needed for the classes that occur in `events` and count (classes: [65536] or NULL: all). Borrows
// its arguments until iket_tallies_free.
IKET_MUST_CHECK int iket_tallies_make(iket_tallies **tallies, const iket_levels *levels, const iket_levels_intervals *events, const uint8_t *classes, iket_error *err);

// Calls f for each of these classes, in their order.
void iket_tallies_each(iket_tallies *tallies, void (*f)(void *context, const iket_tally *tally), void *context);

void iket_tallies_free(iket_tallies *tallies); // NULL is allowed

#endif
