// SPDX-License-Identifier: Apache-2.0
// flows.c: an iket.dag file's edges as arrows between the ranges of a trace, for an encoder that meets ranges by stream.
#include <stdlib.h>

#include "analyze/dag.h"
#include "analyze/include/iket/analyze.h"

static int by_place(const void *a, const void *b) {
    const iket_flow_end *x = a, *y = b;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->flow < y->flow ? -1 : x->flow > y->flow;
}

// The number of a range among those of its stream; columns have a stream's ranges one after another, in order of begin.
static uint32_t *numbers_in_stream(const iket_columns *c, iket_error *err) {
    uint32_t *numbers = malloc((c->range_count + 1) * sizeof *numbers);
    if (numbers == NULL) {
        iket_fail(err, "out of memory (%zu ranges)", c->range_count);
        return NULL;
    }
    for (size_t i = 0; i < c->range_count; i++) numbers[i] = i > 0 && c->stream[i] == c->stream[i - 1] ? numbers[i - 1] + 1 : 0;
    return numbers;
}

static int fill(iket_flows *flows, const iket_columns *c, const iket_ties *ties, iket_error *err) {
    uint32_t *numbers = numbers_in_stream(c, err);
    flows->ends = malloc((2 * ties->count + 1) * sizeof *flows->ends);
    if (numbers == NULL || flows->ends == NULL) {
        free(numbers);
        return iket_fail(err, "out of memory (%zu arrows)", ties->count);
    }
    for (size_t i = 0; i < ties->count; i++) {
        const iket_tie *t = &ties->items[i];
        flows->ends[flows->count++] = (iket_flow_end){c->stream[t->source], numbers[t->source], i + 1, 0};
        flows->ends[flows->count++] = (iket_flow_end){c->stream[t->target], numbers[t->target], i + 1, 1};
    }
    free(numbers);
    if (flows->count > 1) qsort(flows->ends, flows->count, sizeof *flows->ends, by_place);
    return 0;
}

int iket_analyze_flows(iket_flows *flows, const iket_trace *trace, const char *dag_path, iket_error *err) {
    static const iket_selector everything = {0};
    iket_dag dag;
    iket_columns columns;
    iket_ties ties = {0};
    *flows = (iket_flows){0};
    IKET_TRY(iket_dag_read(&dag, dag_path, err));
    int result = iket_columns_build(&columns, trace->path, trace, &everything, err);
    if (result == 0) {
        result = iket_dag_match(&dag, &columns, &ties, err);
        if (result == 0 && ties.count == 0) {
            iket_fail(err, "%s: none of its edges ties ranges of the trace together (the first goes from %s to %s)", dag_path, dag.edges[0].source, dag.edges[0].target);
            result = 1;
        }
        if (result == 0) result = fill(flows, &columns, &ties, err);
        iket_columns_free(&columns);
    }
    free(ties.items);
    iket_dag_free(&dag);
    if (result != 0) {
        free(flows->ends);
        *flows = (iket_flows){0};
    }
    return result;
}
