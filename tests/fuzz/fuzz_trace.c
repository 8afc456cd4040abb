// SPDX-License-Identifier: Apache-2.0
// fuzz_trace.c: any bytes as a trace: a dump, a trace.json, either as gzip.
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memory_file input = memory_file_new(data, size);
    open_and_replay(input.path, NULL);
    memory_file_close(&input);
    return 0;
}
