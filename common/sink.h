// SPDX-License-Identifier: Apache-2.0
// sink.h: a byte buffer in front of a consumer; what every encoder writes into.
//
//     encoder --> [ buffer ]--flush--> file, gzip, several of them, or memory
//
// An encoder reserves room, writes bytes in place and commits them. The first failure of the consumer is kept in the
// sink and every later write is dropped, so that an encoder may run to its end and the caller checks once.
#ifndef IKET_COMMON_SINK_H
#define IKET_COMMON_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"

typedef int (*iket_sink_flush_fn)(void *context, const void *data, size_t size, iket_error *err);

typedef struct iket_sink {
    uint8_t *data;            // owned
    size_t used, capacity;
    iket_sink_flush_fn flush; // borrowed, with its context, until iket_sink_close
    void *context;
    uint64_t total;           // bytes flushed so far
    int failed;
    iket_error error;         // valid when failed
} iket_sink;

// capacity 0 takes the default of 256 KiB. Fails only for lack of memory.
IKET_MUST_CHECK int iket_sink_open(iket_sink *sink, size_t capacity, iket_sink_flush_fn flush, void *context, iket_error *err);

// Hands what is buffered to the consumer. Returns -1 when this or any earlier hand-over failed.
int iket_sink_flush(iket_sink *sink, iket_error *err);

// Flushes and frees the buffer; the sink is empty afterwards whatever the result.
IKET_MUST_CHECK int iket_sink_close(iket_sink *sink, iket_error *err);

// Frees the buffer without flushing.
void iket_sink_drop(iket_sink *sink);

// Slow path of iket_sink_reserve.
uint8_t *iket_sink_make_room(iket_sink *sink, size_t size);

// Returns room for `size` bytes (never NULL; size must be below the capacity). Nothing is written until committed.
static inline uint8_t *iket_sink_reserve(iket_sink *sink, size_t size) {
    if (sink->capacity - sink->used < size) return iket_sink_make_room(sink, size);
    return sink->data + sink->used;
}

// Takes over the bytes from the last reserve up to `end`.
static inline void iket_sink_commit(iket_sink *sink, const uint8_t *end) { sink->used = (size_t)(end - sink->data); }

// Copies any number of bytes.
void iket_sink_write(iket_sink *sink, const void *data, size_t size);

static inline void iket_sink_text(iket_sink *sink, const char *text) { iket_sink_write(sink, text, strlen(text)); }

// printf into the sink; for what is not written per event.
__attribute__((format(printf, 2, 3))) void iket_sink_printf(iket_sink *sink, const char *format, ...);

// A consumer that collects everything in memory: context is an iket_memory. Zero-initialise; free(data) when done.
typedef struct iket_memory {
    uint8_t *data;
    size_t used, capacity;
} iket_memory;

int iket_memory_flush(void *context, const void *data, size_t size, iket_error *err);

#endif
