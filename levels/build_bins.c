// SPDX-License-Identifier: Apache-2.0
// build_bins.c: what an SM does in a launch, in bins of the launch's time, level by level; and the statistics of the whole.
//
//     level 0   │││││││││││││││││   2^k bins: one for every 32 events, so that the bins are small beside the events
//     level 1   │ │ │ │ │ │ │ │ │   2^(k-1): a bin is the sum of two
//     …         │               │   1
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/activity.h"
#include "levels/answer.h"
#include "levels/builder.h"

enum { CATEGORIES = IKET_LEVELS_CATEGORIES, EVENTS_OF_A_BIN = 32, MOST_BINS = 1 << 14 };

typedef struct binned {
    uint32_t *node;
    uint64_t *at, *from, *to; // as the sections
    size_t count, node_capacity, at_capacity, from_capacity, to_capacity;
} binned;

typedef struct bin_work {
    iket_levels_builder *builder;
    const iket_levels *levels;
    const binned *list;
    uint64_t offset;          // of the section "bin" in the file
    iket_memory statistics;
} bin_work;

static uint64_t bins_for(const iket_levels *levels, uint32_t node) {
    uint64_t events = levels->lane_first[levels->node_lane[levels->node_last[node]]] - levels->lane_first[levels->node_lane[node]], bins = 1;
    if (events < EVENTS_OF_A_BIN) return 0;
    while (bins < MOST_BINS && bins * 2 <= events / EVENTS_OF_A_BIN) bins *= 2;
    return bins;
}

static int add_sm(binned *list, const iket_levels *levels, uint32_t node, uint64_t from, uint64_t to, iket_error *err) {
    uint64_t bins = bins_for(levels, node);
    if (bins == 0 || from >= to) return 0;
    IKET_TRY(IKET_RESERVE(list->node, list->count, list->node_capacity, 1, err));
    IKET_TRY(IKET_RESERVE(list->at, list->count, list->at_capacity, 2, err));
    IKET_TRY(IKET_RESERVE(list->from, list->count, list->from_capacity, 1, err));
    IKET_TRY(IKET_RESERVE(list->to, list->count, list->to_capacity, 1, err));
    if (list->count == 0) list->at[0] = 0;
    list->node[list->count] = node;
    list->from[list->count] = from;
    list->to[list->count] = to;
    list->at[list->count + 1] = list->at[list->count] + 2 * bins - 1;
    list->count++;
    return 0;
}

// The SMs of launches that have a slice of their own, which is their time.
static int list_sms(binned *list, const iket_levels *levels, iket_error *err) {
    uint64_t from = 0, to = 0;
    for (uint32_t node = 0; node < levels->node_count; node++) {
        if (levels->node_kind[node] == IKET_LEVELS_NODE_LAUNCH) {
            uint32_t lane = levels->node_lane[node];
            int known = lane < levels->node_lane[node + 1] && levels->lane_first[lane] < levels->lane_first[lane + 1];
            from = known ? levels->start[levels->lane_first[lane]] : 0;
            to = known ? levels->end[levels->lane_first[lane]] : 0;
        } else if (levels->node_kind[node] == IKET_LEVELS_SM) {
            IKET_TRY(add_sm(list, levels, node, from, to, err));
        }
    }
    return 0;
}

static int sum_sm(const bin_work *work, size_t k, iket_error *err) {
    const binned *list = work->list;
    uint64_t count = list->at[k + 1] - list->at[k], bins = (count + 1) / 2;
    float *sums = malloc(count * CATEGORIES * sizeof *sums), *level = sums;
    if (sums == NULL) return iket_fail(err, "out of memory (%llu bins)", (unsigned long long)count);
    int result = iket_levels_activity_sums(work->levels, list->node[k], (uint32_t)work->levels->node_last[list->node[k]], (double)list->from[k], (double)list->to[k], (uint32_t)bins,
                                           sums, err);
    for (; result == 0 && bins > 1; bins /= 2) {
        float *wider = level + bins * CATEGORIES;
        for (size_t i = 0; i < bins / 2 * CATEGORIES; i++) wider[i] = level[i / CATEGORIES * 2 * CATEGORIES + i % CATEGORIES] + level[(i / CATEGORIES * 2 + 1) * CATEGORIES + i % CATEGORIES];
        level = wider;
    }
    uint64_t size = count * CATEGORIES * sizeof *sums;
    if (result == 0) result = iket_levels_write_at(work->builder, sums, size, work->offset + list->at[k] * CATEGORIES * sizeof *sums, err);
    free(sums);
    return result;
}

static int make_statistics(bin_work *work, iket_error *err) {
    iket_sink sink;
    const char *type;
    const iket_levels_question question = {.what = "statistics"};
    IKET_TRY(iket_sink_open(&sink, 0, iket_memory_flush, &work->statistics, err));
    if (iket_levels_answer(work->levels, &question, &sink, &type, err) != IKET_LEVELS_OK) {
        iket_sink_drop(&sink);
        return -1;
    }
    return iket_sink_close(&sink, err);
}

// Task 0 is the longest one.
static int run_task(void *context, size_t index, iket_error *err) {
    bin_work *work = context;
    IKET_TRY(index == 0 ? make_statistics(work, err) : sum_sm(work, index - 1, err));
    iket_levels_progress_add(&work->builder->progress, &work->builder->names, 1);
    return 0;
}

static int write_sections(bin_work *work, iket_error *err) {
    iket_levels_builder *b = work->builder;
    iket_levels_header *h = &b->header;
    const binned *list = work->list;
    IKET_TRY(iket_levels_append(b, &h->bin_node, list->node, list->count, sizeof *list->node, err));
    IKET_TRY(iket_levels_append(b, &h->bin_at, list->at, list->count > 0 ? list->count + 1 : 0, sizeof *list->at, err));
    IKET_TRY(iket_levels_append(b, &h->bin_from, list->from, list->count, sizeof *list->from, err));
    IKET_TRY(iket_levels_append(b, &h->bin_to, list->to, list->count, sizeof *list->to, err));
    IKET_TRY(iket_levels_append(b, &h->bin, NULL, list->count > 0 ? list->at[list->count] * CATEGORIES : 0, sizeof(float), err));
    work->offset = h->bin.offset;
    iket_levels_progress_begin(&b->progress, &b->names, "summing", list->count + 1);
    IKET_TRY(iket_pool_run(b->pool, list->count + 1, run_task, work, err));
    return iket_levels_append(b, &h->statistics_json, work->statistics.data, work->statistics.used, 1, err);
}

int iket_levels_write_bins(iket_levels_builder *b, const iket_levels *levels, iket_error *err) {
    binned list = {.count = 0};
    bin_work work = {.builder = b, .levels = levels, .list = &list};
    int result = list_sms(&list, levels, err);
    if (result == 0) result = write_sections(&work, err);
    free(work.statistics.data);
    free(list.node);
    free(list.at);
    free(list.from);
    free(list.to);
    return result;
}
