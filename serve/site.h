// SPDX-License-Identifier: Apache-2.0
// site.h: the private side of the server: what a request is answered from.
#ifndef IKET_SERVE_SITE_H
#define IKET_SERVE_SITE_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "serve/access.h"
#include "serve/clients.h"
#include "serve/listen.h"
#include "serve/root.h"
#include "serve/server.h"

// One port and what it serves.
typedef struct iket_site {
    struct iket_server *server;
    iket_root root;
    iket_listener listener;
    iket_access access;
    iket_clients *clients;
    struct iket_jobs *jobs; // NULL for the UI
    struct iket_kept *kept;
    struct iket_listing *listing;
    struct iket_opened *opened;   // NULL for the UI, as the next
    struct iket_workers *workers;
    atomic_size_t answers;        // bytes of answers that wait in memory to be sent
    struct MHD_Daemon *daemon;
    int is_ui; // the copy of the Perfetto UI
    char log[256]; // the first that libmicrohttpd had to say
} iket_site;

struct iket_request;

enum { IKET_URL_MAX = IKET_HOST_MAX + IKET_TOKEN_MAX + 64 };

struct iket_server {
    const iket_serve_settings *settings;
    char *folder;  // absolute, for the commands that the index shows
    iket_site traces, ui; // ui.daemon is NULL without a UI
    char *certificate, *key; // contents
    char machine[256]; // this machine's name, where the server listens on all of its addresses; else ""
    char url[IKET_URL_MAX], url_once[IKET_URL_MAX];
    iket_token_state token_state;
    atomic_int stopping;
};

enum { IKET_UI_URL = IKET_HOST_MAX + 32 };

// The copy of the Perfetto UI under the name by which this request came, since localhost may be that of the browser's
// machine, with a forwarded port: "http://localhost:8081". "" when there is none.
void iket_site_ui_url(const iket_site *site, const struct iket_request *request, char url[IKET_UI_URL]);

// libmicrohttpd's callback for every request; context is an iket_site.
enum MHD_Result iket_site_answer(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                                 const char *upload, size_t *upload_size, void **state);

#endif
