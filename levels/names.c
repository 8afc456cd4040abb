// SPDX-License-Identifier: Apache-2.0
#include "levels/names.h"

#include <string.h>

#include "common/array.h"

// uuids count from 1 in our files: those within this many times the number of tracks stand in a plain table.
enum { UUID_SPREAD = 4, UUID_LEAST = 4096 };

static int widen_by_uuid(iket_levels_names *names, uint64_t uuid, iket_error *err) {
    size_t count = names->by_uuid_count < UUID_LEAST ? UUID_LEAST : names->by_uuid_count;
    while (count <= uuid) count *= 2;
    uint32_t *wider = realloc(names->by_uuid, count * sizeof *wider);
    if (wider == NULL) return iket_fail(err, "out of memory (%zu tracks)", count);
    memset(wider + names->by_uuid_count, 0, (count - names->by_uuid_count) * sizeof *wider);
    for (size_t i = names->by_uuid_count; i < count; i++) { // those that came when the table was narrower
        uint32_t track = iket_levels_map_get(&names->track_of, i);
        if (track != IKET_LEVELS_NONE) wider[i] = track + 1;
    }
    names->by_uuid = wider;
    names->by_uuid_count = count;
    return 0;
}

int iket_levels_add_track(iket_levels_names *names, const iket_levels_track *track, iket_error *err) {
    uint64_t uuid = track->uuid;
    if (names->track_count >= INT32_MAX) return iket_fail(err, "the trace has too many tracks");
    IKET_TRY(IKET_RESERVE(names->tracks, names->track_count, names->track_capacity, 1, err));
    if (uuid >= names->by_uuid_count && uuid < UUID_LEAST + UUID_SPREAD * names->track_count) IKET_TRY(widen_by_uuid(names, uuid, err));
    if (uuid < names->by_uuid_count) {
        names->by_uuid[uuid] = (uint32_t)names->track_count + 1;
    } else {
        IKET_TRY(iket_levels_map_set(&names->track_of, uuid, (uint32_t)names->track_count, err));
    }
    names->tracks[names->track_count++] = *track;
    return 0;
}

int iket_levels_class_of(iket_levels_names *names, const char *text, unsigned kind, uint32_t *cls, iket_error *err) {
    uint32_t string;
    IKET_TRY(iket_levels_strings_add(&names->strings, text, strlen(text), &string, err));
    *cls = iket_levels_map_get(&names->class_of, (uint64_t)string * 8 + kind);
    if (*cls != IKET_LEVELS_NONE) return 0;
    if (names->class_count >= IKET_LEVELS_NO_CLASS) return iket_fail(err, "the trace has more than 65,534 different names (export fewer launches)");
    IKET_TRY(IKET_RESERVE(names->classes, names->class_count, names->class_capacity, 1, err));
    *cls = (uint32_t)names->class_count;
    IKET_TRY(iket_levels_map_set(&names->class_of, (uint64_t)string * 8 + kind, *cls, err));
    names->classes[names->class_count++] = (iket_levels_class){.name = string, .kind = (uint8_t)kind};
    return 0;
}

uint32_t iket_levels_find_class(const iket_levels_names *names, const char *text, unsigned kind) {
    uint32_t string = iket_levels_strings_find(&names->strings, text);
    return string == IKET_LEVELS_NONE ? string : iket_levels_map_get(&names->class_of, (uint64_t)string * 8 + kind);
}

unsigned iket_levels_kind_of_category(const char *text) {
    static const char *const categories[IKET_LEVELS_OTHER] = {"lifetime", "range", "token", "marker", "launch", "diagnostic"};
    unsigned kind = 0;
    while (kind < IKET_LEVELS_OTHER && strcmp(categories[kind], text) != 0) kind++;
    return kind;
}

iket_levels_use iket_levels_use_of_annotation(const char *text, size_t size) {
    static const char *const uses[] = {[IKET_LEVELS_USE_PAYLOAD] = "payload", "end_payload", "unclosed", "recorded_at"};
    for (unsigned use = IKET_LEVELS_USE_PAYLOAD; use <= IKET_LEVELS_USE_RECORDED; use++) {
        if (strlen(uses[use]) == size && memcmp(uses[use], text, size) == 0) return (iket_levels_use)use;
    }
    return IKET_LEVELS_USE_EXTRA;
}

void iket_levels_names_free(iket_levels_names *names) {
    iket_levels_strings_free(&names->interned);
    iket_levels_strings_free(&names->strings);
    iket_levels_strings_free(&names->track_names);
    iket_levels_map_free(&names->name_of);
    iket_levels_map_free(&names->category_of);
    iket_levels_map_free(&names->annotation_of);
    iket_levels_map_free(&names->class_of);
    iket_levels_map_free(&names->class_of_iid);
    iket_levels_map_free(&names->track_of);
    iket_levels_map_free(&names->sm_of);
    free(names->sms);
    free(names->classes);
    free(names->tracks);
    free(names->by_uuid);
    *names = (iket_levels_names){0};
}
