// SPDX-License-Identifier: Apache-2.0
// chunk_batch.h: chunks on their way to the file, as pieces of memory that one call writes in their order. Most records
// go from where the device put them to the file without being copied.
#ifndef IKET_DEVICE_CHUNK_BATCH_H
#define IKET_DEVICE_CHUNK_BATCH_H

#include "dump_file.h"

enum {
    CHUNK_HEADER_BYTES = 128,
    BATCH_PIECES = 8192,
    BATCH_HEADERS = 4096
};

struct chunk_batch {
    struct iovec *pieces;     // the first is the section header's
    size_t count;
    unsigned char *headers;   // of chunks that have none of their own before their records
    size_t header_count;
    uint64_t bytes;
    uint32_t items;
};

int batch_init(struct chunk_batch *batch, struct iket_recorder_error *error);
void batch_free(struct chunk_batch *batch);

// Forgets the chunks that are there.
void batch_clear(struct chunk_batch *batch);

// Is there no room for a chunk more?
int batch_full(const struct chunk_batch *batch);

// Space for a header, until the batch is written.
unsigned char *batch_header(struct chunk_batch *batch);

// Adds a piece, which stays where it is until the batch is written. One that follows the last in memory lengthens it.
void batch_add(struct chunk_batch *batch, const void *bytes, size_t length);

// Adds so many zeros, at most 16.
void batch_pad(struct chunk_batch *batch, size_t length);

// Writes the chunks as one WARP section. Without chunks nothing is written.
int batch_write(struct chunk_batch *batch, struct dump_file *dump, struct iket_recorder_error *error);

#endif
