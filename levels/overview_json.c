// SPDX-License-Identifier: Apache-2.0
// overview_json.c: the overview as the answer "facts" has it (doc/api.md).
#include <inttypes.h>
#include <stdlib.h>

#include "common/text.h"
#include "levels/overview.h"

enum { BINS = IKET_LEVELS_OVERVIEW_BINS, NAMES = 200 };

static void put_launches(const iket_levels_overview *o, const iket_levels_names *names, iket_sink *sink) {
    iket_sink_text(sink, "\"launches\":[");
    for (size_t i = 0; i < o->listed; i++) {
        const struct iket_levels_overview_launch *l = &o->launches[i];
        iket_sink_text(sink, i > 0 ? ",{\"name\":" : "{\"name\":");
        iket_json_string(sink, iket_levels_strings_get(&names->track_names, names->tracks[l->track].name));
        iket_sink_text(sink, ",\"kernel\":");
        iket_json_string(sink, iket_levels_strings_get(&names->strings, names->classes[l->cls].name));
        iket_sink_printf(sink, ",\"start\":%" PRIu64 ",\"end\":%" PRIu64 "}", l->start, l->end > 0 ? l->end : o->now);
    }
    iket_sink_text(sink, "]");
}

static int by_total(const void *x, const void *y, void *context) {
    const iket_levels_overview *o = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (o->classes[a].total != o->classes[b].total) return o->classes[a].total > o->classes[b].total ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void put_names(const iket_levels_overview *o, const iket_levels_names *names, iket_sink *sink) {
    uint32_t *order = malloc((o->class_count + 1) * sizeof *order);
    size_t count = 0;
    iket_sink_text(sink, ",\"names\":[");
    for (uint32_t i = 0; order != NULL && i < o->class_count; i++) {
        if (o->classes[i].count > 0 && names->classes[i].kind <= IKET_LEVELS_MARKER) order[count++] = i;
    }
    if (count > 0) qsort_r(order, count, sizeof *order, by_total, (void *)(uintptr_t)o);
    for (size_t i = 0; i < count && i < NAMES; i++) {
        const iket_levels_class *cls = &names->classes[order[i]];
        iket_sink_text(sink, i > 0 ? ",{\"name\":" : "{\"name\":");
        iket_json_string(sink, iket_levels_strings_get(&names->strings, cls->name));
        iket_sink_printf(sink, ",\"kind\":%u,\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}", cls->kind, o->classes[order[i]].count, o->classes[order[i]].total);
    }
    iket_sink_text(sink, "]");
    free(order);
}

// ---- activity -------------------------------------------------------------------------------------------------------

typedef struct base64 {
    iket_sink *sink;
    uint32_t bits;
    unsigned count; // bytes in bits
} base64;

static void put_group(base64 *b) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4];
    for (unsigned i = 0; i < 4; i++) text[i] = i <= b->count ? letters[b->bits >> (18 - 6 * i) & 63] : '=';
    if (b->count > 0) iket_sink_write(b->sink, text, sizeof text);
    b->bits = b->count = 0;
}

static void put_byte(base64 *b, uint8_t byte) {
    b->bits |= (uint32_t)byte << (16 - 8 * b->count);
    if (++b->count == 3) put_group(b);
}

static void put_row(const iket_levels_overview *o, const struct iket_levels_overview_row *row, size_t bins, base64 *out) {
    int64_t width = INT64_C(1) << o->shift, alive = 0, busy = 0;
    for (size_t i = 0; i < bins; i++) {
        alive += row->alive.step[i];
        busy += row->busy.step[i];
        int64_t lived = row->alive.sum[i] + alive * width, worked = row->busy.sum[i] + busy * width;
        double share = lived > 0 ? (double)worked / (double)lived : 0;
        put_byte(out, share >= 1 ? 255 : share > 0 ? (uint8_t)(share * 255 + 0.5) : 0);
    }
}

static int by_sm(const void *x, const void *y, void *context) {
    const uint32_t *sms = context, a = sms[*(const uint32_t *)x], b = sms[*(const uint32_t *)y];
    return a < b ? -1 : a > b;
}

static void put_activity(const iket_levels_overview *o, const iket_levels_names *names, iket_sink *sink) {
    size_t bins = (size_t)(o->now >> o->shift) + 1, rows = o->row_count;
    base64 out = {.sink = sink};
    uint32_t *order = malloc((rows + 1) * sizeof *order);
    if (order == NULL) rows = 0;
    for (uint32_t i = 0; i < rows; i++) order[i] = i;
    if (rows > 0) qsort_r(order, rows, sizeof *order, by_sm, names->sms);
    iket_sink_printf(sink, ",\"activity\":{\"from\":0,\"to\":%" PRIu64 ",\"bins\":%zu,\"sms\":[", (uint64_t)bins << o->shift, bins);
    for (size_t i = 0; i < rows; i++) iket_sink_printf(sink, "%s%" PRIu32, i > 0 ? "," : "", names->sms[order[i]]);
    iket_sink_text(sink, "],\"busy\":\"");
    for (size_t i = 0; i < rows; i++) put_row(o, &o->rows[order[i]], bins, &out);
    put_group(&out);
    iket_sink_text(sink, "\"}");
    free(order);
}

void iket_levels_overview_put(const iket_levels_overview *o, const iket_levels_names *names, iket_sink *sink) {
    iket_sink_printf(sink, ",\"events\":%" PRIu64 ",\"launches\":%" PRIu64 ",\"warps\":%zu,\"span_ns\":%" PRIu64 ",\"t0\":\"%" PRIu64 "\",\"overview\":{", o->events, o->launch_count,
                     names->warp_count, o->now, names->t0);
    put_launches(o, names, sink);
    put_names(o, names, sink);
    put_activity(o, names, sink);
    iket_sink_text(sink, "}");
}
