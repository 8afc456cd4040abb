// SPDX-License-Identifier: Apache-2.0
#include "serve/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/utf8.h"
#include "serve/file_reply.h"
#include "serve/jobs.h"
#include "serve/urlpath.h"
#include "viewer/page.h"

enum { POLICY_BYTES = 1024 };

static const char *page_policy(char text[POLICY_BYTES]) {
    snprintf(text, POLICY_BYTES, "%s; frame-ancestors 'self'", iket_page_security_policy());
    return text;
}

const char *iket_view_page_ending(const iket_catalog_trace *trace) {
    return trace->page == IKET_HTML_OURS || trace->page == IKET_HTML_OTHER_BUILD ? ".html" : IKET_VIEW_PAGE;
}

// Finds the trace that "FOLDER/BASE" + `ending` belongs to.
static int find(const iket_site *site, const char *path, const char *ending, iket_catalog_trace *trace) {
    char folder[IKET_PATH_MAX], base[IKET_PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name), tail = strlen(ending);
    if (length <= tail || strcmp(name + length - tail, ending) != 0) return 0;
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
    snprintf(base, sizeof base, "%.*s", (int)(length - tail), name);
    return iket_catalog_find(trace, &site->root, folder, base);
}

static enum MHD_Result reply_page(const iket_request *request, const iket_page_facts *facts) {
    char policy[POLICY_BYTES];
    iket_memory document = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    int failed = iket_page_write(&sink, facts, NULL) != 0;
    if (failed) iket_sink_drop(&sink);
    if (failed || iket_sink_close(&sink, NULL) != 0) {
        free(document.data);
        return MHD_NO;
    }
    return iket_reply_document(request, MHD_HTTP_OK, "text/html; charset=utf-8", &document, page_policy(policy));
}

// The page over the files that lie in the folder.
static enum MHD_Result reply_page_of_files(const iket_request *request, const iket_catalog_trace *trace) {
    char *base = iket_utf8_clean(trace->base, strlen(trace->base));
    if (base == NULL) return MHD_NO;
    const iket_catalog_file *files = trace->files;
    iket_page_facts facts = {
        .title = base,
        .base = base,
        .files = (files[IKET_FILE_PFTRACE].there ? IKET_PAGE_PFTRACE : 0u) | (files[IKET_FILE_PFTRACE_GZ].there ? IKET_PAGE_PFTRACE_GZ : 0u) |
                 (files[IKET_FILE_JSON].there ? IKET_PAGE_JSON : 0u),
        .pftrace_size = files[IKET_FILE_PFTRACE].size,
        .pftrace_gz_size = files[IKET_FILE_PFTRACE_GZ].size,
        .json_size = files[IKET_FILE_JSON].size,
    };
    enum MHD_Result result = reply_page(request, &facts);
    free(base);
    return result;
}

enum MHD_Result iket_view_reply_html(const iket_site *site, const iket_request *request, const char *path, int fd, const struct stat *info) {
    char policy[POLICY_BYTES];
    iket_catalog_trace trace;
    iket_html_state state = iket_html_state_of(fd);
    if (state == IKET_HTML_OTHER_BUILD && find(site, path, ".html", &trace)) {
        close(fd);
        enum MHD_Result result = reply_page_of_files(request, &trace);
        iket_catalog_free_trace(&trace);
        return result;
    }
    return iket_reply_file(request, fd, info, path, state == IKET_HTML_OURS ? page_policy(policy) : NULL, NULL);
}

