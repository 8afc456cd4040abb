// SPDX-License-Identifier: Apache-2.0
// fuzz_meta.c: any bytes as the meta.json of a dump with one open chunk that holds a record of every id.
#include <string.h>

#include "tests/fuzz/target.h"

enum { FILE_HEADER = 64, SECTION = 24, CHUNK = 128, RECORDS = 31 * 16, WARP = CHUNK + RECORDS };

static void u32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }
static void u64(uint8_t *at, uint64_t value) { memcpy(at, &value, sizeof value); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t dump[FILE_HEADER + SECTION + WARP] = {0}, *section = dump + FILE_HEADER, *chunk = section + SECTION;
    memcpy(dump, "IKETDUMP", 8);
    u32(dump + 8, 1);
    u32(dump + 12, FILE_HEADER);
    u32(dump + 40, 1024);
    memcpy(section, "WARP", 4);
    u64(section + 8, WARP);
    u32(chunk, 0x42574B49);
    u32(chunk + 4, CHUNK);
    u64(chunk + 32, UINT64_C(1796096489335662304));
    u32(chunk + 112, WARP);
    for (uint32_t i = 0; i < RECORDS / 16; i++) {
        u32(chunk + CHUNK + 16 * i, 0x1000 * 32 + 32 * i + i + 1);
        u32(chunk + CHUNK + 16 * i + 4, i + 64);
        u64(chunk + CHUNK + 16 * i + 8, ~UINT64_C(0) / (i + 1));
    }
    memory_file input = memory_file_new(dump, sizeof dump), meta = memory_file_new(data, size);
    open_and_replay(input.path, meta.path);
    memory_file_close(&input);
    memory_file_close(&meta);
    return 0;
}
