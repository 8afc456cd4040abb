// SPDX-License-Identifier: Apache-2.0
// drain_cost.cu: how fast a drain brings the pool into the file: iket-bench-drain DIRECTORY. Beside it, in turns, the
// plain way for as many bytes: cudaMemcpy of 16 MiB to pinned memory, write, again, to a file in the same directory.
#include <iket/iket.cuh>
#include <iket/recorder.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(drain_tick, marker)
IKET_EVENTS_END

static void check(bool right, const char *what) {
    if (right) return;
    std::fprintf(stderr, "iket-bench-drain: %s\n", what);
    std::exit(2);
}

static __global__ void ticks_kernel(int events) {
    IKET_KERNEL(trace);
#pragma unroll 1
    for (int i = 0; i < events; i++) trace.mark(ev::drain_tick);
}

struct shape {
    const char *name;
    int ctas, threads, events;
    std::size_t pool;
    int keep;
};

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Fills a pool, drains it, and says how long that took and how many bytes the file got.
static double drain_once(const std::string &directory, const shape &what, std::size_t *bytes) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    iket_session *session;
    iket_recorder_error error;
    iket_session_report report;
    options.output_dir = directory.c_str();
    options.pool_bytes = what.pool;
    options.keep = what.keep;
    check(iket_session_create(&session, &options, &error) == 0 && iket_session_begin(session, &error) == 0, error.message);
    ticks_kernel<<<what.ctas, what.threads>>>(what.events);
    check(cudaDeviceSynchronize() == cudaSuccess, "the kernel failed");
    const double start = seconds();
    check(iket_session_drain(session, &report, &error) == 0, error.message);
    const double end = seconds();
    check(report.dropped_events == 0, "events were dropped");
    *bytes = report.record_bytes + 128 * report.chunks;
    check(iket_session_destroy(session, &error) == 0, error.message);
    return end - start;
}

static double plain_once(const std::string &directory, const unsigned char *device, unsigned char *host, std::size_t bytes) {
    const std::string path = directory + "/plain.bin";
    const double start = seconds();
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    check(file >= 0, "cannot write there");
    for (std::size_t at = 0; at < bytes;) {
        const std::size_t piece = std::min<std::size_t>(bytes - at, 16 << 20);
        check(cudaMemcpy(host, device + at, piece, cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy");
        for (std::size_t done = 0; done < piece;) {
            const ssize_t written = write(file, host + done, piece - done);
            check(written > 0, "write");
            done += std::size_t(written);
        }
        at += piece;
    }
    const double end = seconds();
    close(file);
    unlink(path.c_str());
    return end - start;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const std::string directory = argv[1];
    const shape shapes[] = {{"132 warps, 900,000 events each", 132, 32, 900000, std::size_t(2) << 30, IKET_KEEP_FIRST},
                            {"1,056 warps, 100,000 events each", 132, 256, 100000, std::size_t(1) << 30, IKET_KEEP_FIRST},
                            {"1,056 warps that went round", 132, 256, 300000, std::size_t(512) << 20, IKET_KEEP_LAST},
                            {"131,072 warps, 20 events each", 32768, 128, 20, std::size_t(256) << 20, IKET_KEEP_FIRST},
                            {"1,048,576 warps, 20 events each", 262144, 128, 20, std::size_t(1) << 30, IKET_KEEP_FIRST}};
    unsigned char *device, *host;
    const std::size_t most = std::size_t(1) << 30;
    check(cudaMalloc(&device, most) == cudaSuccess && cudaMemset(device, 1, most) == cudaSuccess, "cudaMalloc");
    check(cudaHostAlloc(&host, 16 << 20, cudaHostAllocDefault) == cudaSuccess, "cudaHostAlloc");
    std::printf("| to %s | MB | drain, GB/s | plain, GB/s | ratio |\n| --- | --- | --- | --- | --- |\n", directory.c_str());
    for (const shape &what : shapes) {
        std::vector<double> drains, plains, ratios;
        std::size_t bytes = 0;
        for (int round = 0; round < 6; round++) {
            const double drain = drain_once(directory, what, &bytes), plain = plain_once(directory, device, host, std::min(bytes, most));
            if (round == 0) continue;
            drains.push_back(drain), plains.push_back(plain), ratios.push_back(plain / drain);
        }
        for (auto *list : {&drains, &plains, &ratios}) std::sort(list->begin(), list->end());
        std::printf("| %s | %.0f | %.2f | %.2f | %.2f |\n", what.name, 1e-6 * double(bytes), 1e-9 * double(bytes) / drains[2],
                    1e-9 * double(bytes) / plains[2], ratios[2]);
        std::fflush(stdout);
    }
    return 0;
}
