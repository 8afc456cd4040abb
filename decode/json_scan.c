// SPDX-License-Identifier: Apache-2.0
// A token that reaches the window's end is scanned again from its start once the source has read on: then it is in one
// piece. The zero byte behind the window stops every inner loop, so that the common path has no bounds check.
#include "decode/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/utf8.h"
#include "decode/json_block.h"

void iket_scan_start(iket_scan *scan, iket_byte_source *source) {
    *scan = (iket_scan){.at = source->data, .end = source->end, .source = source};
}

void iket_scan_stop(iket_scan *scan) {
    free(scan->scratch);
    *scan = (iket_scan){0};
}

int iket_scan_fail(const iket_scan *scan, iket_error *err, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return iket_fail(err, "byte 0x%llx: %s", (unsigned long long)iket_scan_offset(scan), text);
}

// Reads on, keeping everything from scan->at. 1: more, 0: the end, -1: error.
static int more(iket_scan *scan, iket_error *err) {
    int result = iket_byte_source_more(scan->source, scan->at, err);
    if (!scan->source->mapped) {
        scan->at = scan->source->data;
        scan->end = scan->source->end;
    }
    return result;
}

// Ends with -1, or with an error that says that the input stops in the middle of `what`.
static int cut_off(const iket_scan *scan, int result, const char *what, iket_error *err) {
    if (result < 0) return -1;
    return iket_scan_fail(scan, err, "the file ends inside %s (it is cut off)", what);
}

int iket_scan_bom(iket_scan *scan, iket_error *err) {
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};
    while (scan->end - scan->at < 3) {
        int result = more(scan, err);
        if (result < 0) return -1;
        if (result == 0) return 0;
    }
    if (memcmp(scan->at, mark, sizeof mark) == 0) scan->at += sizeof mark;
    return 0;
}

int iket_scan_peek_slow(iket_scan *scan, iket_error *err) {
    for (;;) {
        const uint8_t *p = scan->at;
        while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') p++;
        scan->at = p;
        if (*p > ' ') return *p;
        if (p < scan->end) return iket_scan_fail(scan, err, "a control character (0x%02x) between values", *p);
        int result = more(scan, err);
        if (result <= 0) return result;
    }
}

// What stands there, for a message.
static const char *found(int c) {
    static const struct {
        char c;
        const char *name;
    } kinds[] = {{'{', "an object"}, {'[', "an array"}, {'"', "a string"}, {'t', "true"}, {'f', "false"}, {'n', "null"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].c == c) return kinds[i].name;
    }
    return c == '-' || (c >= '0' && c <= '9') ? "a number" : "something else";
}

static int expect(iket_scan *scan, char wanted, const char *what, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c == wanted) {
        scan->at++;
        return 0;
    }
    if (c <= 0) return cut_off(scan, c, "a value", err);
    return iket_scan_fail(scan, err, "%s was expected, not %s", what, found(c));
}

int iket_scan_object(iket_scan *scan, iket_error *err) { return expect(scan, '{', "an object", err); }

int iket_scan_array(iket_scan *scan, iket_error *err) { return expect(scan, '[', "an array", err); }

// The separator before the next member: 1: it was passed, 0: `close` was passed.
static int separator(iket_scan *scan, int *first, char close, const char *what, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c == close) {
        scan->at++;
        return 0;
    }
    if (c <= 0) return cut_off(scan, c, what, err);
    if (*first) {
        *first = 0;
        return 1;
    }
    if (c != ',') return iket_scan_fail(scan, err, "a ',' or '%c' is missing", close);
    scan->at++;
    c = iket_scan_peek(scan, err);
    if (c <= 0) return cut_off(scan, c, what, err);
    if (c == close) return iket_scan_fail(scan, err, "a value is missing after ','");
    return 1;
}

int iket_scan_item(iket_scan *scan, int *first, iket_error *err) { return separator(scan, first, ']', "an array", err); }

// Scans the string whose quote is at scan->at without consuming it. Its end quote is at *close.
static int scan_string(iket_scan *scan, const uint8_t **close, int *plain, iket_error *err) {
    size_t done = 1;
    *plain = 1;
    for (;;) {
        const uint8_t *p = iket_scan_string_stop(scan->at + done);
        done = (size_t)(p - scan->at);
        if (*p == '"') {
            *close = p;
            return 0;
        }
        if (*p >= 0x80) {
            *plain = 0;
            done++;
            continue;
        }
        if (*p == '\\' && p + 1 < scan->end) {
            *plain = 0;
            done += 2;
            continue;
        }
        if (*p != '\\' && p < scan->end) {
            scan->at = p;
            return iket_scan_fail(scan, err, "a control character (0x%02x) in a string", *p);
        }
        int result = more(scan, err);
        if (result <= 0) return cut_off(scan, result, "a string", err);
    }
}

