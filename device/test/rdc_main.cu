// SPDX-License-Identifier: Apache-2.0
// rdc_main.cu: two files of one module, built with or without -rdc=true, record into one session: iket-gpu-test-rdc DIR.
// Also compares the declaration arrays on the device with those in the dump.
#include "harness.h"
#include "rdc_events.h"

#include <cstdio>
#include <cstring>

__global__ void this_file_kernel() {
    IKET_KERNEL(trace);
    auto scope = trace.range(ev::outer);
    trace.mark(ev::inner_value, 1);
}

static void run(const std::string &directory) {
    unsigned char info[48];
    const auto expected = iket::detail::meta_info(false);
    CUDA(cudaMemcpyFromSymbol(info, __iket_meta_info, sizeof info));
    expect(std::memcmp(info, expected.bytes, sizeof info) == 0, "__iket_meta_info on the device");
    session_guard session(directory);
    this_file_kernel<<<2, 32>>>();
    other_file_kernel<<<2, 32>>>();
    CUDA(cudaGetLastError());
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 4u, "warps");
    expect_equal(dump.count("inner_value"), 4u, "markers");
    expect_equal(dump.count("outer"), 2u, "ranges");
#ifdef __CUDACC_RDC__
    expect_equal(dump.modules.size(), 1u, "modules");
#else
    expect_equal(dump.modules.size(), 2u, "modules");
#endif
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    try {
        run(argv[1]);
    } catch (const std::exception &error) {
        std::printf("FAIL two files: %s\n", error.what());
        return 1;
    }
    std::printf("ok   two files\n");
    return 0;
}
