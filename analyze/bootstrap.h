// SPDX-License-Identifier: Apache-2.0
// bootstrap.h: how sure a change between two tallies is.
//
// Poisson bootstrap: a resample draws each distinct value's count anew from a Poisson distribution around it, which needs
// no expanded list of values. The random numbers come from a fixed seed: the same tallies give the same interval.
#ifndef IKET_ANALYZE_BOOTSTRAP_H
#define IKET_ANALYZE_BOOTSTRAP_H

#include "analyze/stats.h"

// Changes in percent from a to b, times 1000 and rounded: the point and the 95 % interval around it.
typedef struct iket_change {
    int64_t point, low, high;
} iket_change;

// Of the medians and of the totals. Both tallies are sorted and not empty. A value of 0 before counts as 1 ns, so that
// the change is a number.
IKET_MUST_CHECK int iket_bootstrap(const iket_tally *a, const iket_tally *b, iket_change *median, iket_change *total, iket_error *err);

#endif
