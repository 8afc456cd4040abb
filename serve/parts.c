// SPDX-License-Identifier: Apache-2.0
// The parts are proposed so that each has about a quarter of what a browser can hold, and that there are some.
#include "serve/parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "serve/html.h"
#include "serve/picture.h"

enum { SLICES_MAX = 32, SM_GROUPS_MAX = 33, PARTS_LEAST = 8 };

typedef struct {
    iket_sink sink;
    const iket_catalog_trace *trace;
    const iket_facts *facts;
    uint64_t events, part_events;
} parts_page;

// The beginning of a link to a part; what follows are selectors, then end_link.
static void begin_link(parts_page *p, const char *selector) {
    iket_sink_text(&p->sink, "<a href=\"./");
    iket_path_encode(&p->sink, p->trace->base);
    iket_sink_printf(&p->sink, ".iket;%s=", selector);
}

static void end_link(parts_page *p) { iket_sink_text(&p->sink, ".html\">"); }

static void write_head(parts_page *p) {
    iket_sink *sink = &p->sink;
    iket_sink_text(sink,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    iket_html_text(sink, p->trace->base);
    iket_sink_text(sink, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"./iket-serve/index.css\">\n</head>\n<body>\n<header>\n<h1>");
    iket_html_text(sink, p->trace->base);
    iket_sink_text(sink, "</h1>\n<p class=\"where\"><a href=\"./\">All traces</a></p>\n</header>\n<main>\n<p class=\"note\">This trace has ");
    iket_html_count(sink, p->events);
    iket_sink_text(sink, " events in ");
    iket_html_span(sink, p->facts->span);
    iket_sink_text(sink, ". Open a part of it, or <a href=\"./");
    iket_path_encode(sink, p->trace->base);
    iket_sink_text(sink, ".iket.html\">all of it</a>.</p>\n");
    if (p->facts->rows == 0) return;
    iket_sink_text(sink, "<p><img class=\"overview\" alt=\"Where warps are: SMs from top to bottom, time from left to right\" src=\"");
    iket_picture_write(sink, p->facts);
    iket_sink_text(sink, "\"></p>\n");
}

static void write_launches(parts_page *p) {
    iket_sink *sink = &p->sink;
    uint64_t listed = p->facts->launches < IKET_FACTS_LAUNCHES ? p->facts->launches : IKET_FACTS_LAUNCHES;
    if (p->facts->launches < 2) return;
    iket_sink_text(sink,
        "<h2>By launch</h2>\n<table>\n<thead><tr><th scope=\"col\">Launch</th><th scope=\"col\">Kernel</th><th scope=\"col\" class=\"number\">Warps</th>"
        "<th scope=\"col\" class=\"number\">Events</th><th scope=\"col\" class=\"number\">At</th><th scope=\"col\" class=\"number\">Span</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < listed; i++) {
        iket_sink_text(sink, "<tr><th scope=\"row\">");
        begin_link(p, "launch");
        iket_path_encode(sink, p->facts->launch[i].ref);
        end_link(p);
        iket_html_text(sink, p->facts->launch[i].ref);
        iket_sink_text(sink, "</a></th><td><code>");
        iket_html_text(sink, p->facts->launch[i].kernel);
        iket_sink_text(sink, "</code></td><td class=\"number\">");
        iket_html_count(sink, p->facts->launch[i].warps);
        iket_sink_text(sink, "</td><td class=\"number\">");
        iket_html_count(sink, p->facts->launch[i].events);
        iket_sink_text(sink, "</td><td class=\"number\">");
        iket_html_span(sink, p->facts->launch[i].at);
        iket_sink_text(sink, "</td><td class=\"number\">");
        iket_html_span(sink, p->facts->launch[i].span);
        iket_sink_text(sink, "</td></tr>\n");
    }
    iket_sink_text(sink, "</tbody>\n</table>\n");
    if (p->facts->launches > listed) iket_sink_printf(sink, "<p>and %" PRIu64 " more: <code>launch=%" PRIu64 "-%" PRIu64 "</code> in the form of the index opens them.</p>\n", p->facts->launches - listed, listed, p->facts->launches - 1);
}

static void write_slices(parts_page *p) {
    uint64_t slices = p->events / p->part_events + 1;
    if (slices > SLICES_MAX) slices = SLICES_MAX;
    if (p->facts->span < slices) return;
    iket_sink_text(&p->sink, "<h2>By time</h2>\n<p class=\"parts\">");
    for (uint64_t i = 0; i < slices; i++) {
        uint64_t from = p->facts->span / slices * i, to = i + 1 < slices ? p->facts->span / slices * (i + 1) : p->facts->span;
        begin_link(p, "time");
        iket_sink_printf(&p->sink, "%" PRIu64 "..%" PRIu64, from, to);
        end_link(p);
        iket_html_span(&p->sink, from);
        iket_sink_text(&p->sink, " to ");
        iket_html_span(&p->sink, to);
        iket_sink_text(&p->sink, "</a> ");
    }
    iket_sink_text(&p->sink, "</p>\n");
}

static void write_sm_groups(parts_page *p) {
    uint64_t groups = p->events / p->part_events + 1, sms = (uint64_t)p->facts->last_sm + 1;
    if (p->facts->sm_count < 2 || p->facts->last_sm >= UINT32_MAX) return;
    if (groups > p->facts->sm_count) groups = p->facts->sm_count;
    if (groups > SM_GROUPS_MAX) groups = SM_GROUPS_MAX;
    iket_sink_text(&p->sink, "<h2>By SM</h2>\n<p class=\"parts\">");
    for (uint64_t i = 0; i < groups; i++) {
        uint64_t first = sms * i / groups, last = sms * (i + 1) / groups - 1;
        begin_link(p, "sm");
        iket_sink_printf(&p->sink, "%" PRIu64 "-%" PRIu64, first, last);
        end_link(p);
        iket_sink_printf(&p->sink, "SM %" PRIu64 " to %" PRIu64 "</a> ", first, last);
    }
    iket_sink_text(&p->sink, "</p>\n");
}

enum MHD_Result iket_parts_reply(const iket_request *request, const iket_catalog_trace *trace, const iket_facts *facts, uint64_t most_events) {
    iket_memory document = {0};
    uint64_t events = facts->markers + facts->ranges;
    parts_page p = {.trace = trace, .facts = facts, .events = events, .part_events = (most_events / 4 < events / PARTS_LEAST ? most_events / 4 : events / PARTS_LEAST) + 1};
    if (iket_sink_open(&p.sink, 0, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    write_head(&p);
    write_launches(&p);
    write_slices(&p);
    write_sm_groups(&p);
    iket_sink_text(&p.sink, "</main>\n</body>\n</html>\n");
    if (iket_sink_close(&p.sink, NULL) == 0) return iket_reply_document(request, MHD_HTTP_OK, "text/html; charset=utf-8", &document, IKET_POLICY_OWN_PAGE);
    free(document.data);
    return MHD_NO;
}
