// SPDX-License-Identifier: Apache-2.0
// life.cu: warps that run while the pool is drained, snapshots, traps, odd block shapes, and bad use of the runtime.
#include <iket/iket.cuh>

#include "harness.h"

#include <cstring>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(life_tick, marker, unsigned)
IKET_EVENT(life_span, range)
IKET_EVENT(life_pass, token)
IKET_EVENTS_END

static __global__ void short_kernel(unsigned value) {
    IKET_KERNEL(trace);
    trace.mark(ev::life_tick, value);
}

// Records some ticks, says so, and waits until the host lets it end.
static __global__ void persistent_kernel(volatile int *go_on, volatile int *ready, unsigned ticks) {
    IKET_KERNEL(trace);
    trace.range_push(ev::life_span);
    for (unsigned i = 0; i < ticks; i++) trace.mark(ev::life_tick, i);
    __threadfence_system();
    if (threadIdx.x % 32 == 0) atomicAdd(const_cast<int *>(ready), 1);
    while (*go_on == 0) __nanosleep(1000);
    trace.range_pop();
}

struct mapped_flags {
    int *flags;  // [0] go on, [1] ready
    mapped_flags() {
        CUDA(cudaHostAlloc(&flags, 8, cudaHostAllocMapped));
        flags[0] = flags[1] = 0;
    }
    ~mapped_flags() { cudaFreeHost(flags); }
    void wait_for(int warps) const {
        for (int i = 0; i < 5000 && static_cast<volatile int *>(flags)[1] < warps; i++) usleep(1000);
        expect(static_cast<volatile int *>(flags)[1] >= warps, "the persistent kernel did not start");
    }
    void let_go() const { static_cast<volatile int *>(flags)[0] = 1; }
};

// Lets the kernel end before the session is destroyed, also when the case fails.
struct release_at_end {
    const mapped_flags &flags;
    ~release_at_end() { flags.let_go(); }
};

// Loads the kernels: with lazy loading, the first launch of one waits for kernels that run.
static void load_kernels() {
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, short_kernel));
    CUDA(cudaFuncGetAttributes(&attributes, persistent_kernel));
    short_kernel<<<1, 32>>>(0);
    CUDA(cudaDeviceSynchronize());
}

static void run_drain_while_running(const std::string &directory) {
    mapped_flags flags;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    options.pool_bytes = 64 << 20;
    load_kernels();
    session_guard session(directory, options);
    const release_at_end release{flags};
    persistent_kernel<<<4, 64, 0, stream>>>(flags.flags, flags.flags + 1, 100);
    flags.wait_for(8);
    std::uint64_t last = 0;
    cudaStream_t other;
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (unsigned i = 0; i < 20; i++) {
        short_kernel<<<2048, 128, 0, other>>>(i);
        CUDA(cudaStreamSynchronize(other));
        const auto report = session.drain();
        expect(report.warps > last, "a drain moved nothing");
        last = report.warps;
    }
    iket_recorder_error error;
    expect(iket_session_finish(session.get(), 0, nullptr, &error) != 0 && std::strstr(error.message, "8 warps still run") != nullptr,
           "finish with running warps is not refused");
    expect(iket_session_destroy(session.get(), &error) != 0 && std::strstr(error.message, "still run") != nullptr,
           "destroy with running warps is not refused");
    flags.let_go();
    const auto report = session.finish();
    CUDA(cudaStreamDestroy(other));
    CUDA(cudaStreamDestroy(stream));
    expect_equal(report.dropped_events, 0u, "dropped");
    const read_dump dump = load_dump(directory);
    expect_equal(dump.count("life_tick"), 20u * 8192 + 8 * 100, "ticks");
    expect_equal(dump.count("life_span"), 8u, "spans");
    expect_equal(dump.count("(pop)"), 8u, "pops");
}

static void run_snapshot(const std::string &directory) {
    mapped_flags flags;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    load_kernels();
    session_guard session(directory);
    const release_at_end release{flags};
    persistent_kernel<<<4, 64, 0, stream>>>(flags.flags, flags.flags + 1, 3000);
    flags.wait_for(8);
    const auto report = session.finish(IKET_FINISH_PARTIAL, false);
    expect_equal(report.running_warps, 8u, "warps in the snapshot");
    flags.let_go();
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamDestroy(stream));
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 8u, "open chunks");
    expect_equal(dump.count("life_tick"), 8u * 3000, "ticks");
    expect_equal(dump.count("(pop)"), 0u, "pops");
    for (const auto &chunk : dump.chunks) expect(!chunk.closed && chunk.end == 0, "an open chunk is marked closed");
}

static __global__ void odd_kernel() {
    if (threadIdx.x == 5) return;
    IKET_KERNEL(trace);
    auto pass = trace.range_start(ev::life_pass);
    trace.mark(ev::life_tick, threadIdx.x);
    trace.range_end(pass);
}

// Blocks of 1, 33 and 50 threads, three dimensions, and a thread that leaves before the recorder is made.
static void run_odd_blocks(const std::string &directory) {
    session_guard session(directory);
    odd_kernel<<<3, 1>>>();
    odd_kernel<<<3, 33>>>();
    odd_kernel<<<dim3(1, 2, 3), 50>>>();
    odd_kernel<<<1, dim3(4, 4, 5)>>>();
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 3u + 6 + 12 + 3, "warps");
    expect_equal(dump.count("life_tick"), 24u, "ticks");
    expect_equal(dump.count("life_pass"), 48u, "token ends");
    for (const auto &chunk : dump.chunks) expect(chunk.dropped == 0 && chunk.lane == 0 && chunk.events.size() == 3, "a warp's stream");
}

