// SPDX-License-Identifier: Apache-2.0
// launches.cu: launches kept apart: eight streams at once, graph replays, filters, keys and host times.
#include <iket/iket.cuh>

#include "harness.h"

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(launch_step, marker, int)
IKET_EVENT(launch_done, marker)
IKET_EVENTS_END

static __global__ void step_kernel(int value, int events) {
    IKET_KERNEL(trace);
    for (int i = 0; i < events; i++) trace.mark(ev::launch_step, value);
}

static __global__ void done_kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::launch_done);
}

template <int Which>
static __global__ void named_kernel() {
    IKET_KERNEL_NAMED(trace, Which == 0 ? "gemm_main" : "softmax_main");
    trace.mark(ev::launch_done);
}

static void run_streams(const std::string &directory) {
    const int streams = 8, launches = 100;
    session_guard session(directory);
    cudaStream_t stream[streams];
    for (auto &s : stream) CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < launches; i++)
        for (int s = 0; s < streams; s++) step_kernel<<<4, 128, 0, stream[s]>>>(s, 10 + s);
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    for (auto &s : stream) CUDA(cudaStreamDestroy(s));
    expect_equal(report.dropped_events, 0u, "dropped");
    const read_dump dump = load_dump(directory);
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> value_and_events;
    for (const auto &chunk : dump.chunks)
        for (const auto &event : chunk.events) {
            auto &launch = value_and_events.emplace(chunk.grid_id, std::make_pair(event.payload, 0)).first->second;
            expect(launch.first == event.payload, "one launch has events of two");
            launch.second++;
        }
    expect_equal(value_and_events.size(), std::size_t(streams * launches), "launches");
    for (const auto &launch : value_and_events) expect_equal(launch.second.second, 16 * (10 + launch.second.first), "events of a launch");
}

static void run_graph(const std::string &directory) {
    const int replays = 1000;
    session_guard session(directory);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    iket_recorder_error error;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step_kernel<<<2, 64, 0, stream>>>(5, 3);
    session.drain();
    done_kernel<<<1, 32, 0, stream>>>();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < replays; i++)
        done(iket_graph_launch(session.get(), exec, stream, "graph_exec_1:0", &error), error);
    const auto report = session.finish();
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    expect_equal(report.dropped_events, 0u, "dropped");
    const read_dump dump = load_dump(directory);
    expect_equal(dump.count("launch_step"), replays * 4u * 3, "events of the first node");
    expect_equal(dump.count("launch_done"), std::uint64_t(replays), "events of the second node");
    const auto launches = launches_by_grid(dump);
    expect_equal(launches.size(), 2u, "gridIds");
    for (const auto &launch : launches) expect_equal(launch.second, std::uint64_t(replays), "launches of a node");
    expect_equal(dump.launches.size(), 2u, "LNCH entries");
    for (const auto &launch : dump.launches)
        expect(launch.key == "graph_exec_1:0" && launch.host_start != 0 && launch.host_end > launch.host_start, "graph key or host times");
}

static void run_brackets(const std::string &directory) {
    session_guard session(directory);
    iket_recorder_error error;
    step_kernel<<<1, 32>>>(1, 1);
    done(iket_launch_begin(session.get(), nullptr, &error), error);
    step_kernel<<<1, 32>>>(2, 1);
    done(iket_launch_end(session.get(), nullptr, &error), error);
    step_kernel<<<1, 32>>>(3, 1);
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.launches.size(), 3u, "LNCH entries");
    for (int i = 0; i < 3; i++) expect((dump.launches[i].host_start != 0) == (i == 1), "host times of the wrong launch");
    const std::uint64_t start = dump.chunks.at(1).start, second = 1000000000;
    expect(start + second > dump.launches[1].host_start && start < dump.launches[1].host_end + second, "host and device time differ by a second");
}

static void run_filters(const std::string &directory) {
    session_guard session(directory);
    iket_filter filter = IKET_FILTER_INIT;
    filter.cta_low[0] = 2, filter.cta_high[0] = 3, filter.cta_low[1] = 1, filter.warp_mask = 0xA;
    session.filter(filter);
    step_kernel<<<dim3(8, 2), 128>>>(1, 1);
    iket_filter by_name = IKET_FILTER_INIT;
    CUDA(cudaDeviceSynchronize());
    by_name.kernel_name = "soft*_ma?n";
    session.filter(by_name);
    named_kernel<0><<<1, 32>>>();
    named_kernel<1><<<1, 32>>>();
    named_kernel<0><<<1, 32>>>();
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.chunks.size(), 5u, "warps that passed");
    for (const auto &chunk : dump.chunks) {
        if (dump.kernel(chunk) == "softmax_main") continue;
        expect(dump.kernel(chunk) == "step_kernel" && chunk.cta[1] == 1 && (chunk.cta[0] == 2 || chunk.cta[0] == 3) &&
                   (chunk.warp == 1 || chunk.warp == 3), "a warp that the filter leaves out");
    }
}

static void run_begin_stop(const std::string &directory) {
    session_guard session(directory);
    iket_recorder_error error;
    step_kernel<<<1, 32>>>(1, 1);
    CUDA(cudaDeviceSynchronize());
    done(iket_session_stop(session.get(), &error), error);
    step_kernel<<<1, 32>>>(2, 1);
    CUDA(cudaDeviceSynchronize());
    done(iket_session_begin(session.get(), &error), error);
    step_kernel<<<1, 32>>>(3, 1);
    session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(dump.events_stored(), 2u, "events in the two windows");
    expect_equal(dump.chunks.at(0).events.at(0).payload + dump.chunks.at(1).events.at(0).payload, 4u, "payloads in the two windows");
}

std::vector<test_case> launch_cases() {
    return {{"streams", run_streams}, {"graph", run_graph}, {"brackets", run_brackets}, {"filters", run_filters}, {"begin_stop", run_begin_stop}};
}
