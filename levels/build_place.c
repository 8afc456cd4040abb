// SPDX-License-Identifier: Apache-2.0
// build_place.c: the second pass. Every event goes to its place in the mapped columns.
//
// Threads begin at the snapshots of the first pass. A slice that is open at such a point is closed by the thread that meets
// its end, and those ends are written when all threads are done: no two threads write one event.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/builder.h"
#include "levels/place.h"

// How many depths of a track are open and have a lane.
static uint32_t open_lanes(uint32_t depth, uint32_t lanes) { return depth < lanes ? depth : lanes; }

static int start_part(iket_levels_part *p, iket_levels_builder *b, const iket_levels_snapshot *from, iket_error *err) {
    const iket_levels_names *names = &b->names;
    p->builder = b;
    p->lanes = calloc((size_t)b->lane_count + 1, sizeof *p->lanes);
    p->tracks = calloc(names->track_count + 1, sizeof *p->tracks);
    if (p->lanes == NULL || p->tracks == NULL) return iket_fail(err, "out of memory (%" PRIu32 " lanes)", b->lane_count);
    for (uint32_t lane = 0; lane < b->lane_count; lane++) {
        p->lanes[lane].next = b->columns.lane_first[lane];
        p->lanes[lane].limit = b->columns.lane_first[lane + 1];
    }
    for (size_t i = 0; i < names->track_count; i++) {
        const iket_levels_track *track = &names->tracks[i];
        int is_shown = track->node >= 0 && b->nodes[track->node].kind != IKET_LEVELS_ROOT;
        p->tracks[i] = (iket_levels_place_track){.lane = is_shown ? b->nodes[track->node].lane : IKET_LEVELS_NONE, .lanes = track->lanes, .born = track->born};
    }
    for (size_t i = 0; from != NULL && i < from->track_count; i++) {
        p->tracks[i].depth = from->tracks[i].depth;
        if (p->tracks[i].lane == IKET_LEVELS_NONE) continue;
        uint32_t open = open_lanes(from->tracks[i].depth, from->tracks[i].lanes);
        for (uint32_t d = 0; d < from->tracks[i].lanes; d++) {
            iket_levels_place_lane *lane = &p->lanes[p->tracks[i].lane + d];
            const iket_levels_slot *slot = &from->slots[from->tracks[i].slot + d];
            lane->open = lane->next + slot->open;
            lane->next += slot->count;
            lane->cls = (uint16_t)slot->cls;
            lane->carried = d < open;
        }
    }
    p->note_first = from == NULL ? 0 : from->notes;
    p->read = from == NULL ? 0 : from->offset;
    return iket_levels_make_stages(p, err);
}

// ---- events ---------------------------------------------------------------------------------------------------------

static int add_note(iket_levels_part *p, uint64_t event, uint32_t kind, uint64_t bits, uint32_t type, iket_error *err) {
    if (p->note_first + p->note_count >= p->note_limit) return iket_fail(err, "the file changed while it was read (try again)");
    p->builder->columns.note[p->note_first + p->note_count++] = (iket_levels_note){.event = event, .bits = bits, .kind = kind, .type = type};
    return 0;
}

static int note_begin(iket_levels_part *p, iket_levels_reader *reader, const iket_levels_packet_event *event, uint64_t row, uint8_t *flags, iket_error *err) {
    if (event->has & IKET_LEVELS_HAS_RECORDED) {
        *flags |= IKET_LEVELS_RECORDED_AT;
        IKET_TRY(add_note(p, row, IKET_LEVELS_NOTE_BEGIN_RECORDED, event->recorded, 0, err));
    }
    if (event->has & IKET_LEVELS_HAS_EXTRA) {
        IKET_TRY(add_note(p, row, IKET_LEVELS_NOTE_EXTRA, p->texts.used, 0, err));
        IKET_TRY(iket_memory_flush(&p->texts, reader->extra.data, reader->extra.used, err));
    }
    for (size_t i = 0; (event->has & IKET_LEVELS_HAS_FLOWS) && i < reader->flow_count; i++) {
        iket_levels_ends *ends = reader->flows[i].reaches ? &p->reached : &p->left;
        IKET_TRY(IKET_RESERVE(ends->items, ends->count, ends->capacity, 1, err));
        ends->items[ends->count++] = (iket_levels_arrow_end){.id = reader->flows[i].id, .event = row};
    }
    return 0;
}

