// SPDX-License-Identifier: Apache-2.0
// fuzz_collector.c: the collector's two files. The input is the iket.data.json; raw buffers of a few warps go with it,
// or what follows a NUL in the input.
#include <string.h>

#include "tests/fuzz/target.h"

enum { BUFFER = 64, BUFFERS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t warps[BUFFERS * BUFFER];
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL, *raw = warps;
    size_t raw_size = sizeof warps;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        uint32_t words[BUFFER / 4] = {i % 8 == 7 ? 200 : 20 + 4 * (i % 8), i << 20, 0x2DADA6E0, 0x18ED043D};
        for (uint32_t k = 4; k < BUFFER / 4; k++) words[k] = 0x2DADA6E0 + 32 * k + (i * k & 31);
        memcpy(warps + BUFFER * i, words, BUFFER);
    }
    if (nul != NULL) {
        raw = nul + 1;
        raw_size = size - (size_t)(raw - data);
        size = (size_t)(nul - data);
    }
    memory_file input = memory_file_new(raw, raw_size), json = memory_file_new(data, size);
    open_and_replay(input.path, json.path);
    memory_file_close(&input);
    memory_file_close(&json);
    return 0;
}
