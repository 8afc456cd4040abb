// SPDX-License-Identifier: Apache-2.0
#include "decode/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/document.h"

enum { METHOD_NATIVE = 3, METHOD_EXTENDED = 5, NATIVE_ID_MAX = 31, EVENTS_MAX = 2 * IKET_ID_LIMIT, MODULES_MAX = 4096 };

const iket_schema_keys iket_meta_json_keys = {
    .meta_info = "__iket_meta_info", .magic = "magic_number", .version_major = "version_major", .version_minor = "version_minor",
    .event_id = "event_id", .event_name = "event_name", .event_pos = "event_pos", .method = "instrument_method",
    .payload_type = "payload_type", .range_id = "range_id",
    .range_name = "range_name", .range_type = "range_type", .range_scope = "range_scope", .color = "color",
};

const iket_schema_keys iket_collector_keys = {
    .meta_info = "metaInfo", .magic = "magicNumber", .version_major = "versionMajor", .version_minor = "versionMinor",
    .event_id = "eventId", .event_name = "eventName", .event_pos = "eventPosition", .method = "instrumentMethod",
    .payload_type = "payloadType", .range_id = "rangeId",
    .range_name = "rangeName", .range_type = "rangeType", .range_scope = "rangeScope", .color = "color",
};

void iket_schema_begin(iket_schema *schema, iket_trace *trace, const char *name, uint64_t module_id) {
    *schema = (iket_schema){.trace = trace, .name = name, .module_id = module_id};
}

void iket_schema_drop(iket_schema *schema) {
    for (size_t i = 0; i < schema->event_count; i++) free((void *)(uintptr_t)schema->events[i].name);
    free(schema->events);
    free(schema->ranges);
    schema->events = NULL;
    schema->ranges = NULL;
    schema->event_count = schema->range_count = schema->event_capacity = schema->range_capacity = 0;
}

int iket_schema_event(iket_schema *schema, const iket_event_facts *event, iket_error *err) {
    if (schema->event_count == EVENTS_MAX) return iket_fail(err, "%s: a module declares more than %d events, and has ids for %d (the schema is damaged)", schema->name, EVENTS_MAX, IKET_ID_LIMIT);
    IKET_TRY(IKET_RESERVE(schema->events, schema->event_count, schema->event_capacity, 1, err));
    char *name = malloc(event->name_size + 1);
    if (name == NULL) return iket_fail(err, "%s: out of memory", schema->name);
    memcpy(name, event->name, event->name_size);
    name[event->name_size] = 0;
    iket_event_facts *e = &schema->events[schema->event_count++];
    *e = *event;
    e->name = name;
    return 0;
}

int iket_schema_range(iket_schema *schema, const iket_range_facts *range, iket_error *err) {
    IKET_TRY(IKET_RESERVE(schema->ranges, schema->range_count, schema->range_capacity, 1, err));
    schema->ranges[schema->range_count++] = *range;
    return 0;
}

static int by_event_id(const void *a, const void *b) {
    const iket_event_facts *x = a, *y = b;
    return x->event_id < y->event_id ? -1 : x->event_id > y->event_id;
}

static int check_events(const iket_schema *schema, int extended, iket_error *err) {
    for (size_t i = 0; i < schema->event_count; i++) {
        const iket_event_facts *e = &schema->events[i];
        if (iket_payload_type_name(e->payload_type) == NULL) {
            return iket_fail(err, "%s: event %u '%.64s' has the unknown payload_type %u (known: 0-7, 13-16)", schema->name, e->event_id, e->name, e->payload_type);
        }
        if (i > 0 && schema->events[i - 1].event_id == e->event_id) {
            return iket_fail(err, "%s: events '%.64s' and '%.64s' have the same event_id %u (each needs its own)", schema->name, schema->events[i - 1].name, e->name, e->event_id);
        }
        uint32_t most = extended ? IKET_ID_LIMIT - 1 : NATIVE_ID_MAX;
        if (e->event_id > most) {
            IKET_TRY(iket_model_note(schema->trace, err,
                                     "%s: event '%.64s' has id %u, which %s record cannot hold (at most %u): its records read as other events (more than 30 names need the "
                                     "extended method)",
                                     schema->name, e->name, e->event_id, extended ? "an extended" : "a NativeDump", most));
        }
        if (e->pos != IKET_POS_MARKER && e->pos != IKET_POS_PUSH && e->pos != IKET_POS_POP && e->pos != IKET_POS_TOKEN) {
            IKET_TRY(iket_model_note(schema->trace, err, "%s: event '%.64s' has the unknown event_pos %u; it is shown as a marker", schema->name, e->name, e->pos));
        }
        if (e->event_id == IKET_ID_POP && e->pos != IKET_POS_POP) {
            IKET_TRY(iket_model_note(schema->trace, err, "%s: event '%.64s' has the id 31, which is reserved for the pop: its records close ranges", schema->name, e->name));
        }
        if (e->event_id != IKET_ID_SENTINEL && e->method != METHOD_NATIVE && e->method != METHOD_EXTENDED) {
            IKET_TRY(iket_model_note(schema->trace, err, "%s: event '%.64s' has the unknown instrument_method %u; it is read as NativeDump", schema->name, e->name, e->method));
        }
    }
    return 0;
}

