// SPDX-License-Identifier: Apache-2.0
#include "serve/server.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/input.h"
#include "serve/jobs.h"
#include "serve/kept.h"
#include "serve/listing.h"
#include "serve/opened.h"
#include "serve/questions.h"
#include "serve/site.h"
#include "serve/workers.h"

enum { MEMORY_PER_CONNECTION = 16 * 1024, THREADS_MAX = 16, SPARE_FILES = 64 };

// The address of a request stays as it was sent: it is decoded once, by us.
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **client, enum MHD_ConnectionNotificationCode code) {
    iket_site *site = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        iket_clients_remove(site->clients, *client);
        *client = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *client = info != NULL ? iket_clients_add(site->clients, info->connect_fd) : NULL;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    iket_site *site = context;
    (void)code;
    if (*state != site) iket_question_free(*state);
    *state = NULL;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    iket_clients_end(site->clients, info != NULL ? info->socket_context : NULL);
}

// libmicrohttpd says why it does not start through its log alone, and may log for as long as the daemon lives.
__attribute__((format(printf, 2, 0))) static void keep_first_message(void *context, const char *format, va_list args) {
    iket_site *site = context;
    if (site->log[0] != 0) return;
    vsnprintf(site->log, sizeof site->log, format, args);
    site->log[strcspn(site->log, "\n")] = 0;
}

static unsigned thread_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 2 ? 2 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
}

// A connection may need two descriptors: its socket and a file. Returns how many connections there is room for.
static unsigned room_for(unsigned connections) {
    struct rlimit files;
    rlim_t wanted = 2 * (rlim_t)connections + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return connections;
    if (files.rlim_cur < wanted) {
        files.rlim_cur = files.rlim_max != RLIM_INFINITY && files.rlim_max < wanted ? files.rlim_max : wanted;
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= wanted || files.rlim_cur < 4 * SPARE_FILES) return connections;
    return (unsigned)((files.rlim_cur - SPARE_FILES) / 2);
}

static int start(iket_site *site, iket_error *err) {
    const iket_serve_settings *settings = site->server->settings;
    unsigned limit = room_for(settings->connections), threads = thread_count();
    site->kept = iket_kept_open();
    if (site->kept == NULL) return iket_fail(err, "out of memory");
    IKET_TRY(iket_clients_open(&site->clients, limit, settings->timeout, err));
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, site->server->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, site->server->key},
        {MHD_OPTION_END, 0, NULL},
    };
    int is_tls = site->server->certificate != NULL;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO | MHD_USE_ERROR_LOG | (is_tls ? MHD_USE_TLS : 0u) |
                     (strchr(site->listener.address, ':') != NULL ? MHD_USE_IPv6 : 0u);
    site->daemon = MHD_start_daemon(flags, site->listener.port, NULL, NULL, iket_site_answer, site,
        MHD_OPTION_EXTERNAL_LOGGER, keep_first_message, site,
        MHD_OPTION_LISTEN_SOCKET, site->listener.fd,
        MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, limit + threads,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_PER_CONNECTION,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, site,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, site,
        MHD_OPTION_ARRAY, is_tls ? tls : tls + 2,
        MHD_OPTION_END);
    if (site->daemon != NULL) return 0;
    if (is_tls) return iket_fail(err, "%s, %s: not a certificate and its key: %s", settings->certificate, settings->key, site->log);
    return iket_fail(err, "the server cannot start: %s", site->log);
}

static char *read_text(const char *path, iket_error *err) {
    iket_input input;
    if (iket_input_open(&input, path, err) != 0) return NULL;
    char *text = strndup(input.data != NULL ? (const char *)input.data : "", input.size);
    iket_input_close(&input);
    if (text == NULL) iket_fail(err, "out of memory");
    return text;
}

