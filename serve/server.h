// SPDX-License-Identifier: Apache-2.0
// server.h: the server as a whole. One folder of traces on one port and, where a copy of the Perfetto UI is given, that on
// a second port: an origin of its own, which gets the traces by a message from the page and by nothing else.
//
// Threads: libmicrohttpd's own answer the requests; the functions below are for one thread, that of main.
#ifndef IKET_SERVE_SERVER_H
#define IKET_SERVE_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "serve/access.h"

enum { IKET_SERVE_NAMES = 8 };

typedef struct iket_serve_settings {
    const char *folder;      // what is served
    const char *host;        // name or address to listen on
    uint16_t port;           // 0: any
    const char *token_file;  // NULL: no token
    int insecure;            // no token is needed although the address is not loopback
    const char *certificate; // PEM files; both or none
    const char *key;
    const char *ui_folder;   // a copy of the Perfetto UI, or NULL
    uint16_t ui_port;        // 0: the one after `port`, or any
    const char *ui_origins[IKET_SERVE_NAMES]; // UIs elsewhere that may read the traces
    size_t ui_origin_count;
    const char *host_names[IKET_SERVE_NAMES]; // more names by which the server is reached
    size_t host_name_count;
    unsigned timeout;        // seconds
    unsigned connections;    // at once
    uint64_t most_events;    // of a trace that is shown as a whole without being asked twice
} iket_serve_settings;

#define IKET_SERVE_DEFAULTS                                                                                            \
    { .host = "127.0.0.1", .port = 8080, .ui_origins = {"https://ui.perfetto.dev"}, .ui_origin_count = 1, .timeout = 30, .connections = 4096, .most_events = 20000000 }

typedef struct iket_server iket_server;

// Checks the settings, listens and answers from then on. The settings and what they point to are borrowed until
// iket_server_close. On failure *server is NULL and the message says what to do.
IKET_MUST_CHECK int iket_server_open(iket_server **server, const iket_serve_settings *settings, iket_error *err);

// The address of the index, with the token for the first visit where there is one: "http://127.0.0.1:8080/".
const char *iket_server_url(const iket_server *server);

// The same with a code in place of the token that works once, for a browser's command line. "" where that cannot be.
const char *iket_server_url_once(iket_server *server);

uint16_t iket_server_port(const iket_server *server);
uint16_t iket_server_ui_port(const iket_server *server); // 0: there is none
iket_token_state iket_server_token_state(const iket_server *server);
// By which this machine itself reaches the server: "127.0.0.1".
const char *iket_server_local_address(const iket_server *server);
int iket_server_is_loopback(const iket_server *server);

// Takes no new connections, waits up to `grace_ms` for what is in flight, or until `hurry` returns 1, and ends.
void iket_server_close(iket_server *server, unsigned grace_ms, int (*hurry)(void *context), void *context);

#endif