static __global__ void silent_kernel() { IKET_KERNEL(trace); }

static void run_silent(const std::string &directory) {
    session_guard session(directory);
    silent_kernel<<<10, 96>>>();
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 30u, "lifetimes of warps that record nothing");
    for (const auto &chunk : dump.chunks) expect(chunk.events.empty() && chunk.closed && chunk.end >= chunk.start, "a lifetime");
}

static __global__ void trap_kernel() {
    IKET_KERNEL(trace);
    for (unsigned i = 0; i < 50; i++) trace.mark(ev::life_tick, i);
    __threadfence_system();
    if (blockIdx.x == 3) __trap();
    for (int i = 0; i < 1000; i++) __nanosleep(1000000);
}

int run_trap_child(const std::string &directory, bool pinned) {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    iket_session *session;
    iket_recorder_error error;
    iket_session_report report;
    options.output_dir = directory.c_str();
    options.pool_place = pinned ? IKET_POOL_PINNED : IKET_POOL_DEVICE;
    options.pool_bytes = 16 << 20;
    if (iket_session_create(&session, &options, &error) != 0 || iket_session_begin(session, &error) != 0) return 3;
    trap_kernel<<<4, 64>>>();
    if (cudaDeviceSynchronize() == cudaSuccess) return 4;
    const int status = iket_session_finish(session, IKET_FINISH_PARTIAL, &report, &error);
    if (pinned) return status == 0 && report.running_warps > 0 ? 0 : 5;
    return status != 0 && std::strstr(error.message, "IKET_POOL_PINNED") != nullptr ? 0 : 6;
}

int run_self(const std::vector<const char *> &arguments, const char *environment) {
    const pid_t child = fork();
    if (child == 0) {
        std::vector<char *> list{const_cast<char *>("iket-gpu-test")};
        for (const char *argument : arguments) list.push_back(const_cast<char *>(argument));
        list.push_back(nullptr);
        if (environment != nullptr) putenv(const_cast<char *>(environment));
        execv("/proc/self/exe", list.data());
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void run_trap_pinned(const std::string &directory) {
    expect_equal(run_self({"--trap-child", directory.c_str(), "pinned"}), 0, "the child's status");
    const read_dump dump = load_dump(directory);
    std::uint64_t whole = 0;
    for (const auto &chunk : dump.chunks) whole += chunk.events.size() == 50 && dump.kernel(chunk) == "trap_kernel";
    expect(whole >= 2, "no warp's 50 events survived the trap");
}

static void run_trap_device(const std::string &directory) {
    expect_equal(run_self({"--trap-child", directory.c_str(), "device"}), 0, "the child's status");
}

static void expect_refused(const std::string &what, iket_session_options options, const char *text) {
    iket_session *session;
    iket_recorder_error error;
    expect(iket_session_create(&session, &options, &error) != 0 && session == nullptr, what + " is not refused");
    expect(std::strstr(error.message, text) != nullptr, what + ": the message is: " + error.message);
}

static void run_bad_use(const std::string &directory) {
    iket_session_options good = IKET_SESSION_OPTIONS_INIT, options;
    good.output_dir = directory.c_str();
    options = good, options.pool_bytes = std::size_t(1) << 44, expect_refused("a pool of 16 TiB", options, "does not fit");
    options = good, options.output_dir = "/proc/no/such", expect_refused("a folder that is not there", options, "cannot be written");
    options = good, options.device = 99, expect_refused("device 99", options, "no device 99");
    options = good, options.pool_bytes = 4096, expect_refused("a pool of 4 KiB", options, "at least 1 MiB");
    options = good, options.first_lane_bytes = 1u << 29, expect_refused("a region of 512 MiB", options, "does not fit");
    options = good, options.keep = 7, expect_refused("a way of keeping", options, "keep is 7");
    session_guard session(directory);
    iket_recorder_error error;
    expect_refused("a second session", good, "has a session already");
    expect(iket_session_begin(session.get(), &error) != 0 && std::strstr(error.message, "twice") != nullptr, "begin twice");
    iket_filter filter = IKET_FILTER_INIT;
    const std::string long_name(64, 'x');
    filter.kernel_name = long_name.c_str();
    expect(iket_session_filter(session.get(), &filter, &error) != 0, "a long pattern");
    session.finish();
    expect(iket_session_begin(session.get(), &error) != 0 && iket_session_finish(session.get(), 0, nullptr, &error) != 0, "use after finish");
    expect(iket_session_begin(nullptr, &error) != 0 && iket_session_destroy(nullptr, &error) == 0, "no session");
}

// Nothing is recorded, and nothing happens, without a session.
static void run_no_session(const std::string &) {
    short_kernel<<<64, 128>>>(1);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
}

std::vector<test_case> life_cases() {
    return {{"drain_while_running", run_drain_while_running}, {"snapshot", run_snapshot}, {"odd_blocks", run_odd_blocks},
            {"silent", run_silent},       {"trap_pinned", run_trap_pinned}, {"trap_device", run_trap_device},
            {"bad_use", run_bad_use},     {"no_session", run_no_session}};
}