static int prepare_tls(iket_server *server, iket_error *err) {
    const iket_serve_settings *settings = server->settings;
    if (settings->certificate == NULL && settings->key == NULL) return 0;
    if (settings->certificate == NULL || settings->key == NULL) return iket_fail(err, "--tls-cert and --tls-key need each other");
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) return iket_fail(err, "this libmicrohttpd was built without TLS (put a TLS proxy before iket-serve, or use ssh -L)");
    server->certificate = read_text(settings->certificate, err);
    if (server->certificate != NULL) server->key = read_text(settings->key, err);
    return server->certificate != NULL && server->key != NULL ? 0 : -1;
}

static int prepare_access(iket_server *server, iket_error *err) {
    const iket_serve_settings *settings = server->settings;
    iket_access *access = &server->traces.access;
    iket_listener address;
    IKET_TRY(iket_listen_resolve(&address, settings->host, err));
    if (!address.is_loopback && settings->token_file == NULL && !settings->insecure) {
        return iket_fail(err, "--host %s: anyone who reaches this address could read the traces (give --token-file FILE, or --insecure if that is meant)", settings->host);
    }
    if (settings->token_file != NULL) {
        IKET_TRY(iket_access_read_token(access, settings->token_file, &server->token_state, err));
        IKET_TRY(iket_access_make_code(access, err));
    }
    access->any_address = !address.is_loopback;
    access->hosts[access->host_count++] = settings->host;
    if (address.is_wildcard && gethostname(server->machine, sizeof server->machine - 1) == 0) access->hosts[access->host_count++] = server->machine;
    for (size_t i = 0; i < settings->host_name_count; i++) access->hosts[access->host_count++] = settings->host_names[i];
    for (size_t i = 0; i < settings->ui_origin_count; i++) access->origins[access->origin_count++] = settings->ui_origins[i];
    return 0;
}

static int open_ui(iket_server *server, iket_error *err) {
    const iket_serve_settings *settings = server->settings;
    iket_site *ui = &server->ui;
    if (settings->ui_folder == NULL) return 0;
    ui->is_ui = 1;
    IKET_TRY(iket_root_open(&ui->root, settings->ui_folder, err));
    int index = iket_root_open_path(&ui->root, "index.html", 0);
    if (index < 0) return iket_fail(err, "--ui-dir %s: has no index.html (unpack a release's perfetto-ui.zip there)", settings->ui_folder);
    close(index);
    uint16_t beside = server->traces.listener.port < 65535 ? (uint16_t)(server->traces.listener.port + 1) : 0;
    if (settings->ui_port != 0) {
        IKET_TRY(iket_listen(&ui->listener, settings->host, settings->ui_port, err));
    } else if (iket_listen(&ui->listener, settings->host, beside, NULL) != 0) {
        IKET_TRY(iket_listen(&ui->listener, settings->host, 0, err));
    }
    ui->access = server->traces.access;
    ui->access.token[0] = 0; // the UI is no secret
    return start(ui, err);
}

static void compose_url(const iket_server *server, const char *secret, char url[IKET_URL_MAX]) {
    const iket_site *site = &server->traces;
    const char *address = server->machine[0] != 0 ? server->machine : site->listener.address;
    int six = strchr(address, ':') != NULL;
    int used = snprintf(url, IKET_URL_MAX, "%s://%s%s%s:%u/", server->certificate != NULL ? "https" : "http", six ? "[" : "", address, six ? "]" : "", (unsigned)site->listener.port);
    if (secret[0] != 0) snprintf(url + used, IKET_URL_MAX - (size_t)used, "?token=%s", secret);
}

