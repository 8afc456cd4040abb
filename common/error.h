// SPDX-License-Identifier: Apache-2.0
// error.h: how every fallible function of the project reports.
//
// A fallible function returns 0 on success and -1 on failure, and takes as its last parameter an iket_error that the
// caller owns. On failure the message is one line without a trailing newline, ready for "PROGRAM: MESSAGE". On success
// the error is left as it was. NULL is allowed where the caller does not want the text. Libraries never print.
#ifndef IKET_COMMON_ERROR_H
#define IKET_COMMON_ERROR_H

#include <stdarg.h>

typedef struct iket_error {
    char message[1024];
} iket_error;

// Sets the message and returns -1, so that a caller can write: return iket_fail(err, "...", ...).
__attribute__((format(printf, 2, 3))) int iket_fail(iket_error *err, const char *format, ...);

// Puts "PREFIX: " before the message that is there: the outermost cause comes first. Returns -1.
__attribute__((format(printf, 2, 3))) int iket_fail_context(iket_error *err, const char *format, ...);

// Leaves the enclosing function with -1 when the expression is not 0.
#define IKET_TRY(expression)                                                                                           \
    do {                                                                                                               \
        if ((expression) != 0) return -1;                                                                              \
    } while (0)

#define IKET_MUST_CHECK __attribute__((warn_unused_result))

#endif
