// SPDX-License-Identifier: Apache-2.0
// build.h: makes a level file from a .pftrace of ours, in two passes over it, with an overview that grows meanwhile.
//
//     pass 1   tracks, names, launches; how many slices each (track, depth) has; the overview
//     pass 2   every slice goes to its place in the mapped output
//     then     categories, roles, peaks, bins, the answers "tables" and "statistics"
//
// Memory: tracks and lanes, not events; the output is written through a mapping. Input that is damaged gives what is whole
// before the damage, with a note (as the page does); what is no .pftrace of ours is refused with its byte offset.
#ifndef IKET_LEVELS_BUILD_H
#define IKET_LEVELS_BUILD_H

#include <stdint.h>

#include "common/error.h"
#include "common/sink.h"

typedef struct iket_levels_build_options {
    int input;              // descriptor of a .pftrace or .pftrace.gz, a regular file; read from its start, stays the caller's
    const char *name;       // for messages
    const char *output;     // path of the level file; appears when it is complete
    const char *progress;   // path of a JSON file that is replaced now and then (the answer "facts" while building), and
                            // removed at the end, however it ends; NULL: none
} iket_levels_build_options;

IKET_MUST_CHECK int iket_levels_build(const iket_levels_build_options *options, iket_error *err);

#endif
