// SPDX-License-Identifier: Apache-2.0
// dump_file.h: dump.bin as a stream of sections. The file is written beside its name and gets it when it is whole.
//
//   file header 64 | section header 24, payload, padding to 8 | … | DONE
#ifndef IKET_DEVICE_DUMP_FILE_H
#define IKET_DEVICE_DUMP_FILE_H

#include "failure.h"

#include <sys/uio.h>

struct dump_file {
    int file;           // -1: none
    int failed;         // a write did
    char *path;         // owned: the final name
    char *path_partial; // owned: the name until then
};

int dump_open(struct dump_file *dump, const char *path, int overwrite, uint64_t context_id, struct iket_recorder_error *error);

// A whole section from memory, with its CRC.
int dump_section(struct dump_file *dump, const char *type, uint32_t items, const void *payload, size_t bytes,
                 struct iket_recorder_error *error);

// A WARP section of so many chunks, which together have so many bytes, a multiple of 8. Its pieces follow the first,
// which takes the section's header; all are used up.
int dump_warps(struct dump_file *dump, struct iovec *pieces, size_t count, uint64_t bytes, uint32_t items,
               struct iket_recorder_error *error);

// Closes the file and gives it its name; discard removes it instead. Both leave dump empty.
int dump_commit(struct dump_file *dump, struct iket_recorder_error *error);
void dump_discard(struct dump_file *dump);

#endif
