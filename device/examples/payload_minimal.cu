// SPDX-License-Identifier: Apache-2.0
// payload_minimal.cu: one marker with an int32 payload, the same source for our recorder and, built with
// IKET_BACKEND_COLLECTOR, for NVIDIA's collector.
#include <iket/iket.cuh>

#include "check.h"

#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(store_index, marker, int)
IKET_EVENTS_END

__global__ void index_kernel(int *out) {
    IKET_KERNEL(trace);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    trace.mark(ev::store_index, i - 32);
    out[i] = i - 32;
}

int main() {
    const int ctas = 4, threads = 64, n = ctas * threads;
    std::vector<int> host(n);
    int *device;
    CHECK_CUDA(cudaMalloc(&device, n * sizeof(int)));
    index_kernel<<<ctas, threads>>>(device);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(device));
    bool right = true;
    for (int i = 0; i < n; i++) right = right && host[i] == i - 32;
    return verdict("payload_minimal", right);
}
