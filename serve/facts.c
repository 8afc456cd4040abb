// SPDX-License-Identifier: Apache-2.0
#include "serve/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "decode/include/iket/encode.h"

// Copies what fits of `text`, in whole characters.
static void copy_name(char *to, size_t room, const char *text) {
    size_t used = 0, left = strlen(text);
    for (size_t n; left > 0 && (n = iket_utf8_sequence(text + used, left)) > 0 && used + n < room; used += n, left -= n) memcpy(to + used, text + used, n);
    to[used] = 0;
    static const char more[] = "\xE2\x80\xA6"; // an ellipsis in place of what is missing
    if (left == 0) return;
    while (used > 0 && (used + sizeof more > room || ((unsigned char)to[used] & 0xC0) == 0x80)) used--;
    memcpy(to + used, more, sizeof more);
}

// Launches per kernel name, in the order of their first launch.
static int count_kernels(iket_facts *facts, const iket_trace *trace, iket_error *err) {
    uint64_t *launches = calloc(trace->string_count + 1, sizeof *launches);
    if (launches == NULL) return iket_fail(err, "out of memory");
    for (size_t i = 0; i < trace->launch_count; i++) launches[trace->launches[i].kernel]++;
    for (size_t i = 0; i < trace->launch_count; i++) {
        uint32_t kernel = trace->launches[i].kernel;
        if (launches[kernel] == 0) continue;
        if (facts->kernel_count < IKET_FACTS_KERNELS) {
            facts->kernels[facts->kernel_count].launches = launches[kernel];
            copy_name(facts->kernels[facts->kernel_count].name, IKET_FACTS_NAME, trace->strings[kernel]);
        }
        facts->kernel_count++;
        launches[kernel] = 0;
    }
    free(launches);
    return 0;
}

static void list_launches(iket_facts *facts, const iket_trace *trace) {
    for (size_t i = 0; i < trace->launch_count && i < IKET_FACTS_LAUNCHES; i++) {
        const iket_launch *launch = &trace->launches[i];
        if (launch->graph_key == IKET_UNKNOWN) {
            snprintf(facts->launch[i].ref, IKET_FACTS_REF, "%u", launch->ordinal);
        } else {
            snprintf(facts->launch[i].ref, IKET_FACTS_REF, "%s#%u", trace->strings[launch->graph_key], launch->ordinal);
        }
        copy_name(facts->launch[i].kernel, IKET_FACTS_NAME, trace->strings[launch->kernel]);
        facts->launch[i].warps = launch->location_count;
        facts->launch[i].events = launch->marker_count + launch->range_count;
        facts->launch[i].at = launch->start >= trace->start ? launch->start - trace->start : 0;
        facts->launch[i].span = launch->end >= launch->start ? launch->end - launch->start : 0;
    }
}

static void note_diagnostics(iket_facts *facts, const iket_diagnostics *diagnostics) {
    const struct {
        const char *name;
        uint64_t count;
    } counters[] = {
#define COUNTER(name) {#name, diagnostics->name},
        IKET_DIAGNOSTICS(COUNTER)
#undef COUNTER
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        if (counters[i].count == 0) continue;
        if (facts->notes++ == 0) iket_diagnostic_text(counters[i].name, counters[i].count, facts->note, sizeof facts->note);
    }
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

// The different SMs in ascending order; returns how many. `sms` has room for one per location.
static size_t list_sms(const iket_trace *trace, uint32_t *sms) {
    size_t count = 0;
    for (size_t i = 0; i < trace->location_count; i++) {
        if (count == 0 || sms[count - 1] != trace->locations[i].sm) sms[count++] = trace->locations[i].sm;
    }
    qsort(sms, count, sizeof *sms, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || sms[kept - 1] != sms[i]) sms[kept++] = sms[i];
    }
    return kept;
}

// Adds the share of every column that the lifetime covers.
static void add_lifetime(float *row, const iket_trace *trace, const iket_location *warp) {
    double column = (double)(trace->end - trace->start + 1) / IKET_FACTS_COLUMNS;
    double first = (double)(warp->start - trace->start) / column, last = (double)(warp->end - trace->start + 1) / column;
    for (int i = (int)first; i < IKET_FACTS_COLUMNS && i < last; i++) {
        double from = first > i ? first : i, to = last < i + 1 ? last : i + 1;
        row[i] += (float)(to - from);
    }
}

static int draw_picture(iket_facts *facts, const iket_trace *trace, iket_error *err) {
    if (trace->location_count == 0 || trace->start > trace->end) return 0;
    uint32_t *sms = malloc(trace->location_count * sizeof *sms);
    float *busy = calloc(IKET_FACTS_ROWS * IKET_FACTS_COLUMNS, sizeof *busy), most = 0;
    if (sms == NULL || busy == NULL) {
        free(sms);
        free(busy);
        return iket_fail(err, "out of memory");
    }
    size_t count = list_sms(trace, sms);
    facts->sm_count = (uint32_t)count;
    facts->last_sm = sms[count - 1];
    facts->rows = (uint8_t)(count < IKET_FACTS_ROWS ? count : IKET_FACTS_ROWS);
    for (size_t i = 0; i < trace->location_count; i++) {
        const iket_location *warp = &trace->locations[i];
        const uint32_t *at = bsearch(&warp->sm, sms, count, sizeof *sms, by_number);
        if (at != NULL && warp->start >= trace->start && warp->end <= trace->end) add_lifetime(busy + (size_t)(at - sms) * facts->rows / count * IKET_FACTS_COLUMNS, trace, warp);
    }
    size_t cells = facts->rows * (size_t)IKET_FACTS_COLUMNS;
    for (size_t i = 0; i < cells; i++) most = busy[i] > most ? busy[i] : most;
    for (size_t i = 0; most > 0 && i < cells; i++) {
        float share = busy[i] / most;
        facts->picture[i] = (uint8_t)(share > 0 ? 1 + share * 254 : 0);
    }
    free(sms);
    free(busy);
    return 0;
}

int iket_facts_collect(iket_facts *facts, const iket_trace *trace, iket_error *err) {
    *facts = (iket_facts){.magic = IKET_FACTS_MAGIC};
    facts->launches = trace->launch_count;
    facts->warps = trace->location_count;
    facts->markers = trace->marker_count;
    facts->ranges = trace->range_count;
    facts->span = trace->start <= trace->end ? trace->end - trace->start : 0;
    note_diagnostics(facts, &trace->diagnostics);
    IKET_TRY(count_kernels(facts, trace, err));
    list_launches(facts, trace);
    return draw_picture(facts, trace, err);
}
