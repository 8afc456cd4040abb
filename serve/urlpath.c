// SPDX-License-Identifier: Apache-2.0
#include "serve/urlpath.h"

#include <string.h>

#include "common/utf8.h"

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static iket_path_verdict check_components(const char *path) {
    for (const char *at = path; *at != 0;) {
        if (*at == '.' || *at == '/') return IKET_PATH_HIDDEN;
        const char *slash = strchr(at, '/');
        if (slash == NULL) break;
        at = slash + 1;
    }
    return IKET_PATH_OK;
}

iket_path_verdict iket_path_decode(const char *raw, char path[IKET_PATH_MAX]) {
    if (*raw++ != '/') return IKET_PATH_MALFORMED;
    size_t length = 0;
    while (*raw != 0) {
        int c = (unsigned char)*raw++;
        if (c == '%') {
            int high = hex_digit(raw[0]), low = high < 0 ? -1 : hex_digit(raw[1]);
            if (low < 0) return IKET_PATH_MALFORMED;
            c = high * 16 + low;
            raw += 2;
        }
        if (c < ' ' || c == 0x7F) return IKET_PATH_MALFORMED;
        if (length + 1 >= IKET_PATH_MAX) return IKET_PATH_LONG;
        path[length++] = (char)c;
    }
    path[length] = 0;
    return check_components(path);
}

static int is_plain_in_path(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || memchr("-._~/", c, 5) != NULL;
}

int iket_argument_decode(char *text) {
    char *to = text;
    for (const char *raw = text; *raw != 0;) {
        int c = (unsigned char)*raw++;
        if (c == '%') {
            int high = hex_digit(raw[0]), low = high < 0 ? -1 : hex_digit(raw[1]);
            if (low < 0 || high + low == 0) return 0;
            c = high * 16 + low;
            raw += 2;
        }
        *to++ = (char)c;
    }
    *to = 0;
    return 1;
}

void iket_path_encode(iket_sink *sink, const char *text) {
    static const char digits[] = "0123456789ABCDEF";
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        char escape[3] = {'%', digits[*c >> 4], digits[*c & 15]};
        if (is_plain_in_path(*c)) {
            iket_sink_write(sink, c, 1);
        } else {
            iket_sink_write(sink, escape, sizeof escape);
        }
    }
}

void iket_html_text(iket_sink *sink, const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = iket_utf8_sequence(text, left);
        const char *instead = length == 0 ? "\xEF\xBF\xBD" : *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;"
                            : *text == '"' ? "&quot;" : *text == '\'' ? "&#39;" : NULL;
        if (instead != NULL) {
            iket_sink_text(sink, instead);
        } else {
            iket_sink_write(sink, text, length);
        }
        length = length == 0 ? 1 : length;
        text += length;
        left -= length;
    }
}
