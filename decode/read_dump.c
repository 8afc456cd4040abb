// SPDX-License-Identifier: Apache-2.0
// read_dump.c: a dump.bin, the recorder's own container (doc/FORMAT.md section 3), into the model.
//
//     64-byte file header | section | section | … | DONE
//
// Sections are walked once. What is damaged is counted and left out (rule 4.5); only a file that is not a dump, or one
// without any schema, is refused.
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "decode/document.h"
#include "decode/dump.h"
#include "decode/schema.h"

enum {
    FILE_HEADER = 64, SECTION_HEADER = 24, KERNEL_FIXED = 24, LAUNCH_FIXED = 64, LOSS_ITEM = 24, DONE_BYTES = 16,
    DUMP_VERSION = 1, CHUNK_BYTES_MIN = 256, CHUNK_BYTES_MAX = 65536,
};

static uint64_t padded(uint64_t size) { return (size + 7) & ~UINT64_C(7); }

static uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; } // a count never turns over to 0

// ---- sections -------------------------------------------------------------------------------------------------------
// Each returns 0, 1 when an inner length leads outside of the section (what was read before stands), or -1.

static int add_kernel(iket_dump *dump, uint64_t id, const char *name, size_t size, iket_error *err) {
    IKET_TRY(IKET_RESERVE(dump->kernels, dump->kernel_count, dump->kernel_capacity, 1, err));
    uint32_t index = iket_model_string(dump->trace, name, size, err);
    if (index == IKET_UNKNOWN) return -1;
    dump->kernels[dump->kernel_count] = (iket_kernel_name){.id = id, .name = index, .number = (uint32_t)dump->kernel_count};
    dump->kernel_count++;
    return 0;
}

static int read_kernels(iket_dump *dump, const uint8_t *p, size_t size, iket_error *err) {
    while (size > 0) {
        uint64_t name = size >= KERNEL_FIXED ? iket_u32(p + 16) : 0;
        if (size < KERNEL_FIXED || name > size - KERNEL_FIXED) return 1;
        if (name > 0) IKET_TRY(add_kernel(dump, iket_u64(p), (const char *)p + KERNEL_FIXED, name, err));
        uint64_t whole = padded(KERNEL_FIXED + name);
        if (whole > size) whole = size;
        p += whole;
        size -= whole;
    }
    return 0;
}

static int read_known_launches(iket_dump *dump, const uint8_t *p, size_t size, iket_error *err) {
    while (size > 0) {
        uint64_t key = size >= LAUNCH_FIXED ? iket_u32(p + 56) : 0;
        if (size < LAUNCH_FIXED || key > size - LAUNCH_FIXED) return 1;
        IKET_TRY(IKET_RESERVE(dump->known, dump->known_count, dump->known_capacity, 1, err));
        iket_known_launch k = {.grid_id = iket_u64(p), .kernel_id = iket_u64(p + 8), .host_start = iket_u64(p + 40), .host_end = iket_u64(p + 48), .graph_key = IKET_UNKNOWN};
        memcpy(k.grid_dim, p + 16, sizeof k.grid_dim);
        memcpy(k.block_dim, p + 28, sizeof k.block_dim);
        if (key > 0) {
            k.graph_key = iket_model_string(dump->trace, (const char *)p + LAUNCH_FIXED, key, err);
            if (k.graph_key == IKET_UNKNOWN) return -1;
        }
        k.number = (uint32_t)dump->known_count;
        dump->known[dump->known_count++] = k;
        uint64_t whole = padded(LAUNCH_FIXED + key);
        if (whole > size) whole = size;
        p += whole;
        size -= whole;
    }
    return 0;
}

static int read_losses(iket_dump *dump, const uint8_t *p, size_t size) {
    for (; size >= LOSS_ITEM; p += LOSS_ITEM, size -= LOSS_ITEM) {
        dump->lost_events = plus(dump->lost_events, iket_u64(p + 8));
        dump->trace->diagnostics.warpsWithoutChunk += iket_u32(p + 16);
    }
    return size > 0;
}

static int read_device(iket_dump *dump, const uint8_t *p, size_t size) {
    while (size > 0 && p[size - 1] == 0) size--; // (a recorder may end it as C does)
    char *text = iket_document_object_text((const char *)p, size);
    if (text == NULL) return 1;
    if (dump->trace->device_json == NULL) {
        dump->trace->device_json = text;
    } else {
        free(text);
    }
    return 0;
}

static int read_section(iket_dump *dump, const char *type, const uint8_t *p, size_t size, iket_error *err) {
    if (strcmp(type, "META") == 0) return dump->have_meta ? 0 : iket_dump_meta(dump, p, size, err);
    if (strcmp(type, "KERN") == 0) return read_kernels(dump, p, size, err);
    if (strcmp(type, "LNCH") == 0) return read_known_launches(dump, p, size, err);
    if (strcmp(type, "LOSS") == 0) return read_losses(dump, p, size);
    if (strcmp(type, "DEVI") == 0) return read_device(dump, p, size);
    if (strcmp(type, "DONE") == 0) {
        if (size < DONE_BYTES) return 1;
        dump->trace->backing->declared_count = iket_u64(p);
        dump->done_dropped = iket_u64(p + 8);
    }
    return 0; // an unknown type is skipped
}

