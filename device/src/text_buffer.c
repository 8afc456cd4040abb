// SPDX-License-Identifier: Apache-2.0
// text_buffer.c: see text_buffer.h.
#include "text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_put(struct text_buffer *buffer, const void *bytes, size_t length) {
    if (buffer->failed || length == 0) return;
    if (buffer->length + length > buffer->capacity) {
        size_t capacity = (buffer->length + length) * 2 + 256;
        unsigned char *grown = realloc(buffer->bytes, capacity);
        if (grown == NULL) {
            buffer->failed = 1;
            return;
        }
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

void buffer_put32(struct text_buffer *buffer, uint32_t value) { buffer_put(buffer, &value, sizeof value); }
void buffer_put64(struct text_buffer *buffer, uint64_t value) { buffer_put(buffer, &value, sizeof value); }

void buffer_pad(struct text_buffer *buffer, size_t multiple) {
    static const unsigned char zeros[8];
    buffer_put(buffer, zeros, (multiple - buffer->length % multiple) % multiple);
}

void buffer_print(struct text_buffer *buffer, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line) buffer->failed = 1;
    else buffer_put(buffer, line, (size_t)length);
}

// The bytes of the UTF-8 sequence that starts here, 0 where none does.
static size_t sequence(const unsigned char *at) {
    size_t more = at[0] < 0x80 ? 0 : at[0] >= 0xC2 && at[0] < 0xE0 ? 1 : (at[0] & 0xF0) == 0xE0 ? 2 : at[0] >= 0xF0 && at[0] < 0xF5 ? 3 : 9;
    if (more == 9) return 0;
    for (size_t i = 1; i <= more; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) || (at[0] == 0xF0 && at[1] < 0x90) ||
        (at[0] == 0xF4 && at[1] > 0x8F))
        return 0;
    return more + 1;
}

void buffer_json_string(struct text_buffer *buffer, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    buffer_put(buffer, "\"", 1);
    while (*at != 0) {
        size_t bytes = sequence(at);
        if (bytes == 0) buffer_put(buffer, "\xEF\xBF\xBD", 3);
        else if (*at < 0x20) buffer_print(buffer, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\') buffer_print(buffer, "\\%c", *at);
        else buffer_put(buffer, at, bytes);
        at += bytes == 0 ? 1 : bytes;
    }
    buffer_put(buffer, "\"", 1);
}

void buffer_free(struct text_buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct text_buffer){0};
}
