// SPDX-License-Identifier: Apache-2.0
// model.c: building and freeing the model. See model.h.
#include "decode/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "decode/marks.h"

iket_trace *iket_model_new(const char *path, iket_source_kind source, iket_error *err) {
    iket_trace *trace = calloc(1, sizeof *trace);
    struct iket_backing *backing = calloc(1, sizeof *backing);
    char *copy = strdup(path);
    if (trace == NULL || backing == NULL || copy == NULL) {
        iket_fail(err, "%s: out of memory", path);
        free(trace);
        free(backing);
        free(copy);
        return NULL;
    }
    trace->source = source;
    trace->path = copy;
    trace->backing = backing;
    trace->start = UINT64_MAX;
    return trace;
}

void iket_trace_free(iket_trace *trace) {
    if (trace == NULL) return;
    struct iket_backing *b = trace->backing;
    for (size_t i = 0; i < trace->string_count; i++) free(trace->strings[i]);
    for (size_t i = 0; i < trace->module_count; i++) {
        free(trace->modules[i].decls);
        free(trace->modules[i].decl_of_id);
    }
    for (size_t i = 0; i < trace->note_count; i++) free(trace->notes[i].text);
    free(trace->strings);
    free(trace->modules);
    free(trace->launches);
    free(trace->locations);
    free(trace->streams);
    free(trace->notes);
    free(trace->sections);
    free(trace->empty_kernels);
    free(trace->device_json);
    free(trace->path);
    free(b->segments);
    free(b->events);
    free(b->names);
    free(b->note_formats);
    free(b->tables);
    free(b->kinds);
    if (b->marks != NULL) iket_marks_free(b->marks);
    free(b->marks);
    iket_input_close(&b->input);
    iket_input_close(&b->raw);
    free(b);
    free(trace);
}

// ---- strings --------------------------------------------------------------------------------------------------------

