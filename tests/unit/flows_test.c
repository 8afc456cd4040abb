// SPDX-License-Identifier: Apache-2.0
// Arrows of an iket.dag file: a producer warp and two consumer warps, of which the second has a token range in between;
// the places of the ends are those at which a cursor gives the ranges.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/include/iket/analyze.h"
#include "tests/unit/check.h"

#define RANGE(name, start, end, warp, type, payload)                                                                   \
    "{\"rangeNameIdx\":" name ",\"startTs\":" start ",\"endTs\":" end ",\"warpLocIdxs\":[" warp "," warp "],\"rangeType\":" type                   \
    ",\"rangeId\":1,\"rangeScope\":0,\"rangeColor\":-1,\"internalEvents\":[{\"eventId\":1,\"payloadType\":5,\"payloadVal\":" payload "},{\"eventId\":31}]}"
#define PLACE(warp) "{\"smId\":0,\"tpcId\":0,\"gpcId\":0,\"ctaId\":[0,0,0],\"warpId\":" warp "}"
#define LIFE(warp) "{\"locIdx\":" warp ",\"startTs\":0,\"endTs\":1000}"

static const char trace_text[] =
    "{\"stringTable\":[\"load\",\"mma\",\"other\"],\"locationTable\":[" PLACE("0") "," PLACE("1") "," PLACE("2") "],\"graphLaunches\":{},\"launches\":[{\"kernelName\":\"k\",\"gridId\":1,"
    "\"contextId\":1,\"markers\":[],\"warpLifetimes\":[" LIFE("0") "," LIFE("1") "," LIFE("2") "],\"ranges\":["
    RANGE("0", "10", "20", "0", "2", "7") "," RANGE("0", "30", "40", "0", "2", "8") ","
    RANGE("1", "50", "60", "1", "2", "8") "," RANGE("1", "70", "80", "1", "2", "7") ","
    RANGE("2", "5", "90", "2", "1", "0") "," RANGE("1", "50", "60", "2", "2", "7") "]}]}";

static const char dag_text[] = "{\"name\":\"k\",\"regions\":[],\"edges\":[{\"source\":\"load\",\"target\":\"mma\"}]}";

static void write_file(char *path, const char *text) {
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "cannot write %s", path);
    close(fd);
}

// Name, payload and warp of the range at an end.
static void expect_end(const iket_trace *trace, const iket_flow_end *end, const char *name, uint64_t payload, uint32_t warp) {
    iket_cursor cursor;
    iket_event event;
    iket_error err;
    uint32_t begins = 0;
    int found = 0;
    CHECK(iket_cursor_open(&cursor, trace, end->stream, &err) == 0, "%s", err.message);
    while (!found && iket_cursor_next(&cursor, &event, &err) > 0) found = event.kind == IKET_EVENT_BEGIN && begins++ == end->begin;
    CHECK(found && strcmp(trace->strings[event.decl->name], name) == 0 && event.payload.bits == payload, "stream %u, begin %u is no %s of %llu", end->stream, end->begin, name,
          (unsigned long long)payload);
    CHECK(trace->locations[trace->streams[end->stream].location].warp == warp, "stream %u is not of warp %u", end->stream, warp);
    iket_cursor_close(&cursor);
}

static const iket_flow_end *find(const iket_flows *flows, uint64_t flow, int is_target) {
    for (size_t i = 0; i < flows->count; i++) {
        if (flows->ends[i].flow == flow && flows->ends[i].is_target == is_target) return &flows->ends[i];
    }
    return NULL;
}

int main(void) {
    char trace_path[] = "/tmp/iket-flows-XXXXXX", dag_path[] = "/tmp/iket-flows-XXXXXX";
    iket_trace *trace = NULL;
    iket_flows flows = {0};
    iket_error err;
    write_file(trace_path, trace_text);
    write_file(dag_path, dag_text);
    CHECK(iket_trace_open(&trace, trace_path, NULL, &err) == 0, "%s", err.message);
    if (trace != NULL) CHECK(iket_analyze_flows(&flows, trace, dag_path, &err) == 0, "%s", err.message);
    CHECK(flows.count == 6, "%zu ends", flows.count);
    for (size_t i = 1; i < flows.count; i++) {
        const iket_flow_end *a = &flows.ends[i - 1], *b = &flows.ends[i];
        CHECK(a->stream < b->stream || (a->stream == b->stream && a->begin <= b->begin), "not in order");
    }
    // Ties are by target: on warp 1 mma 8, then mma 7; on warp 2 mma 7.
    static const struct {
        uint64_t payload;
        uint32_t warp;
    } want[] = {{8, 1}, {7, 1}, {7, 2}};
    for (uint64_t flow = 1; flow <= 3 && flows.count == 6; flow++) {
        expect_end(trace, find(&flows, flow, 0), "load", want[flow - 1].payload, 0);
        expect_end(trace, find(&flows, flow, 1), "mma", want[flow - 1].payload, want[flow - 1].warp);
    }
    free(flows.ends);
    iket_trace_free(trace);
    unlink(trace_path);
    unlink(dag_path);
    return check_failures();
}
