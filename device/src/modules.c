// SPDX-License-Identifier: Apache-2.0
// modules.c: see modules.h. The list of registered modules is the process's; a mutex guards it.
#include "modules.h"

#include "environment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct iket_module *registry;

void iket_register_module(struct iket_module *module) {
    pthread_mutex_lock(&registry_mutex);
    if (!module->listed && module->version == IKET_MODULE_VERSION) {
        module->next = registry;
        module->listed = 1;
        registry = module;
    }
    pthread_mutex_unlock(&registry_mutex);
    environment_module_loaded();
}

void iket_unregister_module(struct iket_module *module) {
    pthread_mutex_lock(&registry_mutex);
    for (struct iket_module **at = &registry; *at != NULL; at = &(*at)->next) {
        if (*at != module) continue;
        *at = module->next;
        module->listed = 0;
        break;
    }
    pthread_mutex_unlock(&registry_mutex);
}

int modules_registered(void) {
    pthread_mutex_lock(&registry_mutex);
    int any = registry != NULL;
    pthread_mutex_unlock(&registry_mutex);
    return any;
}

static int is_registered(const struct iket_module *module) {
    for (const struct iket_module *at = registry; at != NULL; at = at->next)
        if (at == module) return 1;
    return 0;
}

const struct attached_module *modules_find(const struct module_list *list, uint64_t module_id) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].module_id == module_id) return &list->items[i];
    return NULL;
}

static int already_attached(const struct module_list *list, const struct iket_module *module) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].source == module) return 1;
    return 0;
}

static int same_declarations(const struct attached_module *known, const struct iket_module *module) {
    if (known->extended != module->extended || known->event_count != module->event_count) return 0;
    for (uint32_t i = 0; i < module->event_count; i++) {
        const struct iket_event_declaration *a = &known->events[i], *b = &module->events[i];
        if (a->event_pos != b->event_pos || a->payload_type != b->payload_type || strcmp(a->name, b->name) != 0) return 0;
    }
    return 1;
}

// One name must mean one thing in a dump: a reader could not tell which of two types a column of payloads has.
static int check_names(const struct attached_module *known, const struct iket_module *module, struct iket_recorder_error *error) {
    for (uint32_t i = 0; i < module->event_count; i++)
        for (uint32_t j = 0; j < known->event_count; j++) {
            const struct iket_event_declaration *a = &known->events[j], *b = &module->events[i];
            if (strcmp(a->name, b->name) != 0) continue;
            if (a->event_pos != b->event_pos || a->payload_type != b->payload_type)
                return rec_fail(error, "event \"%s\" is declared twice with different kinds or payload types (kind %u, payload "
                                "type %u in one module; kind %u, payload type %u in another): rename one", a->name,
                                a->event_pos, a->payload_type, b->event_pos, b->payload_type);
        }
    return 0;
}

static int copy_declarations(struct attached_module *to, const struct iket_module *from, struct iket_recorder_error *error) {
    size_t text = 0;
    for (uint32_t i = 0; i < from->event_count; i++) text += strlen(from->events[i].name) + strlen(from->events[i].identifier) + 2;
    to->events = malloc(from->event_count * sizeof *to->events + text + 1);
    if (to->events == NULL) return rec_fail(error, "out of memory for %u event declarations", from->event_count);
    char *at = (char *)(to->events + from->event_count);
    for (uint32_t i = 0; i < from->event_count; i++) {
        to->events[i] = from->events[i];
        to->events[i].name = strcpy(at, from->events[i].name);
        at += strlen(at) + 1;
        to->events[i].identifier = strcpy(at, from->events[i].identifier);
        at += strlen(at) + 1;
    }
    memset(to->payload_of_id, 255, sizeof to->payload_of_id);
    to->payload_of_id[31] = 0;
    for (uint32_t i = 0; i < from->event_count; i++) {
        uint32_t type = to->events[i].payload_type;
        if (to->events[i].event_id < 4096) to->payload_of_id[to->events[i].event_id] = (unsigned char)type;
        if (module_long_payload(type) || (to->extended && type != 0)) to->mixed = 1;
    }
    return 0;
}

static int point_variable(void *variable, void *control, uint64_t module_id, cudaStream_t stream, struct iket_recorder_error *error) {
    uint64_t value[2] = {(uint64_t)(uintptr_t)control, module_id};
    REC_CUDA(cudaMemcpyAsync(variable, value, sizeof value, cudaMemcpyHostToDevice, stream));
    REC_CUDA(cudaStreamSynchronize(stream));
    return 0;
}

static int attach_one(struct module_list *list, struct iket_module *module, void *control, cudaStream_t stream,
                      struct iket_recorder_error *error) {
    struct attached_module added = {.extended = module->extended, .wide = module->wide, .event_count = module->event_count,
                                    .source = module};
    void *meta = NULL;
    REC_TRY(rec_cuda((cudaError_t)module->symbol_address(&meta, module->meta_symbol), "cudaGetSymbolAddress(__iket_meta_info)", error));
    REC_TRY(rec_cuda((cudaError_t)module->symbol_address(&added.variable, module->control_symbol),
                     "cudaGetSymbolAddress(this_module)", error));
    added.module_id = (uint64_t)(uintptr_t)meta;
    for (size_t i = 0; i < list->count; i++) {
        const struct attached_module *known = &list->items[i];
        if (known->module_id == added.module_id && !same_declarations(known, module))
            return rec_fail(error, "two files of one -rdc=true module declare different events: put the declarations into one header");
        if (known->module_id != added.module_id) REC_TRY(check_names(known, module, error));
    }
    struct attached_module *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (grown == NULL) return rec_fail(error, "out of memory for a module");
    list->items = grown;
    REC_TRY(copy_declarations(&added, module, error));
    if (point_variable(added.variable, control, added.module_id, stream, error) != 0) {
        free(added.events);
        return -1;
    }
    list->items[list->count++] = added;
    return 0;
}

int modules_attach(struct module_list *list, void *control, cudaStream_t stream, struct iket_recorder_error *error) {
    int status = 0;
    pthread_mutex_lock(&registry_mutex);
    for (struct iket_module *module = registry; module != NULL && status == 0; module = module->next)
        if (!already_attached(list, module)) status = attach_one(list, module, control, stream, error);
    pthread_mutex_unlock(&registry_mutex);
    return status;
}

int modules_detach(const struct module_list *list, cudaStream_t stream, struct iket_recorder_error *error) {
    int status = 0;
    pthread_mutex_lock(&registry_mutex);
    for (size_t i = 0; i < list->count; i++)
        if (is_registered(list->items[i].source) && point_variable(list->items[i].variable, NULL, 0, stream, error) != 0) status = -1;
    pthread_mutex_unlock(&registry_mutex);
    return status;
}

void modules_free(struct module_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->items[i].events);
    free(list->items);
    *list = (struct module_list){NULL, 0};
}
