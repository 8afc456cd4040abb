// SPDX-License-Identifier: Apache-2.0
// build_count.c: the first pass. It declares everything and counts the events of every (track, depth).
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "levels/builder.h"

enum { LEAST_PART_BYTES = 8 << 20 };

static int find_class(iket_levels_reader *reader, const iket_levels_packet_event *event, unsigned kind, int add, uint32_t *cls, iket_error *err) {
    iket_levels_names *names = reader->names;
    if (event->has & IKET_LEVELS_HAS_TEXT) {
        if (add) return iket_levels_class_of(names, reader->text, kind, cls, err);
        *cls = iket_levels_find_class(names, reader->text, kind);
        return 0;
    }
    *cls = event->name > UINT32_MAX ? IKET_LEVELS_NONE : iket_levels_map_get(&names->class_of_iid, event->name * 8 + kind);
    if (*cls != IKET_LEVELS_NONE) return 0;
    uint32_t text = iket_levels_map_get(&names->name_of, event->name);
    if (text == IKET_LEVELS_NONE) return iket_levels_refuse(reader, err, "event name %" PRIu64 " was never declared (the file is damaged)", event->name);
    if (!add) return 0;
    IKET_TRY(iket_levels_class_of(names, iket_levels_strings_get(&names->interned, text), kind, cls, err));
    return iket_levels_map_set(&names->class_of_iid, event->name * 8 + kind, *cls, err);
}

int iket_levels_class_of_event(iket_levels_reader *reader, const iket_levels_packet_event *event, int add, uint32_t *cls, iket_error *err) {
    iket_levels_names *names = reader->names;
    int is_small = event->category < IKET_LEVELS_MEMO_CATEGORIES && event->name < IKET_LEVELS_MEMO_NAMES && !(event->has & IKET_LEVELS_HAS_TEXT);
    if (is_small && names->class_memo[event->category][event->name] != 0) {
        *cls = names->class_memo[event->category][event->name] - 1u;
        return 0;
    }
    uint32_t kind = iket_levels_map_get(&names->category_of, event->category);
    if (kind == IKET_LEVELS_NONE) {
        if (event->category != 0) return iket_levels_refuse(reader, err, "event category %" PRIu64 " was never declared (the file is damaged)", event->category);
        kind = IKET_LEVELS_OTHER;
        if (add) IKET_TRY(iket_levels_map_set(&names->category_of, 0, kind, err)); // from now on, as in the second reading
    }
    IKET_TRY(find_class(reader, event, kind, add, cls, err));
    if (*cls == IKET_LEVELS_NONE) return iket_fail(err, "the file changed while it was read (try again)");
    if (add && is_small) names->class_memo[event->category][event->name] = (uint16_t)(*cls + 1);
    return 0;
}

// Room for one more lane of a track. What it has moves to a block of twice the size.
static int add_lane(iket_levels_builder *b, iket_levels_track *track, iket_error *err) {
    if (track->lanes == track->room) {
        uint32_t room = track->room == 0 ? 2 : track->room * 2;
        if (b->slot_count + room > UINT32_MAX) return iket_fail(err, "the trace has too many tracks");
        IKET_TRY(IKET_RESERVE(b->slots, b->slot_count, b->slot_capacity, room, err));
        if (track->lanes > 0) memcpy(b->slots + b->slot_count, b->slots + track->slot, track->lanes * sizeof *b->slots);
        track->slot = (uint32_t)b->slot_count;
        track->room = room;
        b->slot_count += room;
    }
    b->slots[track->slot + track->lanes++] = (iket_levels_slot){0};
    return 0;
}

static int count_begin(iket_levels_builder *b, iket_levels_track *track, const iket_levels_packet_event *event, uint32_t cls, iket_error *err) {
    uint32_t depth = track->depth++;
    if (depth >= IKET_LEVELS_MAX_DEPTH) {
        b->too_deep++;
        return 0;
    }
    if (depth >= track->lanes) IKET_TRY(add_lane(b, track, err));
    iket_levels_slot *slot = &b->slots[track->slot + depth];
    slot->open = slot->count++;
    slot->start = event->time;
    slot->cls = cls;
    return b->progress.path == NULL ? 0 : iket_levels_overview_edge(&b->progress.overview, &b->names, event->track, depth, cls, event->time, event->time, 1, err);
}

