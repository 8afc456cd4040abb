// SPDX-License-Identifier: Apache-2.0
// target.h: what a fuzz target is, and what all of ours do with the input they were given: open it, replay every stream.
#ifndef IKET_TESTS_FUZZ_TARGET_H
#define IKET_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A file in memory, and its name for iket_trace_open.
typedef struct memory_file {
    int fd;
    char path[32];
} memory_file;

memory_file memory_file_new(const void *data, size_t size);
void memory_file_close(memory_file *file);

// Opens the trace, replays it, checks what the model promises (ends by abort() where it does not hold), frees it.
// meta may be NULL. An input that is refused is fine, as long as it says why.
void open_and_replay(const char *path, const char *meta);

#endif
