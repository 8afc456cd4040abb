// SPDX-License-Identifier: Apache-2.0
// module.h: how a translation unit with declared events tells the runtime about itself.
//
// iket.cuh makes one iket_module a translation unit and registers it before main; nobody else calls this. The runtime
// writes the address of a session's control block into the module's device variable, through which kernels find it.
#ifndef IKET_MODULE_H
#define IKET_MODULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IKET_MODULE_VERSION 1u

struct iket_event_declaration {
    uint32_t event_id;
    uint32_t event_pos;      // 0 marker, 1 stack range, 4 token range
    uint32_t payload_type;
    uint32_t range_id;       // 0: not a range
    const char *name;
    const char *identifier;  // as in the source, for the symbol's name
};

struct iket_module {
    uint32_t version;
    uint32_t extended;       // ids and records of ExtendedNativeDump
    uint32_t wide;           // records of 8 bytes where they would take 4
    uint32_t event_count;
    const struct iket_event_declaration *events;
    const void *meta_symbol;     // host addresses of device variables
    const void *control_symbol;
    int (*symbol_address)(void **address, const void *symbol);  // cudaGetSymbolAddress of the unit's own CUDA runtime
    struct iket_module *next;    // the runtime's
    int listed;                  // the runtime's
};

// Keeps the module until it is unregistered. Threads: any.
void iket_register_module(struct iket_module *module);
void iket_unregister_module(struct iket_module *module);

#ifdef __cplusplus
}
#endif
#endif
