// SPDX-License-Identifier: Apache-2.0
// analyze.h: what others than iket-query ask of the analysis.
#ifndef IKET_ANALYZE_H
#define IKET_ANALYZE_H

#include "common/sink.h"
#include "decode/include/iket/trace.h"

// Writes what `iket-query summary --format json` says of the trace: one JSON object {"schema_version", "verb", "rows",
// "kernels"}. Replays the trace once; memory is bound by the number of different durations per name.
IKET_MUST_CHECK int iket_analyze_summary_json(const iket_trace *trace, iket_sink *sink, iket_error *err);

#endif
