// SPDX-License-Identifier: Apache-2.0
// The JSON scanner against yajl: the same events on a corpus and on mutations of it, or an error from both; tokens across
// every place of the window's border; skipping; exact integers; UTF-8.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "common/sink.h"
#include "common/utf8.h"
#include "decode/json_scan.h"
#include "tests/unit/check.h"

enum { DEPTH = 512, MUTATIONS = 30000 };

// ---- a document as a line of events -----------------------------------------------------------------------------------

typedef struct events {
    iket_memory memory;
} events;

static void note(events *e, char kind, const char *text, size_t size) {
    char *clean = iket_utf8_clean(text, size);
    iket_memory_flush(&e->memory, &kind, 1, NULL);
    iket_memory_flush(&e->memory, clean, strlen(clean), NULL);
    iket_memory_flush(&e->memory, "\n", 1, NULL);
    free(clean);
}

static int on_null(void *c) { return note(c, 'n', "", 0), 1; }
static int on_bool(void *c, int value) { return note(c, value ? 't' : 'f', "", 0), 1; }
static int on_number(void *c, const char *text, size_t size) { return note(c, '#', text, size), 1; }
static int on_string(void *c, const unsigned char *text, size_t size) { return note(c, 's', (const char *)text, size), 1; }
static int on_key(void *c, const unsigned char *text, size_t size) { return note(c, 'k', (const char *)text, size), 1; }
static int on_object(void *c) { return note(c, '{', "", 0), 1; }
static int on_object_end(void *c) { return note(c, '}', "", 0), 1; }
static int on_array(void *c) { return note(c, '[', "", 0), 1; }
static int on_array_end(void *c) { return note(c, ']', "", 0), 1; }

// What yajl says; 0: no error.
static int judge(const char *text, size_t size, events *e) {
    static const yajl_callbacks callbacks = {on_null, on_bool, NULL, NULL, on_number, on_string, on_object, on_key, on_object_end, on_array, on_array_end};
    yajl_handle handle = yajl_alloc(&callbacks, NULL, e);
    yajl_config(handle, yajl_dont_validate_strings, 1);
    yajl_status status = yajl_parse(handle, (const unsigned char *)text, size);
    if (status == yajl_status_ok) status = yajl_complete_parse(handle);
    yajl_free(handle);
    return status == yajl_status_ok ? 0 : -1;
}

static int scalar(iket_scan *scan, int c, events *e, iket_error *err) {
    iket_scan_text text;
    const char *utf8;
    size_t size;
    int flag;
    if (c == '"') {
        IKET_TRY(iket_scan_string(scan, &text, err));
        IKET_TRY(iket_scan_utf8(scan, &text, &utf8, &size, err));
        note(e, 's', utf8, size);
    } else if (c == 't' || c == 'f') {
        IKET_TRY(iket_scan_bool(scan, &flag, err));
        note(e, flag ? 't' : 'f', "", 0);
    } else if (c == 'n') {
        IKET_TRY(iket_scan_null(scan, err));
        note(e, 'n', "", 0);
    } else {
        IKET_TRY(iket_scan_number(scan, &text, err));
        note(e, '#', text.data, text.size);
    }
    return 0;
}

// Walks any document; depth is bound by the test's stack.
static int walk(iket_scan *scan, events *e, int depth, iket_error *err) {
    iket_scan_text key;
    int first = 1, more, c = iket_scan_peek(scan, err);
    if (depth > DEPTH) return -1;
    if (c == '{') {
        IKET_TRY(iket_scan_object(scan, err));
        note(e, '{', "", 0);
        while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
            note(e, 'k', key.data, key.size);
            IKET_TRY(walk(scan, e, depth + 1, err));
        }
        if (more == 0) note(e, '}', "", 0);
        return more;
    }
    if (c == '[') {
        IKET_TRY(iket_scan_array(scan, err));
        note(e, '[', "", 0);
        while ((more = iket_scan_item(scan, &first, err)) > 0) IKET_TRY(walk(scan, e, depth + 1, err));
        if (more == 0) note(e, ']', "", 0);
        return more;
    }
    return c < 0 ? -1 : scalar(scan, c, e, err);
}

typedef enum way { WALK, SKIP } way;

static int scan_bytes(const char *text, size_t size, events *e, way way_taken, iket_error *err) {
    iket_byte_source source;
    iket_scan scan;
    IKET_TRY(iket_byte_source_open_rest(&source, text, size, -1, err));
    iket_scan_start(&scan, &source);
    int result = way_taken == WALK ? walk(&scan, e, 0, err) : iket_scan_skip(&scan, err);
    if (result == 0) result = iket_scan_finish(&scan, err);
    iket_scan_stop(&scan);
    iket_byte_source_close(&source);
    return result;
}

