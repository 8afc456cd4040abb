// SPDX-License-Identifier: Apache-2.0
// json_block.h: the two inner loops of json_scan.c that look at many bytes at once, with SSE2 where there is any.
//
//     bytes      { " a { b " : [ 1 ] }          64 of them
//     quotes     . 1 . . . 1 . . . . .          one bit a byte
//     in string  . 1 1 1 1 . . . . . .          prefix xor of the quotes, carried from block to block
//     brackets   1 . . . . . . 1 . 1 1          those outside strings
#ifndef IKET_DECODE_JSON_BLOCK_H
#define IKET_DECODE_JSON_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { IKET_SCAN_BLOCK = 64 };

typedef struct iket_scan_state {
    uint64_t in_string; // all ones inside a string
    int escaped;        // the next byte is escaped
} iket_scan_state;

typedef struct iket_scan_brackets {
    uint64_t open, close; // '{' '[' and '}' ']' outside strings
} iket_scan_brackets;

typedef struct iket_scan_masks {
    uint64_t quote, backslash, open, close;
} iket_scan_masks;

// '[' and '{', and ']' and '}', differ in one bit.
static inline iket_scan_masks iket_scan_load(const uint8_t *p) {
    iket_scan_masks m = {0, 0, 0, 0};
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        __m128i folded = _mm_or_si128(v, bit);
        m.quote |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, quote)) << (16 * i);
        m.backslash |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash)) << (16 * i);
        m.open |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, open)) << (16 * i);
        m.close |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, close)) << (16 * i);
    }
#else
    for (int i = 0; i < IKET_SCAN_BLOCK; i++) {
        m.quote |= (uint64_t)(p[i] == '"') << i;
        m.backslash |= (uint64_t)(p[i] == '\\') << i;
        m.open |= (uint64_t)((p[i] | 0x20) == '{') << i;
        m.close |= (uint64_t)((p[i] | 0x20) == '}') << i;
    }
#endif
    return m;
}

// Takes the quotes that are escaped out of the mask. Backslashes are rare in traces: byte by byte.
static inline uint64_t iket_scan_unescaped(iket_scan_masks m, size_t size, int *escaped) {
    uint64_t quote = m.quote;
    for (size_t i = 0; i < size; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if (*escaped) {
            quote &= ~bit;
            *escaped = 0;
        } else if (m.backslash & bit) {
            *escaped = 1;
        }
    }
    return quote;
}

// One block of up to 64 bytes; what lies behind `size` must be zeros.
static inline iket_scan_brackets iket_scan_block(const uint8_t *p, size_t size, iket_scan_state *state) {
    iket_scan_masks m = iket_scan_load(p);
    uint64_t quote = m.quote;
    if (m.backslash != 0 || state->escaped) quote = iket_scan_unescaped(m, size < IKET_SCAN_BLOCK ? size : IKET_SCAN_BLOCK, &state->escaped);
    uint64_t inside = quote;
    for (int shift = 1; shift < 64; shift *= 2) inside ^= inside << shift;
    inside ^= state->in_string;
    state->in_string = 0 - (inside >> 63); // all ones when the last byte is inside
    return (iket_scan_brackets){m.open & ~inside, m.close & ~inside};
}

// The first byte at or after p that ends a run of ordinary string characters: '"', '\\', a control character (the zero
// behind the window among them) or one of a multi-byte sequence.
static inline const uint8_t *iket_scan_string_stop(const uint8_t *p) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    for (;; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        // As signed bytes, 0x80 and above are below ' ' too.
        __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)), _mm_cmplt_epi8(v, space));
        int mask = _mm_movemask_epi8(stop);
        if (mask != 0) return p + __builtin_ctz((unsigned)mask);
    }
#else
    while (*p >= ' ' && *p < 0x80 && *p != '"' && *p != '\\') p++;
    return p;
#endif
}

#endif
