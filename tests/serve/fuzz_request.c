// SPDX-License-Identifier: Apache-2.0
// fuzz_request.c: any bytes as the fields of a request, a line each: path, Range, a tag list, a date, Host, Origin, Cookie,
// Authorization. What is promised of each is checked.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/access.h"
#include "serve/ranges.h"
#include "serve/urlpath.h"
#include "serve/validators.h"
#include "serve/view.h"
#include "tests/fuzz/target.h"

enum { LINES = 8, SIZES = 5 };
#define TOKEN "0123456789abcdef-token"

static void promise(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "a promise is not kept: %s\n", what);
    abort();
}

static void check_path(const char *raw) {
    char path[IKET_PATH_MAX], again[IKET_PATH_MAX];
    if (iket_path_decode(raw, path) != IKET_PATH_OK) return;
    promise(strlen(path) < sizeof path, "a path fits");
    promise(path[0] != '/' && strstr(path, "//") == NULL, "no component is empty");
    promise(path[0] != '.' && strstr(path, "/.") == NULL, "no component begins with a dot");
    for (const char *c = path; *c != 0; c++) promise((unsigned char)*c >= ' ' && *c != 0x7F, "no control character");
    iket_memory url = {0}, html = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 64, iket_memory_flush, &url, NULL) != 0) abort();
    iket_sink_text(&sink, "/");
    iket_path_encode(&sink, path);
    iket_sink_write(&sink, "", 1);
    if (iket_sink_close(&sink, NULL) != 0) abort();
    promise(iket_path_decode((const char *)url.data, again) == IKET_PATH_OK && strcmp(path, again) == 0, "an encoded path decodes to itself");
    if (iket_sink_open(&sink, 64, iket_memory_flush, &html, NULL) != 0) abort();
    iket_html_text(&sink, path);
    if (iket_sink_close(&sink, NULL) != 0) abort();
    if (html.used > 0) promise(memchr(html.data, '<', html.used) == NULL && memchr(html.data, '"', html.used) == NULL && memchr(html.data, '\'', html.used) == NULL, "text stays text");
    free(url.data);
    free(html.data);
}

static void check_argument(const char *raw) {
    char *text = strdup(raw), base[IKET_PATH_MAX], selection[IKET_PATH_MAX];
    if (text == NULL) abort();
    if (iket_argument_decode(text)) promise(strlen(text) <= strlen(raw), "an argument does not grow");
    if (iket_view_split(text, strlen(text), base, selection)) promise(base[0] != 0 && strlen(base) + strlen(selection) < strlen(text), "a part has a base");
    free(text);
}

static void check_ranges(const char *field) {
    static const uint64_t sizes[SIZES] = {0, 1, 1000, (uint64_t)1 << 40, INT64_MAX};
    for (size_t i = 0; i < SIZES; i++) {
        iket_ranges ranges;
        uint64_t total = 0;
        iket_ranges_verdict verdict = iket_ranges_parse(field, sizes[i], &ranges);
        if (verdict == IKET_RANGES_SOME) promise(ranges.count > 0 && ranges.count <= IKET_RANGES_MAX, "a sane number of ranges");
        for (size_t k = 0; verdict == IKET_RANGES_SOME && k < ranges.count; k++) {
            promise(ranges.spans[k].first <= ranges.spans[k].last && ranges.spans[k].last < sizes[i], "a range lies in the file");
            total += ranges.spans[k].last - ranges.spans[k].first + 1;
        }
        promise(total <= sizes[i], "the ranges are no longer than the file");
    }
}

static void check_conditions(const char *tags, const char *date) {
    struct stat info = {.st_ino = 1, .st_size = 2, .st_mtim = {1700000000, 0}};
    iket_validators validators;
    iket_validators_of(&info, &validators);
    const iket_conditions all[] = {{.if_match = tags}, {.if_none_match = tags}, {.if_modified_since = date}, {.if_unmodified_since = date}, {tags, tags, date, date, date}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) (void)iket_conditions_judge(&all[i], &validators);
    iket_conditions range = {.if_range = tags};
    if (iket_conditions_allow_range(&range, &validators) && tags[0] == '"') promise(strcmp(tags, validators.etag) == 0, "If-Range compares strongly");
}

static void check_access(const char *host, const char *origin, const char *cookie, const char *authorization) {
    iket_access access = {.hosts = {"box.example"}, .host_count = 1, .origins = {"https://ui.perfetto.dev"}, .origin_count = 1, .token = TOKEN, .cookie = "iket-8080"};
    char name[IKET_HOST_MAX];
    if (iket_access_allows_host(&access, host)) {
        promise(iket_host_split(host, name), "an allowed host is a host");
        promise(iket_host_is_loopback(name) || strcmp(name, "box.example") == 0, "nobody else's name is allowed");
    }
    if (iket_access_judge_origin(&access, origin) == IKET_ORIGIN_READER) promise(strlen(origin) == strlen(access.origins[0]), "only the UI reads");
    if (iket_access_has_token(&access, cookie, authorization)) promise(strstr(cookie, TOKEN) != NULL || strstr(authorization, TOKEN) != NULL, "no way in without the token");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *lines[LINES], *text = malloc(size + 1);
    if (text == NULL) abort();
    if (size > 0) memcpy(text, data, size);
    text[size] = 0;
    char *at = text;
    for (size_t i = 0; i < LINES; i++) {
        lines[i] = at;
        at += strcspn(at, "\n");
        if (*at != 0) *at++ = 0;
    }
    check_path(lines[0]);
    if (strlen(lines[0]) < IKET_PATH_MAX) check_argument(lines[0]);
    check_ranges(lines[1]);
    check_conditions(lines[2], lines[3]);
    check_access(lines[4], lines[5], lines[6], lines[7]);
    free(text);
    return 0;
}
