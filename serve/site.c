// SPDX-License-Identifier: Apache-2.0
// From a request to its answer: first whether it may ask, then what it asks for.
#include "serve/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/api.h"
#include "serve/file_reply.h"
#include "serve/index_page.h"
#include "serve/questions.h"
#include "serve/reply.h"
#include "serve/urlpath.h"
#include "serve/view.h"

void iket_site_ui_url(const iket_site *site, const struct iket_request *request, char url[IKET_UI_URL]) {
    char name[IKET_HOST_MAX];
    const char *host = iket_request_field(request, "Host");
    url[0] = 0;
    if (site->server->ui.daemon == NULL || host == NULL || !iket_host_split(host, name)) return;
    int six = strchr(name, ':') != NULL;
    snprintf(url, IKET_UI_URL, "%s://%s%s%s:%u", site->server->certificate != NULL ? "https" : "http", six ? "[" : "", name, six ? "]" : "", (unsigned)site->server->ui.listener.port);
}

static enum MHD_Result not_found(const iket_request *request) {
    return iket_reply_error(request, MHD_HTTP_NOT_FOUND, NULL, NULL,
                            "There is no such file in the served folder. Hidden files, and symbolic links that lead out of the folder, are not served.");
}

static int ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), e = strlen(ending);
    return n >= e && strcmp(text + n - e, ending) == 0;
}

// 1 when `path` is `name` within any folder, so that a page finds it by a relative address: "api/v1/server".
static int is_named(const char *path, const char *name) {
    size_t n = strlen(path), e = strlen(name);
    return ends_with(path, name) && (n == e || path[n - e - 1] == '/');
}

