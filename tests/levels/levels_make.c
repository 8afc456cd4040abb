// SPDX-License-Identifier: Apache-2.0
// levels_make PFTRACE LEVELS [PROGRESS]: builds a level file and opens it. 0, or 2 and what is wrong on stderr.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "levels/build.h"
#include "levels/file.h"

static int make(const char *input, const char *output, const char *progress, iket_error *err) {
    int fd = open(input, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return iket_fail(err, "%s: cannot be opened", input);
    int result = iket_levels_build(&(iket_levels_build_options){.input = fd, .name = input, .output = output, .progress = progress}, err);
    close(fd);
    return result;
}

static int show(const char *name, iket_error *err) {
    iket_levels *levels;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return iket_fail(err, "%s: cannot be opened", name);
    int result = iket_levels_open(&levels, fd, name, err);
    close(fd);
    if (result != 0) return -1;
    printf("%" PRIu64 " events in %" PRIu32 " lanes of %" PRIu32 " nodes\n", levels->event_count, levels->lane_count, levels->node_count);
    iket_levels_close(levels);
    return 0;
}

int main(int argc, char **argv) {
    iket_error err;
    if (argc < 3) {
        fprintf(stderr, "usage: levels_make PFTRACE LEVELS [PROGRESS]\n");
        return 2;
    }
    if (make(argv[1], argv[2], argc > 3 ? argv[3] : NULL, &err) == 0 && show(argv[2], &err) == 0) return 0;
    fprintf(stderr, "levels_make: %s\n", err.message);
    return 2;
}
