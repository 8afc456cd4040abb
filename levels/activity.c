// SPDX-License-Identifier: Apache-2.0
// activity.c: at each moment a warp is in its innermost open range. A range adds its time to its category and takes it
// from its parent's, so one pass over the slices gives the time in each category without looking for the innermost one.
//
//     x:      0    1    2    3    4          a slice over whole bins adds its parts to the first and the last one,
//             ├──╼━┿━━━━┿━━━━┿━╾──┤          and +1, -1 to the steps between: the work is bound by slices, not by bins
//
// Where the bins of the file are at least as fine as the picture that is asked for, they are summed instead, four to a pixel
// or more where there are so many. A bin that lies across the border of two pixels is shared between them, as if it were the
// same all over: what is wrong with a pixel is less than the two bins at its ends hold.
//
// The arithmetic, single and double precision, is that of the page (viewer/worker/stats.js), so that the bytes are equal.
#include "levels/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/question.h"

enum { CATEGORIES = IKET_LEVELS_CATEGORIES, MOST_BINS = 8192, MOST_CELLS = 1 << 22, MOST_SM = 65535 };

// What is being summed: of each bin its sums, in bins, and the steps behind it.
typedef struct strip {
    const iket_levels *levels;
    const uint8_t *category; // [65536] of classes
    double from, to, scale;  // scale: bins per ns
    uint32_t bins;
    float *sums, *steps;     // [(bins + 1) * CATEGORIES]
} strip;

static int open_strip(strip *s, const iket_levels *levels, double from, double to, uint32_t bins, iket_error *err) {
    size_t cells = ((size_t)bins + 1) * CATEGORIES;
    uint8_t *category = malloc(65536);
    *s = (strip){.levels = levels, .category = category, .from = from, .to = to, .scale = bins / (to - from), .bins = bins};
    s->sums = malloc(cells * sizeof *s->sums);
    s->steps = malloc(cells * sizeof *s->steps);
    if (category == NULL || s->sums == NULL || s->steps == NULL) return iket_fail(err, "out of memory (%u bins)", bins);
    memset(category, CATEGORIES - 1, 65536);
    for (uint32_t c = 0; c < levels->class_count; c++) category[c] = levels->class_category[c] < CATEGORIES ? levels->class_category[c] : CATEGORIES - 1;
    return 0;
}

static void clear_strip(strip *s) {
    size_t cells = ((size_t)s->bins + 1) * CATEGORIES;
    memset(s->sums, 0, cells * sizeof *s->sums);
    memset(s->steps, 0, cells * sizeof *s->steps);
}

static void close_strip(strip *s) {
    free((void *)(uintptr_t)s->category);
    free(s->sums);
    free(s->steps);
}

static void add(float *to, double value) { *to = (float)((double)*to + value); }

// From x0 to x1, in bins; sign 1 or -1.
static void add_slice(strip *s, double x0, double x1, unsigned category, double sign) {
    uint32_t last = s->bins - 1, b0 = x0 < last ? (uint32_t)x0 : last, b1 = x1 < last ? (uint32_t)x1 : last;
    if (b0 == b1) {
        add(&s->sums[b0 * CATEGORIES + category], sign * (x1 - x0));
        return;
    }
    add(&s->sums[b0 * CATEGORIES + category], sign * (b0 + 1 - x0));
    add(&s->sums[b1 * CATEGORIES + category], sign * (x1 - b1));
    add(&s->steps[(b0 + 1) * CATEGORIES + category], sign);
    add(&s->steps[b1 * CATEGORIES + category], -sign);
}

