// SPDX-License-Identifier: Apache-2.0
// encode.h: a trace, or a selection of it, as a file. Encoders replay the model and write front to back into a sink; their
// memory is bound by warps, not by events. They do not close the sink. A pool's threads share the work, the bytes are the
// same for any number of them; NULL: one thread. With a pool the sink's consumer may be called from any of its threads,
// by one at a time.
#ifndef IKET_ENCODE_H
#define IKET_ENCODE_H

#include "common/sink.h"
#include "decode/include/iket/select.h"
#include "decode/include/iket/trace.h"

// IKET's own JSON (doc/FORMAT.md section 5). selection NULL: everything. Fails for lack of memory or when the sink does.
IKET_MUST_CHECK int iket_write_json(const iket_trace *trace, const iket_selection *selection, iket_pool *pool, iket_sink *sink, iket_error *err);

typedef struct iket_pftrace_facts { // what was written
    uint64_t slices, instants, tracks;
    uint64_t too_deep; // ranges left out because they lie deeper than the format's readers allow
} iket_pftrace_facts;

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

// Perfetto's protobuf trace (doc/pftrace.md), with arrows between ranges. flows and facts may be NULL.
IKET_MUST_CHECK int iket_write_pftrace(const iket_trace *trace, const iket_selection *selection, const iket_flows *flows, iket_pool *pool, iket_sink *sink,
                                       iket_pftrace_facts *facts, iket_error *err);

// A diagnostics counter in plain words with what to do about it: "3 ranges were still open …". Returns the length as
// snprintf does. Only for a count above 0.
int iket_diagnostic_text(const char *counter, uint64_t count, char *text, size_t size);

#endif
