// SPDX-License-Identifier: Apache-2.0
// names_template.h: a unit with NAMES_COUNT markers, each recorded once by every warp; NAMES_TAG tells units apart.
#include <iket/iket.cuh>

#include "harness.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define MARKER(i) IKET_EVENT(JOIN(NAMES_TAG, i), marker)
#define RECORD(i) trace.mark(ev::JOIN(NAMES_TAG, i));

IKET_EVENTS_BEGIN(ev)
NAMES_LIST(MARKER)
IKET_EVENTS_END

static __global__ void names_kernel() {
    IKET_KERNEL(trace);
    NAMES_LIST(RECORD)
}

void NAMES_RUN(const std::string &directory) {
    session_guard session(directory);
    names_kernel<<<2, 64>>>();
    CUDA(cudaGetLastError());
    const auto report = session.finish();
    const read_dump dump = load_dump(directory);
    expect_equal(report.warps, 4u, "warps");
    expect_equal(dump.chunks.size(), 4u, "chunks");
    for (const auto &chunk : dump.chunks) {
        expect_equal(dump.modules.at(chunk.module_id).events.size(), std::size_t(NAMES_COUNT), "names declared");
        expect_equal(chunk.events.size(), std::size_t(NAMES_COUNT), "events of a warp");
        for (std::size_t i = 0; i < chunk.events.size(); i++)
            expect_equal(chunk.events[i].id, i + iket::detail::first_id(IKET_DETAIL_EXTENDED), "id of the event in this place");
    }
}
