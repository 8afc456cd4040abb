// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
    iket_trace_free(trace);
}
