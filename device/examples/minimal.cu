// SPDX-License-Identifier: Apache-2.0
// minimal.cu: one marker and one range. Run it with IKET_OUTPUT_DIR=trace; there is nothing else to do.
#include <iket/iket.cuh>

#include "check.h"

#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(hello, marker)
IKET_EVENT(scale, range)
IKET_EVENTS_END

__global__ void scale_kernel(float *data, int n) {
    IKET_KERNEL(trace);
    trace.mark(ev::hello);
    auto scope = trace.range(ev::scale);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = 2 * data[i] + 1;
}

int main() {
    const int n = 1024;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++) host[i] = float(i);
    float *device;
    CHECK_CUDA(cudaMalloc(&device, n * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(device, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    scale_kernel<<<n / 128, 128>>>(device, n);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(host.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(device));
    bool right = true;
    for (int i = 0; i < n; i++) right = right && host[i] == 2.0f * float(i) + 1;
    return verdict("minimal", right);
}