static int note_section(iket_dump *dump, iket_section_info *info, const char *why, iket_error *err) {
    info->corrupt = 1;
    dump->trace->diagnostics.corruptSections++;
    return iket_model_note(dump->trace, err, "%s: byte 0x%llx: corrupt %s section: %s", dump->trace->path, (unsigned long long)info->offset, info->type, why);
}

static int is_known_type(const char *type) {
    static const char *const known[] = {"META", "KERN", "LNCH", "DEVI", "WARP", "LOSS", "DONE"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(type, known[i]) == 0) return 1;
    }
    return 0;
}

static int whole_section(iket_dump *dump, iket_section_info *info, const uint8_t *p, uint32_t crc, iket_error *err) {
    int is_warp = strcmp(info->type, "WARP") == 0;
    int unchecked = crc == 0 && (is_warp || !is_known_type(info->type)); // its writer may not have computed it
    int damaged = !unchecked && libdeflate_crc32(0, p, info->size) != crc;
    if (damaged) IKET_TRY(note_section(dump, info, is_warp ? "its CRC does not match (chunks with a CRC of their own that holds are kept)" : "its CRC does not match (left out)", err));
    if (is_warp) return iket_dump_chunks(dump, p, info->size, info->size, damaged, err);
    if (damaged) return 0;
    int result = read_section(dump, info->type, p, info->size, err);
    if (result > 0) return note_section(dump, info, "a length in it leads outside of it (what stands before is kept)", err);
    return result;
}

static int read_sections(iket_dump *dump, iket_error *err) {
    iket_trace *trace = dump->trace;
    size_t at = FILE_HEADER;
    int done = 0;
    while (!done && dump->size - at >= SECTION_HEADER) {
        const uint8_t *h = dump->data + at, *payload = h + SECTION_HEADER;
        uint64_t left = dump->size - at - SECTION_HEADER;
        iket_section_info *info = iket_model_section(trace, err);
        if (info == NULL) return -1;
        for (int i = 0; i < 4; i++) info->type[i] = h[i] >= 0x20 && h[i] < 0x7F ? (char)h[i] : '?';
        info->offset = at;
        info->size = iket_u64(h + 8);
        info->items = iket_u32(h + 16);
        if (info->size > left) { // the file is cut off in this section
            if (strcmp(info->type, "WARP") == 0) IKET_TRY(iket_dump_chunks(dump, payload, left, info->size, 0, err));
            break;
        }
        IKET_TRY(whole_section(dump, info, payload, iket_u32(h + 4), err));
        done = strcmp(info->type, "DONE") == 0;
        uint64_t whole = padded(info->size);
        at += SECTION_HEADER + (whole < left ? whole : left);
    }
    trace->diagnostics.truncated = !done;
    if (!done) {
        return iket_model_note(trace, err, "%s: byte 0x%zx: the file is cut off: its DONE section is missing (the program ended early, or the copy is not whole)", trace->path, dump->size);
    }
    if (at < dump->size) return iket_model_note(trace, err, "%s: byte 0x%zx: something follows the DONE section; it was not read", trace->path, at);
    return 0;
}

// ---- meta.json ------------------------------------------------------------------------------------------------------

static int module_from_json(iket_dump *dump, const cJSON *object, const char *path, iket_error *err) {
    uint64_t module_id = 0;
    IKET_TRY(iket_document_u64(object, "module_id", UINT64_MAX, &module_id, path, err));
    for (size_t i = 0; i < dump->trace->module_count; i++) {
        if (dump->trace->modules[i].id == module_id) return iket_fail(err, "%s: two modules have the module_id 0x%llx", path, (unsigned long long)module_id);
    }
    IKET_TRY(iket_schema_from_json(dump->trace, object, &iket_meta_json_keys, path, module_id, err));
    const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(object, "kernels"), *kernel;
    cJSON_ArrayForEach(kernel, kernels) {
        uint64_t id = 0;
        const char *name = iket_document_string(kernel, "kernel_name");
        IKET_TRY(iket_document_u64(kernel, "kernel_id", UINT64_MAX, &id, path, err));
        if (name == NULL) return iket_fail(err, "%s: a kernel lacks kernel_name", path);
        IKET_TRY(add_kernel(dump, id, name, strlen(name), err));
    }
    return 0;
}

