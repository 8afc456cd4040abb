// SPDX-License-Identifier: Apache-2.0
#include "serve/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/urlpath.h"

const char *iket_request_field(const iket_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void iket_reply_add_common(const iket_request *request, struct MHD_Response *response, const char *policy) {
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Vary", "Origin");
    if (policy != NULL) MHD_add_response_header(response, "Content-Security-Policy", policy);
    if (request->allowed_origin != NULL) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", request->allowed_origin);
        MHD_add_response_header(response, "Access-Control-Expose-Headers", "Accept-Ranges, Content-Range, Content-Length, ETag");
    }
    if (request->closing) MHD_add_response_header(response, "Connection", "close");
}

enum MHD_Result iket_reply(const iket_request *request, unsigned status, struct MHD_Response *response, const char *policy) {
    if (response == NULL) return MHD_NO;
    iket_reply_add_common(request, response, policy);
    enum MHD_Result result = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result iket_reply_document(const iket_request *request, unsigned status, const char *type, iket_memory *document, const char *policy) {
    struct MHD_Response *response = MHD_create_response_from_buffer(document->used, document->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) free(document->data);
    *document = (iket_memory){0};
    if (response == NULL) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    return iket_reply(request, status, response, policy);
}

enum MHD_Result iket_reply_empty(const iket_request *request, unsigned status, const char *field, const char *value) {
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (response != NULL && field != NULL) MHD_add_response_header(response, field, value);
    return iket_reply(request, status, response, NULL);
}

// Query arguments come as they were sent: percent-encoded.
typedef struct {
    iket_sink sink;
    const char *without;
    int any;
} arguments;

static enum MHD_Result add_argument(void *context, enum MHD_ValueKind kind, const char *key, const char *value) {
    arguments *a = context;
    (void)kind;
    if (a->without != NULL && strcasecmp(key, a->without) == 0) return MHD_YES;
    iket_sink_text(&a->sink, a->any ? "&" : "?");
    iket_sink_text(&a->sink, key);
    if (value != NULL) iket_sink_text(&a->sink, "=");
    if (value != NULL) iket_sink_text(&a->sink, value);
    a->any = 1;
    return MHD_YES;
}

enum MHD_Result iket_reply_see_other(const iket_request *request, const char *name, const char *without, const char *with, const char *cookie) {
    iket_memory place = {0};
    arguments a = {.without = without};
    if (iket_sink_open(&a.sink, 0, iket_memory_flush, &place, NULL) != 0) return MHD_NO;
    iket_sink_text(&a.sink, "./");
    iket_sink_text(&a.sink, name);
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, add_argument, &a);
    if (with != NULL) add_argument(&a, MHD_GET_ARGUMENT_KIND, with, NULL);
    iket_sink_write(&a.sink, "", 1);
    enum MHD_Result result = MHD_NO;
    struct MHD_Response *response = iket_sink_close(&a.sink, NULL) == 0 ? MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT) : NULL;
    if (response != NULL) {
        MHD_add_response_header(response, "Location", (const char *)place.data);
        if (cookie != NULL) MHD_add_response_header(response, "Set-Cookie", cookie);
        MHD_add_response_header(response, "Cache-Control", "no-store");
        result = iket_reply(request, MHD_HTTP_SEE_OTHER, response, NULL);
    }
    free(place.data);
    return result;
}

static const char *title_of(unsigned status) {
    switch (status) {
    case 400: return "The request is not understood";
    case 401: return "A token is needed";
    case 403: return "Refused";
    case 404: return "Nothing here";
    case 405: return "Not this way";
    case 412: return "The file has changed";
    case 413: return "The request is too long";
    case 414: return "The address is too long";
    case 416: return "The file has no such part";
    case 422: return "It cannot be shown";
    case 503: return "Not now";
    default: return "That went wrong";
    }
}

enum MHD_Result iket_reply_error(const iket_request *request, unsigned status, const char *field, const char *value, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    iket_memory document = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 4096, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    iket_sink_printf(&sink,
                     "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%u: %s</title>\n"
                     "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:4em auto;padding:0 1em}code{font-size:.95em}</style>\n"
                     "<h1>%s</h1>\n<p>",
                     status, title_of(status), title_of(status));
    iket_html_text(&sink, text);
    iket_sink_printf(&sink, "</p>\n<p><small>%u, from iket-serve</small></p>\n</html>\n", status);
    if (iket_sink_close(&sink, NULL) != 0) {
        free(document.data);
        return MHD_NO;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(document.used, document.data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(document.data);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", "text/html; charset=utf-8");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (field != NULL) MHD_add_response_header(response, field, value);
    return iket_reply(request, status, response, IKET_POLICY_STILL_PAGE);
}
