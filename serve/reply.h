// SPDX-License-Identifier: Apache-2.0
// reply.h: what every answer of the server has in common: its security headers, its error pages in plain words.
#ifndef IKET_SERVE_REPLY_H
#define IKET_SERVE_REPLY_H

#include <microhttpd.h>
#include <stddef.h>

#include "common/sink.h"

struct iket_server;

// One request while it is answered.
typedef struct iket_request iket_request;
struct iket_request {
    struct iket_server *server;
    struct MHD_Connection *connection;
    const char *allowed_origin; // NULL, or the Origin of the request when it may read the answer
    int closing;                // the server is about to end: this connection's last answer
    struct iket_clients *clients;
    struct iket_client *client; // who asks, of these; may be NULL
    struct iket_question *question; // NULL, or what a worker answers meanwhile
};

// The policies for content. A page that the server makes runs its own script alone; a file never runs any, unless it is
// the viewer's page.
#define IKET_POLICY_OWN_PAGE                                                                                           \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "              \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
#define IKET_POLICY_INERT "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox"
// A page of ours without a script.
#define IKET_POLICY_STILL_PAGE "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// A field of the request, or NULL.
const char *iket_request_field(const iket_request *request, const char *name);

// Adds the common headers.
void iket_reply_add_common(const iket_request *request, struct MHD_Response *response, const char *policy);

// Adds the common headers and queues the answer; takes the response (NULL: out of memory, ends the connection).
enum MHD_Result iket_reply(const iket_request *request, unsigned status, struct MHD_Response *response, const char *policy);

// A document made in memory. Takes document->data; *document is empty afterwards.
enum MHD_Result iket_reply_document(const iket_request *request, unsigned status, const char *type, iket_memory *document, const char *policy);

// An answer without content: 204, 303, 304. `field` and `value` are one header, or NULL.
enum MHD_Result iket_reply_empty(const iket_request *request, unsigned status, const char *field, const char *value);

// Leads to the same page with the arguments of the request, but for the one named `without`, and `with` added (both may be
// NULL): relative, by the last component `name` of its path, percent-encoded, so that a proxy may put a prefix before it.
// `cookie` is a Set-Cookie field, or NULL.
enum MHD_Result iket_reply_see_other(const iket_request *request, const char *name, const char *without, const char *with, const char *cookie);

// A page that says what is wrong and what to do. `field` and `value` are one more header, or NULL.
__attribute__((format(printf, 5, 6))) enum MHD_Result iket_reply_error(const iket_request *request, unsigned status, const char *field,
                                                                     const char *value, const char *format, ...);

#endif
