// SPDX-License-Identifier: Apache-2.0
// page.c: fills the holes of the compiled-in page.
//
//     template: ...%IKET_TITLE%...%IKET_FACTS%...%IKET_SUMMARY%...
//                  HTML text      JSON data blocks: '<' only as \u003C, so that no text can end the element
#include "viewer/page.h"

#include <inttypes.h>
#include <string.h>

#include "common/version.h"
#include "viewer/page_template.h"

static void write_html_text(iket_sink *sink, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '<') iket_sink_text(sink, "&lt;");
        else if (*text == '>') iket_sink_text(sink, "&gt;");
        else if (*text == '&') iket_sink_text(sink, "&amp;");
        else iket_sink_write(sink, text, 1);
    }
}

// Copies a JSON text so that it can stand in a <script> element and be read as JavaScript as well: in valid JSON these
// characters occur in strings only.
static void write_embedded_json(iket_sink *sink, const char *json) {
    while (*json != '\0') {
        if (*json == '<') {
            iket_sink_text(sink, "\\u003C");
            json++;
        } else if (memcmp(json, "\xE2\x80", 2) == 0 && (json[2] == '\xA8' || json[2] == '\xA9')) {
            iket_sink_text(sink, json[2] == '\xA8' ? "\\u2028" : "\\u2029");
            json += 3;
        } else {
            iket_sink_write(sink, json, 1);
            json++;
        }
    }
}

static void write_json_string(iket_sink *sink, const char *text) {
    iket_sink_text(sink, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c == '<' || c < 0x20) iket_sink_printf(sink, "\\u%04x", c);
        else iket_sink_write(sink, text, 1);
    }
    iket_sink_text(sink, "\"");
}

static void write_facts(iket_sink *sink, const iket_page_facts *facts) {
    const struct {
        unsigned flag;
        const char *suffix;
        uint64_t size;
    } files[] = {
        {IKET_PAGE_PFTRACE, ".pftrace", facts->pftrace_size},
        {IKET_PAGE_PFTRACE_GZ, ".pftrace.gz", facts->pftrace_gz_size},
        {IKET_PAGE_JSON, ".trace.json", facts->json_size},
    };
    iket_sink_text(sink, "{\"title\":");
    write_json_string(sink, facts->title);
    iket_sink_text(sink, ",\"base\":");
    write_json_string(sink, facts->base);
    iket_sink_text(sink, ",\"version\":\"" IKET_VERSION "\",\"files\":[");
    const char *comma = "";
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!(facts->files & files[i].flag)) continue;
        iket_sink_printf(sink, "%s{\"suffix\":\"%s\",\"size\":%" PRIu64 "}", comma, files[i].suffix, files[i].size);
        comma = ",";
    }
    iket_sink_text(sink, "]}");
}

// Copies the template from *at up to the hole and steps over it.
static int copy_to_hole(iket_sink *sink, size_t *at, const char *hole, iket_error *err) {
    const unsigned char *from = iket_page_template + *at;
    size_t left = iket_page_template_size - *at;
    const unsigned char *found = memmem(from, left, hole, strlen(hole));
    if (found == NULL) return iket_fail(err, "the page's template lacks %s", hole);
    iket_sink_write(sink, from, (size_t)(found - from));
    *at += (size_t)(found - from) + strlen(hole);
    return 0;
}

int iket_page_write(iket_sink *sink, const iket_page_facts *facts, iket_error *err) {
    size_t at = 0;
    IKET_TRY(copy_to_hole(sink, &at, "%IKET_TITLE%", err));
    write_html_text(sink, facts->title);
    IKET_TRY(copy_to_hole(sink, &at, "%IKET_FACTS%", err));
    write_facts(sink, facts);
    IKET_TRY(copy_to_hole(sink, &at, "%IKET_SUMMARY%", err));
    write_embedded_json(sink, facts->summary_json != NULL ? facts->summary_json : "null");
    iket_sink_write(sink, iket_page_template + at, iket_page_template_size - at);
    return iket_sink_flush(sink, err);
}

const char *iket_page_security_policy(void) { return iket_page_policy; }