static uint32_t hash_of(const char *text) {
    uint32_t h = 2166136261u;
    for (; *text != 0; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static int grow_names(struct iket_backing *b, iket_error *err) {
    size_t wanted = b->name_slots == 0 ? 256 : b->name_slots * 2;
    iket_name_slot *names = calloc(wanted, sizeof *names);
    if (names == NULL) return iket_fail(err, "out of memory (%zu names)", wanted);
    for (size_t i = 0; i < b->name_slots; i++) {
        if (b->names[i].index == 0) continue;
        size_t at = b->names[i].hash & (wanted - 1);
        while (names[at].index != 0) at = (at + 1) & (wanted - 1);
        names[at] = b->names[i];
    }
    free(b->names);
    b->names = names;
    b->name_slots = wanted;
    return 0;
}

uint32_t iket_model_string(iket_trace *trace, const char *text, size_t size, iket_error *err) {
    struct iket_backing *b = trace->backing;
    if ((trace->string_count + 1) * 2 > b->name_slots && grow_names(b, err) != 0) return IKET_UNKNOWN;
    char *clean = iket_utf8_clean(text, size);
    if (clean == NULL || IKET_RESERVE(trace->strings, trace->string_count, b->string_capacity, 1, err) != 0) {
        if (clean == NULL) iket_fail(err, "out of memory (a name of %zu bytes)", size);
        free(clean);
        return IKET_UNKNOWN;
    }
    uint32_t hash = hash_of(clean);
    size_t at = hash & (b->name_slots - 1);
    for (; b->names[at].index != 0; at = (at + 1) & (b->name_slots - 1)) {
        uint32_t index = b->names[at].index - 1;
        if (b->names[at].hash == hash && strcmp(trace->strings[index], clean) == 0) {
            free(clean);
            return index;
        }
    }
    trace->strings[trace->string_count++] = clean;
    b->names[at] = (iket_name_slot){.hash = hash, .index = (uint32_t)trace->string_count};
    return (uint32_t)trace->string_count - 1;
}

// ---- elements -------------------------------------------------------------------------------------------------------

#define APPEND(items, count, capacity)                                                                                 \
    do {                                                                                                               \
        if (IKET_RESERVE(items, count, capacity, 1, err) != 0) return NULL;                                            \
        memset(&(items)[count], 0, sizeof *(items));                                                                   \
        return &(items)[(count)++];                                                                                    \
    } while (0)

iket_module *iket_model_module(iket_trace *trace, iket_error *err) {
    APPEND(trace->modules, trace->module_count, trace->backing->module_capacity);
}

iket_launch *iket_model_launch(iket_trace *trace, iket_error *err) {
    APPEND(trace->launches, trace->launch_count, trace->backing->launch_capacity);
}

iket_location *iket_model_location(iket_trace *trace, iket_error *err) {
    APPEND(trace->locations, trace->location_count, trace->backing->location_capacity);
}

iket_stream *iket_model_stream(iket_trace *trace, iket_error *err) {
    APPEND(trace->streams, trace->stream_count, trace->backing->stream_capacity);
}

iket_segment *iket_model_segment(iket_trace *trace, iket_error *err) {
    APPEND(trace->backing->segments, trace->backing->segment_count, trace->backing->segment_capacity);
}

iket_section_info *iket_model_section(iket_trace *trace, iket_error *err) {
    APPEND(trace->sections, trace->section_count, trace->backing->section_capacity);
}

int iket_model_empty_kernel(iket_trace *trace, uint32_t kernel, iket_error *err) {
    struct iket_backing *b = trace->backing;
    IKET_TRY(IKET_RESERVE(trace->empty_kernels, trace->empty_kernel_count, b->empty_capacity, 1, err));
    trace->empty_kernels[trace->empty_kernel_count++] = kernel;
    return 0;
}

int iket_model_note(iket_trace *trace, iket_error *err, const char *format, ...) {
    struct iket_backing *b = trace->backing;
    for (size_t i = 0; i < trace->note_count; i++) {
        if (b->note_formats[i] == format) {
            trace->notes[i].count++;
            return 0;
        }
    }
    size_t capacity = b->note_capacity;
    IKET_TRY(IKET_RESERVE(trace->notes, trace->note_count, b->note_capacity, 1, err));
    if (b->note_capacity != capacity) {
        const char **formats = realloc(b->note_formats, b->note_capacity * sizeof *formats);
        if (formats == NULL) return iket_fail(err, "out of memory (a note)");
        b->note_formats = formats;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = iket_utf8_clean(text, strlen(text));
    if (copy == NULL) return iket_fail(err, "out of memory (a note)");
    b->note_formats[trace->note_count] = format;
    trace->notes[trace->note_count++] = (iket_note){.text = copy, .count = 1};
    return 0;
}

static int by_id(const void *a, const void *b) {
    const iket_decl *x = a, *y = b;
    return x->event_id < y->event_id ? -1 : x->event_id > y->event_id;
}

int iket_module_index(iket_module *module, iket_error *err) {
    if (module->decl_count > 0) qsort(module->decls, module->decl_count, sizeof *module->decls, by_id);
    module->id_limit = IKET_ID_LIMIT;
    free(module->decl_of_id);
    module->decl_of_id = calloc(module->id_limit, sizeof *module->decl_of_id);
    if (module->decl_of_id == NULL) return iket_fail(err, "out of memory (a schema)");
    for (size_t i = 0; i < module->decl_count; i++) module->decl_of_id[module->decls[i].event_id] = (uint16_t)(i + 1);
    return 0;
}

uint32_t iket_model_find_module(const iket_trace *trace, uint64_t module_id) {
    for (size_t i = 0; i < trace->module_count; i++) {
        if (trace->modules[i].id == module_id) return (uint32_t)i;
    }
    return trace->module_count == 1 ? 0 : IKET_UNKNOWN;
}