static enum MHD_Result answer_file(const iket_site *site, const iket_request *request, const char *path) {
    int fd = iket_root_open_path(&site->root, path, 0);
    struct stat info;
    enum MHD_Result viewed;
    if (fd < 0) {
        if ((errno == ENOENT || errno == ENAMETOOLONG) && !site->is_ui && iket_view_reply(site, request, path, &viewed)) return viewed;
        if (errno == EACCES) return iket_reply_error(request, MHD_HTTP_FORBIDDEN, NULL, NULL, "The server is not allowed to read this file.");
        if (errno == EMFILE || errno == ENFILE) return iket_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1", "Too many files are open. Try again in a moment.");
        return not_found(request);
    }
    if (fstat(fd, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) {
        close(fd);
        return not_found(request);
    }
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (S_ISREG(info.st_mode) && !site->is_ui && ends_with(name, ".html")) return iket_view_reply_html(site, request, path, fd, &info);
    if (S_ISREG(info.st_mode)) return iket_reply_file(request, fd, &info, name, site->is_ui ? "frame-ancestors 'self'" : NULL, site->kept);
    // A folder without its slash: relative, so that a proxy may put a prefix before it.
    close(fd);
    iket_memory place = {0};
    iket_sink sink;
    if (iket_sink_open(&sink, 0, iket_memory_flush, &place, NULL) != 0) return MHD_NO;
    iket_sink_text(&sink, "./");
    iket_path_encode(&sink, name);
    iket_sink_write(&sink, "/", 2);
    enum MHD_Result result = iket_sink_close(&sink, NULL) == 0 ? iket_reply_empty(request, MHD_HTTP_MOVED_PERMANENTLY, "Location", (const char *)place.data) : MHD_NO;
    free(place.data);
    return result;
}

static enum MHD_Result answer_traces(iket_site *site, iket_request *request, char *path) {
    size_t length = strlen(path);
    enum MHD_Result result;
    if (length == 0 || path[length - 1] == '/') {
        if (length > 0) path[length - 1] = 0;
        return iket_index_reply(site, request, path);
    }
    for (const iket_asset *asset = iket_index_assets; asset->name != NULL; asset++) {
        if (is_named(path, asset->name)) return iket_index_reply_asset(request, asset);
    }
    if (is_named(path, "api/v1/server")) return iket_api_reply_server(site, request);
    if (is_named(path, "api/v1/traces")) return iket_api_reply_traces(site, request);
    if (iket_question_begin(site, request, path, &request->question, &result)) return result;
    return answer_file(site, request, path);
}

static enum MHD_Result answer_ui(const iket_site *site, const iket_request *request, char *path) {
    size_t length = strlen(path);
    if (length + sizeof "index.html" > IKET_PATH_MAX) return not_found(request);
    if (length == 0 || path[length - 1] == '/') strcpy(path + length, "index.html");
    return answer_file(site, request, path);
}

// ---- who may ask -----------------------------------------------------------------------------------------------------

static enum MHD_Result first_visit(const iket_site *site, const iket_request *request, const char *url) {
    char *cookie;
    if (asprintf(&cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", site->access.cookie, site->access.token, site->server->certificate != NULL ? "; Secure" : "") < 0) return MHD_NO;
    enum MHD_Result result = iket_reply_see_other(request, strrchr(url, '/') + 1, "token", NULL, cookie);
    free(cookie);
    return result;
}

static enum MHD_Result answer_preflight(const iket_request *request) {
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (response != NULL) {
        MHD_add_response_header(response, "Access-Control-Allow-Methods", "GET, HEAD");
        MHD_add_response_header(response, "Access-Control-Allow-Headers", "Range, If-Range, If-None-Match, If-Modified-Since, Cache-Control");
        MHD_add_response_header(response, "Access-Control-Max-Age", "600");
        // Chrome asks for this before a public page may reach a private address.
        if (iket_request_field(request, "Access-Control-Request-Private-Network") != NULL) MHD_add_response_header(response, "Access-Control-Allow-Private-Network", "true");
    }
    return iket_reply(request, MHD_HTTP_NO_CONTENT, response, NULL);
}

static int is_reading(const char *method) { return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0; }

static enum MHD_Result answer(iket_site *site, iket_request *request, const char *url, const char *method) {
    const char *origin = iket_request_field(request, "Origin");
    iket_origin_verdict verdict = iket_access_judge_origin(&site->access, origin);
    if (!iket_access_allows_host(&site->access, iket_request_field(request, "Host"))) {
        return iket_reply_error(request, MHD_HTTP_FORBIDDEN, NULL, NULL,
                                "This server does not go by that name. Ask for localhost, or start iket-serve with --allow-host NAME.");
    }
    // What another site's page embeds (an image, a script) comes without an Origin; only following a link is fine.
    const char *from = iket_request_field(request, "Sec-Fetch-Site"), *mode = iket_request_field(request, "Sec-Fetch-Mode");
    if (verdict == IKET_ORIGIN_FOREIGN || (verdict == IKET_ORIGIN_OWN && from != NULL && strcmp(from, "cross-site") == 0 && (mode == NULL || strcmp(mode, "navigate") != 0))) {
        return iket_reply_error(request, MHD_HTTP_FORBIDDEN, NULL, NULL,
                                "A page of another site asked for this (--ui-origin ORIGIN lets a Perfetto UI elsewhere read the traces).");
    }
    if (verdict == IKET_ORIGIN_READER) request->allowed_origin = origin;
    if (strcmp(method, "OPTIONS") == 0 && verdict == IKET_ORIGIN_READER) return answer_preflight(request);
    if (!is_reading(method)) return iket_reply_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "GET, HEAD", "Traces are only read here: GET and HEAD work, nothing else does.");
    if (iket_request_field(request, "Content-Length") != NULL || iket_request_field(request, "Transfer-Encoding") != NULL) {
        const char *length = iket_request_field(request, "Content-Length");
        if (length == NULL || strcmp(length, "0") != 0) return iket_reply_error(request, MHD_HTTP_CONTENT_TOO_LARGE, NULL, NULL, "A request for a file has no content of its own.");
    }
    char path[IKET_PATH_MAX];
    switch (iket_path_decode(url, path)) {
    case IKET_PATH_MALFORMED: return iket_reply_error(request, MHD_HTTP_BAD_REQUEST, NULL, NULL, "The address is malformed.");
    case IKET_PATH_LONG: return iket_reply_error(request, MHD_HTTP_URI_TOO_LONG, NULL, NULL, "The address is longer than any file name can be.");
    case IKET_PATH_HIDDEN: return not_found(request);
    case IKET_PATH_OK: break;
    }
    if (site->access.token[0] != 0 && !site->is_ui) {
        const char *given = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "token");
        if (given != NULL && (iket_access_is_token(&site->access, given, strlen(given)) || iket_access_take_code(&site->access, given))) return first_visit(site, request, url);
        if (!iket_access_has_token(&site->access, iket_request_field(request, "Cookie"), iket_request_field(request, "Authorization"))) {
            return iket_reply_error(request, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", "Bearer", "%s",
                                    given != NULL ? "That is not the token. Take the address that iket-serve printed, whole."
                                                  : "Open the address that iket-serve printed when it started, with its token. (If you have just done so: reload this page.)");
        }
    }
    return site->is_ui ? answer_ui(site, request, path) : answer_traces(site, request, path);
}

enum MHD_Result iket_site_answer(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                                 const char *upload, size_t *upload_size, void **state) {
    iket_site *site = context;
    (void)version;
    (void)upload;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    iket_request request = {
        .server = site->server,
        .connection = connection,
        .closing = atomic_load(&site->server->stopping),
        .clients = site->clients,
        .client = info != NULL ? info->socket_context : NULL,
    };
    if (*state != NULL && *state != site) return iket_question_reply(&request, *state);
    if (*state == NULL) {
        // The header is complete. Answering at once would cost the connection, so that is done only for what may have a
        // body, which is never read.
        iket_clients_begin(site->clients, request.client);
        *state = site;
        int has_body = iket_request_field(&request, "Content-Length") != NULL || iket_request_field(&request, "Transfer-Encoding") != NULL;
        if (!has_body) return MHD_YES;
    } else if (*upload_size != 0) {
        return MHD_NO;
    }
    enum MHD_Result result = answer(site, &request, url, method);
    if (request.question != NULL) *state = request.question;
    return result;
}