static int declare(iket_schema *schema, iket_decl *decl, const iket_event_facts *e, iket_error *err) {
    uint32_t name = iket_model_string(schema->trace, e->name, e->name_size, err);
    if (name == IKET_UNKNOWN) return -1;
    int is_token = e->pos == IKET_POS_TOKEN, known = e->pos <= IKET_POS_POP || is_token;
    *decl = (iket_decl){
        .event_id = e->event_id,
        .end_event_id = is_token ? e->event_id : IKET_ID_POP,
        .name = name,
        .range_id = e->range_id,
        .color = IKET_UNKNOWN,
        .pos = known ? (uint8_t)e->pos : IKET_POS_MARKER,
        .payload_type = (uint8_t)e->payload_type,
        .end_payload_type = is_token ? (uint8_t)e->payload_type : IKET_PAYLOAD_NONE,
        .range_type = is_token ? IKET_RANGE_TOKEN : IKET_RANGE_STACK,
    };
    for (size_t i = 0; i < schema->range_count && (e->pos == IKET_POS_PUSH || is_token); i++) {
        const iket_range_facts *r = &schema->ranges[i];
        if (r->range_id != e->range_id) continue;
        decl->range_scope = r->scope;
        decl->color = r->color;
        if (r->type != 0 && r->type <= UINT8_MAX) decl->range_type = (uint8_t)r->type;
        break;
    }
    return 0;
}

