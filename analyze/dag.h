// SPDX-License-Identifier: Apache-2.0
// dag.h: an iket.dag file, {"name", "regions": [], "edges": [{"source", "target", "label"?, "via"?}]}, and which ranges of
// a trace its edges tie together.
//
// Within a CTA, the n-th instance of the target with some payload on its warp waits for the n-th instance of the source
// with that payload: on its own warp where the source runs there, else on every warp of the CTA where it runs. Without
// payloads on either side the n-th follows the n-th.
#ifndef IKET_ANALYZE_DAG_H
#define IKET_ANALYZE_DAG_H

#include "analyze/columns.h"

typedef struct iket_dag_edge {
    char *source, *target, *label, *via; // label and via may be NULL
} iket_dag_edge;

typedef struct iket_dag {
    char *name; // may be NULL
    iket_dag_edge *edges;
    size_t edge_count, edge_capacity;
} iket_dag;

IKET_MUST_CHECK int iket_dag_read(iket_dag *dag, const char *path, iket_error *err);
void iket_dag_free(iket_dag *dag);

// That `target` waited for `source` by an edge of the file.
typedef struct iket_tie {
    uint32_t source, target; // ranges
    uint32_t edge;
} iket_tie;

typedef struct iket_ties {
    iket_tie *items; // by target, then edge, then source
    size_t count, capacity;
} iket_ties;

// Ties the selected ranges of all launches. Zero-initialise; the caller frees items.
IKET_MUST_CHECK int iket_dag_match(const iket_dag *dag, const iket_columns *columns, iket_ties *ties, iket_error *err);

#endif
