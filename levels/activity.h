// SPDX-License-Identifier: Apache-2.0
// activity.h: what the warps under nodes do over time, summed per bin and category; for the bins of a level file and for
// the answer "activity".
#ifndef IKET_LEVELS_ACTIVITY_H
#define IKET_LEVELS_ACTIVITY_H

#include <stddef.h>

#include "levels/file.h"

// Sets sums[bin * IKET_LEVELS_CATEGORIES + category] to the ns that the warps under the nodes [node_from, node_to) spend in
// the category during the bin, of `bins` (at least 1) of equal width over [from, to] (ns since t0, from < to). Needs of
// `levels` the tables of nodes, lanes and classes, lane_active, and of the events start, end, cls and parent_cls.
IKET_MUST_CHECK int iket_levels_activity_sums(const iket_levels *levels, uint32_t node_from, uint32_t node_to, double from, double to, uint32_t bins, float *sums,
                                              iket_error *err);

// The greatest number of warps alive at once under sets of nodes; -1: out of memory.
int64_t iket_levels_peak_warps(const iket_levels *levels, const uint32_t (*nodes)[2], size_t count, iket_error *err);

#endif
