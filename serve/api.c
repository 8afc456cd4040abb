// SPDX-License-Identifier: Apache-2.0
#include "serve/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/utf8.h"
#include "common/version.h"
#include "serve/jobs.h"
#include "serve/listing.h"
#include "serve/view.h"

// A file's name may be any bytes.
static void write_string(iket_sink *sink, const char *text) {
    char *clean = iket_utf8_clean(text, strlen(text));
    iket_json_string(sink, clean != NULL ? clean : "");
    free(clean);
}

static enum MHD_Result reply(const iket_request *request, iket_sink *sink, iket_memory *document) {
    if (iket_sink_close(sink, NULL) == 0) return iket_reply_document(request, MHD_HTTP_OK, "application/json", document, IKET_POLICY_INERT);
    free(document->data);
    return MHD_NO;
}

enum MHD_Result iket_api_reply_server(const iket_site *site, const iket_request *request) {
    char ui_url[IKET_UI_URL];
    iket_memory document = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    iket_site_ui_url(site, request, ui_url);
    iket_sink_printf(&sink, "{\"version\":1,\"server\":\"iket-serve %s\",\"uiUrl\":", IKET_VERSION);
    if (ui_url[0] != 0) {
        iket_json_string(&sink, ui_url);
    } else {
        iket_sink_text(&sink, "null");
    }
    iket_sink_text(&sink, "}\n");
    return reply(request, &sink, &document);
}

static void write_facts(iket_sink *sink, iket_jobs *jobs, const iket_catalog_trace *trace) {
    iket_facts facts;
    iket_error err;
    iket_job_state state = iket_jobs_facts(jobs, trace, &facts, &err);
    if (state == IKET_JOB_FAILED) {
        iket_sink_text(sink, ",\"error\":");
        write_string(sink, err.message);
    }
    if (state == IKET_JOB_PENDING) iket_sink_text(sink, ",\"pending\":true");
    if (state != IKET_JOB_DONE) return;
    iket_sink_printf(sink, ",\"facts\":{\"launches\":%" PRIu64 ",\"warps\":%" PRIu64 ",\"markers\":%" PRIu64 ",\"ranges\":%" PRIu64 ",\"span_ns\":%" PRIu64 ",\"diagnostics\":%" PRIu64
                     ",\"kernel_names\":%u,\"kernels\":[", facts.launches, facts.warps, facts.markers, facts.ranges, facts.span, facts.notes, facts.kernel_count);
    for (size_t i = 0; i < IKET_FACTS_KERNELS && i < facts.kernel_count; i++) {
        iket_sink_text(sink, i > 0 ? ",{\"name\":" : "{\"name\":");
        write_string(sink, facts.kernels[i].name);
        iket_sink_printf(sink, ",\"launches\":%" PRIu64 "}", facts.kernels[i].launches);
    }
    iket_sink_text(sink, "]}");
}

static void write_name(iket_sink *sink, const iket_catalog_trace *trace, const char *ending) {
    char *name;
    if (asprintf(&name, "%s%s", trace->base, ending) < 0) name = NULL;
    write_string(sink, name != NULL ? name : "");
    free(name);
}

static void write_trace(iket_sink *sink, const iket_site *site, const iket_catalog_trace *trace) {
    iket_sink_text(sink, "{\"folder\":");
    write_string(sink, trace->folder);
    iket_sink_text(sink, ",\"base\":");
    write_string(sink, trace->base);
    iket_sink_text(sink, ",\"page\":");
    write_name(sink, trace, iket_view_page_ending(trace));
    iket_sink_printf(sink, ",\"modified\":%" PRId64 ",\"files\":[", trace->modified);
    int any = 0;
    for (iket_file_kind kind = 0; kind < IKET_FILE_KINDS; kind++) {
        if (!trace->files[kind].there) continue;
        iket_sink_text(sink, any ? ",{\"name\":" : "{\"name\":");
        write_name(sink, trace, iket_file_ending(kind));
        iket_sink_printf(sink, ",\"size\":%" PRIu64 ",\"modified\":%" PRId64 "}", trace->files[kind].size, trace->files[kind].modified);
        any = 1;
    }
    iket_sink_text(sink, "]");
    write_facts(sink, site->jobs, trace);
    iket_sink_text(sink, "}");
}

enum MHD_Result iket_api_reply_traces(const iket_site *site, const iket_request *request) {
    iket_memory document = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    const iket_catalog *catalog = iket_listing_borrow(site->listing, &site->root, "", NULL);
    if (catalog == NULL) {
        iket_sink_drop(&sink);
        return MHD_NO;
    }
    iket_sink_printf(&sink, "{\"version\":1,\"cut\":%s,\"traces\":[", catalog->cut ? "true" : "false");
    for (size_t i = 0; i < catalog->count; i++) {
        iket_sink_text(&sink, i > 0 ? ",\n" : "\n");
        write_trace(&sink, site, &catalog->traces[i]);
    }
    iket_sink_text(&sink, "\n]}\n");
    iket_listing_return(site->listing, catalog);
    return reply(request, &sink, &document);
}
