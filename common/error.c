// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"

#include <stdio.h>
#include <string.h>

// Names and paths may hold anything: a new line in one would be two messages, an escape would tell the terminal something.
static void keep_one_line(char *text) {
    for (; *text != 0; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7F) *text = '?';
    }
}

int iket_fail(iket_error *err, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        keep_one_line(err->message);
    }
    return -1;
}

int iket_fail_context(iket_error *err, const char *format, ...) {
    if (err == NULL) return -1;
    char cause[sizeof err->message];
    memcpy(cause, err->message, sizeof cause);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->message) {
        snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s", cause);
    }
    keep_one_line(err->message);
    return -1;
}
