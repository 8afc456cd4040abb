// SPDX-License-Identifier: Apache-2.0
// metadata.c: see metadata.h. The arrays are made from the declarations, byte for byte as declare.cuh makes them for the
// device; a test on the GPU compares the two.
#include "metadata.h"

#include "text_buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_symbol(struct text_buffer *out, const char *name, const void *data, uint32_t bytes) {
    buffer_put32(out, (uint32_t)strlen(name));
    buffer_put32(out, bytes);
    buffer_put(out, name, strlen(name));
    buffer_put(out, data, bytes);
    buffer_pad(out, 4);
}

static void put_meta_info(struct text_buffer *out, const struct attached_module *module) {
    uint32_t info[12] = {48, 0, 5, module->extended ? 4095 : 31, 32, 60, 0xBABEF19Du, 0, 3};
    put_symbol(out, "__iket_meta_info", info, sizeof info);
}

static uint32_t put_event(struct text_buffer *out, const struct attached_module *module, const struct iket_event_declaration *event) {
    char symbol[320];
    uint32_t length = (uint32_t)strlen(event->name);
    uint32_t data[18] = {60, event->event_id, module->extended ? 5 : 3, event->payload_type, event->event_pos, event->range_id, length};
    memcpy(data + 7, event->name, length <= 32 ? length : 32);
    snprintf(symbol, sizeof symbol, "__iket_evt_decl_%.200s_%u_attrs", event->identifier, event->event_id);
    put_symbol(out, symbol, data, 60);
    if (event->event_pos == 0) return 1;
    uint32_t range[18] = {72, 0, event->range_id, 0xFFFFFFFFu, event->event_pos == 4 ? 1 : 2, 0, 0, 0, length};
    memcpy(range + 9, event->name, length <= 32 ? length : 32);
    snprintf(symbol, sizeof symbol, "__iket_range_decl_%.200s_%u_attrs", event->identifier, event->range_id);
    put_symbol(out, symbol, range, sizeof range);
    return 2;
}

static int is_first_of_its_id(const struct module_list *list, size_t index) {
    return modules_find(list, list->items[index].module_id) == &list->items[index];
}

static uint32_t put_modules(const struct module_list *list, size_t from, struct text_buffer *out) {
    uint32_t modules = 0;
    for (size_t i = from; i < list->count; i++) {
        const struct attached_module *module = &list->items[i];
        if (!is_first_of_its_id(list, i)) continue;
        struct text_buffer symbols = {0};
        uint32_t count = 1;
        put_meta_info(&symbols, module);
        for (uint32_t e = 0; e < module->event_count; e++) count += put_event(&symbols, module, &module->events[e]);
        buffer_put64(out, module->module_id);
        buffer_put32(out, (uint32_t)symbols.length);
        buffer_put32(out, count);
        buffer_put(out, symbols.bytes, symbols.length);
        buffer_pad(out, 8);
        out->failed |= symbols.failed;
        buffer_free(&symbols);
        modules++;
    }
    return modules;
}

static uint32_t put_kernels(const struct iket_kernel_entry *kernels, struct text_buffer *out) {
    uint32_t count = 0;
    for (size_t i = 0; i < IKET_NAME_COUNT; i++) {
        if (kernels[i].kernel_id == 0 || !kernels[i].published) continue;
        size_t length = strnlen(kernels[i].name, IKET_NAME_BYTES);
        buffer_put64(out, kernels[i].kernel_id);
        buffer_put64(out, kernels[i].module_id);
        buffer_put32(out, (uint32_t)length);
        buffer_put32(out, 0);
        buffer_put(out, kernels[i].name, length);
        buffer_pad(out, 8);
        count++;
    }
    return count;
}

static int write_section(struct dump_file *dump, const char *type, uint32_t items, struct text_buffer *payload,
                         struct iket_recorder_error *error) {
    int status = payload->failed ? rec_fail(error, "out of memory for a %s section", type)
                                 : dump_section(dump, type, items, payload->bytes, payload->length, error);
    buffer_free(payload);
    return status;
}

int metadata_write_modules(const struct iket_session *session, size_t from, struct dump_file *dump, struct iket_recorder_error *error) {
    struct text_buffer payload = {0};
    uint32_t count = put_modules(&session->modules, from, &payload);
    if (count != 0) return write_section(dump, "META", count, &payload, error);
    buffer_free(&payload);
    return 0;
}

int metadata_write_kernels(const struct iket_kernel_entry *kernels, struct dump_file *dump, struct iket_recorder_error *error) {
    struct text_buffer payload = {0};
    uint32_t count = put_kernels(kernels, &payload);
    return write_section(dump, "KERN", count, &payload, error);
}

