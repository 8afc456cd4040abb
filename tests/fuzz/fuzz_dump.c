// SPDX-License-Identifier: Apache-2.0
// fuzz_dump.c: any bytes as a dump whose CRCs are right: what a mutation breaks is then met behind the CRC checks. The
// input is taken as it is when its size is odd.
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/fuzz/target.h"

enum { FILE_HEADER = 64, SECTION = 24, CHUNK = 128 };

static uint64_t number(const uint8_t *at, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static void repair_chunks(uint8_t *at, size_t size) {
    for (size_t whole; size >= CHUNK; at += whole, size -= whole) {
        size_t used = (size_t)number(at + 100, 4);
        whole = (size_t)number(at + 112, 4);
        if (whole < CHUNK || whole > size) return;
        if (used <= whole - CHUNK) {
            uint32_t crc = (uint32_t)crc32(0, at + CHUNK, (uInt)used);
            memcpy(at + 116, &crc, sizeof crc);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) return 0;
    memcpy(copy, data, size);
    for (size_t at = FILE_HEADER; size % 2 == 0 && at + SECTION <= size;) {
        uint64_t length = number(copy + at + 8, 8), left = size - at - SECTION;
        if (length > left) break;
        if (memcmp(copy + at, "WARP", 4) == 0) repair_chunks(copy + at + SECTION, (size_t)length);
        uint32_t crc = (uint32_t)crc32(0, copy + at + SECTION, (uInt)length);
        memcpy(copy + at + 4, &crc, sizeof crc);
        at += SECTION + (size_t)((length + 7) & ~UINT64_C(7));
    }
    memory_file input = memory_file_new(copy, size);
    open_and_replay(input.path, NULL);
    memory_file_close(&input);
    free(copy);
    return 0;
}