static int open_all(iket_server *server, iket_error *err) {
    const iket_serve_settings *settings = server->settings;
    iket_site *site = &server->traces;
    IKET_TRY(iket_root_open(&site->root, settings->folder, err));
    server->folder = realpath(settings->folder, NULL);
    if (server->folder == NULL) return iket_fail(err, "%s: cannot be served: %s", settings->folder, strerror(errno));
    IKET_TRY(prepare_tls(server, err));
    IKET_TRY(prepare_access(server, err));
    IKET_TRY(iket_listen(&site->listener, settings->host, settings->port, err));
    snprintf(site->access.cookie, sizeof site->access.cookie, "iket-%u", (unsigned)site->listener.port);
    compose_url(server, site->access.token, server->url);
    IKET_TRY(open_ui(server, err));
    site->listing = iket_listing_open();
    site->opened = iket_opened_open();
    if (site->listing == NULL || site->opened == NULL) return iket_fail(err, "out of memory");
    IKET_TRY(iket_workers_open(&site->workers, err));
    IKET_TRY(iket_jobs_open(&site->jobs, &site->root, err));
    return start(site, err);
}

int iket_server_open(iket_server **server, const iket_serve_settings *settings, iket_error *err) {
    *server = NULL;
    iket_server *s = calloc(1, sizeof *s);
    if (s == NULL) return iket_fail(err, "out of memory");
    s->settings = settings;
    s->traces = (iket_site){.server = s, .root = {.fd = -1}, .listener = {.fd = -1}};
    s->ui = s->traces;
    if (open_all(s, err) != 0) {
        iket_server_close(s, 0, NULL, NULL);
        return -1;
    }
    *server = s;
    return 0;
}

const char *iket_server_url(const iket_server *server) { return server->url; }

const char *iket_server_url_once(iket_server *server) {
    iket_access *access = &server->traces.access;
    if (access->token[0] == 0) return server->url;
    if (server->url_once[0] == 0 && access->code[0] != 0) compose_url(server, access->code, server->url_once);
    return server->url_once;
}

uint16_t iket_server_port(const iket_server *server) { return server->traces.listener.port; }
uint16_t iket_server_ui_port(const iket_server *server) { return server->ui.daemon != NULL ? server->ui.listener.port : 0; }

const char *iket_server_local_address(const iket_server *server) {
    const iket_listener *listener = &server->traces.listener;
    if (!listener->is_wildcard) return listener->address;
    return strchr(listener->address, ':') != NULL ? "::1" : "127.0.0.1";
}

int iket_server_is_loopback(const iket_server *server) { return server->traces.listener.is_loopback; }
iket_token_state iket_server_token_state(const iket_server *server) { return server->token_state; }

static void wait_for_answers(iket_server *server, unsigned grace_ms, int (*hurry)(void *), void *context) {
    enum { STEP_MS = 5 };
    for (unsigned waited = 0; waited < grace_ms; waited += STEP_MS) {
        size_t busy = iket_clients_busy(server->traces.clients);
        if (server->ui.clients != NULL) busy += iket_clients_busy(server->ui.clients);
        if (busy == 0 || (hurry != NULL && hurry(context))) return;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    }
}

static void close_site(iket_site *site) {
    iket_workers_stop(site->workers); // no connection rests any more
    if (site->daemon != NULL) MHD_stop_daemon(site->daemon);
    iket_workers_close(site->workers);
    iket_opened_close(site->opened);
    iket_clients_close(site->clients);
    iket_jobs_close(site->jobs);
    iket_kept_close(site->kept);
    iket_listing_close(site->listing);
    if (site->listener.fd >= 0) close(site->listener.fd);
    iket_root_close(&site->root);
}

void iket_server_close(iket_server *server, unsigned grace_ms, int (*hurry)(void *context), void *context) {
    atomic_store(&server->stopping, 1);
    if (server->ui.daemon != NULL) MHD_quiesce_daemon(server->ui.daemon);
    if (server->traces.daemon != NULL) {
        MHD_quiesce_daemon(server->traces.daemon);
        wait_for_answers(server, grace_ms, hurry, context);
    }
    close_site(&server->traces);
    close_site(&server->ui);
    free(server->certificate);
    free(server->key);
    free(server->folder);
    free(server);
}
