// SPDX-License-Identifier: Apache-2.0
// kept.h: whole answers with small files, kept to be sent again without being read and composed anew. They are looked up
// by what tells a file's content apart, after the file was opened: nothing old is ever sent.
#ifndef IKET_SERVE_KEPT_H
#define IKET_SERVE_KEPT_H

#include <microhttpd.h>
#include <sys/stat.h>

typedef struct iket_kept iket_kept;

iket_kept *iket_kept_open(void); // NULL: out of memory

// After the last request. NULL is allowed.
void iket_kept_close(iket_kept *kept);

// Queues the answer that is kept for this file with this content type (a string that lives as long as the program).
// 0: there is none.
int iket_kept_queue(iket_kept *kept, struct MHD_Connection *connection, const struct stat *info, const char *type, enum MHD_Result *result);

// Takes the answer over, in place of another one.
void iket_kept_put(iket_kept *kept, const struct stat *info, const char *type, struct MHD_Response *response);

#endif
