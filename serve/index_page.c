// SPDX-License-Identifier: Apache-2.0
#include "serve/index_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/version.h"
#include "serve/catalog.h"
#include "serve/html.h"
#include "serve/jobs.h"
#include "serve/listing.h"
#include "serve/picture.h"
#include "serve/view.h"

extern const unsigned char iket_index_css[], iket_index_js[];
extern const size_t iket_index_css_size, iket_index_js_size;

const iket_asset iket_index_assets[] = {
    {"iket-serve/index.css", "text/css; charset=utf-8", iket_index_css, &iket_index_css_size},
    {"iket-serve/index.js", "text/javascript; charset=utf-8", iket_index_js, &iket_index_js_size},
    {NULL, NULL, NULL, NULL},
};

typedef struct {
    const iket_site *site;
    const char *folder;       // relative, that the page is about
    char ui_url[IKET_UI_URL]; // of the copy of the Perfetto UI, or ""
} index_page;

static const char *const labels[IKET_FILE_KINDS] = {"page", "pftrace", "pftrace.gz", "json", "json.gz", "dump", "collector"};

// The path of a trace from the folder that the page is about.
static const char *below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    path += length;
    return length > 0 && *path == '/' ? path + 1 : path;
}

static void write_address(iket_sink *sink, const char *place, const char *base, const char *ending) {
    iket_sink_text(sink, "./");
    iket_path_encode(sink, place);
    if (place[0] != 0) iket_sink_text(sink, "/");
    iket_path_encode(sink, base);
    iket_sink_text(sink, ending);
}