static void compare(const char *text, size_t size) {
    events theirs = {{0}}, ours = {{0}};
    iket_error err = {""};
    int they = judge(text, size, &theirs), we = scan_bytes(text, size, &ours, WALK, &err);
    // yajl lets an unfinished string after the document's end pass.
    if (we != 0 && strstr(err.message, "something follows") != NULL) they = -1;
    CHECK(they == we, "yajl %d, we %d (%s) on %.*s", they, we, err.message, (int)size, text);
    if (they == 0 && we == 0) {
        int same = theirs.memory.used == ours.memory.used && memcmp(theirs.memory.data, ours.memory.data, ours.memory.used) == 0;
        CHECK(same, "other events on %.*s\n%.*s--\n%.*s", (int)size, text, (int)theirs.memory.used, (char *)theirs.memory.data, (int)ours.memory.used, (char *)ours.memory.data);
        CHECK(scan_bytes(text, size, NULL, SKIP, &err) == 0, "skip: %s on %.*s", err.message, (int)size, text);
    }
    if (we != 0) CHECK(strncmp(err.message, "byte 0x", 7) == 0, "no offset in '%s'", err.message);
    free(theirs.memory.data);
    free(ours.memory.data);
}

static const char *const corpus[] = {
    "{}", "[]", "null", "true", "false", "0", "-0", "1.5", "-2e10", "3E-5", "\"\"", "\"a\"", " [ 1 , 2 ] ", "{\"a\":1,\"b\":[{}]}",
    "{\"stringTable\":[\"a\",\"b\"],\"launches\":[{\"markers\":[{\"timestamp\":1796109977488247872,\"payloadVal\":18446744069414584319}]}]}",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\u00e9\\u20ac\\u0041\"]", "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]", "[[[[[[[[[[]]]]]]]]]]",
    "{\"a\":{\"b\":{\"c\":\"[{]}\"}}}", "[\"a string that is longer than one vector of sixteen bytes, and than four of them, to be sure\",{\"k\":[]}]",
    "[\"ends with backslashes \\\\\\\\\",\"x\"]", "\t\n\r 7", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33]",
    // errors
    "", " ", "{", "[", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "[1 2]", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "]", "}", "[}", "{]",
    "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\x01\"", "\"\n\"", "tru", "nul", "falsy", "nan", "-", "+1", ".5", "1.", "1e", "1e+", "01", "1 2",
    "[] []", "\x01", "{\"a\":1}x", "[1,,2]", "[,1]", "{,}", "{\"a\":,}", "'a'", "[1]]", "0x10", "1.5.5", "--1",
};

static void test_corpus(void) {
    for (size_t i = 0; i < sizeof corpus / sizeof corpus[0]; i++) compare(corpus[i], strlen(corpus[i]));
}

// The same sequence on every machine.
static uint32_t state = 1;
static uint32_t random_below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static void test_mutations(void) {
    static const char bytes[] = "{}[]\",:\\ 0123456789-+.eEtrufalsn\n\x01\x80\xff\xe2/";
    char text[512];
    for (int i = 0; i < MUTATIONS; i++) {
        const char *from = corpus[random_below(sizeof corpus / sizeof corpus[0])];
        size_t size = strlen(from);
        memcpy(text, from, size + 1);
        for (uint32_t n = 1 + random_below(3); n > 0 && size > 0 && size < sizeof text - 8; n--) {
            size_t at = random_below((uint32_t)size);
            switch (random_below(3)) {
            case 0: text[at] = bytes[random_below(sizeof bytes - 1)]; break;
            case 1: memmove(text + at, text + at + 1, --size - at); break;
            default:
                memmove(text + at + 1, text + at, size++ - at);
                text[at] = bytes[random_below(sizeof bytes - 1)];
            }
        }
        text[size] = 0;
        if (strstr(text, "\\ud") != NULL || strstr(text, "\\uD") != NULL) continue; // yajl makes '?' of lone surrogates
        compare(text, size);
    }
}

