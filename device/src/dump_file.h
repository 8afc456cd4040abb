// SPDX-License-Identifier: Apache-2.0
// dump_file.h: dump.bin as a stream of sections. The file is written beside its name and gets it when it is whole.
//
//   file header 64 | section header 24, payload, padding to 8 | … | DONE
#ifndef IKET_DEVICE_DUMP_FILE_H
#define IKET_DEVICE_DUMP_FILE_H

#include "failure.h"

#include <stdio.h>

struct dump_file {
    FILE *file;
    char *path;         // owned: the final name
    char *path_partial; // owned: the name until then
    long section_start; // of the section that is open
    uint32_t section_items;
};

int dump_open(struct dump_file *dump, const char *path, int overwrite, uint64_t context_id, struct iket_recorder_error *error);

// A whole section from memory, with its CRC.
int dump_section(struct dump_file *dump, const char *type, uint32_t items, const void *payload, size_t bytes,
                 struct iket_recorder_error *error);

// A WARP section of chunks, whose number and bytes are filled in at its end. Without chunks nothing is written.
int dump_warp_begin(struct dump_file *dump, struct iket_recorder_error *error);
int dump_warp_chunk(struct dump_file *dump, const void *header, const void *records, size_t record_bytes,
                    struct iket_recorder_error *error);
int dump_warp_end(struct dump_file *dump, struct iket_recorder_error *error);

// Closes the file and gives it its name; discard removes it instead. Both leave dump empty.
int dump_commit(struct dump_file *dump, struct iket_recorder_error *error);
void dump_discard(struct dump_file *dump);

#endif
