// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"

#include <stdio.h>
#include <string.h>

int iket_fail(iket_error *err, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
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
    return -1;
}