// A word of a shell's command line, quoted where it has to be.
static void write_word(iket_sink *sink, const char *folder, const char *path, const char *base) {
    iket_memory text = {0};
    iket_sink word;
    if (iket_sink_open(&word, 0, iket_memory_flush, &text, NULL) != 0) return;
    iket_sink_printf(&word, "%s/%s%s%s", folder, path, path[0] != 0 ? "/" : "", base);
    iket_sink_write(&word, "", 1);
    if (iket_sink_close(&word, NULL) == 0) {
        const char *at = (const char *)text.data;
        int plain = at[strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=@%:,")] == 0;
        if (!plain) iket_sink_text(sink, "&#39;");
        for (const char *quote; !plain && (quote = strchr(at, '\'')) != NULL; at = quote + 1) {
            char before[4096];
            size_t length = (size_t)(quote - at);
            if (length >= sizeof before) break;
            memcpy(before, at, length);
            before[length] = 0;
            iket_html_text(sink, before);
            iket_sink_text(sink, "&#39;\\&#39;&#39;");
        }
        iket_html_text(sink, at);
        if (!plain) iket_sink_text(sink, "&#39;");
    }
    free(text.data);
}

static void write_kernels(iket_sink *sink, const iket_facts *facts) {
    size_t listed = facts->kernel_count < IKET_FACTS_KERNELS ? facts->kernel_count : IKET_FACTS_KERNELS;
    iket_sink_text(sink, "<p class=\"kernels\">");
    for (size_t i = 0; i < listed; i++) {
        iket_sink_text(sink, i > 0 ? ", <code>" : "<code>");
        iket_html_text(sink, facts->kernels[i].name);
        iket_sink_text(sink, "</code>");
        if (facts->kernels[i].launches > 1 || facts->kernel_count > 1) iket_sink_printf(sink, " × %" PRIu64, facts->kernels[i].launches);
    }
    if (facts->kernel_count > listed) iket_sink_printf(sink, " and %zu more", (size_t)facts->kernel_count - listed);
    iket_sink_text(sink, "</p>");
    if (facts->notes == 0) return;
    iket_sink_text(sink, "<p class=\"damage\">");
    iket_html_text(sink, facts->note);
    if (facts->notes > 1) iket_sink_printf(sink, " (and %" PRIu64 " more)", facts->notes - 1);
    iket_sink_text(sink, "</p>");
}

// The picture's cell.
static void write_picture(iket_sink *sink, const iket_facts *facts) {
    iket_sink_text(sink, "<td class=\"picture\">");
    if (facts != NULL && facts->rows > 0) {
        iket_sink_text(sink, "<img alt=\"\" title=\"SMs from top to bottom, time from left to right: where warps are\" src=\"");
        iket_picture_write(sink, facts);
        iket_sink_text(sink, "\">");
    }
    iket_sink_text(sink, "</td>");
}

static void write_numbers(iket_sink *sink, const iket_facts *facts, iket_job_state state) {
    if (facts == NULL) {
        const char *instead = state == IKET_JOB_PENDING ? "<span class=\"pending\">…</span>" : "";
        for (int i = 0; i < 3; i++) iket_sink_printf(sink, "<td class=\"number\">%s</td>", instead);
        return;
    }
    iket_sink_text(sink, "<td class=\"number\">");
    iket_html_count(sink, facts->launches);
    iket_sink_text(sink, "</td><td class=\"number\">");
    iket_html_count(sink, facts->markers + facts->ranges);
    iket_sink_text(sink, "</td><td class=\"number\">");
    iket_html_span(sink, facts->span);
    iket_sink_text(sink, "</td>");
}

// How to decode it by hand, and the way to a part of it.
static void write_details(iket_sink *sink, const iket_site *site, const iket_catalog_trace *trace, const char *place) {
    int is_dump = trace->files[IKET_FILE_DUMP].there, is_collector = trace->files[IKET_FILE_COLLECTOR].there;
    if (!is_dump && !is_collector && !trace->files[IKET_FILE_JSON].there && !trace->files[IKET_FILE_JSON_GZ].there) return;
    iket_sink_printf(sink, "<details><summary>%s</summary>", is_dump ? "Raw dump, decoded when opened" : is_collector ? "Raw buffers of NVIDIA&#39;s collector, decoded when opened" : "A part of it");
    iket_sink_text(sink, "<form class=\"part\" data-of=\"");
    write_address(sink, place, trace->base, ".iket");
    iket_sink_text(sink,
        "\" hidden>Open only <label>launch <input name=\"launch\" size=\"6\" placeholder=\"0-3\"></label> <label>SM <input name=\"sm\" size=\"6\" placeholder=\"5\"></label> "
        "<label>warp <input name=\"warp\" size=\"6\" placeholder=\"0-3\"></label> <label>time <input name=\"time\" size=\"12\" placeholder=\"10us..20us\"></label> <button>Open</button></form>"
        "<p>Choose <a href=\"");
    write_address(sink, place, trace->base, IKET_VIEW_PAGE "?parts");
    iket_sink_text(sink, "\">a launch, a span of time or some SMs</a> of it.</p>");
    if (is_dump || is_collector) {
        iket_sink_text(sink, "For files to keep: <code>iket-decode ");
        write_word(sink, site->server->folder, trace->folder, trace->base);
        if (trace->meta.there) iket_sink_text(sink, " --meta ");
        if (trace->meta.there) write_word(sink, site->server->folder, trace->folder, is_dump ? "meta.json" : "iket.data.json");
        iket_sink_text(sink, "</code>");
        if (!trace->meta.there && is_collector) iket_sink_text(sink, " <strong>iket.data.json is missing beside it.</strong>");
    }
    iket_sink_text(sink, "</details>");
}

static void write_trace(iket_sink *sink, const index_page *page, const iket_catalog_trace *trace) {
    const iket_site *site = page->site;
    const char *place = below(page->folder, trace->folder);
    iket_facts facts;
    iket_error err;
    iket_job_state state = iket_jobs_facts(site->jobs, trace, &facts, &err);
    const iket_facts *known = state == IKET_JOB_DONE ? &facts : NULL;
    iket_sink_text(sink, "<tr>");
    write_picture(sink, known);
    iket_sink_text(sink, "<th scope=\"row\"><a class=\"open\" href=\"");
    write_address(sink, place, trace->base, iket_view_page_ending(trace));
    // The page hands its trace to the copy of the Perfetto UI that is served here.
    if (page->ui_url[0] != 0) iket_sink_text(sink, "?perfetto=");
    for (const char *c = page->ui_url; *c != 0; c++) iket_sink_printf(sink, strchr(":/[]", *c) != NULL ? "%%%02X" : "%c", (unsigned char)*c);
    iket_sink_text(sink, "\">");
    iket_html_text(sink, trace->base);
    iket_sink_text(sink, "</a>");
    if (known != NULL) write_kernels(sink, known);
    if (state == IKET_JOB_FAILED) {
        iket_sink_text(sink, "<p class=\"damage\">");
        iket_html_text(sink, err.message);
        iket_sink_text(sink, "</p>");
    }
    write_details(sink, site, trace, place);
    iket_sink_text(sink, "</th>");
    write_numbers(sink, known, state);
    iket_sink_text(sink, "<td class=\"files\">");
    for (iket_file_kind kind = 0; kind < IKET_FILE_KINDS; kind++) {
        const iket_catalog_file *file = &trace->files[kind];
        if (!file->there || kind == IKET_FILE_PAGE) continue;
        iket_sink_text(sink, "<a href=\"");
        write_address(sink, place, trace->base, iket_file_ending(kind));
        iket_sink_printf(sink, "\" download>%s <small>", labels[kind]);
        iket_html_size(sink, file->size);
        iket_sink_text(sink, "</small></a> ");
    }
    iket_sink_text(sink, "</td><td class=\"when\">");
    iket_html_time(sink, trace->modified);
    iket_sink_text(sink, "</td></tr>\n");
}

static void write_folder_head(iket_sink *sink, const index_page *page, const iket_catalog_trace *trace) {
    const char *place = below(page->folder, trace->folder);
    iket_sink_text(sink, "<tbody>\n");
    if (place[0] == 0) return;
    iket_sink_text(sink, "<tr class=\"folder\"><th scope=\"rowgroup\" colspan=\"7\"><h2><a href=\"");
    write_address(sink, "", place, "/");
    iket_sink_text(sink, "\">");
    iket_html_text(sink, place);
    iket_sink_text(sink, "</a></h2></th></tr>\n");
}

static void write_table_head(iket_sink *sink) {
    iket_sink_text(sink, "<table>\n<thead><tr><td></td><th scope=\"col\">Trace</th><th scope=\"col\" class=\"number\">Launches</th><th scope=\"col\" class=\"number\">Events</th>"
        "<th scope=\"col\" class=\"number\">Span</th><th scope=\"col\">Files</th><th scope=\"col\">Changed</th></tr></thead>\n");
}

static void write_head(iket_sink *sink, const index_page *page, const iket_catalog *catalog) {
    const iket_site *site = page->site;
    const char *folder = page->folder;
    iket_sink_text(sink,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Traces in ");
    iket_html_text(sink, folder[0] != 0 ? folder : site->server->folder);
    iket_sink_text(sink,
        "</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"./iket-serve/index.css\">\n"
        "<script src=\"./iket-serve/index.js\" defer></script>\n</head>\n<body>\n<header>\n<h1>Traces</h1>\n<p class=\"where\"><code>");
    iket_html_text(sink, site->server->folder);
    iket_sink_text(sink, folder[0] != 0 ? "/" : "");
    iket_html_text(sink, folder);
    iket_sink_printf(sink, "</code> <span id=\"count\">%zu trace%s</span>%s</p>\n", catalog->count, catalog->count == 1 ? "" : "s",
                     folder[0] != 0 ? " · <a href=\"../\">folder above</a>" : "");
    iket_sink_text(sink, "<input id=\"filter\" type=\"search\" placeholder=\"Filter by name or folder\" aria-label=\"Filter by name or folder\" hidden>\n</header>\n<main>\n");
    if (catalog->cut) iket_sink_text(sink, "<p class=\"note\">There is more here than this page lists: open a folder below, or serve a smaller one.</p>\n");
    if (catalog->count == 0) {
        iket_sink_text(sink,
            "<p class=\"note\">No trace yet. Files named <code>*.pftrace</code>, <code>*.trace.json</code> (or either with <code>.gz</code>), "
            "<code>dump.bin</code> and <code>iket.data.bin</code> appear here as they come; <code>iket-decode</code> writes them.</p>\n");
    }
}

static int write_page(iket_memory *document, const index_page *page, iket_error *err) {
    const iket_site *site = page->site;
    iket_sink sink;
    IKET_TRY(iket_sink_open(&sink, 0, iket_memory_flush, document, err));
    const iket_catalog *catalog = iket_listing_borrow(site->listing, &site->root, page->folder, err);
    if (catalog == NULL) {
        iket_sink_drop(&sink);
        return -1;
    }
    write_head(&sink, page, catalog);
    if (catalog->count > 0) write_table_head(&sink);
    for (size_t i = 0; i < catalog->count; i++) {
        int first = i == 0 || strcmp(catalog->traces[i].folder, catalog->traces[i - 1].folder) != 0;
        if (first && i > 0) iket_sink_text(&sink, "</tbody>\n");
        if (first) write_folder_head(&sink, page, &catalog->traces[i]);
        write_trace(&sink, page, &catalog->traces[i]);
    }
    if (catalog->count > 0) iket_sink_text(&sink, "</tbody>\n</table>\n");
    iket_sink_printf(&sink, "</main>\n<footer>iket-serve %s</footer>\n</body>\n</html>\n", IKET_VERSION);
    iket_listing_return(site->listing, catalog);
    return iket_sink_close(&sink, err);
}

enum MHD_Result iket_index_reply(const iket_site *site, const iket_request *request, const char *folder) {
    iket_memory document = {0};
    iket_error err;
    index_page page = {.site = site, .folder = folder};
    iket_site_ui_url(site, request, page.ui_url);
    if (write_page(&document, &page, &err) == 0) return iket_reply_document(request, MHD_HTTP_OK, "text/html; charset=utf-8", &document, IKET_POLICY_OWN_PAGE);
    free(document.data);
    return iket_reply_error(request, MHD_HTTP_NOT_FOUND, NULL, NULL, "There is no such folder.");
}

enum MHD_Result iket_index_reply_asset(const iket_request *request, const iket_asset *asset) {
    struct MHD_Response *response = MHD_create_response_from_buffer(*asset->size, (void *)(uintptr_t)asset->data, MHD_RESPMEM_PERSISTENT);
    if (response != NULL) {
        MHD_add_response_header(response, "Content-Type", asset->type);
        MHD_add_response_header(response, "Cache-Control", "no-cache");
        MHD_add_response_header(response, "ETag", "\"" IKET_VERSION "\"");
    }
    return iket_reply(request, MHD_HTTP_OK, response, NULL);
}
