// SPDX-License-Identifier: Apache-2.0
// access.h: who may ask. Three independent checks of a request:
//
// - Host: a name that somebody else's DNS can point at this address (DNS rebinding) is none of ours. Loopback names
//   count with any port, because a forwarded port may differ from ours.
// - Origin: a script of another site gets no answer at all, but that of the Perfetto UI, which may read the traces.
// - The token, where one is set: in a cookie that the first visit (?token=…) gets, or as "Authorization: Bearer …".
#ifndef IKET_SERVE_ACCESS_H
#define IKET_SERVE_ACCESS_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/error.h"

enum { IKET_ACCESS_NAMES = 16, IKET_TOKEN_MAX = 256, IKET_TOKEN_MIN = 16, IKET_HOST_MAX = 256 };

typedef struct iket_access {
    const char *hosts[IKET_ACCESS_NAMES];   // names that count beside the loopback ones; borrowed
    size_t host_count;
    int any_address;                        // bound to more than loopback: every IP address counts as a Host (none can be rebound)
    const char *origins[IKET_ACCESS_NAMES]; // that may read the traces: "https://ui.perfetto.dev"; borrowed
    size_t origin_count;
    char token[IKET_TOKEN_MAX + 1];         // "": none is needed
    char cookie[24];                        // the cookie's name, one for each port
    char code[65];                          // "": there is none
    atomic_int code_taken;
} iket_access;

// Reads the token from the first line of a file. A file that does not exist is made, for its owner alone, with a random
// token.
typedef enum iket_token_state {
    IKET_TOKEN_KEPT,
    IKET_TOKEN_MADE,   // just now
    IKET_TOKEN_SHARED, // other users of this machine can read the file
} iket_token_state;

IKET_MUST_CHECK int iket_access_read_token(iket_access *access, const char *path, iket_token_state *state, iket_error *err);

// Splits "name:port", "[::1]:port", "name" into its lower-case name, without brackets. 0: it is neither.
int iket_host_split(const char *field, char name[IKET_HOST_MAX]);

int iket_host_is_loopback(const char *name);

// `host` is the field of a request, NULL where it is missing (HTTP/1.0: no browser).
int iket_access_allows_host(const iket_access *access, const char *host);

typedef enum iket_origin_verdict {
    IKET_ORIGIN_OWN,     // none, or a page of this server
    IKET_ORIGIN_READER,  // may read the answer
    IKET_ORIGIN_FOREIGN, // refused
} iket_origin_verdict;

iket_origin_verdict iket_access_judge_origin(const iket_access *access, const char *origin);

// Compares in a time that depends on the lengths alone. 1: equal.
int iket_access_is_token(const iket_access *access, const char *candidate, size_t length);

// Makes the code that opens the door once, in place of the token: what a browser's command line shows to other users of
// the machine is of no use to them.
IKET_MUST_CHECK int iket_access_make_code(iket_access *access, iket_error *err);

// 1 when `candidate` is that code, for the first time.
int iket_access_take_code(iket_access *access, const char *candidate);

// Whether a request with these fields (NULL: missing) carries the token.
int iket_access_has_token(const iket_access *access, const char *cookie, const char *authorization);

#endif
