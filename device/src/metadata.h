// SPDX-License-Identifier: Apache-2.0
// metadata.h: what a dump says of its modules and kernels: the META and KERN sections, and meta.json.
#ifndef IKET_DEVICE_METADATA_H
#define IKET_DEVICE_METADATA_H

#include "session.h"

// A META section of the session's modules from the given index on.
int metadata_write_modules(const struct iket_session *session, size_t from, struct dump_file *dump, struct iket_recorder_error *error);

// The KERN section. kernels: the control block's table as the device left it.
int metadata_write_kernels(const struct iket_kernel_entry *kernels, struct dump_file *dump, struct iket_recorder_error *error);

// Writes meta.json beside its name and renames it when it is whole.
int metadata_write_json(const struct iket_session *session, const struct iket_kernel_entry *kernels, const char *path,
                        struct iket_recorder_error *error);

#endif
