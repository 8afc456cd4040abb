// SPDX-License-Identifier: Apache-2.0
// launches.c: see launches.h.
#include "launches.h"

#include <stdlib.h>
#include <string.h>

static uint64_t get64(const unsigned char *from) {
    uint64_t value;
    memcpy(&value, from, 8);
    return value;
}

int launches_init(struct launch_table *table, struct iket_recorder_error *error) {
    *table = (struct launch_table){.capacity = 256};
    table->entries = calloc(table->capacity, sizeof *table->entries);
    table->brackets = calloc(LAUNCH_BRACKET_MAX, sizeof *table->brackets);
    if (table->entries == NULL || table->brackets == NULL) return rec_fail(error, "out of memory for the launches");
    REC_CUDA(cudaHostAlloc((void **)&table->marks, 2 * LAUNCH_BRACKET_MAX * sizeof *table->marks, cudaHostAllocPortable));
    memset(table->marks, 0, 2 * LAUNCH_BRACKET_MAX * sizeof *table->marks);
    return 0;
}

void launches_free(struct launch_table *table) {
    free(table->entries);
    free(table->brackets);
    if (table->marks != NULL) cudaFreeHost(table->marks);
    *table = (struct launch_table){0};
}

static struct launch_entry *find(struct launch_entry *entries, size_t capacity, uint64_t grid_id) {
    size_t at = (size_t)(grid_id * 0x9E3779B97F4A7C15u >> 32) & (capacity - 1);
    while (entries[at].used && entries[at].grid_id != grid_id) at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static int grow(struct launch_table *table, struct iket_recorder_error *error) {
    size_t capacity = table->capacity * 2;
    struct launch_entry *entries = calloc(capacity, sizeof *entries);
    if (entries == NULL) return rec_fail(error, "out of memory for %zu launches", table->count);
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].used) *find(entries, capacity, table->entries[i].grid_id) = table->entries[i];
    free(table->entries);
    table->entries = entries;
    table->capacity = capacity;
    table->last = NULL;
    return 0;
}

int launches_note(struct launch_table *table, const unsigned char *header, struct iket_recorder_error *error) {
    if (table->count * 2 >= table->capacity) REC_TRY(grow(table, error));
    uint64_t grid_id = get64(header + 24), kernel_id = get64(header + 16), start = get64(header + 32);
    struct launch_entry *entry = table->last;
    if (entry == NULL || entry->grid_id != grid_id) entry = find(table->entries, table->capacity, grid_id);
    table->last = entry;
    if (!entry->used) {
        *entry = (struct launch_entry){.grid_id = grid_id, .kernel_id = kernel_id, .first_start = start, .last_start = start, .used = 1};
        memcpy(entry->grid, header + 60, sizeof entry->grid);
        memcpy(entry->block, header + 72, sizeof entry->block);
        table->count++;
    }
    if (entry->kernel_id != kernel_id || memcmp(entry->grid, header + 60, sizeof entry->grid) != 0 ||
        memcmp(entry->block, header + 72, sizeof entry->block) != 0)
        entry->contradicted = 1;
    if (start < entry->first_start) entry->first_start = start;
    if (start > entry->last_start) entry->last_start = start;
    return 0;
}

// A plain bracket has the launches whose gridId lies between its marks; a graph's bracket those whose warps all began
// within a bracket of the same key, because nodes keep the gridIds that they got before.
static const struct launch_bracket *bracket_of(const struct launch_table *table, const struct launch_entry *entry, uint64_t *host_end) {
    const struct launch_bracket *first = NULL;
    for (size_t i = 0; i < table->bracket_count; i++) {
        const struct launch_bracket *bracket = &table->brackets[i];
        const struct gather_probe *from = &bracket->marks[0], *to = &bracket->marks[1];
        if (bracket->host_end == 0) continue;
        if (bracket->graph_key[0] == 0) {
            if (entry->grid_id <= from->grid_id || entry->grid_id >= to->grid_id) continue;
            *host_end = bracket->host_end;
            return bracket;
        }
        if (first == NULL && entry->first_start >= from->time && entry->first_start <= to->time) first = bracket;
        if (first != NULL && strcmp(first->graph_key, bracket->graph_key) == 0 && entry->last_start >= from->time &&
            entry->last_start <= to->time) {
            *host_end = bracket->host_end;
            return first;
        }
    }
    return NULL;
}

static int by_start(const void *a, const void *b) {
    const struct launch_entry *x = *(const struct launch_entry *const *)a, *y = *(const struct launch_entry *const *)b;
    if (x->first_start != y->first_start) return x->first_start < y->first_start ? -1 : 1;
    return x->grid_id < y->grid_id ? -1 : x->grid_id > y->grid_id;
}

static size_t put_launch(unsigned char *to, const struct launch_table *table, const struct launch_entry *entry) {
    uint64_t host_end = 0;
    const struct launch_bracket *bracket = bracket_of(table, entry, &host_end);
    uint64_t host[2] = {bracket == NULL ? 0 : bracket->host_start, host_end};
    const char *key = bracket == NULL ? "" : bracket->graph_key;
    uint32_t key_bytes = (uint32_t)strlen(key);
    memcpy(to, &entry->grid_id, 8);
    memcpy(to + 8, &entry->kernel_id, 8);
    memcpy(to + 16, entry->grid, 12);
    memcpy(to + 28, entry->block, 12);
    memcpy(to + 40, host, 16);
    memcpy(to + 56, &key_bytes, 4);
    memset(to + 60, 0, 4 + (key_bytes + 7) / 8 * 8);
    memcpy(to + 64, key, key_bytes);
    return 64 + (key_bytes + 7) / 8 * 8;
}

int launches_write(const struct launch_table *table, struct dump_file *dump, struct iket_recorder_error *error) {
    const struct launch_entry **order = malloc((table->count + 1) * sizeof(void *));
    unsigned char *payload = malloc((table->count + 1) * 128);
    if (order == NULL || payload == NULL) {
        free(order);
        free(payload);
        return rec_fail(error, "out of memory for %zu launches", table->count);
    }
    size_t count = 0, bytes = 0;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].used && !table->entries[i].contradicted) order[count++] = &table->entries[i];
    qsort(order, count, sizeof *order, by_start);
    for (size_t i = 0; i < count; i++) bytes += put_launch(payload + bytes, table, order[i]);
    int status = dump_section(dump, "LNCH", (uint32_t)count, payload, bytes, error);
    free(order);
    free(payload);
    return status;
}
