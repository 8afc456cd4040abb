// SPDX-License-Identifier: Apache-2.0
// statistics.c: count, sum, exact percentiles and histogram of the durations of each class over a selection.
#include <stdlib.h>
#include <string.h>

#include "levels/question.h"
#include "levels/scope.h"
#include "levels/tally.h"

static void put_total(iket_sink *sink, iket_tally_sum total) {
    char text[40], *at = text + sizeof text;
    do {
        *--at = (char)('0' + (int)(total % 10));
        total /= 10;
    } while (total > 0);
    iket_sink_write(sink, at, (size_t)(text + sizeof text - at));
}

static void put_number(iket_sink *sink, const char *name, uint64_t value) {
    iket_sink_printf(sink, ",\"%s\":", name);
    iket_levels_put(sink, value);
}

static void put_class(iket_sink *sink, const iket_levels *levels, const iket_tally *t) {
    int known = t->cls < levels->class_count;
    iket_sink_text(sink, "{\"cls\":");
    iket_levels_put(sink, t->cls);
    iket_sink_text(sink, ",\"name\":");
    iket_json_string(sink, known ? iket_levels_string(levels, levels->class_name[t->cls]) : "");
    put_number(sink, "kind", known ? levels->class_kind[t->cls] : IKET_LEVELS_OTHER);
    put_number(sink, "count", t->count);
    iket_sink_text(sink, ",\"total\":\"");
    put_total(sink, t->total);
    iket_sink_text(sink, "\",\"mean\":");
    iket_levels_put_double(sink, (double)t->total / (double)t->count);
    put_number(sink, "min", t->least);
    put_number(sink, "p50", t->percentile[0]);
    put_number(sink, "p90", t->percentile[1]);
    put_number(sink, "p99", t->percentile[2]);
    put_number(sink, "max", t->greatest);
    iket_sink_text(sink, ",\"histogram\":[");
    unsigned bins = IKET_TALLY_QUARTERS;
    while (bins > 0 && t->histogram[bins - 1] == 0) bins--;
    for (unsigned bin = 0; bin < bins; bin++) {
        if (bin > 0) iket_sink_text(sink, ",");
        iket_levels_put(sink, t->histogram[bin]);
    }
    iket_sink_text(sink, "]}");
}

typedef struct writer {
    iket_sink *sink;
    const iket_levels *levels;
    int any;
} writer;

static void put_tally(void *context, const iket_tally *tally) {
    writer *w = context;
    iket_sink_text(w->sink, w->any ? ",\n" : "\n");
    w->any = 1;
    put_class(w->sink, w->levels, tally);
}

iket_levels_status iket_levels_statistics(const iket_levels *levels, const iket_levels_question *question, iket_sink *sink, iket_error *err) {
    iket_levels_scope scope;
    iket_levels_intervals events = {.count = 0};
    iket_levels_status status = iket_levels_scope_open(&scope, levels, question, err);
    if (status == IKET_LEVELS_OK && iket_levels_scope_is_whole(&scope) && levels->header->statistics_json.count > 0) {
        iket_sink_write(sink, levels->statistics_json, levels->header->statistics_json.count);
    } else if (status == IKET_LEVELS_OK) {
        writer w = {.sink = sink, .levels = levels};
        iket_tallies *tallies = NULL;
        if (iket_levels_scope_events(&scope, levels, IKET_LEVELS_OVERLAPS, &events, err) != 0 || iket_tallies_make(&tallies, levels, &events, scope.classes, err) != 0) {
            status = IKET_LEVELS_FAILED;
        } else {
            iket_sink_text(sink, "{\"version\":1,\"classes\":[");
            iket_tallies_each(tallies, put_tally, &w);
            iket_sink_text(sink, "]}\n");
        }
        iket_tallies_free(tallies);
    }
    free(events.list);
    iket_levels_scope_clear(&scope);
    return status;
}
