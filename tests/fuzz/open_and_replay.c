// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/include/iket/encode.h"
#include "decode/include/iket/trace.h"
#include "tests/fuzz/target.h"

memory_file memory_file_new(const void *data, size_t size) {
    memory_file file = {.fd = memfd_create("input", MFD_CLOEXEC)};
    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size) abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

void memory_file_close(memory_file *file) { close(file->fd); }

static void promise(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "the model does not keep its promise: %s\n", what);
    abort();
}

static void replay(const iket_trace *trace, size_t stream) {
    const iket_stream *s = &trace->streams[stream];
    iket_cursor cursor;
    iket_error err;
    iket_event event;
    uint64_t count = 0;
    int64_t open = 0;
    int got;
    if (iket_cursor_open(&cursor, trace, stream, &err) != 0) abort();
    while ((got = iket_cursor_next(&cursor, &event, &err)) == 1) {
        count++;
        promise(event.decl != NULL && event.decl->name < trace->string_count, "an event has a name");
        if (event.kind == IKET_EVENT_BEGIN) open++;
        if (event.kind == IKET_EVENT_END) {
            open--;
            promise(event.begin.time <= event.time, "a range never ends before it starts");
            promise(!event.unclosed || event.payload.type == IKET_PAYLOAD_NONE, "an unclosed range has no closing payload");
        }
        promise(open >= 0, "no end without a begin");
    }
    promise(got == 0 && open == 0, "every range ends");
    promise(count == s->event_count, "a stream has as many events as it says");
    iket_cursor_close(&cursor);
}

static int to_file(void *context, const void *data, size_t size, iket_error *err) {
    const memory_file *file = context;
    return write(file->fd, data, size) == (ssize_t)size ? 0 : iket_fail(err, "the memory is full");
}

static int to_nowhere(void *context, const void *data, size_t size, iket_error *err) {
    (void)data;
    (void)err;
    *(uint64_t *)context += size;
    return 0;
}

static void write_for_perfetto(const iket_trace *trace) {
    iket_error err;
    iket_sink sink;
    iket_pftrace_facts facts = {.slices = 0};
    uint64_t size = 0;
    if (iket_sink_open(&sink, 0, to_nowhere, &size, &err) != 0) abort();
    promise(iket_write_pftrace(trace, NULL, NULL, NULL, &sink, &facts, &err) == 0 && iket_sink_close(&sink, &err) == 0, "any trace can be written for Perfetto");
    promise(size > 0 && facts.slices + facts.instants + facts.too_deep >= trace->marker_count + trace->range_count, "the Perfetto trace holds every event");
}

// What we write is read again, and says as much.
static void write_and_read(const iket_trace *trace) {
    iket_error err;
    iket_sink sink;
    iket_trace *again;
    memory_file file = memory_file_new("", 0);
    if (iket_sink_open(&sink, 0, to_file, &file, &err) != 0) abort();
    promise(iket_write_json(trace, NULL, NULL, &sink, &err) == 0 && iket_sink_close(&sink, &err) == 0, "any trace can be written as trace.json");
    if (iket_trace_open(&again, file.path, NULL, &err) != 0) {
        fprintf(stderr, "%s\n", err.message);
        promise(0, "our trace.json is read");
    }
    promise(again->marker_count == trace->marker_count && again->range_count == trace->range_count, "our trace.json holds every event");
    promise(memcmp(&again->diagnostics, &trace->diagnostics, sizeof trace->diagnostics) == 0, "our trace.json holds the diagnostics");
    iket_trace_free(again);
    memory_file_close(&file);
}

void open_and_replay(const char *path, const char *meta) {
    iket_trace *trace;
    iket_error err = {{0}};
    iket_open_options options = {.meta = meta};
    if (iket_trace_open(&trace, path, &options, &err) != 0) {
        promise(trace == NULL && err.message[0] != 0 && strchr(err.message, '\n') == NULL, "a refusal is one line, and leaves nothing");
        return;
    }
    size_t locations = 0, streams = 0;
    for (size_t i = 0; i < trace->launch_count; i++) {
        promise(trace->launches[i].location_count == 0 || trace->launches[i].first_location == locations, "locations are grouped by launch");
        locations += trace->launches[i].location_count;
    }
    promise(locations == trace->location_count, "every location has a launch");
    for (size_t i = 0; i < trace->location_count; i++) {
        promise(trace->locations[i].first_stream == streams, "streams are grouped by location");
        streams += trace->locations[i].stream_count;
    }
    promise(streams == trace->stream_count, "every stream has a location");
    for (size_t i = 0; i < trace->stream_count; i++) replay(trace, i);
    write_and_read(trace);
    write_for_perfetto(trace);
    iket_trace_free(trace);
}
