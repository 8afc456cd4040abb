// SPDX-License-Identifier: Apache-2.0
// file.c: maps a level file and checks what its sections say about one another, so that whoever reads it needs no checks of
// its own: every index that addresses memory is in range. Events are not looked at, they are too many; a class of an event
// is checked by iket_levels_class where it is used.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/version.h"
#include "levels/file.h"

static const char damaged[] = "the level file is damaged (delete it: it is made again)";

// ---- sections -------------------------------------------------------------------------------------------------------

static int check_header(const iket_levels_header *h, uint64_t size, iket_error *err) {
    char program[sizeof h->program] = {0};
    snprintf(program, sizeof program, "%s", IKET_VERSION);
    if (size < sizeof *h || memcmp(h->magic, IKET_LEVELS_MAGIC, sizeof h->magic) != 0) return iket_fail(err, "this is no level file");
    if (h->byte_order != IKET_LEVELS_BYTE_ORDER || h->header_bytes != sizeof *h || memcmp(h->program, program, sizeof program) != 0) {
        return iket_fail(err, "the level file is of another version of this program (delete it: it is made again)");
    }
    if (h->complete != 1) return iket_fail(err, "the level file is not complete (delete it: it is made again)");
    return 0;
}

static int check_section(const iket_levels_section *s, uint64_t size, size_t element, iket_error *err) {
    if (s->offset % 8 != 0 || s->offset > size || s->count > (size - s->offset) / element) return iket_fail(err, "%s", damaged);
    return 0;
}

static int point_sections(iket_levels *levels, iket_error *err) {
    const iket_levels_header *h = levels->header;
#define POINT(name, type)                                                                                              \
    IKET_TRY(check_section(&h->name, levels->size, sizeof(type), err));                                                \
    levels->name = (const type *)(const void *)((const char *)h + h->name.offset);
    IKET_LEVELS_SECTIONS(POINT)
#undef POINT
    return 0;
}

// The lengths that belong together.
static int check_counts(iket_levels *levels, iket_error *err) {
    const iket_levels_header *h = levels->header;
    uint64_t strings = h->string_at.count, classes = h->class_name.count, nodes = h->node_kind.count, lanes = h->lane_node.count, events = h->start.count, binned = h->bin_node.count;
    const uint64_t same[][2] = {
        {h->class_kind.count, classes}, {h->class_category.count, classes}, {h->node_parent.count, nodes}, {h->node_last.count, nodes}, {h->node_name.count, nodes},
        {h->node_a.count, nodes}, {h->node_b.count, nodes}, {h->node_c.count, nodes}, {h->node_lane.count, nodes + 1}, {h->node_role.count, nodes},
        {h->lane_depth.count, lanes}, {h->lane_active.count, lanes}, {h->lane_first.count, lanes + 1}, {h->end.count, events}, {h->payload.count, events},
        {h->cls.count, events}, {h->parent_cls.count, events}, {h->flags.count, events}, {h->payload_type.count, events}, {h->arrow.count % 2, 0},
        {h->bin_at.count, binned == 0 ? h->bin_at.count : binned + 1}, {h->bin_from.count, binned}, {h->bin_to.count, binned},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (same[i][0] != same[i][1]) return iket_fail(err, "%s", damaged);
    }
    if (strings > UINT32_MAX || classes > IKET_LEVELS_NO_CLASS || nodes > INT32_MAX || lanes > INT32_MAX || h->role_class.count > INT32_MAX || binned > nodes) {
        return iket_fail(err, "%s", damaged);
    }
    levels->string_count = (uint32_t)strings;
    levels->class_count = (uint32_t)classes;
    levels->node_count = (uint32_t)nodes;
    levels->lane_count = (uint32_t)lanes;
    levels->role_count = (uint32_t)h->role_class.count;
    levels->binned_count = (uint32_t)binned;
    levels->event_count = events;
    levels->note_count = h->note.count;
    levels->arrow_count = h->arrow.count / 2;
    return 0;
}

// ---- tables of indices ----------------------------------------------------------------------------------------------

static int strings_are_sound(const iket_levels *l) {
    uint64_t bytes = l->header->strings.count;
    if (bytes > 0 && l->strings[bytes - 1] != 0) return 0;
    if (l->header->note_text.count > 0 && l->note_text[l->header->note_text.count - 1] != 0) return 0;
    for (uint32_t i = 0; i < l->string_count; i++) {
        if (l->string_at[i] >= bytes) return 0;
    }
    for (uint32_t i = 0; i < l->class_count; i++) {
        if (l->class_name[i] >= l->string_count || l->class_kind[i] > IKET_LEVELS_OTHER || l->class_category[i] >= IKET_LEVELS_CATEGORIES) return 0;
    }
    for (uint32_t i = 0; i < l->role_count; i++) {
        if (l->role_class[i] < -1 || (l->role_class[i] >= 0 && (uint32_t)l->role_class[i] >= l->class_count)) return 0;
    }
    return 1;
}

