// SPDX-License-Identifier: Apache-2.0
// start_cost.cu: what starting and ending a recorded warp takes, in cycles of its SM, with so many warps that the device
// holds them all: the median of the warps of the second of two launches.
#include <iket/iket.cuh>
#include <iket/recorder.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(start_cost_span, range)
IKET_EVENTS_END

static __global__ void timed_kernel(unsigned *cycles) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const unsigned before = clock();
    unsigned started, ending;
    {
        IKET_KERNEL(trace);
        started = clock();
        { auto scope = trace.range(ev::start_cost_span); }
        ending = clock();
    }
    const unsigned ended = clock();
    if (threadIdx.x % 32 == 0) cycles[2 * warp] = started - before, cycles[2 * warp + 1] = ended - ending;
}

static unsigned median(const std::vector<unsigned> &cycles, unsigned which) {
    std::vector<unsigned> values;
    for (std::size_t i = which; i < cycles.size(); i += 2) values.push_back(cycles[i]);
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

// Prints the cycles of both for a number of warps in each of 132 CTAs.
void start_cost(const std::string &directory, unsigned warps) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    iket_session *session = nullptr;
    iket_recorder_error error;
    std::vector<unsigned> cycles(std::size_t(132) * warps * 2);
    unsigned *device;
    options.output_dir = directory.c_str();
    if (cudaMalloc(&device, cycles.size() * sizeof(unsigned)) != cudaSuccess) std::exit(2);
    if (iket_session_create(&session, &options, &error) != 0 || iket_session_begin(session, &error) != 0) std::exit(2);
    for (int run = 0; run < 2; run++) timed_kernel<<<132, 32 * warps>>>(device);
    if (cudaMemcpy(cycles.data(), device, cycles.size() * sizeof(unsigned), cudaMemcpyDeviceToHost) != cudaSuccess) std::exit(2);
    if (iket_session_destroy(session, &error) != 0) std::exit(2);
    cudaFree(device);
    std::printf("132 CTAs of %u warps: starting takes a warp %u cycles, ending %u\n", warps, median(cycles, 0), median(cycles, 1));
}
