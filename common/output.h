// SPDX-License-Identifier: Apache-2.0
// output.h: the one way in which a tool of this project makes a file.
//
// A file is written beside its target under a temporary name and renamed when whole, so that a reader never meets half
// of one; it is removed on failure, on discard, and when a signal ends the process. "-" is standard output.
#ifndef IKET_COMMON_OUTPUT_H
#define IKET_COMMON_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

typedef struct iket_output iket_output; // owned by the caller until committed or discarded

enum {
    IKET_OUTPUT_FORCE = 1,  // replace an existing file
    IKET_OUTPUT_BINARY = 2, // refuse a terminal
};

// Opens `path` for writing. An existing file is refused without FORCE (unless it is a device or pipe, which is written
// in place). On failure *out is NULL.
IKET_MUST_CHECK int iket_output_open(iket_output **out, const char *path, unsigned flags, iket_error *err);

IKET_MUST_CHECK int iket_output_write(iket_output *out, const void *data, size_t size, iket_error *err);

// The same as a sink's consumer; context is an iket_output.
int iket_output_flush(void *context, const void *data, size_t size, iket_error *err);

// For what is not written from its begin to its end: the file itself, open for reading and writing unless it is a device, a
// pipe or standard output. It stays the output's.
int iket_output_descriptor(const iket_output *out);

// Closes, checks that every byte reached the file, renames. *out is NULL afterwards; on failure nothing is left behind.
IKET_MUST_CHECK int iket_output_commit(iket_output **out, iket_error *err);

// Closes and removes what was written; NULL is allowed.
void iket_output_discard(iket_output **out);

// Makes SIGINT, SIGTERM, SIGHUP and SIGPIPE remove unfinished files and then end the process by that signal. Once, from main.
void iket_output_guard_signals(void);

// Flushes and closes stdout and reports a write that was lost (a full disk). For the end of main; a closed pipe is quiet.
IKET_MUST_CHECK int iket_output_close_stdout(iket_error *err);

#endif
