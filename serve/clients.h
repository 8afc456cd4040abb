// SPDX-License-Identifier: Apache-2.0
// clients.h: the open connections, watched so that slow and idle ones cannot hold the server.
//
//     accepted ──> waiting for a request ──header complete──> being answered ──┐
//                        ^                                                     │
//                        └──────────────────────answered───────────────────────┘
//
// libmicrohttpd drops a connection on which nothing moves. A thread here drops what moves too little: one that does not
// complete a request's header within the timeout (a byte now and then does not help), and one that takes less than
// IKET_CLIENTS_LEAST_RATE of its answer. When the table is nearly full, the connection that idles longest makes room.
#ifndef IKET_SERVE_CLIENTS_H
#define IKET_SERVE_CLIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum { IKET_CLIENTS_LEAST_RATE = 1024 }; // bytes a second, over one timeout

typedef struct iket_clients iket_clients;
typedef struct iket_client iket_client;

// Starts the watching thread. `limit` is the number of connections, `timeout` in seconds.
IKET_MUST_CHECK int iket_clients_open(iket_clients **clients, size_t limit, unsigned timeout, iket_error *err);

// After the last connection is gone. NULL is allowed.
void iket_clients_close(iket_clients *clients);

// A connection on the socket `fd` came. NULL: out of memory (it is then served unwatched).
iket_client *iket_clients_add(iket_clients *clients, int fd);

// It is about to be closed. `client` may be NULL, here and below.
void iket_clients_remove(iket_clients *clients, iket_client *client);

// Its request's header is complete, so it is being answered; and: the answer is sent.
void iket_clients_begin(iket_clients *clients, iket_client *client);
void iket_clients_end(iket_clients *clients, iket_client *client);

// Its answer is being made elsewhere, so that it rests through no fault of its own; and: it is being sent from now on.
void iket_clients_hold(iket_clients *clients, iket_client *client);
void iket_clients_go_on(iket_clients *clients, iket_client *client);

// Its answer is read from a file as it is sent, up to byte `end`: a file that is cut meanwhile has no more to send, and its
// reader must not wait for it. `info` is the file's status.
struct stat;
void iket_clients_watch_file(iket_clients *clients, iket_client *client, int fd, const struct stat *info, uint64_t end);

// Number of requests being answered.
size_t iket_clients_busy(iket_clients *clients);

#endif
