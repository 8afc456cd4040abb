// SPDX-License-Identifier: Apache-2.0
// level_answer.c: a level file's answers on the command line, for the tests and for benchmarks.
//
//     level_answer FILE [--repeat N] QUESTION [NAME=VALUE…]     one answer to stdout; its status is the exit status
//     level_answer FILE                                         a question a line from stdin; to each: STATUS LENGTH, then the body
//
// With --repeat the CPU time of each answer goes to stderr. An error's body is its line.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "levels/answer.h"

enum { MOST_ARGUMENTS = 64 };

// QUESTION NAME=VALUE … as given in words, answered into *body.
static iket_levels_status answer(const iket_levels *levels, char **words, int count, iket_memory *body, const char **type) {
    static char nothing[1];
    iket_levels_argument arguments[MOST_ARGUMENTS];
    iket_levels_question question = {.what = count > 0 ? words[0] : nothing, .arguments = arguments};
    iket_sink sink;
    iket_error err = {.message = ""};
    for (int i = 1; i < count && question.argument_count < MOST_ARGUMENTS; i++) {
        char *value = strchr(words[i], '=');
        if (value != NULL) *value++ = 0;
        arguments[question.argument_count++] = (iket_levels_argument){words[i], value != NULL ? value : nothing};
    }
    if (iket_sink_open(&sink, 4096, iket_memory_flush, body, &err) != 0) return IKET_LEVELS_FAILED;
    iket_levels_status status = iket_levels_answer(levels, &question, &sink, type, &err);
    for (int i = 1; i < count && i <= MOST_ARGUMENTS; i++) { // as they were, for the next time
        if (arguments[i - 1].value != nothing) words[i][strlen(words[i])] = '=';
    }
    if (status != IKET_LEVELS_OK) {
        if (sink.total + sink.used > 0) fprintf(stderr, "level_answer: an answer that failed had begun\n");
        sink.used = 0;
        iket_sink_text(&sink, err.message);
    }
    if (iket_sink_close(&sink, &err) != 0) return IKET_LEVELS_FAILED;
    return status;
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int once(const iket_levels *levels, char **words, int count, int repeat) {
    iket_levels_status status = IKET_LEVELS_OK;
    for (int i = 0; i < repeat; i++) {
        iket_memory body = {.data = NULL};
        const char *type = "";
        double before = cpu_seconds();
        status = answer(levels, words, count, &body, &type);
        if (repeat > 1) fprintf(stderr, "%.2f ms, %zu bytes\n", (cpu_seconds() - before) * 1e3, body.used);
        if (i == repeat - 1) fwrite(body.data, 1, body.used, stdout);
        free(body.data);
    }
    return (int)status;
}

// Words of a line are apart by tabs.
static int many(const iket_levels *levels) {
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
        char *words[MOST_ARGUMENTS + 1], *rest = line;
        int count = 0;
        line[strcspn(line, "\n")] = 0;
        for (char *word; count <= MOST_ARGUMENTS && (word = strsep(&rest, "\t")) != NULL;) words[count++] = word;
        iket_memory body = {.data = NULL};
        const char *type = "";
        iket_levels_status status = answer(levels, words, count, &body, &type);
        printf("%d %zu\n", (int)status, body.used);
        fwrite(body.data, 1, body.used, stdout);
        fflush(stdout);
        free(body.data);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv) {
    iket_levels *levels;
    iket_error err = {.message = ""};
    int at = 2, repeat = 1, fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || iket_levels_open(&levels, fd, argv[1], &err) != 0) {
        fprintf(stderr, "level_answer: %s\n", fd < 0 ? "usage: level_answer FILE [--repeat N] [QUESTION [NAME=VALUE...]]" : err.message);
        return 9;
    }
    if (argc > at + 1 && strcmp(argv[at], "--repeat") == 0) {
        repeat = atoi(argv[at + 1]);
        at += 2;
    }
    int status = at < argc ? once(levels, argv + at, argc - at, repeat) : many(levels);
    iket_levels_close(levels);
    close(fd);
    return fflush(stdout) != 0 ? 9 : status;
}
