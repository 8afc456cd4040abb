// SPDX-License-Identifier: Apache-2.0
// facts.h: what the index says of a trace. Plain data without a pointer: it goes from the process that reads the trace to
// the server, and into the cache, as it is.
#ifndef IKET_SERVE_FACTS_H
#define IKET_SERVE_FACTS_H

#include <stdint.h>

#include "common/error.h"
#include "decode/include/iket/trace.h"

enum { IKET_FACTS_KERNELS = 4, IKET_FACTS_NAME = 96, IKET_FACTS_NOTE = 256, IKET_FACTS_COLUMNS = 96, IKET_FACTS_ROWS = 22, IKET_FACTS_LAUNCHES = 64, IKET_FACTS_REF = 80 };
enum { IKET_FACTS_MAGIC = 0x32464B49 }; // "IKF2"

typedef struct iket_facts {
    uint32_t magic;
    uint32_t kernel_count; // of different names; the table below holds the first ones
    uint64_t launches, warps, markers, ranges;
    uint64_t span;         // ns
    uint64_t written;      // 1: by the process that made these facts, as a file too
    uint64_t notes;        // diagnostics that are not zero
    struct {
        uint64_t launches;
        char name[IKET_FACTS_NAME]; // cut to fit
    } kernels[IKET_FACTS_KERNELS];
    char note[IKET_FACTS_NOTE]; // the first diagnostic in words
    uint32_t sm_count, last_sm; // the greatest number of an SM
    struct {                    // the first launches
        char ref[IKET_FACTS_REF]; // as --launch takes it: "3", "graph_exec_1:0#2"
        char kernel[IKET_FACTS_NAME];
        uint64_t warps, events, at, span; // ns, from the trace's start
    } launch[IKET_FACTS_LAUNCHES];
    // A picture: SMs from top to bottom, time from left to right, how many warps are there at once (255: the most).
    uint8_t rows;
    uint8_t picture[IKET_FACTS_ROWS * IKET_FACTS_COLUMNS]; // row after row
} iket_facts;

IKET_MUST_CHECK int iket_facts_collect(iket_facts *facts, const iket_trace *trace, iket_error *err);

#endif