static void add_lane(strip *s, uint32_t lane) {
    const iket_levels *levels = s->levels;
    const uint64_t *start = levels->start, *end = levels->end;
    uint64_t limit = levels->lane_first[lane + 1], after = s->from < 0 ? 0 : (uint64_t)s->from + 1;
    for (uint64_t i = iket_levels_search(end, levels->lane_first[lane], limit, after); i < limit && (double)start[i] < s->to; i++) {
        double a = (double)start[i], b = (double)end[i];
        double x0 = ((a > s->from ? a : s->from) - s->from) * s->scale, x1 = ((b < s->to ? b : s->to) - s->from) * s->scale;
        if (x1 <= x0) continue;
        add_slice(s, x0, x1, s->category[levels->cls[i]], 1);
        if (levels->parent_cls[i] != IKET_LEVELS_NO_CLASS) {
            add_slice(s, x0, x1, s->category[levels->parent_cls[i]], -1);
        } else if (levels->lane_active[lane] == 2) {
            add_slice(s, x0, x1, 0, -1);
        }
    }
}

static void add_nodes(strip *s, uint32_t from, uint32_t to) {
    const iket_levels *levels = s->levels;
    for (uint32_t lane = levels->node_lane[from]; lane < levels->node_lane[to]; lane++) {
        if (levels->lane_active[lane] != 0) add_lane(s, lane);
    }
}

int iket_levels_activity_sums(const iket_levels *levels, uint32_t node_from, uint32_t node_to, double from, double to, uint32_t bins, float *sums, iket_error *err) {
    strip s;
    int result = open_strip(&s, levels, from, to, bins, err);
    if (result == 0) {
        float running[CATEGORIES] = {0};
        clear_strip(&s);
        add_nodes(&s, node_from, node_to);
        for (size_t k = 0; k < (size_t)bins * CATEGORIES; k++) {
            running[k % CATEGORIES] += s.steps[k];
            sums[k] = (float)(((double)s.sums[k] + (double)running[k % CATEGORIES]) / s.scale);
        }
    }
    close_strip(&s);
    return result;
}

// ---- from the file's bins -------------------------------------------------------------------------------------------

// The bins of the level that serves for the k-th binned node: the widest that are at most a quarter of a pixel, or else the
// finest; 0: these are wider than a pixel. They begin at *first.
static uint64_t find_level(const strip *s, uint32_t k, uint64_t *first) {
    const iket_levels *levels = s->levels;
    uint64_t at = levels->bin_at[k], count = levels->bin_at[k + 1] - at, level = (count + 1) / 2;
    if (count == 0 || (count & (count + 1)) != 0 || levels->bin_from[k] >= levels->bin_to[k]) return 0;
    double bins = (double)(levels->bin_to[k] - levels->bin_from[k]) * s->scale; // that the launch's time has in the picture
    if ((double)level < bins) return 0;
    for (; level > 1 && (double)(level / 2) >= 4 * bins; level /= 2) at += level;
    *first = at;
    return level;
}

static inline void add_share(float *restrict sums, const float *restrict bin, float share) {
    for (unsigned c = 0; c < CATEGORIES; c++) sums[c] += bin[c] * share;
}

static void add_bins(strip *s, uint32_t k, uint64_t first, uint64_t count) {
    const iket_levels *levels = s->levels;
    double start = (double)levels->bin_from[k], width = ((double)levels->bin_to[k] - start) / (double)count;
    double at = (s->from - start) / width;
    if (at >= (double)count) return; // the picture lies behind them, perhaps by more than 2^64
    for (uint64_t b = at > 0 ? (uint64_t)at : 0; b < count; b++) {
        const float *bin = &levels->bin[(first + b) * CATEGORIES];
        double x0 = (start + width * (double)b - s->from) * s->scale, x1 = x0 + width * s->scale, whole = 1 / (x1 - x0);
        if (x0 >= s->bins) break;
        for (double x = x0 > 0 ? x0 : 0; x < x1 && x < s->bins;) { // a pixel after another, two at most
            double next = floor(x) + 1 < x1 ? floor(x) + 1 : x1;
            add_share(&s->sums[(uint32_t)x * CATEGORIES], bin, (float)((next - x) * whole * s->scale));
            x = next;
        }
    }
}

