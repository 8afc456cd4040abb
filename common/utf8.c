// SPDX-License-Identifier: Apache-2.0
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

size_t iket_utf8_sequence(const char *text, size_t size) {
    const unsigned char *s = (const unsigned char *)text;
    if (size == 0) return 0;
    if (s[0] < 0x80) return 1;
    size_t length = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
    if (length == 0 || length > size) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
    }
    if (s[0] == 0xE0 && s[1] < 0xA0) return 0; // overlong
    if (s[0] == 0xED && s[1] > 0x9F) return 0; // surrogates
    if (s[0] == 0xF0 && s[1] < 0x90) return 0; // overlong
    if (s[0] == 0xF4 && s[1] > 0x8F) return 0; // past U+10FFFF
    return length;
}

int iket_utf8_valid(const char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t length = iket_utf8_sequence(text + i, size - i);
        if (length == 0 || text[i] == 0) return 0;
        i += length;
    }
    return 1;
}

char *iket_utf8_clean(const char *text, size_t size) {
    char *clean = malloc(size * 3 + 1), *to = clean; // a bad byte becomes three
    if (clean == NULL) return NULL;
    for (size_t i = 0; i < size;) {
        size_t length = iket_utf8_sequence(text + i, size - i);
        if (length == 0 || text[i] == 0) {
            memcpy(to, "\xEF\xBF\xBD", 3);
            to += 3;
            i++;
        } else {
            memcpy(to, text + i, length);
            to += length;
            i += length;
        }
    }
    *to = 0;
    return clean;
}
