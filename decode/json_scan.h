// SPDX-License-Identifier: Apache-2.0
// json_scan.h: a JSON pull scanner for large files of a known shape.
//
// Why not a library: a trace is gigabytes of small objects with 64-bit integers. Here the caller says what it expects
// (an object, its next key, an integer), so that nothing is built that is not used, integers are exact, and a value that
// nobody wants is skipped 64 bytes at a time. The scanner reads through a window (byte_source.h), so the input may be a
// mapped file, a pipe or gzip.
//
//     if (iket_scan_object(&scan, &err) != 0) ...
//     for (int first = 1; (more = iket_scan_key(&scan, &first, &key, &err)) > 0;) {
//         if (iket_scan_is(&key, "timestamp")) iket_scan_u64(&scan, &time, &err); else iket_scan_skip(&scan, &err);
//     }
//
// What is read is checked against RFC 8259. What is skipped is checked for whole strings and balanced brackets only.
// Every error names its byte offset. Texts point into the window and are valid until the next call.
#ifndef IKET_DECODE_JSON_SCAN_H
#define IKET_DECODE_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"
#include "decode/byte_source.h"

typedef struct iket_scan {
    const uint8_t *at;        // next byte to read
    const uint8_t *end;       // of the bytes at hand; zeros follow
    iket_byte_source *source; // borrowed
    char *scratch;            // owned: the last decoded text
    size_t scratch_capacity;
} iket_scan;

typedef struct iket_scan_text {
    const char *data;         // between the quotes, as it stands in the file; or the characters of a number
    size_t size;
    int plain;                // ASCII without escapes: data is the text itself
} iket_scan_text;

// Starts at what the source has at hand. The source outlives the scanner.
void iket_scan_start(iket_scan *scan, iket_byte_source *source);
void iket_scan_stop(iket_scan *scan);

// Passes over a UTF-8 byte order mark, where the input starts with one.
IKET_MUST_CHECK int iket_scan_bom(iket_scan *scan, iket_error *err);

// Offset of the next byte in the (inflated) input.
static inline uint64_t iket_scan_offset(const iket_scan *scan) {
    return scan->source->offset + (uint64_t)(scan->at - scan->source->data);
}

// Goes to an offset. Only for a mapped source.
static inline void iket_scan_seek(iket_scan *scan, uint64_t offset) { scan->at = scan->source->data + offset; }

// "byte 0x12: ..." for what stands at the next byte. Returns -1.
__attribute__((format(printf, 3, 4))) int iket_scan_fail(const iket_scan *scan, iket_error *err, const char *format, ...);

// Slow path of iket_scan_peek: white space, the window's end.
int iket_scan_peek_slow(iket_scan *scan, iket_error *err);

// The next character that is no white space, not consumed. 0: the end of the input; -1: error.
static inline int iket_scan_peek(iket_scan *scan, iket_error *err) {
    if (*scan->at > ' ') return *scan->at;
    return iket_scan_peek_slow(scan, err);
}

// Consumes '{' or '['.
IKET_MUST_CHECK int iket_scan_object(iket_scan *scan, iket_error *err);
IKET_MUST_CHECK int iket_scan_array(iket_scan *scan, iket_error *err);

// 1: another key, consumed with its colon, as valid UTF-8; 0: the object's end, consumed; -1: error. *first is 1 before
// the first key.
int iket_scan_key(iket_scan *scan, int *first, iket_scan_text *key, iket_error *err);

// 1: another item follows; 0: the array's end, consumed; -1: error.
int iket_scan_item(iket_scan *scan, int *first, iket_error *err);

IKET_MUST_CHECK int iket_scan_string(iket_scan *scan, iket_scan_text *text, iket_error *err);

// The text as valid UTF-8: escapes resolved, each bad byte or lone surrogate one U+FFFD; \u0000 gives a NUL byte. Points
// into the text itself where that is plain, else into memory of the scanner, valid until the next call of this.
IKET_MUST_CHECK int iket_scan_utf8(iket_scan *scan, const iket_scan_text *text, const char **utf8, size_t *size, iket_error *err);

// A number's characters, checked against the grammar.
IKET_MUST_CHECK int iket_scan_number(iket_scan *scan, iket_scan_text *text, iket_error *err);

int iket_scan_integer_slow(iket_scan *scan, uint64_t *magnitude, int *negative, iket_error *err);

// An exact integer: its magnitude and sign; a fraction, an exponent or more than 64 bits is an error.
static inline int iket_scan_integer(iket_scan *scan, uint64_t *magnitude, int *negative, iket_error *err) {
    // Up to 19 digits fit 64 bits whatever they are; what is longer, or may reach past the window, goes the slow way.
    const uint8_t *p = scan->at;
    if (scan->end - p >= 24 && *p >= '1' && *p <= '9') {
        uint64_t value = 0;
        const uint8_t *limit = p + 19;
        while (p < limit && (uint8_t)(*p - '0') < 10) value = value * 10 + (uint64_t)(*p++ - '0');
        if ((uint8_t)(*p - '0') >= 10 && *p != '.' && (*p | 0x20) != 'e') {
            scan->at = p;
            *magnitude = value;
            *negative = 0;
            return 0;
        }
    }
    return iket_scan_integer_slow(scan, magnitude, negative, err);
}

// The same for what cannot be negative.
static inline int iket_scan_u64(iket_scan *scan, uint64_t *value, iket_error *err) {
    int negative;
    if (iket_scan_integer(scan, value, &negative, err) != 0) return -1;
    if (negative && *value != 0) return iket_scan_fail(scan, err, "a negative number where none can be");
    return 0;
}

IKET_MUST_CHECK int iket_scan_bool(iket_scan *scan, int *value, iket_error *err);
IKET_MUST_CHECK int iket_scan_null(iket_scan *scan, iket_error *err);

// Passes over one value of any kind and depth.
IKET_MUST_CHECK int iket_scan_skip(iket_scan *scan, iket_error *err);

// Only white space may follow. 0: so it is.
IKET_MUST_CHECK int iket_scan_finish(iket_scan *scan, iket_error *err);

// Whether a plain text is exactly this literal.
#define iket_scan_is(text, literal) ((text)->size == sizeof(literal) - 1 && memcmp((text)->data, literal, sizeof(literal) - 1) == 0)

#endif
