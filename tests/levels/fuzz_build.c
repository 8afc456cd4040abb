// SPDX-License-Identifier: Apache-2.0
// fuzz_build.c: any bytes as a .pftrace. What the builder takes must give a level file that can be opened.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "levels/build.h"
#include "levels/file.h"
#include "tests/fuzz/target.h"

static void open_result(const char *path) {
    iket_levels *levels;
    iket_error err;
    FILE *file = fopen(path, "rb");
    if (file == NULL) abort();
    if (iket_levels_open(&levels, fileno(file), path, &err) != 0) {
        fprintf(stderr, "a level file that was just built is refused: %s\n", err.message);
        abort();
    }
    for (uint64_t i = 0; i < levels->event_count; i++) {
        if (levels->start[i] > levels->end[i] || levels->cls[i] >= levels->class_count) abort();
        if (levels->parent_cls[i] != IKET_LEVELS_NO_CLASS && levels->parent_cls[i] >= levels->class_count) abort();
    }
    for (uint32_t lane = 0; lane < levels->lane_count; lane++) {
        for (uint64_t i = levels->lane_first[lane] + 1; i < levels->lane_first[lane + 1]; i++) {
            if (levels->start[i - 1] > levels->start[i]) abort();
        }
    }
    iket_levels_close(levels);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memory_file input = memory_file_new(data, size);
    iket_error err = {.message = ""};
    char output[64], progress[64];
    snprintf(output, sizeof output, "fuzz_build.%ld.levels", (long)getpid());
    snprintf(progress, sizeof progress, "fuzz_build.%ld.json", (long)getpid());
    if (iket_levels_build(&(iket_levels_build_options){.input = input.fd, .name = "input", .output = output, .progress = progress}, &err) == 0) {
        open_result(output);
        unlink(output);
    } else if (err.message[0] == 0 || strchr(err.message, '\n') != NULL) {
        abort();
    }
    if (access(output, F_OK) == 0 || access(progress, F_OK) == 0) abort(); // nothing is left behind
    memory_file_close(&input);
    return 0;
}