// A document that the window's border cuts at each of its bytes.
static void test_borders(void) {
    static const char document[] = "{\"key with \\u00e9\" : [true,false,null,-12.5e3,18446744073709551615, \"text \\\\ \\\"x\\\" \xc3\xa9\"],\"next\":{\"a\":[]} , \"last\":1796109977488247872}";
    const size_t window = 1 << 20, size = sizeof document - 1;
    char *text = malloc(window + size);
    events want = {{0}};
    judge(document, size, &want);
    for (size_t before = 0; before <= size; before++) {
        iket_error err = {""};
        events got = {{0}};
        memset(text, ' ', window - before);
        memcpy(text + window - before, document, size);
        CHECK(scan_bytes(text, window - before + size, &got, WALK, &err) == 0, "%zu bytes before the border: %s", before, err.message);
        CHECK(got.memory.used == want.memory.used && memcmp(got.memory.data, want.memory.data, want.memory.used) == 0, "%zu bytes before the border: other events", before);
        CHECK(scan_bytes(text, window - before + size, NULL, SKIP, &err) == 0, "skip, %zu bytes before the border: %s", before, err.message);
        // Cut off at the border: an error, never a wait or a crash.
        free(got.memory.data);
        got = (events){{0}};
        if (before < size) CHECK(scan_bytes(text, window, &got, WALK, &err) != 0, "cut off %zu bytes in, but no error", before);
        free(got.memory.data);
    }
    free(want.memory.data);
    free(text);
}

// ---- what yajl cannot judge -------------------------------------------------------------------------------------------

static void expect_utf8(const char *json, const char *want, size_t want_size) {
    iket_byte_source source;
    iket_scan scan;
    iket_scan_text text;
    iket_error err = {""};
    const char *got = NULL;
    size_t size = 0;
    int result = iket_byte_source_open_rest(&source, json, strlen(json), -1, &err);
    iket_scan_start(&scan, &source);
    if (result == 0) result = iket_scan_string(&scan, &text, &err);
    if (result == 0) result = iket_scan_utf8(&scan, &text, &got, &size, &err);
    CHECK(result == 0 && size == want_size && memcmp(got, want, want_size) == 0, "%s: %s '%.*s'", json, err.message, (int)size, got);
    iket_scan_stop(&scan);
    iket_byte_source_close(&source);
}

static void test_utf8(void) {
    expect_utf8("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
    expect_utf8("\"\\ud83d\"", "\xef\xbf\xbd", 3);
    expect_utf8("\"\\ude00x\"", "\xef\xbf\xbdx", 4);
    expect_utf8("\"\\ud83d\\u0041\"", "\xef\xbf\xbd" "A", 4);
    expect_utf8("\"\\u0000\"", "\0", 1);
    expect_utf8("\"\xc0\xaf\"", "\xef\xbf\xbd\xef\xbf\xbd", 6);             // overlong
    expect_utf8("\"\xed\xa0\x80\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 9); // a surrogate in UTF-8
    expect_utf8("\"\xe2\x82\"", "\xef\xbf\xbd\xef\xbf\xbd", 6);             // cut off
    expect_utf8("\"a\xffz\"", "a\xef\xbf\xbdz", 5);
}

static void expect_integer(const char *json, int fails, uint64_t want, int want_negative) {
    iket_byte_source source;
    iket_scan scan;
    iket_error err = {""};
    uint64_t got = 0;
    int negative = 0, result = iket_byte_source_open_rest(&source, json, strlen(json), -1, &err);
    iket_scan_start(&scan, &source);
    if (result == 0) result = iket_scan_integer(&scan, &got, &negative, &err);
    CHECK((result != 0) == fails, "%s: %s", json, err.message);
    if (!fails) CHECK(got == want && negative == want_negative, "%s: %llu", json, (unsigned long long)got);
    iket_scan_stop(&scan);
    iket_byte_source_close(&source);
}

static void test_integers(void) {
    static const char *const pads[] = {"", "                                 "}; // near the end and far from it
    static const struct {
        const char *text;
        int fails;
        uint64_t value;
        int negative;
    } cases[] = {{"0", 0, 0, 0}, {"18446744073709551615", 0, UINT64_MAX, 0}, {"18446744073709551616", 1, 0, 0}, {"1796109977488247872", 0, 1796109977488247872u, 0},
                 {"9999999999999999999", 0, 9999999999999999999u, 0}, {"99999999999999999999", 1, 0, 0}, {"-1", 0, 1, 1}, {"-9223372036854775808", 0, 9223372036854775808u, 1},
                 {"1.0", 1, 0, 0}, {"1e3", 1, 0, 0}, {"\"1\"", 1, 0, 0}, {"null", 1, 0, 0}, {"1.7961099774882478e18", 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int pad = 0; pad < 2; pad++) {
            char text[128];
            snprintf(text, sizeof text, "%s%s", cases[i].text, pads[pad]);
            expect_integer(text, cases[i].fails, cases[i].value, cases[i].negative);
        }
    }
}

int main(void) {
    test_corpus();
    test_mutations();
    test_borders();
    test_utf8();
    test_integers();
    return check_failures();
}
