// SPDX-License-Identifier: Apache-2.0
// reader_names.c: what packets declare: interned names and tracks.
#include <string.h>

#include "common/array.h"
#include "levels/wire.h"

// A number that names a text. A second text for it would make two readings differ: it occurs where files were joined.
static int declare(iket_levels_reader *reader, iket_levels_map *map, uint64_t iid, uint32_t value, iket_error *err) {
    uint32_t before = iket_levels_map_get(map, iid);
    if (before == value) return 0;
    if (before != IKET_LEVELS_NONE) return iket_levels_refuse(reader, err, "a name's number is declared a second time, or after its first use (the file is several traces in one: decode them apart)");
    return iket_levels_map_set(map, iid, value, err);
}

static int read_name(iket_levels_reader *reader, iket_levels_message m, uint64_t table, iket_error *err) {
    iket_levels_names *names = reader->names;
    uint64_t tag, iid = 0;
    iket_levels_message text = {m.at, m.at};
    reader->at = m.at;
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        if (tag == 0x08) {
            IKET_TRY(iket_levels_varint(reader, &m, &iid, err));
        } else if (tag == 0x12) {
            IKET_TRY(iket_levels_enter(reader, &m, &text, err));
        } else {
            IKET_TRY(iket_levels_skip(reader, &m, tag, err));
        }
    }
    IKET_TRY(iket_levels_leave(reader, &m, err));
    if (iid > UINT32_MAX) return iket_levels_refuse(reader, err, "a name's number is too large (the file is damaged)");
    uint32_t index;
    IKET_TRY(iket_levels_strings_add(&names->interned, (const char *)text.at, (size_t)(text.limit - text.at), &index, err));
    if (table == 0x12) return declare(reader, &names->name_of, iid, index, err);
    const char *clean = iket_levels_strings_get(&names->interned, index);
    if (table == 0x0A) return declare(reader, &names->category_of, iid, iket_levels_kind_of_category(clean), err);
    if (iid < sizeof names->annotation_use) names->annotation_use[iid] = (uint8_t)iket_levels_use_of_annotation(clean, strlen(clean));
    return declare(reader, &names->annotation_of, iid, index, err);
}

int iket_levels_read_names(iket_levels_reader *reader, iket_levels_message m, iket_error *err) {
    uint64_t tag;
    iket_levels_message entry;
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        if (tag != 0x0A && tag != 0x12 && tag != 0x1A) {
            IKET_TRY(iket_levels_skip(reader, &m, tag, err));
            continue;
        }
        IKET_TRY(iket_levels_enter(reader, &m, &entry, err));
        IKET_TRY(read_name(reader, entry, tag, err));
    }
    return iket_levels_leave(reader, &m, err);
}

static int read_process(iket_levels_reader *reader, iket_levels_message m, iket_levels_message *name, iket_error *err) {
    uint64_t tag;
    *name = (iket_levels_message){m.at, m.at};
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        if (tag == 0x32) {
            IKET_TRY(iket_levels_enter(reader, &m, name, err));
        } else {
            IKET_TRY(iket_levels_skip(reader, &m, tag, err));
        }
    }
    return iket_levels_leave(reader, &m, err);
}

static uint8_t kind_below(const iket_levels_track *track, unsigned above, const char *name) {
    switch (above) {
    case IKET_LEVELS_ROOT: return track->rank == 0 && strcmp(name, "Diagnostics") == 0 ? IKET_LEVELS_DIAGNOSTICS : IKET_LEVELS_KERNEL;
    case IKET_LEVELS_KERNEL: return strncmp(name, "launches ", 9) == 0 ? IKET_LEVELS_BUCKET : IKET_LEVELS_NODE_LAUNCH;
    case IKET_LEVELS_DIAGNOSTICS: return IKET_LEVELS_DIAGNOSTICS;
    case IKET_LEVELS_NO_PLACE: return track->parent == 0 && strcmp(name, "Launches") == 0 ? IKET_LEVELS_ROOT : IKET_LEVELS_NO_PLACE;
    default: return (uint8_t)(above < IKET_LEVELS_RANGES ? above + 1 : above);
    }
}

// What kind of row a track is as far as its parents tell, and its SM: enough for the overview while reading.
static int place_track(iket_levels_names *names, iket_levels_track *track, const char *name, iket_error *err) {
    uint32_t parent = iket_levels_track_of(names, track->parent);
    track->kind = kind_below(track, parent == IKET_LEVELS_NONE ? IKET_LEVELS_NO_PLACE : names->tracks[parent].kind, name);
    track->sm = parent == IKET_LEVELS_NONE ? IKET_LEVELS_NONE : names->tracks[parent].sm;
    if (track->kind == IKET_LEVELS_WARP) names->warp_count++;
    if (track->kind != IKET_LEVELS_SM) return 0;
    track->sm = iket_levels_map_get(&names->sm_of, track->rank);
    if (track->sm != IKET_LEVELS_NONE || names->sm_count == IKET_LEVELS_SMS_MOST || track->rank > UINT32_MAX) return 0;
    IKET_TRY(IKET_RESERVE(names->sms, names->sm_count, names->sm_capacity, 1, err));
    track->sm = (uint32_t)names->sm_count;
    names->sms[names->sm_count++] = (uint32_t)track->rank;
    return iket_levels_map_set(&names->sm_of, track->rank, track->sm, err);
}

int iket_levels_read_track(iket_levels_reader *reader, iket_levels_message m, iket_error *err) {
    iket_levels_names *names = reader->names;
    iket_levels_track track = {.node = -1, .born = reader->packet};
    iket_levels_message name = {m.at, m.at}, process = {NULL, NULL};
    uint64_t tag;
    reader->at = m.at;
    const uint8_t *begin = m.at;
    while (m.at < m.limit) {
        IKET_TRY(iket_levels_varint(reader, &m, &tag, err));
        switch (tag) {
        case 0x08: IKET_TRY(iket_levels_varint(reader, &m, &track.uuid, err)); break;
        case 0x12:
        case 0x52: IKET_TRY(iket_levels_enter(reader, &m, &name, err)); break;
        case 0x28: IKET_TRY(iket_levels_varint(reader, &m, &track.parent, err)); break;
        case 0x60: IKET_TRY(iket_levels_varint(reader, &m, &track.rank, err)); break;
        case 0x1A: IKET_TRY(iket_levels_enter(reader, &m, &process, err)); break;
        default: IKET_TRY(iket_levels_skip(reader, &m, tag, err));
        }
    }
    IKET_TRY(iket_levels_leave(reader, &m, err));
    if (track.uuid == 0 || track.uuid == track.parent) return iket_levels_refuse_at(reader, begin, "a track has no number of its own (the file is damaged)", err);
    if (process.at != NULL) {
        track.is_process = 1;
        IKET_TRY(read_process(reader, process, &name, err));
    }
    if (iket_levels_track_of(names, track.uuid) != IKET_LEVELS_NONE) return 0;
    IKET_TRY(iket_levels_strings_add(&names->track_names, (const char *)name.at, (size_t)(name.limit - name.at), &track.name, err));
    IKET_TRY(place_track(names, &track, iket_levels_strings_get(&names->track_names, track.name), err));
    return iket_levels_add_track(names, &track, err);
}
