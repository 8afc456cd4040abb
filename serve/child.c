// SPDX-License-Identifier: Apache-2.0
#include "serve/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/output.h"
#include "common/pool.h"
#include "decode/include/iket/encode.h"
#include "levels/build.h"

enum { SOURCE = 3, META = 4, NICENESS = 10 };

#define SOURCE_PATH "/proc/self/fd/3"
#define META_PATH "/proc/self/fd/4"

// ---- the child -------------------------------------------------------------------------------------------------------

// The number behind "pid_0x" in the source's name: the decoder sees another name.
static uint64_t pid_of(const char *name) {
    uint64_t pid = 0;
    for (const char *p = strstr(name, "pid_0x"); p != NULL; p = strstr(p + 1, "pid_0x")) pid = strtoull(p + 6, NULL, 16);
    return pid;
}

// Takes "launch=0-3;sm=5" apart.
static int read_selection(iket_selector *selector, const char *text, iket_error *err) {
    static const struct {
        const char *name;
        int id;
    } names[] = {
        {"launch", IKET_SELECT_LAUNCH}, {"kernel", IKET_SELECT_KERNEL}, {"cta", IKET_SELECT_CTA}, {"warp", IKET_SELECT_WARP},
        {"sm", IKET_SELECT_SM}, {"time", IKET_SELECT_TIME},
    };
    while (*text != 0) {
        size_t length = strcspn(text, ";"), name = strcspn(text, "=;"), i = 0;
        char value[512];
        if (name == length || length - name > sizeof value) return iket_fail(err, "'%.*s' selects nothing (NAME=VALUE, with ; between)", (int)length, text);
        snprintf(value, sizeof value, "%.*s", (int)(length - name - 1), text + name + 1);
        while (i < sizeof names / sizeof *names && (strlen(names[i].name) != name || memcmp(names[i].name, text, name) != 0)) i++;
        if (i == sizeof names / sizeof *names) return iket_fail(err, "'%.*s' is no selector (launch, kernel, cta, warp, sm, time)", (int)name, text);
        if (iket_selector_set(selector, names[i].id, value, err) != 0) return iket_fail_context(err, "%s", names[i].name);
        text += length + (text[length] == ';');
    }
    return 0;
}

// What the child was started for.
typedef struct {
    const char *name;
    int has_meta;
    const char *selection, *output; // "": everything; "": facts only
    uint64_t most_events;
    iket_pool *pool;
} assignment;

static int encode(const assignment *a, const iket_trace *trace, const iket_selection *selection, iket_sink *sink, iket_error *err) {
    size_t length = strlen(a->output);
    if (length > 5 && strcmp(a->output + length - 5, ".json") == 0) return iket_write_json(trace, selection, a->pool, sink, err);
    return iket_write_pftrace(trace, selection, NULL, a->pool, sink, NULL, err);
}

static int write_file(const assignment *a, const iket_trace *trace, const iket_selection *selection, iket_error *err) {
    iket_output *output;
    iket_sink sink;
    IKET_TRY(iket_output_open(&output, a->output, IKET_OUTPUT_FORCE, err));
    int result = iket_sink_open(&sink, 0, iket_output_flush, output, err);
    if (result == 0) {
        result = encode(a, trace, selection, &sink, err);
        if (result == 0) {
            result = iket_sink_close(&sink, err);
        } else {
            iket_sink_drop(&sink);
        }
    }
    if (result == 0) return iket_output_commit(&output, err);
    iket_output_discard(&output);
    return -1;
}

static int write_selected(const assignment *a, const iket_trace *trace, iket_error *err) {
    iket_selector selector = {0};
    iket_selection selection;
    if (a->selection[0] == 0) return write_file(a, trace, NULL, err);
    int result = read_selection(&selector, a->selection, err);
    if (result == 0) result = iket_selection_resolve(&selection, &selector, trace, err);
    iket_selector_clear(&selector);
    if (result != 0) return -1;
    result = write_file(a, trace, &selection, err);
    iket_selection_clear(&selection);
    return result;
}

static int read_trace(const assignment *a, iket_facts *facts, iket_error *err) {
    iket_open_options options = {.meta = a->has_meta ? META_PATH : NULL, .pid = pid_of(a->name), .pool = a->pool};
    iket_trace *trace;
    IKET_TRY(iket_trace_open(&trace, SOURCE_PATH, &options, err));
    int result = iket_facts_collect(facts, trace, err);
    if (result == 0 && trace->marker_count + trace->range_count == 0 && trace->location_count == 0) result = iket_fail(err, "there is no event and no warp in it");
    int wanted = a->output[0] != 0 && (a->most_events == 0 || facts->markers + facts->ranges <= a->most_events);
    if (result == 0 && wanted) result = write_selected(a, trace, err);
    facts->written = result == 0 && wanted;
    iket_trace_free(trace);
    return result;
}

// Names the files as the user knows them.
static void print_error(const char *name, const char *message) {
    for (const char *at; (at = strstr(message, "/proc/self/fd/")) != NULL;) {
        int is_meta = strncmp(at, META_PATH, sizeof META_PATH - 1) == 0;
        fprintf(stderr, "%.*s%s", (int)(at - message), message, is_meta ? "its metadata" : name);
        message = at + sizeof META_PATH - 1;
    }
    fprintf(stderr, "%s\n", message);
}