// The nodes [from, to): SMs with fine enough bins by these, the rest by its slices.
static void add_row(strip *s, uint32_t from, uint32_t to) {
    const iket_levels *levels = s->levels;
    uint32_t low = 0, high = levels->binned_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (levels->bin_node[middle] >= from) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (uint32_t k = low; k < levels->binned_count && levels->bin_node[k] < to; k++) {
        uint32_t node = levels->bin_node[k], last = (uint32_t)levels->node_last[node];
        uint64_t first = 0, count = last <= to && node >= from ? find_level(s, k, &first) : 0;
        if (count == 0) continue;
        add_nodes(s, from, node);
        add_bins(s, k, first, count);
        from = last;
    }
    if (from < to) add_nodes(s, from, to);
}

// ---- peaks ----------------------------------------------------------------------------------------------------------

// The lifetimes under the nodes, which lie in the first lane of each warp, as starts[] and ends[].
static int collect_lifetimes(const iket_levels *levels, const uint32_t nodes[2], uint64_t **starts, uint64_t **ends, size_t *count, size_t capacity[2], iket_error *err) {
    for (uint32_t node = nodes[0]; node < nodes[1]; node++) {
        uint32_t lane = levels->node_lane[node];
        if (levels->node_kind[node] != IKET_LEVELS_WARP || lane == levels->node_lane[node + 1]) continue;
        uint64_t from = levels->lane_first[lane], more = levels->lane_first[lane + 1] - from;
        IKET_TRY(IKET_RESERVE(*starts, *count, capacity[0], more, err));
        IKET_TRY(IKET_RESERVE(*ends, *count, capacity[1], more, err));
        memcpy(*starts + *count, levels->start + from, more * sizeof **starts);
        memcpy(*ends + *count, levels->end + from, more * sizeof **ends);
        *count += more;
    }
    return 0;
}

int64_t iket_levels_peak_warps(const iket_levels *levels, const uint32_t (*nodes)[2], size_t count, iket_error *err) {
    uint64_t *starts = NULL, *ends = NULL, *scratch = NULL;
    size_t lifetimes = 0, capacity[2] = {0, 0};
    int64_t peak = 0;
    for (size_t k = 0; k < count && peak == 0; k++) {
        if (collect_lifetimes(levels, nodes[k], &starts, &ends, &lifetimes, capacity, err) != 0) peak = -1;
    }
    if (peak == 0 && lifetimes > 0) {
        scratch = malloc(lifetimes * sizeof *scratch);
        if (scratch == NULL) peak = iket_fail(err, "out of memory (%zu warps)", lifetimes);
    }
    if (scratch != NULL) {
        iket_levels_sort(starts, scratch, lifetimes);
        iket_levels_sort(ends, scratch, lifetimes);
        for (size_t i = 0, ended = 0; i < lifetimes; i++) {
            while (ended < lifetimes && ends[ended] < starts[i]) ended++;
            if ((int64_t)(i + 1 - ended) > peak) peak = (int64_t)(i + 1 - ended);
        }
    }
    free(starts);
    free(ends);
    free(scratch);
    return peak;
}

// ---- the answer -----------------------------------------------------------------------------------------------------

// Rows as intervals of nodes: row k has the intervals at[k] .. at[k + 1].
typedef struct row_list {
    uint32_t (*nodes)[2]; // owned
    size_t *at;           // owned
    size_t rows, count, node_capacity, row_capacity;
} row_list;

static int begin_row(row_list *list, iket_error *err) {
    IKET_TRY(IKET_RESERVE(list->at, list->rows, list->row_capacity, 2, err));
    list->at[list->rows++] = list->count;
    list->at[list->rows] = list->count;
    return 0;
}

// To the last row.
static int add_interval(row_list *list, uint32_t from, uint32_t to, iket_error *err) {
    IKET_TRY(IKET_RESERVE(list->nodes, list->count, list->node_capacity, 1, err));
    list->nodes[list->count][0] = from;
    list->nodes[list->count++][1] = to;
    list->at[list->rows] = list->count;
    return 0;
}