// The escapes of a string that is not plain.
static int check_escapes(iket_scan *scan, const uint8_t *p, const uint8_t *close, iket_error *err) {
    while (p < close) {
        if (*p++ != '\\') continue;
        int good = memchr("\"\\/bfnrt", *p, 8) != NULL;
        if (*p == 'u' && close - p > 4) {
            good = 1;
            for (int i = 1; i <= 4; i++) good &= (p[i] >= '0' && p[i] <= '9') || ((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'f');
        }
        if (!good) {
            scan->at = p - 1;
            return iket_scan_fail(scan, err, "an escape that JSON does not have");
        }
        p++;
    }
    return 0;
}

int iket_scan_string(iket_scan *scan, iket_scan_text *text, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c != '"') {
        if (c <= 0) return cut_off(scan, c, "a value", err);
        return iket_scan_fail(scan, err, "a string was expected, not %s", found(c));
    }
    const uint8_t *close = NULL;
    IKET_TRY(scan_string(scan, &close, &text->plain, err));
    if (!text->plain) IKET_TRY(check_escapes(scan, scan->at + 1, close, err));
    text->data = (const char *)scan->at + 1;
    text->size = (size_t)(close - scan->at - 1);
    scan->at = close + 1;
    return 0;
}

int iket_scan_key(iket_scan *scan, int *first, iket_scan_text *key, iket_error *err) {
    int c = separator(scan, first, '}', "an object", err);
    if (c <= 0) return c;
    if (*scan->at != '"') return iket_scan_fail(scan, err, "a key in quotes was expected");
    for (;;) {
        const uint8_t *open = scan->at;
        IKET_TRY(iket_scan_string(scan, key, err));
        if (*scan->at == ':') break;
        // White space, or the window's end, before the colon: the key must stay in one piece, so look ahead first.
        const uint8_t *p = scan->at;
        while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') p++;
        if (*p == ':') {
            scan->at = p;
            break;
        }
        if (p < scan->end) {
            scan->at = p;
            return iket_scan_fail(scan, err, "a ':' is missing after a key");
        }
        scan->at = open;
        int result = more(scan, err);
        if (result <= 0) return cut_off(scan, result, "an object", err);
    }
    scan->at++;
    if (key->plain) return 1;
    IKET_TRY(iket_scan_utf8(scan, key, &key->data, &key->size, err));
    key->plain = 1;
    return 1;
}

// The end of a number that starts at p, or NULL when it is none. *whole: without fraction and exponent.
static const uint8_t *number_end(const uint8_t *p, int *whole) {
    *whole = 1;
    if (*p == '-') p++;
    if (*p < '0' || *p > '9') return NULL;
    if (*p == '0') {
        p++;
    } else {
        while (*p >= '0' && *p <= '9') p++;
    }
    if (*p == '.') {
        *whole = 0;
        if (*++p < '0' || *p > '9') return NULL;
        while (*p >= '0' && *p <= '9') p++;
    }
    if ((*p | 0x20) == 'e') {
        *whole = 0;
        p++;
        if (*p == '+' || *p == '-') p++;
        if (*p < '0' || *p > '9') return NULL;
        while (*p >= '0' && *p <= '9') p++;
    }
    return p;
}

static int scan_number(iket_scan *scan, iket_scan_text *text, int *whole, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c <= 0) return cut_off(scan, c, "a value", err);
    if (c != '-' && (c < '0' || c > '9')) return iket_scan_fail(scan, err, "a number was expected, not %s", found(c));
    for (;;) {
        // A character of a number right at the window's end may go on behind it.
        const uint8_t *p = scan->at;
        while (p < scan->end && ((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == '.' || (*p | 0x20) == 'e')) p++;
        if (p < scan->end) break;
        int result = more(scan, err);
        if (result < 0) return -1;
        if (result == 0) break;
    }
    const uint8_t *stop = number_end(scan->at, whole);
    if (stop == NULL) return iket_scan_fail(scan, err, "a number that JSON does not have");
    text->data = (const char *)scan->at;
    text->size = (size_t)(stop - scan->at);
    text->plain = 1;
    scan->at = stop;
    return 0;
}

int iket_scan_number(iket_scan *scan, iket_scan_text *text, iket_error *err) {
    int whole;
    return scan_number(scan, text, &whole, err);
}

int iket_scan_integer_slow(iket_scan *scan, uint64_t *magnitude, int *negative, iket_error *err) {
    iket_scan_text text;
    int whole;
    IKET_TRY(scan_number(scan, &text, &whole, err));
    const char *p = text.data, *stop = text.data + text.size;
    *negative = *p == '-';
    if (*negative) p++;
    uint64_t value = 0;
    int overflow = 0;
    for (; whole && p < stop; p++) {
        overflow |= __builtin_mul_overflow(value, 10u, &value);
        overflow |= __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    }
    if (!whole || overflow) {
        scan->at = (const uint8_t *)text.data;
        int shown = text.size > 40 ? 40 : (int)text.size;
        if (!whole) return iket_scan_fail(scan, err, "%.*s is no exact integer (was the file rewritten by a tool that keeps numbers as doubles?)", shown, text.data);
        return iket_scan_fail(scan, err, "%.*s does not fit 64 bits", shown, text.data);
    }
    *magnitude = value;
    return 0;
}

