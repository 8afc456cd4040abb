// SPDX-License-Identifier: Apache-2.0
// chunk_batch.c: see chunk_batch.h.
#include "chunk_batch.h"

#include <stdlib.h>

enum { PIECES_A_CHUNK = 4 };  // header, both halves of a ring, padding

static unsigned char zeros[16];

void batch_clear(struct chunk_batch *batch) {
    batch->count = 1;
    batch->header_count = 0;
    batch->bytes = 0;
    batch->items = 0;
}

int batch_init(struct chunk_batch *batch, struct iket_recorder_error *error) {
    *batch = (struct chunk_batch){.pieces = malloc(BATCH_PIECES * sizeof *batch->pieces), .headers = malloc((size_t)BATCH_HEADERS * CHUNK_HEADER_BYTES)};
    batch_clear(batch);
    if (batch->pieces != NULL && batch->headers != NULL) return 0;
    batch_free(batch);
    return rec_fail(error, "out of memory for a batch of chunks");
}

void batch_free(struct chunk_batch *batch) {
    free(batch->pieces);
    free(batch->headers);
    *batch = (struct chunk_batch){0};
}

int batch_full(const struct chunk_batch *batch) {
    return batch->count + PIECES_A_CHUNK > BATCH_PIECES || batch->header_count == BATCH_HEADERS;
}

unsigned char *batch_header(struct chunk_batch *batch) { return batch->headers + batch->header_count++ * CHUNK_HEADER_BYTES; }

void batch_add(struct chunk_batch *batch, const void *bytes, size_t length) {
    struct iovec *last = &batch->pieces[batch->count - 1];
    batch->bytes += length;
    if (batch->count > 1 && (const unsigned char *)last->iov_base + last->iov_len == bytes) {
        last->iov_len += length;
        return;
    }
    batch->pieces[batch->count++] = (struct iovec){(void *)(uintptr_t)bytes, length};
}

void batch_pad(struct chunk_batch *batch, size_t length) {
    if (length > 0) batch_add(batch, zeros, length);
}

int batch_write(struct chunk_batch *batch, struct dump_file *dump, struct iket_recorder_error *error) {
    if (batch->items == 0) return 0;
    int status = dump_warps(dump, batch->pieces, batch->count, batch->bytes, batch->items, error);
    batch_clear(batch);
    return status;
}