static int place_begin(iket_levels_part *p, iket_levels_reader *reader, const iket_levels_packet_event *event, uint32_t lane, uint32_t depth, iket_error *err) {
    iket_levels_place_lane *at = &p->lanes[lane + depth];
    int is_instant = event->type == IKET_LEVELS_AT_ONCE, has_payload = (event->has & IKET_LEVELS_HAS_PAYLOAD) != 0;
    uint32_t cls;
    IKET_TRY(iket_levels_class_of_event(reader, event, 0, &cls, err));
    uint64_t row = at->next;
    if (row >= at->limit) return iket_fail(err, "the file changed while it was read (try again)");
    if (at->stage != IKET_LEVELS_NONE) {
        if (row % IKET_LEVELS_STAGED == 0 && at->staged > 0) iket_levels_flush_lane(p, at);
        at->staged++;
    }
    at->next++;
    iket_levels_cells cells = iket_levels_cells_of(p, at, row);
    *cells.start = *cells.end = event->time;
    *cells.cls = (uint16_t)cls;
    *cells.parent_cls = !is_instant && depth > 0 ? at[-1].cls : IKET_LEVELS_NO_CLASS;
    *cells.flags = is_instant ? IKET_LEVELS_INSTANT : 0;
    *cells.payload = has_payload ? event->payload : 0;
    *cells.payload_type = has_payload ? event->payload_type : IKET_LEVELS_NO_PAYLOAD;
    if (!is_instant) {
        at->open = row;
        at->cls = (uint16_t)cls;
        at->carried = 0;
    }
    return event->has & ~(unsigned)IKET_LEVELS_HAS_PAYLOAD ? note_begin(p, reader, event, row, cells.flags, err) : 0;
}

static int place_end(iket_levels_part *p, const iket_levels_packet_event *event, const iket_levels_place_lane *at, iket_error *err) {
    uint64_t row = at->open;
    unsigned flags = 0;
    if (event->has & IKET_LEVELS_HAS_END_PAYLOAD) {
        flags |= IKET_LEVELS_END_PAYLOAD;
        IKET_TRY(add_note(p, row, IKET_LEVELS_NOTE_END_PAYLOAD, event->end_payload, event->end_payload_type, err));
    }
    if (event->has & IKET_LEVELS_HAS_UNCLOSED) flags |= IKET_LEVELS_UNCLOSED;
    if (event->has & IKET_LEVELS_HAS_RECORDED) {
        flags |= IKET_LEVELS_RECORDED_AT;
        IKET_TRY(add_note(p, row, IKET_LEVELS_NOTE_END_RECORDED, event->recorded, 0, err));
    }
    if (at->carried) {
        IKET_TRY(IKET_RESERVE(p->late, p->late_count, p->late_capacity, 1, err));
        p->late[p->late_count++] = (iket_levels_late_end){.event = row, .end = event->time, .flags = (uint8_t)flags};
        return 0;
    }
    iket_levels_cells cells = iket_levels_cells_of(p, at, row);
    *cells.end = event->time;
    if (flags != 0) *cells.flags = (uint8_t)(*cells.flags | flags);
    return 0;
}

static int place_event(void *context, iket_levels_reader *reader, const iket_levels_packet_event *event, iket_error *err) {
    iket_levels_part *p = context;
    iket_levels_place_track *track = &p->tracks[event->track];
    if (track->lane == IKET_LEVELS_NONE || track->born > reader->packet) return 0;
    switch (event->type) {
    case IKET_LEVELS_END:
        if (track->depth == 0 || --track->depth >= IKET_LEVELS_MAX_DEPTH) return 0;
        if (track->depth >= track->lanes) break;
        return place_end(p, event, &p->lanes[track->lane + track->depth], err);
    case IKET_LEVELS_BEGIN:
        if (track->depth >= IKET_LEVELS_MAX_DEPTH) {
            track->depth++;
            return 0;
        }
        if (track->depth >= track->lanes) break;
        return place_begin(p, reader, event, track->lane, track->depth++, err);
    default:
        if (track->lanes == 0) break;
        return place_begin(p, reader, event, track->lane, 0, err);
    }
    return iket_fail(err, "the file changed while it was read (try again)");
}

