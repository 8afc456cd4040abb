// SPDX-License-Identifier: Apache-2.0
// failure.c: see failure.h.
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int rec_fail(struct iket_recorder_error *error, const char *format, ...) {
    if (error == NULL) return -1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return -1;
}

// The failure is reported here, so it is taken back from the program's last error.
int rec_cuda(cudaError_t status, const char *call, struct iket_recorder_error *error) {
    if (status == cudaSuccess) return 0;
    int name = (int)strcspn(call, "(");
    cudaGetLastError();
    return rec_fail(error, "%.*s: %s (%s)", name, call, cudaGetErrorString(status), cudaGetErrorName(status));
}
