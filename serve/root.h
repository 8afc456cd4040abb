// SPDX-License-Identifier: Apache-2.0
// root.h: the served folder, and the only way in which the server opens what lies in it.
//
// A name is resolved beneath the folder or not at all: no "..", no symbolic link and no mount of a process's magic links
// leads out, whatever happens to the tree meanwhile. The kernel does it in one step (openat2, Linux 5.6); where it
// cannot, the components are opened one by one and no symbolic link is followed.
#ifndef IKET_SERVE_ROOT_H
#define IKET_SERVE_ROOT_H

#include "common/error.h"

typedef struct iket_root {
    int fd;         // the folder
    int in_one_step; // openat2 is there
} iket_root;

// Opens the folder. On failure root->fd is -1.
IKET_MUST_CHECK int iket_root_open(iket_root *root, const char *folder, iket_error *err);

void iket_root_close(iket_root *root);

// Opens `path` (relative, "" for the folder itself) for reading, with `flags` (O_DIRECTORY, 0) added. Never blocks on a
// pipe. Returns a descriptor that the caller closes, or -1 with errno (EXDEV or ELOOP: it would lead out).
int iket_root_open_path(const iket_root *root, const char *path, int flags);

#endif
