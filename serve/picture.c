// SPDX-License-Identifier: Apache-2.0
// A PNG of one byte a pixel, whose palette is one colour from transparent to opaque: it fits light and dark pages.
//
//     signature | IHDR | PLTE | tRNS | IDAT: per row a zero (no filter) and the pixels, deflated | IEND
#include "serve/picture.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LEVELS = 32, RED = 0x2B, GREEN = 0x7C, BLUE = 0xD3, PIXEL_BYTES = IKET_FACTS_ROWS * (IKET_FACTS_COLUMNS + 1), PNG_BYTES = 4096 };

static uint8_t *put_u32(uint8_t *at, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = (uint8_t)(value >> shift);
    return at;
}

static uint8_t *put_chunk(uint8_t *at, const char type[4], const uint8_t *data, size_t size) {
    at = put_u32(at, (uint32_t)size);
    uint8_t *begin = at;
    memcpy(at, type, 4);
    if (size > 0) memcpy(at + 4, data, size);
    at += 4 + size;
    return put_u32(at, (uint32_t)crc32(crc32(0, NULL, 0), begin, (uInt)(4 + size)));
}

static size_t make_png(uint8_t png[PNG_BYTES], const iket_facts *facts) {
    uint8_t header[13] = {0}, colours[LEVELS * 3], alphas[LEVELS], pixels[PIXEL_BYTES], packed[PIXEL_BYTES + 64], *p = pixels;
    uLongf packed_size = sizeof packed;
    put_u32(put_u32(header, IKET_FACTS_COLUMNS), facts->rows);
    header[8] = 8; // bits a pixel
    header[9] = 3; // by palette
    for (int i = 0; i < LEVELS; i++) {
        memcpy(colours + 3 * i, (const uint8_t[]){RED, GREEN, BLUE}, 3);
        alphas[i] = (uint8_t)(i == 0 ? 0 : 48 + i * 207 / (LEVELS - 1));
    }
    for (size_t row = 0; row < facts->rows; row++) {
        *p++ = 0;
        for (size_t i = 0; i < IKET_FACTS_COLUMNS; i++) {
            unsigned value = facts->picture[row * IKET_FACTS_COLUMNS + i];
            *p++ = (uint8_t)(value == 0 ? 0 : 1 + value * (LEVELS - 2) / 255);
        }
    }
    if (compress2(packed, &packed_size, pixels, (uLong)(p - pixels), 9) != Z_OK) return 0;
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    memcpy(png, signature, sizeof signature);
    uint8_t *at = put_chunk(png + sizeof signature, "IHDR", header, sizeof header);
    at = put_chunk(at, "PLTE", colours, sizeof colours);
    at = put_chunk(at, "tRNS", alphas, sizeof alphas);
    at = put_chunk(at, "IDAT", packed, packed_size);
    return (size_t)(put_chunk(at, "IEND", NULL, 0) - png);
}

static void write_base64(iket_sink *sink, const uint8_t *data, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned left = (unsigned)(size - i < 3 ? size - i : 3);
        unsigned bits = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0u);
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], left > 1 ? digits[bits >> 6 & 63] : '=', left > 2 ? digits[bits & 63] : '='};
        iket_sink_write(sink, four, sizeof four);
    }
}

void iket_picture_write(iket_sink *sink, const iket_facts *facts) {
    uint8_t png[PNG_BYTES];
    if (facts->rows == 0 || facts->rows > IKET_FACTS_ROWS) return;
    size_t size = make_png(png, facts);
    if (size == 0) return;
    iket_sink_text(sink, "data:image/png;base64,");
    write_base64(sink, png, size);
}
