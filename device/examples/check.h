// SPDX-License-Identifier: Apache-2.0
// check.h: what the examples share: end the program where a CUDA or recorder call failed.
#ifndef IKET_EXAMPLE_CHECK_H
#define IKET_EXAMPLE_CHECK_H

#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void check_cuda(cudaError_t status, const char *call) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
    std::exit(2);
}

#define CHECK_CUDA(call) check_cuda((call), #call)

// Says whether the result was right; the program's status.
inline int verdict(const char *example, bool right) {
    std::printf("%s: %s\n", example, right ? "result is right" : "result is WRONG");
    return right ? 0 : 1;
}

#endif
