// SPDX-License-Identifier: Apache-2.0
// iket-serve: shows a folder of traces in the browser.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "common/output.h"
#include "serve/announce.h"
#include "serve/child.h"
#include "serve/server.h"

enum { PORT = 1, HOST, OPEN, UI_DIR, UI_PORT, UI_ORIGIN, ALLOW_HOST, TOKEN_FILE, INSECURE, TLS_CERT, TLS_KEY, TIMEOUT, CONNECTIONS, MOST_EVENTS };
enum { GRACE_MS = 2000 };

static const iket_option options[] = {
    {PORT, 'p', "port", NULL, "PORT", "port to listen on; 0 takes any free one (8080)", "Address"},
    {HOST, 0, "host", NULL, "HOST", "address to listen on (127.0.0.1); any other than loopback\nneeds --token-file or --insecure", NULL},
    {ALLOW_HOST, 0, "allow-host", NULL, "NAME", "one more name by which browsers reach the server, that of\na proxy for instance; can be given again", NULL},
    {OPEN, 0, "open", NULL, NULL, "open the index in the browser of this machine", NULL},
    {UI_DIR, 0, "ui-dir", NULL, "DIR", "serve a copy of the Perfetto UI too, on a port of its own", "Perfetto"},
    {UI_PORT, 0, "ui-port", NULL, "PORT", "that port (the one after --port, or any)", NULL},
    {UI_ORIGIN, 0, "ui-origin", NULL, "ORIGIN", "a Perfetto UI elsewhere that may read the traces, as\nhttps://ui.perfetto.dev may; can be given again", NULL},
    {TOKEN_FILE, 0, "token-file", NULL, "FILE", "ask for the token in FILE, which is made when it does not\nexist", "Safety"},
    {INSECURE, 0, "insecure", NULL, NULL, "listen on another address than loopback without a token", NULL},
    {TLS_CERT, 0, "tls-cert", NULL, "FILE", "serve https with this certificate chain (PEM)", NULL},
    {TLS_KEY, 0, "tls-key", NULL, "FILE", "its private key (PEM)", NULL},
    {TIMEOUT, 0, "timeout", NULL, "SECONDS", "drop a connection that is idle for so long, or slow (30)", "Limits"},
    {CONNECTIONS, 0, "connections", NULL, "N", "connections at once (4096)", NULL},
    {MOST_EVENTS, 0, "most-events", NULL, "N", "a trace with more events is not loaded whole (20000000,\nsome 3 GB in the browser)", NULL},
};

static const iket_command command = {
    .name = "iket-serve",
    .purpose = "shows a folder of traces in the browser",
    .synopsis = "[OPTIONS] DIR",
    .examples = {"iket-serve runs", "iket-serve runs --port 0 --ui-dir perfetto-ui", "iket-serve runs --host 0.0.0.0 --token-file ~/.iket-token"},
    .notes = "The address of the index is the one line on standard output. The traces of DIR and of\n"
             "the folders in it are listed; new ones appear as they come. Nothing outside DIR and no\n"
             "hidden file is served. SIGINT and SIGTERM let what is in flight finish for 2 seconds.\n"
             "On a machine that others use too, --token-file keeps them out: loopback is theirs as well.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
};

typedef struct {
    iket_serve_settings server;
    int open;
} settings;

static int add_name(const char **names, size_t *count, const char *value, iket_error *err) {
    if (*count >= IKET_SERVE_NAMES) return iket_fail(err, "given more than %d times", IKET_SERVE_NAMES);
    names[(*count)++] = value;
    return 0;
}

// An origin is what a browser sends: scheme, host, port; no slash after it.
static int is_origin(const char *text) {
    const char *host = strncmp(text, "https://", 8) == 0 ? text + 8 : strncmp(text, "http://", 7) == 0 ? text + 7 : NULL;
    return host != NULL && host[0] != 0 && strpbrk(host, "/?# ") == NULL;
}

static int read_number(const char *value, unsigned least, unsigned most, unsigned *number, iket_error *err) {
    unsigned long long n;
    IKET_TRY(iket_parse_u64(value, most, &n, err));
    if (n < least) return iket_fail(err, "%s is too small (at least %u)", value, least);
    *number = (unsigned)n;
    return 0;
}

static int read_port(const char *value, uint16_t *port, iket_error *err) {
    unsigned number;
    IKET_TRY(read_number(value, 0, 65535, &number, err));
    *port = (uint16_t)number;
    return 0;
}

static int read_events(const char *value, uint64_t *events, iket_error *err) {
    unsigned long long number;
    IKET_TRY(iket_parse_u64(value, UINT64_MAX, &number, err));
    if (number == 0) return iket_fail(err, "0 is too small (at least 1)");
    *events = number;
    return 0;
}

