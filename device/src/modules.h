// SPDX-License-Identifier: Apache-2.0
// modules.h: the annotated modules of the process, and those that a session serves.
#ifndef IKET_DEVICE_MODULES_H
#define IKET_DEVICE_MODULES_H

#include "failure.h"
#include "iket/module.h"

// A module as one device knows it. The declarations are copied: the library may be unloaded before the dump is made.
struct attached_module {
    uint64_t module_id;       // device address of __iket_meta_info
    void *variable;           // device address of its module_control
    uint32_t extended;
    uint32_t wide;
    uint32_t mixed;           // there are records of 8 and of 16 bytes
    uint32_t event_count;
    struct iket_event_declaration *events;  // owned, with their texts
    const struct iket_module *source;
    unsigned char payload_of_id[4096];      // payload type by event id, 255: not declared
};

struct module_list {
    struct attached_module *items;
    size_t count;
};

// Adds the modules that are not in the list yet and points their variables at the control block (NULL takes a session
// away). The current device must be the session's. A module that contradicts another is an error and stays detached.
int modules_attach(struct module_list *list, void *control, cudaStream_t stream, struct iket_recorder_error *error);

// Takes the session away from all modules that are still loaded.
int modules_detach(const struct module_list *list, cudaStream_t stream, struct iket_recorder_error *error);
void modules_free(struct module_list *list);

const struct attached_module *modules_find(const struct module_list *list, uint64_t module_id);

// Is any module registered?
int modules_registered(void);

// Does a payload of this type take 64 bits?
static inline int module_long_payload(uint32_t type) { return type == 7 || type == 14 || type == 15 || type == 16; }

#endif