static int pause_placing(void *context, iket_levels_reader *reader, uint64_t offset, iket_error *err) {
    iket_levels_part *p = context;
    uint64_t done = iket_levels_source_done(&reader->source);
    (void)offset;
    (void)err;
    iket_levels_progress_add(&p->builder->progress, &p->builder->names, done - p->read);
    p->read = done;
    return 0;
}

static int read_part(void *context, size_t index, iket_error *err) {
    iket_levels_part *p = (iket_levels_part *)context + index;
    iket_levels_builder *b = p->builder;
    const iket_levels_snapshot *from = index == 0 ? NULL : &b->snapshots[index - 1];
    iket_levels_reader reader = {
        .names = &b->names, .event = place_event, .pause = pause_placing, .context = p,
        .end = index < b->snapshot_count ? b->snapshots[index].offset : UINT64_MAX,
    };
    int result = iket_levels_reader_open(&reader, b->options->input, from == NULL ? 0 : from->offset, from == NULL ? 0 : from->time, err);
    if (result == 0) result = iket_levels_reader_run(&reader, err);
    iket_levels_reader_close(&reader);
    for (uint32_t lane = 0; lane < b->lane_count; lane++) {
        if (p->lanes[lane].staged > 0) iket_levels_flush_lane(p, &p->lanes[lane]);
    }
    return result;
}

// ---- the parts together ---------------------------------------------------------------------------------------------

// Every part must have filled its share of every lane.
static int check_parts(iket_levels_builder *b, const iket_levels_part *parts, size_t count, iket_error *err) {
    for (size_t i = 0; i < count; i++) {
        for (uint32_t lane = 0; lane < b->lane_count; lane++) {
            uint64_t limit = i + 1 < count ? parts[i + 1].lane_first[lane] : b->columns.lane_first[lane + 1];
            if (parts[i].lanes[lane].next != limit) return iket_fail(err, "the file changed while it was read (try again)");
        }
    }
    return 0;
}

static void close_late(iket_levels_builder *b, const iket_levels_part *p) {
    for (size_t i = 0; i < p->late_count; i++) {
        b->columns.end[p->late[i].event] = p->late[i].end;
        b->columns.flags[p->late[i].event] = (uint8_t)(b->columns.flags[p->late[i].event] | p->late[i].flags);
    }
}

static int place_with(iket_levels_builder *b, iket_levels_part *parts, iket_error *err) {
    size_t count = b->snapshot_count + 1;
    for (size_t i = 0; i < count; i++) {
        IKET_TRY(start_part(&parts[i], b, i == 0 ? NULL : &b->snapshots[i - 1], err));
        parts[i].note_limit = i + 1 < count ? b->snapshots[i].notes : b->notes_most;
        parts[i].lane_first = malloc(((size_t)b->lane_count + 1) * sizeof *parts[i].lane_first);
        if (parts[i].lane_first == NULL) return iket_fail(err, "out of memory (%" PRIu32 " lanes)", b->lane_count);
        for (uint32_t lane = 0; lane < b->lane_count; lane++) parts[i].lane_first[lane] = parts[i].lanes[lane].next;
    }
    iket_levels_progress_begin(&b->progress, &b->names, "placing", b->file_bytes);
    IKET_TRY(iket_pool_run(b->pool, count, read_part, parts, err));
    IKET_TRY(check_parts(b, parts, count, err));
    for (size_t i = 0; i < count; i++) close_late(b, &parts[i]);
    IKET_TRY(iket_levels_join_notes(b, parts, count, err));
    return iket_levels_join_arrows(b, parts, count, err);
}

int iket_levels_place(iket_levels_builder *b, iket_error *err) {
    iket_levels_part parts[IKET_LEVELS_PARTS] = {0};
    int result = place_with(b, parts, err);
    for (size_t i = 0; i < IKET_LEVELS_PARTS; i++) {
        free(parts[i].lanes);
        free(parts[i].lane_first);
        free(parts[i].tracks);
        free(parts[i].stages);
        free(parts[i].late);
        free(parts[i].texts.data);
        free(parts[i].left.items);
        free(parts[i].reached.items);
    }
    return result;
}