static int take(void *context, int id, const char *value, iket_error *err) {
    settings *s = context;
    iket_serve_settings *server = &s->server;
    switch (id) {
    case 0:
        if (server->folder != NULL) return iket_fail(err, "%s: one folder at a time is served (give the one that holds both)", value);
        server->folder = value;
        return 0;
    case PORT: return read_port(value, &server->port, err);
    case HOST: server->host = value; return 0;
    case OPEN: s->open = 1; return 0;
    case UI_DIR: server->ui_folder = value; return 0;
    case UI_PORT: return read_port(value, &server->ui_port, err);
    case UI_ORIGIN:
        if (!is_origin(value)) return iket_fail(err, "'%s' is not an origin (https://HOST or http://HOST:PORT, with nothing after it)", value);
        return add_name(server->ui_origins, &server->ui_origin_count, value, err);
    case ALLOW_HOST: return add_name(server->host_names, &server->host_name_count, value, err);
    case TOKEN_FILE: server->token_file = value; return 0;
    case INSECURE: server->insecure = 1; return 0;
    case TLS_CERT: server->certificate = value; return 0;
    case TLS_KEY: server->key = value; return 0;
    case TIMEOUT: return read_number(value, 1, 3600, &server->timeout, err);
    case CONNECTIONS: return read_number(value, 16, 65536, &server->connections, err);
    default: return read_events(value, &server->most_events, err);
    }
}

static void open_browser(const char *url) {
    extern char **environ;
    char *arguments[] = {"xdg-open", (char *)(uintptr_t)url, NULL};
    pid_t child;
    sigset_t none;
    posix_spawnattr_t attributes;
    sigemptyset(&none); // those that end the server are blocked here
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp(&child, "xdg-open", NULL, &attributes, arguments, environ) != 0) {
        fprintf(stderr, "%s: --open: there is no xdg-open here (open the address yourself)\n", command.name);
    }
    posix_spawnattr_destroy(&attributes);
}

static void announce(const iket_server *server, const settings *s) {
    const uint16_t ports[] = {iket_server_port(server), iket_server_ui_port(server)};
    iket_token_state token = iket_server_token_state(server);
    if (token == IKET_TOKEN_MADE) fprintf(stderr, "%s: %s: made, with a new token\n", command.name, s->server.token_file);
    if (token == IKET_TOKEN_SHARED) fprintf(stderr, "%s: %s: others can read it (chmod 600 keeps it yours)\n", command.name, s->server.token_file);
    if (!iket_server_is_loopback(server) && s->server.token_file == NULL) fprintf(stderr, "%s: --insecure: whoever reaches %s can read the traces\n", command.name, s->server.host);
    if (ports[1] != 0) fprintf(stderr, "%s: the Perfetto UI is on port %u\n", command.name, (unsigned)ports[1]);
    char line[1024];
    iket_announce_ssh(line, sizeof line, iket_server_local_address(server), ports, 2);
    fprintf(stderr, "%s: from another machine: %s\n", command.name, line);
}

static int is_signal_pending(void *context) {
    return sigtimedwait(context, NULL, &(struct timespec){0}) > 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], IKET_CHILD_WORD) == 0) return iket_child_main(argc, argv);
    settings s = {.server = IKET_SERVE_DEFAULTS};
    iket_error err;
    iket_options_result parsed = iket_options_parse(&command, argc, argv, take, &s);
    if (parsed == IKET_OPTIONS_OK && s.server.folder == NULL) {
        fprintf(stderr, "%s: no folder to serve\n%s: --help lists the options\n", command.name, command.name);
        parsed = IKET_OPTIONS_BAD;
    }
    if (parsed == IKET_OPTIONS_BAD) return 2;
    if (parsed == IKET_OPTIONS_DONE) {
        if (iket_output_close_stdout(&err) == 0) return 0;
        fprintf(stderr, "%s: %s\n", command.name, err.message);
        return 2;
    }
    // Blocked in every thread, so that they come to sigwait below.
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    iket_server *server;
    if (iket_server_open(&server, &s.server, &err) != 0) {
        fprintf(stderr, "%s: %s\n", command.name, err.message);
        return 2;
    }
    announce(server, &s);
    printf("%s\n", iket_server_url(server));
    if (iket_output_close_stdout(&err) != 0) {
        fprintf(stderr, "%s: %s\n", command.name, err.message);
        iket_server_close(server, 0, NULL, NULL);
        return 2;
    }
    // Closed, so that "url=$(iket-serve … &)" goes on; and its number taken, so that no connection gets it.
    if (open("/dev/null", O_WRONLY | O_CLOEXEC) < 0) perror(command.name);
    if (s.open) open_browser(iket_server_url_once(server));
    int signal_number;
    sigwait(&ends, &signal_number);
    iket_server_close(server, GRACE_MS, is_signal_pending, &ends);
    return 0;
}
