// SPDX-License-Identifier: Apache-2.0
// analyze.h: what others than iket-query ask of the analysis.
#ifndef IKET_ANALYZE_H
#define IKET_ANALYZE_H

#include "common/sink.h"
#include "decode/include/iket/trace.h"

// Writes what `iket-query summary --format json` says of the trace: one JSON object {"schema_version", "verb", "rows",
// "kernels"}. Replays the trace once; memory is bound by the number of different durations per name.
IKET_MUST_CHECK int iket_analyze_summary_json(const iket_trace *trace, iket_sink *sink, iket_error *err);

// One end of an arrow: the range that is the `begin`-th BEGIN (from 0, stack and token ranges alike) that a cursor gives of
// `stream`. Both ends of an arrow have the same `flow`, from 1.
typedef struct iket_flow_end {
    uint32_t stream, begin;
    uint64_t flow;
    uint8_t is_target; // the arrow points here
} iket_flow_end;

typedef struct iket_flows {
    iket_flow_end *ends; // by stream, then begin, then flow
    size_t count;
} iket_flows;

// The arrows that an iket.dag file draws between the ranges of a trace: what `iket-query path` ties together. The caller
// frees flows->ends. 0; 1: the trace has none of the file's regions, and err says so; -1: an error. Keeps 65 bytes a range.
IKET_MUST_CHECK int iket_analyze_flows(iket_flows *flows, const iket_trace *trace, const char *dag_path, iket_error *err);

#endif