static int literal(iket_scan *scan, const char *word, iket_error *err) {
    size_t size = strlen(word);
    while ((size_t)(scan->end - scan->at) < size) {
        int result = more(scan, err);
        if (result < 0) return -1;
        if (result == 0) break;
    }
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0) return iket_scan_fail(scan, err, "something that is no JSON value");
    scan->at += size;
    return 0;
}

int iket_scan_bool(iket_scan *scan, int *value, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c <= 0) return cut_off(scan, c, "a value", err);
    if (c != 't' && c != 'f') return iket_scan_fail(scan, err, "true or false was expected, not %s", found(c));
    *value = c == 't';
    return literal(scan, c == 't' ? "true" : "false", err);
}

int iket_scan_null(iket_scan *scan, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c <= 0) return cut_off(scan, c, "a value", err);
    if (c != 'n') return iket_scan_fail(scan, err, "null was expected, not %s", found(c));
    return literal(scan, "null", err);
}

// Without the instruction, which not every x86-64 has, the compiler's builtin is a call.
static inline unsigned bits_of(uint64_t mask) {
    mask -= mask >> 1 & 0x5555555555555555u;
    mask = (mask & 0x3333333333333333u) + (mask >> 2 & 0x3333333333333333u);
    mask = (mask + (mask >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (unsigned)(mask * 0x0101010101010101u >> 56);
}

// Passes over an object or array, whose bracket is next, block by block: a bracket counts where it is in no string.
static int skip_container(iket_scan *scan, iket_error *err) {
    iket_scan_state state = {0};
    uint64_t depth = 0;
    for (;;) {
        while (scan->at < scan->end) {
            size_t size = (size_t)(scan->end - scan->at);
            iket_scan_brackets b = iket_scan_block(scan->at, size, &state);
            unsigned closing = bits_of(b.close);
            if (depth > closing) {
                depth += bits_of(b.open);
                depth -= closing;
            } else {
                for (uint64_t all = b.open | b.close; all != 0; all &= all - 1) {
                    uint64_t bit = all & -all;
                    depth = b.open & bit ? depth + 1 : depth - 1;
                    if (depth == 0) {
                        scan->at += __builtin_ctzll(bit) + 1;
                        return 0;
                    }
                }
            }
            scan->at += size < IKET_SCAN_BLOCK ? size : IKET_SCAN_BLOCK;
        }
        int result = more(scan, err);
        if (result <= 0) return cut_off(scan, result, "a value", err);
    }
}

int iket_scan_skip(iket_scan *scan, iket_error *err) {
    iket_scan_text text;
    int ignored;
    int c = iket_scan_peek(scan, err);
    switch (c) {
    case '{':
    case '[': return skip_container(scan, err);
    case '"': return iket_scan_string(scan, &text, err);
    case 't':
    case 'f': return iket_scan_bool(scan, &ignored, err);
    case 'n': return iket_scan_null(scan, err);
    default: return iket_scan_number(scan, &text, err);
    }
}

int iket_scan_finish(iket_scan *scan, iket_error *err) {
    int c = iket_scan_peek(scan, err);
    if (c < 0) return -1;
    if (c > 0) return iket_scan_fail(scan, err, "something follows the end of the document");
    return 0;
}

// ---- text -----------------------------------------------------------------------------------------------------------

static uint32_t hex4(const uint8_t *p) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value = value << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
    return value;
}

static char *put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    } else {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    }
    return to;
}

// One escape; *from is at its backslash and moves behind it.
static uint32_t escape(const uint8_t **from, const uint8_t *end) {
    const uint8_t *p = *from + 1;
    *from += 2;
    switch (*p) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u': break;
    default: return *p;
    }
    uint32_t code = hex4(p + 1);
    *from += 4;
    if (code >= 0xD800 && code <= 0xDBFF && end - *from >= 6 && (*from)[0] == '\\' && (*from)[1] == 'u') {
        uint32_t low = hex4(*from + 2);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *from += 6;
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return code >= 0xD800 && code <= 0xDFFF ? 0xFFFD : code;
}

int iket_scan_utf8(iket_scan *scan, const iket_scan_text *text, const char **utf8, size_t *size, iket_error *err) {
    if (text->plain) {
        *utf8 = text->data;
        *size = text->size;
        return 0;
    }
    // A bad byte becomes three.
    if (text->size > SIZE_MAX / 4) return iket_fail(err, "a string is too long");
    IKET_TRY(IKET_RESERVE(scan->scratch, (size_t)0, scan->scratch_capacity, text->size * 3 + 1, err));
    char *to = scan->scratch;
    const uint8_t *p = (const uint8_t *)text->data, *end = p + text->size;
    while (p < end) {
        if (*p == '\\') {
            to = put_utf8(to, escape(&p, end));
        } else if (*p < 0x80) {
            *to++ = (char)*p++;
        } else {
            size_t length = iket_utf8_sequence((const char *)p, (size_t)(end - p));
            if (length == 0) {
                to = put_utf8(to, 0xFFFD);
                p++;
            } else {
                memcpy(to, p, length);
                to += length;
                p += length;
            }
        }
    }
    *utf8 = scan->scratch;
    *size = (size_t)(to - scan->scratch);
    return 0;
}
