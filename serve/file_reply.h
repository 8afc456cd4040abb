// SPDX-License-Identifier: Apache-2.0
// file_reply.h: a file as an answer: its type, its validators, the conditions and ranges of the request.
#ifndef IKET_SERVE_FILE_REPLY_H
#define IKET_SERVE_FILE_REPLY_H

#include <sys/stat.h>

#include "serve/kept.h"
#include "serve/reply.h"

// Answers with the regular file `fd`, whose status is `info`; takes fd. `name` decides the type. A `policy` of NULL is
// that of a file nobody vouches for. `kept` may be NULL.
enum MHD_Result iket_reply_file(const iket_request *request, int fd, const struct stat *info, const char *name, const char *policy,
                                 iket_kept *kept);

// "application/x-protobuf" for "a.pftrace": the content type of a name.
const char *iket_content_type(const char *name);

#endif
