// SPDX-License-Identifier: Apache-2.0
// fuzz_file.c: any bytes as a level file. What can be opened must be answered from, or refused, without harm.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "levels/answer.h"
#include "levels/file.h"
#include "tests/fuzz/target.h"

static int drop(void *context, const void *data, size_t size, iket_error *err) {
    (void)context;
    (void)data;
    (void)size;
    (void)err;
    return 0;
}

static void ask(const iket_levels *levels, const char *what, const char *const *arguments) {
    iket_levels_argument list[8];
    iket_levels_question question = {.what = what, .arguments = list};
    for (; arguments[2 * question.argument_count] != NULL; question.argument_count++) {
        list[question.argument_count] = (iket_levels_argument){arguments[2 * question.argument_count], arguments[2 * question.argument_count + 1]};
    }
    iket_sink sink;
    iket_error err = {.message = ""};
    const char *type;
    if (iket_sink_open(&sink, 0, drop, NULL, &err) != 0) abort();
    if (iket_levels_answer(levels, &question, &sink, &type, &err) != IKET_LEVELS_OK && err.message[0] == 0) abort();
    iket_sink_drop(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        const char *what, *arguments[16];
    } questions[] = {
        {"window", {"from", "0", "to", "1000000", "ns_per_pixel", "100"}},
        {"window", {"lanes", "0-8", "ns_per_pixel", "0"}},
        {"statistics", {"from", "10"}},
        {"statistics", {NULL}},
        {"activity", {"rows", "0-3", "bins", "16"}},
        {"activity", {"sms", "0-200", "bins", "4"}},
        {"events", {"ids", "0,1,2,5,9"}},
        {"find", {"by", "order", "after", "1", "direction", "1", "classes", "0.1.2"}},
        {"find", {"by", "warp", "after", "3", "direction", "-1"}},
        {"find", {"by", "node", "node", "2", "from", "5"}},
        {"find", {"by", "point", "lane", "1", "time", "500", "near", "10"}},
        {"longest", {"limit", "9"}},
        {"points", {"class", "1", "limit", "100"}},
        {"rows.csv", {"launch", "0", "kernel", "a"}},
    };
    memory_file input = memory_file_new(data, size);
    iket_levels *levels;
    iket_error err = {.message = ""};
    if (iket_levels_open(&levels, input.fd, "input", &err) == 0) {
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) ask(levels, questions[i].what, questions[i].arguments);
        iket_levels_close(levels);
    } else if (err.message[0] == 0 || strchr(err.message, '\n') != NULL) {
        abort();
    }
    memory_file_close(&input);
    return 0;
}
