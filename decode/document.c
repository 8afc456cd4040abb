// SPDX-License-Identifier: Apache-2.0
#include "decode/document.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/input.h"
#include "common/utf8.h"

enum { EXACT_DIGITS = 15 }; // what a double holds

// Copies JSON text and puts quotes around every longer integer outside of strings. The caller frees.
static char *quote_long_integers(const char *text, size_t size, size_t *new_size) {
    char *out = malloc(size + size / 8 + 16), *to = out; // 17 bytes give at most 19
    if (out == NULL) return NULL;
    for (size_t i = 0; i < size;) {
        size_t start = i;
        if (text[i] == '"') {
            for (i++; i < size && text[i] != '"'; i++) {
                if (text[i] == '\\') i++;
            }
            i = i < size ? i + 1 : size;
        } else if (isdigit((unsigned char)text[i])) {
            while (i < size && (isalnum((unsigned char)text[i]) || text[i] == '.' || text[i] == '+' || text[i] == '-')) i++;
            size_t digits = strspn(text + start, "0123456789");
            if (digits > EXACT_DIGITS && digits == i - start && (start == 0 || text[start - 1] != '-')) {
                *to++ = '"';
                memcpy(to, text + start, digits);
                to += digits;
                *to++ = '"';
                continue;
            }
        } else {
            i++;
        }
        memcpy(to, text + start, i - start);
        to += i - start;
    }
    *to = 0;
    *new_size = (size_t)(to - out);
    return out;
}

int iket_document_parse(cJSON **document, const char *text, size_t size, const char *name, iket_error *err) {
    *document = NULL;
    char *copy = malloc(size + 1); // cJSON and strspn want an end
    if (copy == NULL) return iket_fail(err, "%s: out of memory (%zu bytes)", name, size);
    memcpy(copy, text, size);
    copy[size] = 0;
    const char *end = NULL;
    cJSON *first = cJSON_ParseWithLengthOpts(copy, size, &end, 0);
    size_t stopped = end != NULL ? (size_t)(end - copy) : 0;
    int result = 0;
    if (first == NULL) {
        result = iket_fail(err, "%s: byte 0x%zx: is not JSON", name, stopped);
    } else {
        while (stopped < size && isspace((unsigned char)copy[stopped])) stopped++;
        if (stopped < size && copy[stopped] != 0) result = iket_fail(err, "%s: byte 0x%zx: something follows the JSON document", name, stopped);
    }
    cJSON_Delete(first);
    if (result == 0) {
        size_t quoted_size;
        char *quoted = quote_long_integers(copy, size, &quoted_size);
        *document = quoted != NULL ? cJSON_ParseWithLength(quoted, quoted_size) : NULL;
        free(quoted);
        if (*document == NULL) result = iket_fail(err, "%s: out of memory (%zu bytes)", name, size);
    }
    free(copy);
    return result;
}

int iket_document_load(cJSON **document, const char *path, iket_error *err) {
    iket_input input;
    *document = NULL;
    IKET_TRY(iket_input_open(&input, path, err));
    int result = iket_document_parse(document, (const char *)input.data, input.size, path, err);
    iket_input_close(&input);
    return result;
}

// Past a number as RFC 8259 has it; NULL: it is none (01, 1., -.5).
static const char *pass_number(const char *at) {
    static const char digits[] = "0123456789";
    at += *at == '-';
    size_t whole = strspn(at, digits);
    if (whole == 0 || (whole > 1 && *at == '0')) return NULL;
    at += whole;
    if (*at == '.') {
        if (strspn(++at, digits) == 0) return NULL;
        at += strspn(at, digits);
    }
    if (*at != 'e' && *at != 'E') return at;
    at++;
    at += *at == '-' || *at == '+';
    return strspn(at, digits) == 0 ? NULL : at + strspn(at, digits);
}

// Of text that cJSON reads and that has no white space: whether it is strict in its strings and numbers, too.
static int is_strict(const char *at) {
    for (int inside = 0; *at != 0; at++) {
        if ((unsigned char)*at < ' ') return 0;
        if (*at == '"') {
            inside = !inside;
        } else if (inside && *at == '\\') {
            at++;
        } else if (!inside && (*at == '-' || isdigit((unsigned char)*at))) {
            if ((at = pass_number(at)) == NULL) return 0;
            at--;
        }
    }
    return 1;
}

char *iket_document_object_text(const char *text, size_t size) {
    cJSON *document;
    if (!iket_utf8_valid(text, size) || iket_document_parse(&document, text, size, "object", NULL) != 0) return NULL;
    int is_object = cJSON_IsObject(document);
    cJSON_Delete(document);
    char *copy = is_object ? malloc(size + 1) : NULL;
    if (copy == NULL) return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    cJSON_Minify(copy);
    if (is_strict(copy)) return copy;
    free(copy);
    return NULL;
}

int iket_document_u64(const cJSON *object, const char *key, uint64_t max, uint64_t *value, const char *where, iket_error *err) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    uint64_t v = 0;
    if (item == NULL) return 0;
    if (cJSON_IsNumber(item)) {
        double d = item->valuedouble;
        if (d == -1.0 && max == UINT32_MAX) {
            v = UINT32_MAX;
        } else if (d < 0 || d != floor(d) || d > 9007199254740992.0) {
            return iket_fail(err, "%s: %s is not an unsigned integer", where, key);
        } else {
            v = (uint64_t)d;
        }
    } else if (cJSON_IsString(item)) {
        const char *text = item->valuestring;
        int hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
        if (!isxdigit((unsigned char)text[hexadecimal ? 2 : 0])) return iket_fail(err, "%s: %s is \"%.40s\", not a number", where, key, text);
        char *end;
        errno = 0;
        v = strtoull(text + (hexadecimal ? 2 : 0), &end, hexadecimal ? 16 : 10);
        if (*end != 0 || errno != 0) return iket_fail(err, "%s: %s is \"%.40s\", not a 64-bit number", where, key, text);
    } else {
        return iket_fail(err, "%s: %s is not a number", where, key);
    }
    if (v > max) return iket_fail(err, "%s: %s is %llu, past %llu", where, key, (unsigned long long)v, (unsigned long long)max);
    *value = v;
    return 0;
}

int iket_document_u32(const cJSON *object, const char *key, uint32_t *value, const char *where, iket_error *err) {
    uint64_t wide = *value;
    IKET_TRY(iket_document_u64(object, key, UINT32_MAX, &wide, where, err));
    *value = (uint32_t)wide;
    return 0;
}

const char *iket_document_string(const cJSON *object, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}
