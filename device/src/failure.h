// SPDX-License-Identifier: Apache-2.0
// failure.h: how the runtime's functions report. 0 is success; -1 comes with a message in the caller's error.
#ifndef IKET_DEVICE_FAILURE_H
#define IKET_DEVICE_FAILURE_H

#include "iket/recorder.h"

// Sets the message and returns -1. error may be NULL.
__attribute__((format(printf, 2, 3))) int rec_fail(struct iket_recorder_error *error, const char *format, ...);

// 0 for cudaSuccess, else the failure of the named call with CUDA's text.
int rec_cuda(cudaError_t status, const char *call, struct iket_recorder_error *error);

// Leaves the enclosing function with -1 where a CUDA call or a function of ours failed.
#define REC_CUDA(call)                                             \
    do {                                                           \
        if (rec_cuda((call), #call, error) != 0) return -1;        \
    } while (0)
#define REC_TRY(expression)                \
    do {                                   \
        if ((expression) != 0) return -1;  \
    } while (0)

#endif
