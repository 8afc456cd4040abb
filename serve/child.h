// SPDX-License-Identifier: Apache-2.0
// child.h: reading a trace in a process of its own, so that neither a file that is cut while it is mapped nor one that
// takes all memory ends the server.
//
// The server starts its own program again with IKET_CHILD_WORD as its first argument:
//
//     descriptor 3   the source        ┐ opened beneath the served folder; the child opens nothing there
//     descriptor 4   its meta.json     ┘
//     stdout         iket_facts, when it went well
//     stderr         one line, when it did not
#ifndef IKET_SERVE_CHILD_H
#define IKET_SERVE_CHILD_H

#include <sys/types.h>

#include "serve/facts.h"

#define IKET_CHILD_WORD "decode-for-server"

// The child's main, for the tool's.
int iket_child_main(int argc, char **argv);

typedef struct iket_child_task {
    int source, meta;       // descriptors; meta -1: there is none
    const char *name;       // of the source, for messages
    const char *selection;  // "launch=0-3;sm=5": the commands' selectors; "": everything
    uint64_t most_events;   // nothing is written when the trace has more; 0: it is written anyway
    const char *output;     // path of the .pftrace or .json to write, told apart by its ending; NULL: facts only
    const char *progress;   // NULL, or a path to report to: then the source is a .pftrace, and output the level file to make
} iket_child_task;

// Starts the child. On success *pid and the two pipes to read are set.
typedef struct iket_child {
    pid_t pid;
    int facts, errors;
} iket_child;

IKET_MUST_CHECK int iket_child_start(iket_child *child, const iket_child_task *task, iket_error *err);

// Waits for its end and closes the pipes. On failure the message is the child's own.
// facts->written tells whether there is an output.
IKET_MUST_CHECK int iket_child_finish(iket_child *child, iket_facts *facts, iket_error *err);

#endif