static int count_end(iket_levels_builder *b, iket_levels_track *track, const iket_levels_packet_event *event, iket_error *err) {
    if (track->depth == 0) {
        b->unopened++;
        return 0;
    }
    uint32_t depth = --track->depth;
    if (b->progress.path == NULL || depth >= IKET_LEVELS_MAX_DEPTH) return 0;
    const iket_levels_slot *slot = &b->slots[track->slot + depth];
    return iket_levels_overview_edge(&b->progress.overview, &b->names, event->track, depth, slot->cls, slot->start, event->time, 0, err);
}

static int count_event(void *context, iket_levels_reader *reader, const iket_levels_packet_event *event, iket_error *err) {
    iket_levels_builder *b = context;
    iket_levels_track *track = &b->names.tracks[event->track];
    if (event->has & ~(unsigned)IKET_LEVELS_HAS_PAYLOAD) {
        unsigned noted = event->has & (event->type == IKET_LEVELS_END ? IKET_LEVELS_HAS_END_PAYLOAD | IKET_LEVELS_HAS_RECORDED : IKET_LEVELS_HAS_EXTRA | IKET_LEVELS_HAS_RECORDED);
        b->notes_most += (unsigned)__builtin_popcount(noted);
    }
    if (event->type == IKET_LEVELS_END) return count_end(b, track, event, err);
    uint32_t cls;
    IKET_TRY(iket_levels_class_of_event(reader, event, 1, &cls, err));
    if (event->type == IKET_LEVELS_BEGIN) return count_begin(b, track, event, cls, err);
    if (track->lanes == 0) IKET_TRY(add_lane(b, track, err));
    b->slots[track->slot].count++;
    return b->progress.path == NULL ? 0 : iket_levels_overview_instant(&b->progress.overview, cls, event->time, err);
}

static int take_snapshot(iket_levels_builder *b, const iket_levels_reader *reader, uint64_t offset, iket_error *err) {
    iket_levels_snapshot *s = &b->snapshots[b->snapshot_count];
    size_t tracks = b->names.track_count;
    *s = (iket_levels_snapshot){.offset = offset, .time = reader->time, .notes = b->notes_most, .track_count = tracks};
    s->tracks = malloc((tracks + 1) * sizeof *s->tracks);
    s->slots = malloc((b->slot_count + 1) * sizeof *s->slots);
    b->snapshot_count++; // whatever it has is freed with the others
    if (s->tracks == NULL || s->slots == NULL) return iket_fail(err, "out of memory (%zu tracks)", tracks);
    for (size_t i = 0; i < tracks; i++) {
        const iket_levels_track *track = &b->names.tracks[i];
        s->tracks[i].slot = track->slot;
        s->tracks[i].lanes = track->lanes;
        s->tracks[i].depth = track->depth;
    }
    if (b->slot_count > 0) memcpy(s->slots, b->slots, b->slot_count * sizeof *s->slots);
    return 0;
}

static int pause_counting(void *context, iket_levels_reader *reader, uint64_t offset, iket_error *err) {
    iket_levels_builder *b = context;
    uint64_t done = iket_levels_source_done(&reader->source);
    iket_levels_progress_add(&b->progress, &b->names, done - b->read);
    b->read = done;
    uint64_t next = b->file_bytes / (b->snapshots_wanted + 1) * (b->snapshot_count + 1);
    if (b->snapshot_count < b->snapshots_wanted && offset >= next) return take_snapshot(b, reader, offset, err);
    return 0;
}

int iket_levels_count(iket_levels_builder *b, iket_error *err) {
    iket_levels_reader reader = {.names = &b->names, .defines = 1, .end = UINT64_MAX, .event = count_event, .pause = pause_counting, .context = b};
    unsigned threads = iket_pool_threads(b->pool);
    uint64_t parts = b->file_bytes / LEAST_PART_BYTES;
    if (parts > threads) parts = threads;
    if (parts > IKET_LEVELS_PARTS) parts = IKET_LEVELS_PARTS;
    b->snapshots_wanted = parts > 1 && !iket_levels_source_is_gzip(b->options->input) ? (size_t)parts - 1 : 0;
    iket_levels_progress_begin(&b->progress, &b->names, "reading", b->file_bytes);
    int result = iket_levels_reader_open(&reader, b->options->input, 0, 0, err);
    if (result == 0) result = iket_levels_reader_run(&reader, err);
    b->unknown_tracks = reader.unknown_tracks;
    b->cut = reader.cut;
    b->cut_why = reader.cut_why;
    iket_levels_reader_close(&reader);
    return result;
}