// Asks again by itself. It runs no script: the refresh is the browser's.
static enum MHD_Result reply_waiting(const iket_request *request, const iket_catalog_trace *trace, unsigned seconds) {
    iket_memory document = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &document, NULL) != 0) return MHD_NO;
    iket_sink_text(&sink,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"refresh\" content=\"1\">\n<title>Decoding ");
    iket_html_text(&sink, trace->base);
    iket_sink_text(&sink, "</title>\n<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:4em auto;padding:0 1em}</style>\n<h1>Decoding ");
    iket_html_text(&sink, trace->base);
    iket_sink_text(&sink, "</h1>\n<p role=\"status\">");
    if (seconds > 0) {
        iket_sink_printf(&sink, "For %u second%s so far.", seconds, seconds == 1 ? "" : "s");
    } else {
        iket_sink_text(&sink, "It has its turn in a moment.");
    }
    iket_sink_text(&sink, " The timeline appears here when it is ready; the result is kept for the next time.</p>\n</html>\n");
    if (iket_sink_close(&sink, NULL) == 0) return iket_reply_document(request, MHD_HTTP_ACCEPTED, "text/html; charset=utf-8", &document, IKET_POLICY_STILL_PAGE);
    free(document.data);
    return MHD_NO;
}

static enum MHD_Result reply_failed(const iket_request *request, const iket_error *err) {
    return iket_reply_error(request, MHD_HTTP_UNPROCESSABLE_CONTENT, NULL, NULL, "This trace cannot be decoded. %s", err->message);
}

// The page over what was decoded on demand; `fd` is that.
static enum MHD_Result reply_page_of_decoded(const iket_request *request, const iket_catalog_trace *trace, int fd) {
    struct stat info;
    char *title = iket_utf8_clean(trace->base, strlen(trace->base)), *base = NULL;
    enum MHD_Result result = MHD_NO;
    if (title != NULL && asprintf(&base, "%s.iket", title) >= 0 && fstat(fd, &info) == 0) {
        iket_page_facts facts = {.title = title, .base = base, .files = IKET_PAGE_PFTRACE, .pftrace_size = (uint64_t)info.st_size};
        result = reply_page(request, &facts);
    }
    free(title);
    free(base);
    return result;
}

static enum MHD_Result reply_view_page(const iket_site *site, const iket_request *request, const iket_catalog_trace *trace) {
    iket_error err;
    int fd;
    unsigned seconds;
    switch (iket_jobs_pftrace(site->jobs, trace, &fd, &seconds, &err)) {
    case IKET_JOB_PENDING: return reply_waiting(request, trace, seconds);
    case IKET_JOB_FAILED: return reply_failed(request, &err);
    case IKET_JOB_NONE: return reply_page_of_files(request, trace);
    case IKET_JOB_DONE: break;
    }
    enum MHD_Result result = reply_page_of_decoded(request, trace, fd);
    close(fd);
    return result;
}

static enum MHD_Result reply_view_trace(const iket_site *site, const iket_request *request, const iket_catalog_trace *trace) {
    iket_error err;
    int fd;
    unsigned seconds;
    struct stat info;
    switch (iket_jobs_pftrace(site->jobs, trace, &fd, &seconds, &err)) {
    case IKET_JOB_PENDING: return iket_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1", "The trace is being decoded. Ask again in a second.");
    case IKET_JOB_FAILED: return reply_failed(request, &err);
    case IKET_JOB_NONE: return iket_reply_error(request, MHD_HTTP_NOT_FOUND, NULL, NULL, "There is nothing here to decode it from.");
    case IKET_JOB_DONE: break;
    }
    if (fstat(fd, &info) == 0) return iket_reply_file(request, fd, &info, IKET_VIEW_TRACE, NULL, NULL);
    close(fd);
    return MHD_NO;
}

int iket_view_reply(const iket_site *site, const iket_request *request, const char *path, enum MHD_Result *result) {
    iket_catalog_trace trace;
    if (find(site, path, IKET_VIEW_PAGE, &trace)) {
        *result = reply_view_page(site, request, &trace);
    } else if (find(site, path, IKET_VIEW_TRACE, &trace)) {
        *result = reply_view_trace(site, request, &trace);
    } else {
        return 0;
    }
    iket_catalog_free_trace(&trace);
    return 1;
}
