// SPDX-License-Identifier: Apache-2.0
// build_stage.c: the stages of lanes (place.h).
#include <stdlib.h>
#include <string.h>

#include "levels/place.h"

enum { MANY_EVENTS = 4 * IKET_LEVELS_STAGED, MOST_STAGES = 1 << 17 };

int iket_levels_make_stages(iket_levels_part *p, iket_error *err) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->builder->lane_count; i++) {
        iket_levels_place_lane *lane = &p->lanes[i];
        lane->stage = lane->limit - lane->next >= MANY_EVENTS && count < MOST_STAGES ? count++ : IKET_LEVELS_NONE;
    }
    p->stages = malloc((count + (size_t)1) * sizeof *p->stages);
    return p->stages != NULL ? 0 : iket_fail(err, "out of memory (%u lanes)", count);
}

void iket_levels_flush_lane(iket_levels_part *p, iket_levels_place_lane *lane) {
    const iket_levels_columns *c = &p->builder->columns;
    const iket_levels_stage *s = &p->stages[lane->stage];
    size_t count = lane->staged;
    uint64_t row = lane->next - count;
    memcpy(c->start + row, s->start, count * sizeof *s->start);
    memcpy(c->end + row, s->end, count * sizeof *s->end);
    memcpy(c->payload + row, s->payload, count * sizeof *s->payload);
    memcpy(c->cls + row, s->cls, count * sizeof *s->cls);
    memcpy(c->parent_cls + row, s->parent_cls, count * sizeof *s->parent_cls);
    memcpy(c->flags + row, s->flags, count * sizeof *s->flags);
    memcpy(c->payload_type + row, s->payload_type, count * sizeof *s->payload_type);
    lane->staged = 0;
}