// A level file has no facts of its own: they only say that it was made.
static int make_levels(const char *name, const char *output, const char *progress, iket_facts *facts, iket_error *err) {
    iket_levels_build_options options = {.input = SOURCE, .name = name, .output = output, .progress = progress};
    IKET_TRY(iket_levels_build(&options, err));
    facts->magic = IKET_FACTS_MAGIC;
    facts->written = 1;
    return 0;
}

int iket_child_main(int argc, char **argv) {
    static iket_facts facts;
    iket_error err;
    if (argc != 8) return 2;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    iket_output_guard_signals();
    setpriority(PRIO_PROCESS, 0, NICENESS);
    assignment a = {.name = argv[2], .has_meta = strcmp(argv[3], "meta") == 0, .selection = argv[4], .output = argv[5], .most_events = strtoull(argv[6], NULL, 10)};
    int result = iket_pool_open(&a.pool, 0, &err);
    if (result == 0) result = argv[7][0] != 0 ? make_levels(a.name, a.output, argv[7], &facts, &err) : read_trace(&a, &facts, &err);
    iket_pool_close(&a.pool);
    if (result != 0) {
        print_error(argv[2], err.message);
        return 2;
    }
    fwrite(&facts, sizeof facts, 1, stdout);
    return iket_output_close_stdout(&err) == 0 ? 0 : 2;
}

// ---- the server's side -----------------------------------------------------------------------------------------------

static int spawn(iket_child *child, const iket_child_task *task, int facts, int errors) {
    char most[24];
    snprintf(most, sizeof most, "%" PRIu64, task->most_events);
    char *arguments[] = {"iket-serve", IKET_CHILD_WORD, (char *)(uintptr_t)task->name, task->meta >= 0 ? "meta" : "", (char *)(uintptr_t)task->selection, (char *)(uintptr_t)(task->output != NULL ? task->output : ""), most,
                         (char *)(uintptr_t)(task->progress != NULL ? task->progress : ""), NULL};
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); // the terminal's SIGINT is the server's alone
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&actions, facts, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    // The caller's descriptors are above META, so that none of these overwrites one that is still to come.
    posix_spawn_file_actions_adddup2(&actions, task->source, SOURCE);
    if (task->meta >= 0) posix_spawn_file_actions_adddup2(&actions, task->meta, META);
    int why = posix_spawn(&child->pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return why;
}

// Makes sure that a descriptor is not one of those that the child's are put at. Takes fd.
static int move_up(int fd) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, META + 1);
    close(fd);
    return moved;
}

int iket_child_start(iket_child *child, const iket_child_task *task, iket_error *err) {
    int facts[2], errors[2];
    if (pipe2(facts, O_CLOEXEC) != 0) return iket_fail(err, "cannot start a process: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        int failed = errno;
        close(facts[0]);
        close(facts[1]);
        return iket_fail(err, "cannot start a process: %s", strerror(failed));
    }
    iket_child_task moved = *task;
    moved.source = fcntl(task->source, F_DUPFD_CLOEXEC, META + 1);
    if (task->meta >= 0) moved.meta = fcntl(task->meta, F_DUPFD_CLOEXEC, META + 1);
    facts[1] = move_up(facts[1]);
    errors[1] = move_up(errors[1]);
    int why = moved.source < 0 || facts[1] < 0 || errors[1] < 0 ? EMFILE : spawn(child, &moved, facts[1], errors[1]);
    if (moved.source >= 0) close(moved.source);
    if (task->meta >= 0 && moved.meta >= 0) close(moved.meta);
    if (facts[1] >= 0) close(facts[1]);
    if (errors[1] >= 0) close(errors[1]);
    child->facts = facts[0];
    child->errors = errors[0];
    if (why == 0) return 0;
    close(facts[0]);
    close(errors[0]);
    return iket_fail(err, "cannot start a process: %s", strerror(why));
}

// Reads to the end and returns how much of it fits.
static size_t read_all(int fd, void *to, size_t room) {
    char rest[512];
    size_t have = 0;
    for (;;) {
        ssize_t n = have < room ? read(fd, (char *)to + have, room - have) : read(fd, rest, sizeof rest);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return have;
        if (have < room) have += (size_t)n;
    }
}

int iket_child_finish(iket_child *child, iket_facts *facts, iket_error *err) {
    char text[sizeof err->message];
    int status;
    // A child says either facts or one line of error, both shorter than a pipe holds.
    size_t got = read_all(child->facts, facts, sizeof *facts);
    size_t length = read_all(child->errors, text, sizeof text - 1);
    close(child->facts);
    close(child->errors);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) continue;
    text[length] = 0;
    text[strcspn(text, "\n")] = 0;
    if (WIFSIGNALED(status)) return iket_fail(err, "reading it ended with %s (was it changed meanwhile, or is memory short?)", strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) return iket_fail(err, "%s", text[0] != 0 ? text : "reading it failed");
    if (got != sizeof *facts || facts->magic != IKET_FACTS_MAGIC) return iket_fail(err, "reading it failed");
    facts->note[sizeof facts->note - 1] = 0;
    return 0;
}
