// SPDX-License-Identifier: Apache-2.0
// build.c: the builder as a whole, and the file that it writes.
//
//     [ header | what is as large as the first pass says: mapped | what is known later: appended ]
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/version.h"
#include "levels/builder.h"

// ---- the file -------------------------------------------------------------------------------------------------------

// To cache lines, so that the columns are written by whole ones.
static uint64_t align(uint64_t offset) { return (offset + 63) & ~UINT64_C(63); }

int iket_levels_write_at(const iket_levels_builder *b, const void *data, uint64_t size, uint64_t offset, iket_error *err) {
    const char *from = data;
    while (size > 0) {
        ssize_t written = pwrite(b->fd, from, size, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return iket_fail(err, "%s: write failed: %s", b->options->output, strerror(errno));
        from += written;
        size -= (uint64_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

int iket_levels_append(iket_levels_builder *b, iket_levels_section *section, const void *data, uint64_t count, size_t size, iket_error *err) {
    b->file_end = align(b->file_end);
    *section = (iket_levels_section){b->file_end, count};
    if (data != NULL) IKET_TRY(iket_levels_write_at(b, data, count * size, b->file_end, err));
    b->file_end += count * size;
    return 0;
}

typedef struct layout {
    uint64_t end;
    int too_large;
} layout;

static void lay(layout *l, iket_levels_section *section, uint64_t count, size_t size) {
    if (count > (UINT64_C(1) << 56) / size) l->too_large = 1;
    *section = (iket_levels_section){l->end, count};
    l->end = align(l->end + (l->too_large ? 0 : count * size));
}

// Everything whose length the first pass tells. The notes are at most so many.
static int lay_out(iket_levels_builder *b, iket_error *err) {
    iket_levels_header *h = &b->header;
    const iket_levels_names *names = &b->names;
    layout l = {.end = align(sizeof *h)};
    const struct {
        iket_levels_section *section;
        uint64_t count;
        size_t size;
    } sections[] = {
#define COLUMN(name, count) {&h->name, (count), sizeof *b->columns.name}
        COLUMN(strings, names->strings.used), COLUMN(string_at, names->strings.count), COLUMN(class_name, names->class_count), COLUMN(class_kind, names->class_count),
        COLUMN(class_category, names->class_count), COLUMN(node_kind, b->node_count), COLUMN(node_parent, b->node_count), COLUMN(node_last, b->node_count),
        COLUMN(node_name, b->node_count), COLUMN(node_a, b->node_count), COLUMN(node_b, b->node_count), COLUMN(node_c, b->node_count),
        COLUMN(node_lane, b->node_count + 1), COLUMN(node_role, b->node_count), COLUMN(lane_node, b->lane_count), COLUMN(lane_depth, b->lane_count),
        COLUMN(lane_active, b->lane_count), COLUMN(lane_first, (uint64_t)b->lane_count + 1), COLUMN(start, b->event_count), COLUMN(end, b->event_count),
        COLUMN(payload, b->event_count), COLUMN(cls, b->event_count), COLUMN(parent_cls, b->event_count), COLUMN(flags, b->event_count),
        COLUMN(payload_type, b->event_count), COLUMN(note, b->notes_most),
#undef COLUMN
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) lay(&l, sections[i].section, sections[i].count, sections[i].size);
    if (l.too_large || l.end > SIZE_MAX / 2) return iket_fail(err, "the trace is too large");
    b->map_size = (size_t)l.end;
    b->file_end = l.end;
    return 0;
}

static int open_output(iket_levels_builder *b, iket_error *err) {
    IKET_TRY(iket_output_open(&b->output, b->options->output, IKET_OUTPUT_FORCE, err));
    b->fd = iket_output_descriptor(b->output);
    // Reserved before it is mapped: a disk that is full is an error here, and a signal that ends the process there.
    int why = posix_fallocate(b->fd, 0, (off_t)b->map_size);
    if (why != 0) return iket_fail(err, "%s: cannot write %zu bytes: %s", b->options->output, b->map_size, strerror(why));
    b->map = mmap(NULL, b->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    if (b->map == MAP_FAILED) {
        b->map = NULL;
        return iket_fail(err, "%s: cannot be mapped: %s", b->options->output, strerror(errno));
    }
#define POINT(name, type) b->columns.name = (type *)(void *)((char *)b->map + b->header.name.offset);
    IKET_LEVELS_SECTIONS(POINT)
#undef POINT
    return 0;
}

static void fill_tables(iket_levels_builder *b) {
    iket_levels_columns *c = &b->columns;
    const iket_levels_names *names = &b->names;
    if (names->strings.used > 0) memcpy(c->strings, names->strings.text, names->strings.used);
    if (names->strings.count > 0) memcpy(c->string_at, names->strings.at, names->strings.count * sizeof *c->string_at);
    for (size_t i = 0; i < names->class_count; i++) {
        c->class_name[i] = names->classes[i].name;
        c->class_kind[i] = names->classes[i].kind;
    }
    uint64_t event = 0;
    for (size_t i = 0; i < b->node_count; i++) {
        const iket_levels_node *node = &b->nodes[i];
        const iket_levels_track *track = &names->tracks[node->track];
        c->node_kind[i] = node->kind;
        c->node_parent[i] = node->parent;
        c->node_last[i] = node->last;
        c->node_name[i] = node->name;
        c->node_a[i] = node->a;
        c->node_b[i] = node->b;
        c->node_c[i] = node->c;
        c->node_lane[i] = node->lane;
        c->node_role[i] = -1;
        for (uint32_t d = 0; node->kind != IKET_LEVELS_ROOT && d < track->lanes; d++) {
            c->lane_node[node->lane + d] = (uint32_t)i;
            c->lane_depth[node->lane + d] = (uint16_t)d;
            c->lane_first[node->lane + d] = event;
            event += b->slots[track->slot + d].count;
        }
    }
    c->node_lane[b->node_count] = b->lane_count;
    c->lane_first[b->lane_count] = event;
}

static int write_header(iket_levels_builder *b, iket_error *err) {
    iket_levels_header *h = &b->header;
    memcpy(h->magic, IKET_LEVELS_MAGIC, sizeof h->magic);
    h->byte_order = IKET_LEVELS_BYTE_ORDER;
    h->header_bytes = (uint32_t)sizeof *h;
    snprintf(h->program, sizeof h->program, "%s", IKET_VERSION);
    h->t0 = b->names.t0;
    h->complete = 1;
    return iket_levels_write_at(b, h, sizeof *h, 0, err);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

// What is made from the file as it is by now, which is whole but for that.
static int complete(iket_levels_builder *b, iket_error *err) {
    iket_levels *levels;
    munmap(b->map, b->map_size);
    b->map = NULL;
    IKET_TRY(write_header(b, err));
    IKET_TRY(iket_levels_open(&levels, b->fd, b->options->output, err));
    int result = iket_levels_write_bins(b, levels, err);
    iket_levels_close(levels);
    return result == 0 ? write_header(b, err) : -1;
}

static int build(iket_levels_builder *b, iket_error *err) {
    struct stat status;
    if (fstat(b->options->input, &status) != 0) return iket_fail(err, "cannot read: %s", strerror(errno));
    b->file_bytes = (uint64_t)status.st_size;
    IKET_TRY(iket_pool_open(&b->pool, 0, err));
    IKET_TRY(iket_levels_count(b, err));
    IKET_TRY(iket_levels_make_nodes(b, err));
    IKET_TRY(lay_out(b, err));
    IKET_TRY(open_output(b, err));
    fill_tables(b);
    IKET_TRY(iket_levels_place(b, err));
    IKET_TRY(iket_levels_sum(b, err));
    IKET_TRY(iket_levels_write_tables(b, err));
    IKET_TRY(complete(b, err));
    return iket_output_commit(&b->output, err);
}

static void free_builder(iket_levels_builder *b) {
    if (b->map != NULL) munmap(b->map, b->map_size);
    iket_output_discard(&b->output);
    iket_pool_close(&b->pool);
    iket_levels_progress_close(&b->progress);
    iket_levels_names_free(&b->names);
    for (size_t i = 0; i < b->snapshot_count; i++) {
        free(b->snapshots[i].tracks);
        free(b->snapshots[i].slots);
    }
    free(b->slots);
    free(b->nodes);
    free(b->device);
    free(b->note_texts.data);
    free(b->class_sums);
    free(b->category_of);
    free(b->launches);
    free(b->warps);
    free(b->roles);
    free(b->role_own);
    free(b);
}

int iket_levels_build(const iket_levels_build_options *options, iket_error *err) {
    iket_levels_builder *b = calloc(1, sizeof *b);
    if (b == NULL) return iket_fail(err, "out of memory");
    b->options = options;
    iket_levels_progress_open(&b->progress, options->progress);
    int result = build(b, err);
    free_builder(b);
    return result == 0 ? 0 : iket_fail_context(err, "%s", options->name);
}
