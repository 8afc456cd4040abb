// SPDX-License-Identifier: Apache-2.0
// chart.h: bars in a terminal, and how a distribution is cut into them.
#ifndef IKET_ANALYZE_CHART_H
#define IKET_ANALYZE_CHART_H

#include "analyze/stats.h"

enum { IKET_BAR_WIDTH = 24, IKET_BAR_TEXT = 3 * IKET_BAR_WIDTH + 4, IKET_BUCKETS_MAX = 72 };

// A bar of value / most of the full width, in eighths of a character where the terminal takes UTF-8; a value above 0 is
// never without a mark.
void iket_bar(iket_wide value, iket_wide most, char text[IKET_BAR_TEXT]);

typedef struct iket_bucket {
    uint64_t from, to; // both inclusive
    uint64_t count;
} iket_bucket;

// Cuts a sorted tally into buckets: of equal width where the values are within a factor of 16, else one a power of two.
// Returns how many (at most IKET_BUCKETS_MAX); empty ones at either end are left out.
size_t iket_buckets(const iket_tally *tally, iket_bucket buckets[IKET_BUCKETS_MAX]);

#endif
