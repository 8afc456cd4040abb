// SPDX-License-Identifier: Apache-2.0
// text_buffer.h: bytes that grow, for sections and JSON that are made in memory. A failed allocation is kept in mind and
// reported once, at the end.
#ifndef IKET_DEVICE_TEXT_BUFFER_H
#define IKET_DEVICE_TEXT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct text_buffer {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    int failed;
};

void buffer_put(struct text_buffer *buffer, const void *bytes, size_t length);
void buffer_put32(struct text_buffer *buffer, uint32_t value);
void buffer_put64(struct text_buffer *buffer, uint64_t value);
void buffer_pad(struct text_buffer *buffer, size_t multiple);
__attribute__((format(printf, 2, 3))) void buffer_print(struct text_buffer *buffer, const char *format, ...);

// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
void buffer_json_string(struct text_buffer *buffer, const char *text);
void buffer_free(struct text_buffer *buffer);

#endif
