// SPDX-License-Identifier: Apache-2.0
// analyze.h: what others than iket-query ask of the analysis.
#ifndef IKET_ANALYZE_H
#define IKET_ANALYZE_H

#include "common/sink.h"
#include "decode/include/iket/encode.h"
#include "decode/include/iket/trace.h"

// Writes what `iket-query summary --format json` says of the trace: one JSON object {"schema_version", "verb", "rows",
// "kernels"}. Replays the trace once; memory is bound by the number of different durations per name.
IKET_MUST_CHECK int iket_analyze_summary_json(const iket_trace *trace, iket_sink *sink, iket_error *err);

// The arrows that an iket.dag file draws between the ranges of a trace: what `iket-query path` ties together. The caller
// frees flows->ends. 0; 1: the trace has none of the file's regions, and err says so; -1: an error. Keeps 65 bytes a range.
IKET_MUST_CHECK int iket_analyze_flows(iket_flows *flows, const iket_trace *trace, const char *dag_path, iket_error *err);

#endif
