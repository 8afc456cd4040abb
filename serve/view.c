// SPDX-License-Identifier: Apache-2.0
#include "serve/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/utf8.h"
#include "serve/file_reply.h"
#include "serve/jobs.h"
#include "serve/parts.h"
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

typedef enum { VIEW_PAGE, VIEW_PFTRACE, VIEW_JSON, VIEW_KINDS } view_kind;

static const char *const view_endings[VIEW_KINDS] = {".html", ".pftrace", ".trace.json"};
static const char view_mark[] = ".iket";

// What a path asks for: FOLDER/BASE + ".iket" + ";SELECTION" + ending.
typedef struct {
    char folder[IKET_PATH_MAX], base[IKET_PATH_MAX], selection[IKET_PATH_MAX];
    view_kind kind;
} view;

static const char *split_folder(const char *path, char folder[IKET_PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    snprintf(folder, IKET_PATH_MAX, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
    return slash != NULL ? slash + 1 : path;
}

// Where `ending` begins in `name`, or NULL.
static const char *find_ending(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0 ? name + length - tail : NULL;
}

int iket_view_split(const char *name, size_t length, char base[IKET_PATH_MAX], char selection[IKET_PATH_MAX]) {
    const char *end = name + length, *mark = name, *after = NULL;
    // The first mark that a selection or the end follows.
    while ((mark = strstr(mark, view_mark)) != NULL && mark < end) {
        after = mark + sizeof view_mark - 1;
        if (after == end || *after == ';') break;
        mark = after;
    }
    if (mark == NULL || mark >= end || mark == name) return 0;
    if (after < end) after++;
    snprintf(base, IKET_PATH_MAX, "%.*s", (int)(mark - name), name);
    snprintf(selection, IKET_PATH_MAX, "%.*s", (int)(end - after), after);
    return 1;
}

static int read_view(view *v, const char *path) {
    const char *name = split_folder(path, v->folder), *end = NULL;
    for (v->kind = 0; v->kind < VIEW_KINDS && (end = find_ending(name, view_endings[v->kind])) == NULL;) v->kind++;
    return end != NULL && iket_view_split(name, (size_t)(end - name), v->base, v->selection);
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

// The trace that a page lies beside.
static int find_beside(const iket_site *site, const char *path, iket_catalog_trace *trace) {
    char folder[IKET_PATH_MAX], base[IKET_PATH_MAX];
    const char *name = split_folder(path, folder), *end = find_ending(name, ".html");
    if (end == NULL) return 0;
    snprintf(base, sizeof base, "%.*s", (int)(end - name), name);
    return iket_catalog_find(trace, &site->root, folder, base);
}

enum MHD_Result iket_view_reply_html(const iket_site *site, const iket_request *request, const char *path, int fd, const struct stat *info) {
    char policy[POLICY_BYTES];
    iket_catalog_trace trace;
    iket_html_state state = iket_html_state_of(fd);
    if (state == IKET_HTML_OTHER_BUILD && find_beside(site, path, &trace)) {
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

// The page over what is decoded on demand; `fd` is that, or -1 while it does not matter.
static enum MHD_Result reply_page_of_decoded(const iket_request *request, const view *v, int fd) {
    struct stat info = {0};
    const char *semicolon = v->selection[0] != 0 ? ";" : "";
    char *name = iket_utf8_clean(v->base, strlen(v->base)), *selection = iket_utf8_clean(v->selection, strlen(v->selection)), *base = NULL, *title = NULL;
    enum MHD_Result result = MHD_NO;
    if (name != NULL && selection != NULL && asprintf(&base, "%s%s%s%s", name, view_mark, semicolon, selection) >= 0 &&
        asprintf(&title, "%s%s%s", name, semicolon, selection) >= 0 && (fd < 0 || fstat(fd, &info) == 0)) {
        iket_page_facts facts = {.title = title, .base = base, .files = IKET_PAGE_PFTRACE, .pftrace_size = (uint64_t)info.st_size};
        result = reply_page(request, &facts);
    }
    free(name);
    free(selection);
    free(base);
    free(title);
    return result;
}

static enum MHD_Result reply_nothing_to_decode(const iket_request *request, const iket_catalog_trace *trace, const view *v) {
    if (v->kind == VIEW_PAGE && v->selection[0] == 0) return reply_page_of_files(request, trace);
    return iket_reply_error(request, MHD_HTTP_NOT_FOUND, NULL, NULL, "There is nothing here to decode it from: that takes a dump, the buffers of NVIDIA's collector or a .trace.json.");
}

static int has_argument(const iket_request *request, const char *name) {
    return MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), NULL, NULL) == MHD_YES;
}

static int is_large(const iket_facts *facts, const iket_site *site) { return facts->markers + facts->ranges > site->server->settings->most_events; }

// To the page that asks for what it draws, and not for the whole trace.
static enum MHD_Result lead_to_levels(const iket_request *request, const view *v) {
    iket_memory name = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &name, NULL) != 0) return MHD_NO;
    iket_path_encode(&sink, v->base);
    iket_sink_write(&sink, IKET_VIEW_PAGE, sizeof IKET_VIEW_PAGE);
    enum MHD_Result result = iket_sink_close(&sink, NULL) == 0 ? iket_reply_see_other(request, (const char *)name.data, NULL, "levels", NULL) : MHD_NO;
    free(name.data);
    return result;
}

// What is in the trace, to choose a part of. Only its facts are needed.
static enum MHD_Result reply_parts(const iket_site *site, const iket_request *request, const iket_catalog_trace *trace, const view *v) {
    iket_export export = {.selection = "", .most_events = 1};
    iket_facts facts;
    iket_error err;
    iket_job_state state = IKET_JOB_DONE;
    int fd = -1;
    unsigned seconds = 0;
    if (!iket_jobs_known_facts(site->jobs, trace, &facts)) {
        state = iket_jobs_export(site->jobs, trace, &export, &fd, &seconds, &err);
        if (fd >= 0) close(fd);
        if (state == IKET_JOB_FAILED) return reply_failed(request, &err);
        if (state == IKET_JOB_PENDING) return reply_waiting(request, trace, seconds);
        if (!iket_jobs_known_facts(site->jobs, trace, &facts)) return reply_nothing_to_decode(request, trace, v);
    }
    return iket_parts_reply(request, trace, &facts, site->server->settings->most_events);
}

static enum MHD_Result reply_view(const iket_site *site, const iket_request *request, const iket_catalog_trace *trace, const view *v) {
    char key[IKET_KEY_MAX];
    int is_page = v->kind == VIEW_PAGE, is_whole_page = is_page && v->selection[0] == 0;
    if (iket_cache_key(trace, key) == IKET_FILE_KINDS) return reply_nothing_to_decode(request, trace, v);
    if (is_page && has_argument(request, "levels")) return reply_page_of_decoded(request, v, -1);
    if (is_whole_page && has_argument(request, "parts")) return reply_parts(site, request, trace, v);
    int may_be_large = is_whole_page && !has_argument(request, "all");
    iket_export export = {.selection = v->selection, .json = v->kind == VIEW_JSON, .most_events = may_be_large ? site->server->settings->most_events : 0};
    iket_error err;
    iket_facts facts;
    int fd;
    unsigned seconds;
    struct stat info;
    if (may_be_large && iket_jobs_known_facts(site->jobs, trace, &facts) && is_large(&facts, site)) return lead_to_levels(request, v);
    switch (iket_jobs_export(site->jobs, trace, &export, &fd, &seconds, &err)) {
    case IKET_JOB_NONE:
        if (may_be_large && iket_jobs_known_facts(site->jobs, trace, &facts)) return lead_to_levels(request, v);
        return iket_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1", "Too many traces wait to be decoded. Ask again in a second.");
    case IKET_JOB_FAILED: return reply_failed(request, &err);
    case IKET_JOB_PENDING:
        if (is_page) return reply_waiting(request, trace, seconds);
        return iket_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1", "The trace is being decoded. Ask again in a second.");
    case IKET_JOB_DONE: break;
    }
    if (!is_page && fstat(fd, &info) == 0) return iket_reply_file(request, fd, &info, view_endings[v->kind], NULL, NULL);
    enum MHD_Result result = is_page ? reply_page_of_decoded(request, v, fd) : MHD_NO;
    close(fd);
    return result;
}

int iket_view_reply(const iket_site *site, const iket_request *request, const char *path, enum MHD_Result *result) {
    view v;
    iket_catalog_trace trace;
    if (!read_view(&v, path) || !iket_catalog_find(&trace, &site->root, v.folder, v.base)) return 0;
    *result = reply_view(site, request, &trace, &v);
    iket_catalog_free_trace(&trace);
    return 1;
}
