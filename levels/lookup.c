// SPDX-License-Identifier: Apache-2.0
// lookup.c: what is looked up in the tables of a level file for one event, and the columns that are sent of many.
#include <string.h>

#include "levels/question.h"

uint32_t iket_levels_lane_of(const iket_levels *levels, uint64_t event) {
    uint32_t from = 0, to = levels->lane_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (levels->lane_first[middle + 1] > event) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
}

int32_t iket_levels_above(const iket_levels *levels, int32_t node, enum iket_levels_node_kind kind) {
    while (node >= 0 && levels->node_kind[node] != kind) node = levels->node_parent[node];
    return node;
}

uint64_t iket_levels_first_note(const iket_levels *levels, uint64_t event) {
    uint64_t from = 0, to = levels->note_count;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (levels->note[middle].event >= event) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
}

const iket_levels_note *iket_levels_note_of(const iket_levels *levels, uint64_t event, enum iket_levels_note_kind kind) {
    for (uint64_t i = iket_levels_first_note(levels, event); i < levels->note_count && levels->note[i].event == event; i++) {
        if (levels->note[i].kind == kind) return &levels->note[i];
    }
    return NULL;
}

const char *iket_levels_extra(const iket_levels *levels, uint64_t event) {
    const iket_levels_note *note = iket_levels_note_of(levels, event, IKET_LEVELS_NOTE_EXTRA);
    uint64_t size = levels->header->note_text.count;
    if (note == NULL || note->bits >= size || levels->note_text[size - 1] != 0) return NULL;
    return levels->note_text + note->bits;
}

// One column: f gives the value of an event.
#define PUT_COLUMN(sink, name, events, count, f)                                                                       \
    do {                                                                                                               \
        iket_sink_text(sink, ",\"" name "\":[");                                                                       \
        for (size_t k_ = 0; k_ < (count); k_++) {                                                                      \
            uint64_t i = (events)[k_];                                                                                 \
            if (k_ > 0) iket_sink_text(sink, ",");                                                                     \
            f;                                                                                                         \
        }                                                                                                              \
        iket_sink_text(sink, "]");                                                                                     \
    } while (0)

static void put_payload(iket_sink *sink, const iket_levels *levels, uint64_t i) {
    iket_sink_text(sink, "\"");
    if (levels->payload_type[i] != IKET_LEVELS_NO_PAYLOAD) iket_levels_put(sink, levels->payload[i]);
    iket_sink_text(sink, "\"");
}

void iket_levels_put_columns(iket_sink *sink, const iket_levels *levels, const uint64_t *events, size_t count) {
    PUT_COLUMN(sink, "start", events, count, iket_levels_put(sink, levels->start[i]));
    PUT_COLUMN(sink, "length", events, count, iket_levels_put(sink, levels->end[i] - levels->start[i]));
    PUT_COLUMN(sink, "cls", events, count, iket_levels_put(sink, levels->cls[i]));
    PUT_COLUMN(sink, "flags", events, count, iket_levels_put(sink, levels->flags[i]));
    PUT_COLUMN(sink, "payloadType", events, count, iket_levels_put(sink, levels->payload_type[i]));
    PUT_COLUMN(sink, "payload", events, count, put_payload(sink, levels, i));
}

// ---- sorting --------------------------------------------------------------------------------------------------------

static void insertion_sort(uint64_t *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
}

// By bytes from the lowest, where the values differ at all: times of one launch differ in three or four of their eight.
void iket_levels_sort(uint64_t *values, uint64_t *scratch, size_t count) {
    uint64_t differ = 0, *from = values, *to = scratch;
    if (count <= 48) {
        insertion_sort(values, count);
        return;
    }
    for (size_t i = 1; i < count; i++) differ |= values[i] ^ values[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t at[256] = {0}, sum = 0;
        if ((differ >> shift & 255) == 0) continue;
        for (size_t i = 0; i < count; i++) at[from[i] >> shift & 255]++;
        for (unsigned byte = 0; byte < 256; byte++) {
            size_t here = at[byte];
            at[byte] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++) to[at[from[i] >> shift & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
}