static void json_events(struct text_buffer *out, const struct attached_module *module) {
    buffer_print(out, "\"__iket_meta_info\": {\"version_major\": 0, \"version_minor\": 5, \"max_event_id\": %d, \"max_event_name_size\": 32, "
                 "\"event_attributes_size\": 60, \"magic_number\": 3133075869, \"legacy_iket_cubin\": 0, \"supported_features\": 3},\n",
                 module->extended ? 4095 : 31);
    buffer_print(out, " \"events\": [");
    for (uint32_t i = 0; i < module->event_count; i++) {
        const struct iket_event_declaration *event = &module->events[i];
        buffer_print(out, "%s\n  {\"event_id\": %u, \"event_name\": ", i == 0 ? "" : ",", event->event_id);
        buffer_json_string(out, event->name);
        buffer_print(out, ", \"event_pos\": %u, \"instrument_method\": %d, \"payload_type\": %u, \"range_id\": %u}", event->event_pos,
                     module->extended ? 5 : 3, event->payload_type, event->range_id);
    }
    buffer_print(out, "],\n \"ranges\": [");
    int first = 1;
    for (uint32_t i = 0; i < module->event_count; i++) {
        const struct iket_event_declaration *event = &module->events[i];
        if (event->event_pos == 0) continue;
        buffer_print(out, "%s\n  {\"range_id\": %u, \"range_name\": ", first ? "" : ",", event->range_id);
        buffer_json_string(out, event->name);
        buffer_print(out, ", \"range_type\": %d, \"range_scope\": 0, \"evt_pair_mode\": 0, \"color\": -1}", event->event_pos == 4 ? 1 : 2);
        first = 0;
    }
    buffer_print(out, "]");
}

static void json_module(struct text_buffer *out, const struct attached_module *module, const struct iket_kernel_entry *kernels) {
    json_events(out, module);
    buffer_print(out, ",\n \"kernels\": [");
    int first = 1;
    for (size_t i = 0; i < IKET_NAME_COUNT; i++) {
        if (kernels[i].kernel_id == 0 || !kernels[i].published || kernels[i].module_id != module->module_id) continue;
        buffer_print(out, "%s\n  {\"kernel_id\": \"0x%llx\", \"kernel_name\": ", first ? "" : ",", (unsigned long long)kernels[i].kernel_id);
        buffer_json_string(out, kernels[i].name);
        buffer_print(out, "}");
        first = 0;
    }
    buffer_print(out, "]");
}

static void json_all(struct text_buffer *out, const struct iket_session *session, const struct iket_kernel_entry *kernels) {
    const struct module_list *list = &session->modules;
    size_t distinct = 0;
    for (size_t i = 0; i < list->count; i++) distinct += (size_t)is_first_of_its_id(list, i);
    buffer_print(out, distinct == 1 ? "{" : "{\"modules\": [");
    int first = 1;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_first_of_its_id(list, i)) continue;
        if (distinct != 1) buffer_print(out, "%s\n{\"module_id\": \"0x%llx\",\n ", first ? "" : ",", (unsigned long long)list->items[i].module_id);
        json_module(out, &list->items[i], kernels);
        if (distinct != 1) buffer_print(out, "}");
        first = 0;
    }
    buffer_print(out, distinct == 1 ? "\n}\n" : "]}\n");
}

int metadata_write_json(const struct iket_session *session, const struct iket_kernel_entry *kernels, const char *path,
                        struct iket_recorder_error *error) {
    struct text_buffer out = {0}, partial = {0};
    json_all(&out, session, kernels);
    buffer_print(&partial, "%s.partial-%ld", path, (long)getpid());
    buffer_put(&partial, "", 1);
    int status = out.failed || partial.failed ? rec_fail(error, "out of memory for meta.json") : 0;
    const char *name = (const char *)partial.bytes;
    FILE *file = status == 0 ? fopen(name, "wb") : NULL;
    if (status == 0 && file == NULL) status = rec_fail(error, "%s: cannot be written: %s", name, strerror(errno));
    if (file != NULL) {
        int failed = fwrite(out.bytes, 1, out.length, file) != out.length;
        failed |= fclose(file) != 0;
        if (failed || rename(name, path) != 0) {
            status = rec_fail(error, "%s: cannot be completed: %s", path, strerror(errno));
            unlink(name);
        }
    }
    buffer_free(&out);
    buffer_free(&partial);
    return status;
}
