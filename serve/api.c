// SPDX-License-Identifier: Apache-2.0
#include "serve/api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/utf8.h"
#include "common/version.h"
#include "serve/catalog.h"

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

// The UI under the name by which this request came, since localhost here may be another machine's browser.
static void write_ui_url(iket_sink *sink, const iket_site *site, const iket_request *request) {
    char name[IKET_HOST_MAX];
    const char *host = iket_request_field(request, "Host");
    if (site->server->ui.daemon == NULL || host == NULL || !iket_host_split(host, name)) {
        iket_sink_text(sink, "null");
        return;
    }
    int six = strchr(name, ':') != NULL;
    iket_sink_printf(sink, "\"%s://%s%s%s:%u/\"", site->server->certificate != NULL ? "https" : "http", six ? "[" : "", name, six ? "]" : "",
                     (unsigned)site->server->ui.listener.port);
}

enum MHD_Result iket_api_reply_server(const iket_site *site, const iket_request *request) {
    iket_memory document = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    iket_sink_printf(&sink, "{\"version\":1,\"server\":\"iket-serve %s\",\"uiUrl\":", IKET_VERSION);
    write_ui_url(&sink, site, request);
    iket_sink_text(&sink, "}\n");
    return reply(request, &sink, &document);
}

static void write_trace(iket_sink *sink, const iket_catalog_trace *trace) {
    iket_sink_text(sink, "{\"folder\":");
    write_string(sink, trace->folder);
    iket_sink_text(sink, ",\"base\":");
    write_string(sink, trace->base);
    iket_sink_printf(sink, ",\"modified\":%" PRId64 ",\"files\":[", trace->modified);
    int any = 0;
    for (iket_file_kind kind = 0; kind < IKET_FILE_KINDS; kind++) {
        if (!trace->files[kind].there) continue;
        char *name = NULL;
        size_t room = strlen(trace->base) + strlen(iket_file_ending(kind)) + 1;
        if ((name = malloc(room)) == NULL) continue;
        strcpy(name, trace->base);
        strcat(name, iket_file_ending(kind));
        iket_sink_text(sink, any ? ",{\"name\":" : "{\"name\":");
        write_string(sink, name);
        iket_sink_printf(sink, ",\"size\":%" PRIu64 ",\"modified\":%" PRId64 "}", trace->files[kind].size, trace->files[kind].modified);
        any = 1;
        free(name);
    }
    iket_sink_text(sink, "]}");
}

enum MHD_Result iket_api_reply_traces(const iket_site *site, const iket_request *request) {
    iket_catalog catalog;
    iket_memory document = {0};
    iket_sink sink;
    if (iket_catalog_scan(&catalog, &site->root, "", NULL) != 0) return MHD_NO;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &document, NULL) != 0) {
        iket_catalog_free(&catalog);
        return MHD_NO;
    }
    iket_sink_printf(&sink, "{\"version\":1,\"cut\":%s,\"traces\":[", catalog.cut ? "true" : "false");
    for (size_t i = 0; i < catalog.count; i++) {
        iket_sink_text(&sink, i > 0 ? ",\n" : "\n");
        write_trace(&sink, &catalog.traces[i]);
    }
    iket_sink_text(&sink, "\n]}\n");
    iket_catalog_free(&catalog);
    return reply(request, &sink, &document);
}
