// SPDX-License-Identifier: Apache-2.0
#include "common/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// SYNC_BYTES: more than the flush at a block's end adds.
enum { BLOCK = 128 * 1024, DICTIONARY = 32 * 1024, BLOCKS_MIN = 16, BLOCKS_OF_A_THREAD = 4, SYNC_BYTES = 64, RAW_DEFLATE = -15, MEMORY_LEVEL = 8 };

typedef struct block {
    z_stream z;
    int begun;          // z is initialised
    uint8_t *out;
    size_t capacity, used;
    uint32_t crc;
} block;

struct iket_gzip {
    iket_sink_flush_fn flush;
    void *context;
    iket_pool *pool;
    int level;
    uint8_t *in;        // the dictionary of the first block, then the blocks
    size_t used;        // bytes of blocks
    size_t dictionary;  // bytes of it: 0 before the first block, then DICTIONARY
    block *blocks;      // [block_count]: compressed together
    size_t block_count;
    uint32_t crc;
    uint64_t total;
    int head_written;
};

int iket_gzip_open(iket_gzip **gzip, int level, iket_pool *pool, iket_sink_flush_fn flush, void *context, iket_error *err) {
    iket_gzip *g = calloc(1, sizeof *g);
    *gzip = g;
    if (g == NULL) return iket_fail(err, "out of memory (gzip)");
    g->flush = flush;
    g->context = context;
    g->pool = pool;
    g->level = level;
    g->block_count = (size_t)iket_pool_threads(pool) * BLOCKS_OF_A_THREAD;
    if (g->block_count < BLOCKS_MIN) g->block_count = BLOCKS_MIN;
    g->in = malloc(DICTIONARY + g->block_count * BLOCK);
    g->blocks = calloc(g->block_count, sizeof *g->blocks);
    if (g->in != NULL && g->blocks != NULL) return 0;
    iket_gzip_drop(gzip);
    return iket_fail(err, "out of memory (gzip)");
}

static int begin_block(block *b, int level, iket_error *err) {
    if (b->begun) return deflateReset(&b->z) == Z_OK ? 0 : iket_fail(err, "gzip: inconsistent state");
    if (deflateInit2(&b->z, level, Z_DEFLATED, RAW_DEFLATE, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) return iket_fail(err, "out of memory (gzip)");
    b->begun = 1;
    b->capacity = deflateBound(&b->z, BLOCK) + SYNC_BYTES;
    b->out = malloc(b->capacity);
    return b->out != NULL ? 0 : iket_fail(err, "out of memory (gzip)");
}

static int compress_block(void *context, size_t index, iket_error *err) {
    iket_gzip *g = context;
    block *b = &g->blocks[index];
    uint8_t *data = g->in + DICTIONARY + index * BLOCK;
    size_t size = g->used - index * BLOCK < BLOCK ? g->used - index * BLOCK : BLOCK;
    size_t dictionary = index == 0 ? g->dictionary : DICTIONARY;
    IKET_TRY(begin_block(b, g->level, err));
    b->crc = libdeflate_crc32(0, data, size);
    if (dictionary > 0 && deflateSetDictionary(&b->z, data - dictionary, (uInt)dictionary) != Z_OK) return iket_fail(err, "gzip: inconsistent state");
    b->z.next_in = data;
    b->z.avail_in = (uInt)size;
    b->z.next_out = b->out;
    b->z.avail_out = (uInt)b->capacity;
    int status = deflate(&b->z, Z_SYNC_FLUSH);
    if (status != Z_OK || b->z.avail_in > 0 || b->z.avail_out == 0) return iket_fail(err, "gzip: inconsistent state");
    b->used = b->capacity - b->z.avail_out;
    return 0;
}

static int write_head(iket_gzip *g, iket_error *err) {
    uint8_t effort = g->level == 9 ? 2 : g->level == 1 ? 4 : 0, unix_made = 3;
    const uint8_t head[10] = {0x1F, 0x8B, Z_DEFLATED, 0, 0, 0, 0, 0, effort, unix_made};
    g->head_written = 1;
    return g->flush(g->context, head, sizeof head, err);
}

// Compresses what is there, and keeps its end as the next dictionary.
static int write_blocks(iket_gzip *g, iket_error *err) {
    size_t count = (g->used + BLOCK - 1) / BLOCK;
    if (!g->head_written) IKET_TRY(write_head(g, err));
    IKET_TRY(iket_pool_run(g->pool, count, compress_block, g, err));
    for (size_t i = 0; i < count; i++) {
        size_t size = g->used - i * BLOCK < BLOCK ? g->used - i * BLOCK : BLOCK;
        g->crc = (uint32_t)crc32_combine(g->crc, g->blocks[i].crc, (z_off_t)size);
        IKET_TRY(g->flush(g->context, g->blocks[i].out, g->blocks[i].used, err));
    }
    if (g->used >= DICTIONARY) {
        memmove(g->in, g->in + g->used, DICTIONARY); // the last bytes, for blocks begin behind the dictionary
        g->dictionary = DICTIONARY;
    }
    g->total += g->used;
    g->used = 0;
    return 0;
}

int iket_gzip_flush(void *context, const void *data, size_t size, iket_error *err) {
    iket_gzip *g = context;
    const uint8_t *from = data;
    while (size > 0) {
        size_t part = g->block_count * BLOCK - g->used;
        if (part > size) part = size;
        memcpy(g->in + DICTIONARY + g->used, from, part);
        g->used += part;
        from += part;
        size -= part;
        if (g->used == g->block_count * BLOCK) IKET_TRY(write_blocks(g, err));
    }
    return 0;
}

void iket_gzip_drop(iket_gzip **gzip) {
    iket_gzip *g = *gzip;
    *gzip = NULL;
    if (g == NULL) return;
    for (size_t i = 0; g->blocks != NULL && i < g->block_count; i++) {
        if (g->blocks[i].begun) deflateEnd(&g->blocks[i].z);
        free(g->blocks[i].out);
    }
    free(g->blocks);
    free(g->in);
    free(g);
}

static int write_end(iket_gzip *g, iket_error *err) {
    uint8_t end[10] = {0x03, 0x00}; // the last block, empty
    for (int i = 0; i < 4; i++) {
        end[2 + i] = (uint8_t)(g->crc >> 8 * i);
        end[6 + i] = (uint8_t)(g->total >> 8 * i);
    }
    return g->flush(g->context, end, sizeof end, err);
}

int iket_gzip_close(iket_gzip **gzip, iket_error *err) {
    int result = write_blocks(*gzip, err);
    if (result == 0) result = write_end(*gzip, err);
    iket_gzip_drop(gzip);
    return result;
}
