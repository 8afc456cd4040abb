// SPDX-License-Identifier: Apache-2.0
// listen.h: the socket on which the server listens; and where that is taken, by whom, and which port is free.
#ifndef IKET_SERVE_LISTEN_H
#define IKET_SERVE_LISTEN_H

#include <stdint.h>

#include "common/error.h"

typedef struct iket_listener {
    int fd;
    uint16_t port;    // the one that it got
    int is_loopback;  // of the address that it is bound to
    int is_wildcard;  // every address of this machine
    char address[64]; // numeric, "127.0.0.1"
} iket_listener;

// Listens on `host` (a name or address) and `port` (0: any). On failure listener->fd is -1, and the message names who
// holds the port, where that can be found, and the next free one.
IKET_MUST_CHECK int iket_listen(iket_listener *listener, const char *host, uint16_t port, iket_error *err);

// Resolves only, to tell whether `host` is loopback: fd stays -1.
IKET_MUST_CHECK int iket_listen_resolve(iket_listener *listener, const char *host, iket_error *err);

#endif
