// SPDX-License-Identifier: Apache-2.0
// The gzip writer: one member that holds the input, the same bytes for any threads and any pieces of the input.
#include "common/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/unit/check.h"

static uint8_t *input_of(size_t size, int kind) {
    uint8_t *data = malloc(size + 1);
    uint32_t random = 12345;
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        data[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)(random >> 24) : (uint8_t)("iket event "[i % 11] ^ (char)(random >> 31)); // zeros, noise, text
    }
    return data;
}

static iket_memory compressed(const uint8_t *data, size_t size, int level, unsigned threads, size_t piece) {
    iket_memory memory = {0};
    iket_gzip *gzip;
    iket_pool *pool = NULL;
    if (threads > 0) CHECK(iket_pool_open(&pool, threads, NULL) == 0, "pool");
    CHECK(iket_gzip_open(&gzip, level, pool, iket_memory_flush, &memory, NULL) == 0, "open");
    for (size_t at = 0; at < size; at += piece) CHECK(iket_gzip_flush(gzip, data + at, size - at < piece ? size - at : piece, NULL) == 0, "flush");
    CHECK(iket_gzip_close(&gzip, NULL) == 0 && gzip == NULL, "close");
    iket_pool_close(&pool);
    return memory;
}

// Whether zlib finds one member in all of it, and the input in that.
static int is_one_member(const iket_memory *member, const uint8_t *data, size_t size) {
    uint8_t *out = malloc(size + 1);
    z_stream z = {.next_in = member->data, .avail_in = (uInt)member->used, .next_out = out, .avail_out = (uInt)size + 1};
    int ok = inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0 && z.total_out == size && memcmp(out, data, size) == 0;
    inflateEnd(&z);
    free(out);
    return ok;
}

int main(void) {
    static const size_t sizes[] = {0, 1, 40000, 131071, 131072, 131073, 2 * 1024 * 1024, 5000000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int kind = 0; kind < 3; kind++) {
            uint8_t *data = input_of(sizes[s], kind);
            int level = kind == 1 ? 1 : IKET_GZIP_LEVEL;
            iket_memory alone = compressed(data, sizes[s], level, 0, 100000);
            CHECK(is_one_member(&alone, data, sizes[s]), "%zu bytes of kind %d", sizes[s], kind);
            for (unsigned threads = 1; threads <= 9; threads += 4) {
                iket_memory member = compressed(data, sizes[s], level, threads, 1u << (14 + threads));
                CHECK(member.used == alone.used && memcmp(member.data, alone.data, alone.used) == 0, "%zu bytes of kind %d, %u threads", sizes[s], kind, threads);
                free(member.data);
            }
            free(alone.data);
            free(data);
        }
    }
    return check_failures();
}