static int read_meta_json(iket_dump *dump, const char *path, iket_error *err) {
    cJSON *document;
    IKET_TRY(iket_document_load(&document, path, err));
    const cJSON *modules = cJSON_GetObjectItemCaseSensitive(document, "modules"), *module;
    int result = 0;
    if (cJSON_GetObjectItemCaseSensitive(document, "decodeContexts") != NULL) {
        result = iket_fail(err, "%s: is the collector's iket.data.json, but %s is a dump of the recorder (its schema is a meta.json)", path, dump->trace->path);
    } else if (modules != NULL && !cJSON_IsArray(modules)) {
        result = iket_fail(err, "%s: \"modules\" is not an array", path);
    } else if (modules != NULL) {
        cJSON_ArrayForEach(module, modules) {
            if (result == 0) result = module_from_json(dump, module, path, err);
        }
    } else {
        result = module_from_json(dump, document, path, err);
    }
    cJSON_Delete(document);
    dump->have_meta = 1;
    return result;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

uint32_t iket_dump_kernel_name(iket_dump *dump, uint64_t kernel_id, iket_error *err) {
    size_t first = 0, end = dump->kernel_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (dump->kernels[middle].id < kernel_id) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    if (first < dump->kernel_count && dump->kernels[first].id == kernel_id) return dump->kernels[first].name;
    char name[40];
    int length = snprintf(name, sizeof name, "kernel_0x%llx", (unsigned long long)kernel_id);
    return iket_model_string(dump->trace, name, (size_t)length, err);
}

static int read_header(iket_dump *dump, iket_error *err) {
    const uint8_t *d = dump->data;
    iket_trace *trace = dump->trace;
    if (dump->size < 8 || memcmp(d, "IKETDUMP", 8) != 0) return iket_fail(err, "%s: byte 0x0: is not an IKET dump", trace->path);
    if (dump->size < FILE_HEADER) return iket_fail(err, "%s: byte 0x%zx: the file ends inside its 64-byte header (nothing can be decoded)", trace->path, dump->size);
    trace->format_version = iket_u32(d + 8);
    if (trace->format_version != DUMP_VERSION) {
        return iket_fail(err, "%s: byte 0x8: has format version %u, this program reads version %d (a newer iket-decode may read it)", trace->path, trace->format_version, DUMP_VERSION);
    }
    if (iket_u32(d + 12) != FILE_HEADER) return iket_fail(err, "%s: byte 0xc: has a header of %u bytes instead of 64 (the file is damaged)", trace->path, iket_u32(d + 12));
    trace->created = iket_u64(d + 16);
    trace->pid = iket_u32(d + 24);
    trace->context_id = iket_u64(d + 32);
    trace->chunk_bytes = iket_u32(d + 40);
    dump->chunk_bytes = trace->chunk_bytes;
    if (trace->chunk_bytes < CHUNK_BYTES_MIN || trace->chunk_bytes > CHUNK_BYTES_MAX || (trace->chunk_bytes & (trace->chunk_bytes - 1)) != 0) {
        dump->chunk_bytes = 0;
        return iket_model_note(trace, err, "%s: byte 0x28: the chunk size %u is not a power of two from 256 to 65536; chunks are found by their headers", trace->path, trace->chunk_bytes);
    }
    return 0;
}

static int by_grid(const void *x, const void *y) {
    const iket_known_launch *a = x, *b = y;
    if (a->grid_id != b->grid_id) return a->grid_id < b->grid_id ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_kernel(const void *x, const void *y) {
    const iket_kernel_name *a = x, *b = y;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int assemble(iket_dump *dump, iket_error *err) {
    iket_trace *trace = dump->trace;
    if (dump->kernel_count > 0) qsort(dump->kernels, dump->kernel_count, sizeof *dump->kernels, by_kernel);
    if (dump->known_count > 0) qsort(dump->known, dump->known_count, sizeof *dump->known, by_grid);
    IKET_TRY(iket_dump_streams(dump, err));
    for (size_t i = 0; i < dump->known_count; i++) {
        if (dump->known[i].used) continue;
        uint32_t name = iket_dump_kernel_name(dump, dump->known[i].kernel_id, err);
        if (name == IKET_UNKNOWN) return -1;
        IKET_TRY(iket_model_empty_kernel(trace, name, err));
    }
    trace->diagnostics.droppedEvents = plus(trace->diagnostics.droppedEvents, dump->lost_events);
    if (dump->done_dropped > trace->diagnostics.droppedEvents) trace->diagnostics.droppedEvents = dump->done_dropped;
    return iket_model_finish(trace, err);
}

int iket_read_dump(iket_trace *trace, const char *meta, iket_error *err) {
    iket_dump dump = {.trace = trace, .data = trace->backing->input.data, .size = trace->backing->input.size};
    int result = read_header(&dump, err);
    if (result == 0 && meta != NULL) result = read_meta_json(&dump, meta, err);
    if (result == 0) result = read_sections(&dump, err);
    if (result == 0 && trace->module_count == 0) {
        result = iket_fail(err, "%s: %s (give --meta meta.json)", trace->path, trace->diagnostics.truncated ? "is cut off before its schema" : "has no schema: a META section that is whole is missing");
    }
    if (result == 0) result = assemble(&dump, err);
    free(dump.chunks);
    free(dump.kernels);
    free(dump.known);
    return result;
}