int iket_schema_end(iket_schema *schema, iket_error *err) {
    int extended = 0, result = 0;
    if (schema->event_count > 0) qsort(schema->events, schema->event_count, sizeof *schema->events, by_event_id);
    for (size_t i = 0; i < schema->event_count; i++) {
        if (schema->events[i].event_id != IKET_ID_SENTINEL && schema->events[i].method == METHOD_EXTENDED) extended = 1;
    }
    result = check_events(schema, extended, err);
    if (result == 0 && schema->trace->module_count == MODULES_MAX) result = iket_fail(err, "%s: has more than %d modules (the schema is damaged)", schema->name, MODULES_MAX);
    iket_module *module = result == 0 ? iket_model_module(schema->trace, err) : NULL;
    if (module == NULL) result = -1;
    if (result == 0) {
        module->id = schema->module_id;
        module->extended = (uint8_t)extended;
        module->version_major = schema->version_major;
        module->version_minor = schema->version_minor;
        module->decls = calloc(schema->event_count + 1, sizeof *module->decls);
        if (module->decls == NULL) result = iket_fail(err, "%s: out of memory", schema->name);
    }
    for (size_t i = 0; i < schema->event_count && result == 0; i++) {
        uint32_t id = schema->events[i].event_id;
        if (id == IKET_ID_SENTINEL || id == IKET_ID_POP || id > (extended ? IKET_ID_LIMIT - 1 : NATIVE_ID_MAX)) continue;
        result = declare(schema, &module->decls[module->decl_count], &schema->events[i], err);
        if (result == 0) module->decl_count++;
    }
    if (result == 0) result = iket_module_index(module, err);
    iket_schema_drop(schema);
    return result;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static int event_from_json(iket_schema *schema, const cJSON *item, size_t index, const iket_schema_keys *keys, iket_error *err) {
    char where[512];
    snprintf(where, sizeof where, "%s: events[%zu]", schema->name, index);
    const char *name = iket_document_string(item, keys->event_name);
    if (!cJSON_IsObject(item)) return iket_fail(err, "%s is not an object", where);
    if (name == NULL) return iket_fail(err, "%s lacks %s", where, keys->event_name);
    if (cJSON_GetObjectItemCaseSensitive(item, keys->event_id) == NULL) return iket_fail(err, "%s '%.64s' lacks %s", where, name, keys->event_id);
    if (cJSON_GetObjectItemCaseSensitive(item, keys->event_pos) == NULL) return iket_fail(err, "%s '%.64s' lacks %s", where, name, keys->event_pos);
    iket_event_facts e = {.method = METHOD_NATIVE, .name = name, .name_size = strlen(name)};
    IKET_TRY(iket_document_u32(item, keys->event_id, &e.event_id, where, err));
    IKET_TRY(iket_document_u32(item, keys->event_pos, &e.pos, where, err));
    IKET_TRY(iket_document_u32(item, keys->method, &e.method, where, err));
    IKET_TRY(iket_document_u32(item, keys->payload_type, &e.payload_type, where, err));
    IKET_TRY(iket_document_u32(item, keys->range_id, &e.range_id, where, err));
    return iket_schema_event(schema, &e, err);
}

static int range_from_json(iket_schema *schema, const cJSON *item, size_t index, const iket_schema_keys *keys, iket_error *err) {
    char where[512];
    snprintf(where, sizeof where, "%s: ranges[%zu]", schema->name, index);
    if (!cJSON_IsObject(item)) return iket_fail(err, "%s is not an object", where);
    if (cJSON_GetObjectItemCaseSensitive(item, keys->range_id) == NULL) return iket_fail(err, "%s lacks %s", where, keys->range_id);
    iket_range_facts r = {.color = IKET_UNKNOWN};
    IKET_TRY(iket_document_u32(item, keys->range_id, &r.range_id, where, err));
    IKET_TRY(iket_document_u32(item, keys->range_type, &r.type, where, err));
    IKET_TRY(iket_document_u32(item, keys->range_scope, &r.scope, where, err));
    IKET_TRY(iket_document_u32(item, keys->color, &r.color, where, err));
    return iket_schema_range(schema, &r, err);
}

static int fill_from_json(iket_schema *schema, const cJSON *object, const iket_schema_keys *keys, iket_error *err) {
    const cJSON *info = cJSON_GetObjectItemCaseSensitive(object, keys->meta_info), *item;
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(object, "events"), *ranges = cJSON_GetObjectItemCaseSensitive(object, "ranges");
    char where[512];
    snprintf(where, sizeof where, "%s: %s", schema->name, keys->meta_info);
    if (info != NULL) {
        uint32_t magic = 0xBABEF19Du;
        IKET_TRY(iket_document_u32(info, keys->magic, &magic, where, err));
        if (magic != 0xBABEF19Du) return iket_fail(err, "%s: %s is 0x%08X, not 0xBABEF19D (not the schema of an IKET module)", where, keys->magic, magic);
        IKET_TRY(iket_document_u32(info, keys->version_major, &schema->version_major, where, err));
        IKET_TRY(iket_document_u32(info, keys->version_minor, &schema->version_minor, where, err));
    }
    if (!cJSON_IsArray(events)) return iket_fail(err, "%s: lacks the array \"events\" (not the schema of an IKET module)", schema->name);
    if (ranges != NULL && !cJSON_IsArray(ranges) && !cJSON_IsNull(ranges)) return iket_fail(err, "%s: \"ranges\" is not an array", schema->name);
    size_t index = 0;
    cJSON_ArrayForEach(item, events) IKET_TRY(event_from_json(schema, item, index++, keys, err));
    index = 0;
    cJSON_ArrayForEach(item, ranges) IKET_TRY(range_from_json(schema, item, index++, keys, err));
    return 0;
}

int iket_schema_from_json(iket_trace *trace, const cJSON *object, const iket_schema_keys *keys, const char *name, uint64_t module_id, iket_error *err) {
    iket_schema schema;
    iket_schema_begin(&schema, trace, name, module_id);
    if (fill_from_json(&schema, object, keys, err) != 0) {
        iket_schema_drop(&schema);
        return -1;
    }
    return iket_schema_end(&schema, err);
}
