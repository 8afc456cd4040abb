// SPDX-License-Identifier: Apache-2.0
#include "common/sink.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"

int iket_sink_open(iket_sink *sink, size_t capacity, iket_sink_flush_fn flush, void *context, iket_error *err) {
    if (capacity == 0) capacity = 256 * 1024;
    *sink = (iket_sink){.data = malloc(capacity), .capacity = capacity, .flush = flush, .context = context};
    if (sink->data == NULL) return iket_fail(err, "out of memory (%zu bytes)", capacity);
    return 0;
}

int iket_sink_flush(iket_sink *sink, iket_error *err) {
    if (!sink->failed && sink->used > 0 && sink->flush(sink->context, sink->data, sink->used, &sink->error) != 0) sink->failed = 1;
    if (!sink->failed) sink->total += sink->used;
    sink->used = 0;
    if (sink->failed) return iket_fail(err, "%s", sink->error.message);
    return 0;
}

int iket_sink_close(iket_sink *sink, iket_error *err) {
    int result = iket_sink_flush(sink, err);
    iket_sink_drop(sink);
    return result;
}

void iket_sink_drop(iket_sink *sink) {
    free(sink->data);
    sink->data = NULL;
    sink->used = sink->capacity = 0;
}

uint8_t *iket_sink_make_room(iket_sink *sink, size_t size) {
    (void)size; // below the capacity by contract
    (void)iket_sink_flush(sink, NULL);
    return sink->data + sink->used;
}

void iket_sink_write(iket_sink *sink, const void *data, size_t size) {
    const uint8_t *from = data;
    if (size >= sink->capacity) { // as it is, behind what is buffered
        (void)iket_sink_flush(sink, NULL);
        if (!sink->failed && sink->flush(sink->context, data, size, &sink->error) != 0) sink->failed = 1;
        if (!sink->failed) sink->total += size;
        return;
    }
    while (size > 0) {
        if (sink->used == sink->capacity) (void)iket_sink_flush(sink, NULL);
        size_t part = sink->capacity - sink->used;
        if (part > size) part = size;
        memcpy(sink->data + sink->used, from, part);
        sink->used += part;
        from += part;
        size -= part;
    }
}

void iket_sink_printf(iket_sink *sink, const char *format, ...) {
    char text[2048];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof text) {
        iket_sink_write(sink, text, (size_t)length);
    } else if (length >= 0) {
        char *longer = malloc((size_t)length + 1);
        if (longer == NULL) {
            sink->failed = 1;
            iket_fail(&sink->error, "out of memory (%d bytes)", length);
        } else {
            vsnprintf(longer, (size_t)length + 1, format, again);
            iket_sink_write(sink, longer, (size_t)length);
            free(longer);
        }
    }
    va_end(again);
}

int iket_memory_flush(void *context, const void *data, size_t size, iket_error *err) {
    iket_memory *memory = context;
    IKET_TRY(IKET_RESERVE(memory->data, memory->used, memory->capacity, size, err));
    memcpy(memory->data + memory->used, data, size);
    memory->used += size;
    return 0;
}
