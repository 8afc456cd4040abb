// SPDX-License-Identifier: Apache-2.0
#include "analyze/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

iket_cell iket_cell_ratio(iket_wide numerator, iket_wide denominator, unsigned scale) {
    if (denominator == 0) return iket_cell_none();
    iket_wide whole = numerator / denominator, rest = numerator % denominator;
    iket_wide factor = (iket_wide)scale * 1000;
    return (iket_cell){.kind = IKET_CELL_FIXED, .number = whole * factor + (rest * factor + denominator / 2) / denominator};
}

char *iket_put_wide(char *at, iket_wide number) {
    const uint64_t part = 10000000000000000000u; // 10^19
    if (number < part) return iket_text_u64(at, (uint64_t)number);
    at = iket_put_wide(at, number / part);
    char rest[IKET_TEXT_NUMBER];
    char *end = iket_text_u64(rest, (uint64_t)(number % part));
    memset(at, '0', 19 - (size_t)(end - rest));
    memcpy(at + 19 - (end - rest), rest, (size_t)(end - rest));
    return at + 19;
}

// 1234 thousandths: 1.234; zeros at the end are left out.
static char *put_fixed(char *at, iket_wide thousandths) {
    at = iket_put_wide(at, thousandths / 1000);
    unsigned rest = (unsigned)(thousandths % 1000);
    if (rest == 0) return at;
    *at++ = '.';
    for (; rest > 0; rest = rest * 10 % 1000) *at++ = (char)('0' + rest / 100);
    return at;
}

char *iket_cell_write(const iket_cell *cell, char text[IKET_CELL_NUMBER]) {
    char *at = text;
    if (cell->negative && cell->number != 0) *at++ = '-';
    switch (cell->kind) {
    case IKET_CELL_UINT:
    case IKET_CELL_INT: at = iket_put_wide(at, cell->number); break;
    case IKET_CELL_FIXED: at = put_fixed(at, cell->number); break;
    case IKET_CELL_PAYLOAD: at = text + iket_payload_text(cell->payload, text); break;
    case IKET_CELL_BOOL: at = stpcpy(text, cell->number ? "true" : "false"); break;
    default: break;
    }
    *at = 0;
    return at;
}

void iket_human_ns(iket_wide ns, int negative, char *text) {
    static const struct {
        const char *name;
        iket_wide ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    char *at = text;
    if (negative && ns != 0) *at++ = '-';
    for (size_t i = 0; i < 4; i++) {
        iket_wide unit = units[i].ns, next = i > 0 ? units[i - 1].ns : 0;
        if (ns < unit && i < 3) continue;
        // Three digits: 1.25, 12.5, 125; a value that rounds up to 1000 belongs to the next unit.
        int decimals = unit == 1 || ns / unit >= 100 ? 0 : ns / unit >= 10 ? 1 : 2;
        iket_wide scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
        iket_wide scaled = (ns * scale + unit / 2) / unit;
        if (next != 0 && scaled >= 1000 * scale) {
            strcpy(at, "1.00 ");
            strcat(at, units[i - 1].name);
            return;
        }
        if (scaled >= 1000 && decimals > 0) {
            scaled = (scaled + 5) / 10;
            decimals--;
            scale /= 10;
        }
        at = iket_put_wide(at, scaled / scale);
        unsigned rest = (unsigned)(scaled % scale);
        if (decimals > 0) at += snprintf(at, 8, ".%0*u", decimals, rest);
        *at++ = ' ';
        strcpy(at, units[i].name);
        return;
    }
}

int iket_utf8_terminal(void) {
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != 0) return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL || strstr(value, "utf-8") != NULL;
    }
    return 0;
}

static int compare_payloads(iket_payload a, iket_payload b) {
    double x = iket_payload_double(a), y = iket_payload_double(b);
    if (a.type == IKET_PAYLOAD_F32 || a.type == IKET_PAYLOAD_F64) {
        if (x != x || y != y) return (x == x) - (y == y); // NaN first
        return x < y ? -1 : x > y;
    }
    if (a.type <= IKET_PAYLOAD_I64 && (a.type == IKET_PAYLOAD_I8 || a.type == IKET_PAYLOAD_I16 || a.type == IKET_PAYLOAD_I32 || a.type == IKET_PAYLOAD_I64)) {
        int64_t s = iket_payload_signed(a), t = iket_payload_signed(b);
        return s < t ? -1 : s > t;
    }
    return a.bits < b.bits ? -1 : a.bits > b.bits;
}

int iket_cell_compare(const iket_cell *a, const iket_cell *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind == IKET_CELL_TEXT) return strcmp(a->text, b->text);
    if (a->kind == IKET_CELL_PAYLOAD) return a->payload.type != b->payload.type ? (a->payload.type < b->payload.type ? -1 : 1) : compare_payloads(a->payload, b->payload);
    if (a->negative != b->negative) return a->negative ? -1 : 1;
    int order = a->number < b->number ? -1 : a->number > b->number;
    return a->negative ? -order : order;
}