// A-B.C-D,E-F
static iket_levels_status read_rows(row_list *list, const iket_levels *levels, const char *text, iket_error *err) {
    uint64_t visits = 0;
    for (int begin = 1;; text++) {
        iket_levels_interval pair;
        if (begin && begin_row(list, err) != 0) return IKET_LEVELS_FAILED;
        IKET_LEVELS_TRY(iket_levels_pair(&text, "rows", levels->node_count, &pair, err));
        if (add_interval(list, (uint32_t)pair.from, (uint32_t)pair.to, err) != 0) return IKET_LEVELS_FAILED;
        visits += pair.to - pair.from;
        if (visits > 8 * (uint64_t)levels->node_count) { // a kernel, its launches, SMs and CTAs are four
            iket_fail(err, "rows: the rows overlap too much (ask in parts)");
            return IKET_LEVELS_TOO_MUCH;
        }
        if (*text == 0) return IKET_LEVELS_OK;
        if (*text != ',' && *text != '.') {
            iket_fail(err, "rows: '%.64s' is no list of rows (write A-B.C-D,E-F)", text);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        begin = *text == ',';
    }
}

// The SM nodes of launches by their SM: sm << 32 | node, ascending.
static int collect_sms(const iket_levels *levels, uint64_t **list, size_t *count, iket_error *err) {
    size_t capacity = 0;
    for (uint32_t node = 0; node < levels->node_count; node++) {
        if (levels->node_kind[node] != IKET_LEVELS_SM || levels->node_a[node] < 0) continue;
        IKET_TRY(IKET_RESERVE(*list, *count, capacity, 1, err));
        (*list)[(*count)++] = (uint64_t)levels->node_a[node] << 32 | node;
    }
    uint64_t *scratch = malloc((*count + 1) * sizeof *scratch);
    if (scratch == NULL) return iket_fail(err, "out of memory (%zu SMs)", *count);
    iket_levels_sort(*list, scratch, *count);
    free(scratch);
    return 0;
}

// A row of all nodes of the SM.
static int add_sm_row(row_list *list, const iket_levels *levels, const uint64_t *sms, size_t count, uint64_t sm, iket_error *err) {
    IKET_TRY(begin_row(list, err));
    for (uint64_t i = iket_levels_search(sms, 0, count, sm << 32); i < count && sms[i] >> 32 == sm; i++) {
        uint32_t node = (uint32_t)sms[i];
        IKET_TRY(add_interval(list, node, (uint32_t)levels->node_last[node], err));
    }
    return 0;
}

// 0-131,140
static iket_levels_status read_sms(row_list *list, const iket_levels *levels, const char *text, iket_error *err) {
    uint64_t *sms = NULL, most = MOST_SM;
    size_t count = 0;
    iket_levels_status status = collect_sms(levels, &sms, &count, err) == 0 ? IKET_LEVELS_OK : IKET_LEVELS_FAILED;
    for (uint64_t past = 0; status == IKET_LEVELS_OK; text++) {
        iket_levels_interval span = {0, 0};
        status = iket_levels_span(&text, "sms", past, most, &span, err);
        for (uint64_t sm = span.from; status == IKET_LEVELS_OK && sm < span.to; sm++) {
            if (add_sm_row(list, levels, sms, count, sm, err) != 0) status = IKET_LEVELS_FAILED;
        }
        past = span.to;
        if (status != IKET_LEVELS_OK || *text == 0) break;
        if (*text != ',') {
            iket_fail(err, "sms: '%.64s' is no list of SMs (write 0-131,140)", text);
            status = IKET_LEVELS_BAD_ARGUMENT;
        }
    }
    free(sms);
    return status;
}

static void put_u32(iket_sink *sink, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    iket_sink_write(sink, bytes, sizeof bytes);
}

static inline void put_shares(uint8_t *restrict bytes, const float *restrict sums, const float *restrict steps, float *restrict running, double unit) {
    for (unsigned c = 0; c < CATEGORIES; c++) {
        running[c] += steps[c];
        double share = ((double)sums[c] + (double)running[c]) * unit + 0.5;
        share = share < 255 ? share : 255;
        bytes[c] = (uint8_t)(int)(share > 0 ? share : 0);
    }
}

// One row's bytes into the sink.
static void put_row(strip *s, const row_list *list, size_t row, uint32_t peak, uint8_t *bytes, iket_sink *sink) {
    float running[CATEGORIES] = {0};
    double unit = 255.0 / (peak > 1 ? peak : 1);
    clear_strip(s);
    for (size_t k = list->at[row]; k < list->at[row + 1]; k++) add_row(s, list->nodes[k][0], list->nodes[k][1]);
    for (uint32_t bin = 0; bin < s->bins; bin++) {
        const size_t at = (size_t)bin * CATEGORIES;
        put_shares(bytes + at, s->sums + at, s->steps + at, running, unit);
    }
    iket_sink_write(sink, bytes, (size_t)s->bins * CATEGORIES);
}

static iket_levels_status put_rows(const iket_levels *levels, const row_list *list, double from, double to, uint32_t bins, iket_sink *sink, iket_error *err) {
    strip s;
    uint32_t *peaks = calloc(list->rows, sizeof *peaks);
    uint8_t *bytes = malloc((size_t)bins * CATEGORIES);
    int result = open_strip(&s, levels, from, to, bins, err);
    if (result == 0 && (peaks == NULL || bytes == NULL)) result = iket_fail(err, "out of memory (%zu rows)", list->rows);
    for (size_t row = 0; row < list->rows && result == 0; row++) {
        int64_t peak = iket_levels_peak_warps(levels, (const uint32_t(*)[2])list->nodes + list->at[row], list->at[row + 1] - list->at[row], err);
        if (peak < 0) result = -1;
        peaks[row] = peak > UINT32_MAX ? UINT32_MAX : (uint32_t)peak;
    }
    if (result == 0) {
        put_u32(sink, (uint32_t)list->rows);
        put_u32(sink, bins);
        for (size_t row = 0; row < list->rows; row++) put_u32(sink, peaks[row]);
        for (size_t row = 0; row < list->rows && !sink->failed; row++) put_row(&s, list, row, peaks[row], bytes, sink);
    }
    close_strip(&s);
    free(bytes);
    free(peaks);
    return result == 0 ? IKET_LEVELS_OK : IKET_LEVELS_FAILED;
}

static iket_levels_status choose_rows(row_list *list, const iket_levels *levels, const iket_levels_question *question, iket_error *err) {
    const char *rows = iket_levels_text(question, "rows"), *sms = iket_levels_text(question, "sms");
    if ((rows == NULL) == (sms == NULL)) {
        iket_fail(err, "give rows (rows=A-B,C-D: intervals of nodes) or sms (sms=0-131)");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    return rows != NULL ? read_rows(list, levels, rows, err) : read_sms(list, levels, sms, err);
}

iket_levels_status iket_levels_activity(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    iket_levels_moment from = {0, 0, 0}, to = {(double)levels->header->span, 0, 0};
    uint64_t bins = 256;
    row_list list = {.count = 0};
    IKET_LEVELS_TRY(iket_levels_time(question, "from", &from, err));
    IKET_LEVELS_TRY(iket_levels_time(question, "to", &to, err));
    IKET_LEVELS_TRY(iket_levels_whole(question, "bins", 1, MOST_BINS, &bins, err));
    if (!(to.value - from.value > 1e-6)) {
        iket_fail(err, "from must be below to");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    iket_levels_status status = choose_rows(&list, levels, question, err);
    if (status == IKET_LEVELS_OK && list.rows * bins > MOST_CELLS) {
        iket_fail(err, "%zu rows of %llu bins are too many (ask for fewer of either)", list.rows, (unsigned long long)bins);
        status = IKET_LEVELS_TOO_MUCH;
    }
    if (status == IKET_LEVELS_OK) status = put_rows(levels, &list, from.value, to.value, (uint32_t)bins, sink, err);
    free(list.nodes);
    free(list.at);
    return status;
}