// Depth first: a node lies behind its parent and within its subtree.
static int nodes_are_sound(const iket_levels *l) {
    if (l->node_lane[0] != 0 || l->node_lane[l->node_count] != l->lane_count) return 0;
    for (uint32_t i = 0; i < l->node_count; i++) {
        int32_t parent = l->node_parent[i], node = (int32_t)i;
        if (parent < -1 || parent >= node || (parent < 0) != (i == 0)) return 0;
        if (l->node_last[i] <= node || l->node_last[i] > (int32_t)l->node_count || (parent >= 0 && l->node_last[i] > l->node_last[parent])) return 0;
        if (l->node_kind[i] > IKET_LEVELS_DIAGNOSTICS || l->node_name[i] >= l->string_count || l->node_lane[i] > l->node_lane[i + 1]) return 0;
        if (l->node_role[i] < -1 || (l->node_role[i] >= 0 && (uint32_t)l->node_role[i] >= l->role_count)) return 0;
        for (uint32_t lane = l->node_lane[i]; lane < l->node_lane[i + 1]; lane++) {
            if (lane >= l->lane_count || l->lane_node[lane] != i) return 0;
        }
    }
    return 1;
}

static int lanes_are_sound(const iket_levels *l) {
    if (l->lane_first[0] != 0 || l->lane_first[l->lane_count] != l->event_count) return 0;
    for (uint32_t i = 0; i < l->lane_count; i++) {
        if (l->lane_first[i] > l->lane_first[i + 1]) return 0;
    }
    for (uint64_t i = 0; i < l->note_count; i++) {
        const iket_levels_note *n = &l->note[i];
        if (n->event >= l->event_count || (i > 0 && n->event < n[-1].event)) return 0;
        if (n->kind > IKET_LEVELS_NOTE_EXTRA || (n->kind == IKET_LEVELS_NOTE_EXTRA && n->bits >= l->header->note_text.count)) return 0;
    }
    for (uint64_t i = 0; i < 2 * l->arrow_count; i++) {
        if (l->arrow[i] >= l->event_count) return 0;
    }
    return 1;
}

// Bins of a node: 2^k, 2^(k-1) … 1, which are 2^(k+1) - 1 together.
static int bins_are_sound(const iket_levels *l) {
    uint64_t all = l->header->bin.count / IKET_LEVELS_CATEGORIES;
    for (uint32_t i = 0; i < l->binned_count; i++) {
        if (l->bin_node[i] >= l->node_count || (i > 0 && l->bin_node[i] <= l->bin_node[i - 1]) || l->bin_from[i] > l->bin_to[i]) return 0;
        if (l->bin_at[i] > l->bin_at[i + 1] || l->bin_at[i + 1] > all) return 0;
        uint64_t bins = l->bin_at[i + 1] - l->bin_at[i] + 1;
        if (bins < 2 || (bins & (bins - 1)) != 0) return 0;
    }
    return 1;
}

static int check_tables(const iket_levels *levels, iket_error *err) {
    if (levels->node_count > 0 && strings_are_sound(levels) && nodes_are_sound(levels) && lanes_are_sound(levels) && bins_are_sound(levels)) return 0;
    return iket_fail(err, "%s", damaged);
}

// ---- the file -------------------------------------------------------------------------------------------------------

static int open_file(iket_levels *levels, int fd, iket_error *err) {
    struct stat status;
    if (fstat(fd, &status) != 0) return iket_fail(err, "cannot be read: %s", strerror(errno));
    levels->size = (uint64_t)status.st_size;
    if (levels->size < sizeof(iket_levels_header)) return iket_fail(err, "this is no level file");
    void *map = mmap(NULL, (size_t)levels->size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return iket_fail(err, "cannot be mapped: %s", strerror(errno));
    levels->header = map;
    IKET_TRY(check_header(levels->header, levels->size, err));
    IKET_TRY(point_sections(levels, err));
    IKET_TRY(check_counts(levels, err));
    return check_tables(levels, err);
}

int iket_levels_open(iket_levels **out, int fd, const char *name, iket_error *err) {
    iket_levels *levels = calloc(1, sizeof *levels);
    *out = NULL;
    if (levels == NULL) return iket_fail(err, "%s: out of memory", name);
    if (open_file(levels, fd, err) != 0) {
        iket_levels_close(levels);
        return iket_fail_context(err, "%s", name);
    }
    *out = levels;
    return 0;
}

void iket_levels_close(iket_levels *levels) {
    if (levels == NULL) return;
    if (levels->header != NULL) munmap((void *)(uintptr_t)levels->header, (size_t)levels->size);
    free(levels);
}
