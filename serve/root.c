// SPDX-License-Identifier: Apache-2.0
#include "serve/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, RETRIES = 8, NAME_BYTES = 256 };

static int open_in_one_step(int folder, const char *path, int flags) {
    struct open_how how = {
        .flags = (unsigned)(FLAGS | flags),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    // EAGAIN: something on the way was renamed meanwhile, and the kernel could not tell whether it leads out.
    for (int i = 0; i < RETRIES; i++) {
        long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN) return (int)fd;
    }
    return -1;
}

// One component after another, none of them a symbolic link.
static int open_step_by_step(int folder, const char *path, int flags) {
    int at = folder;
    for (;;) {
        const char *slash = strchr(path, '/');
        size_t length = slash != NULL ? (size_t)(slash - path) : strlen(path);
        char name[NAME_BYTES];
        int next = -1;
        if (length >= sizeof name) {
            errno = ENAMETOOLONG;
        } else {
            memcpy(name, path, length);
            name[length] = 0;
            if (strcmp(name, "..") == 0 || length == 0) {
                errno = length == 0 ? ENOENT : EXDEV;
            } else {
                next = openat(at, name, slash != NULL ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : FLAGS | O_NOFOLLOW | flags);
            }
        }
        int why = errno;
        if (at != folder) close(at);
        errno = why;
        if (slash == NULL || next < 0) return next;
        at = next;
        path = slash + 1;
    }
}

int iket_root_open(iket_root *root, const char *folder, iket_error *err) {
    root->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root->fd < 0) return iket_fail(err, "%s: cannot be served: %s", folder, strerror(errno));
    int probe = open_in_one_step(root->fd, ".", O_DIRECTORY);
    root->in_one_step = probe >= 0;
    if (probe >= 0) close(probe);
    return 0;
}

void iket_root_close(iket_root *root) {
    if (root->fd >= 0) close(root->fd);
    root->fd = -1;
}

int iket_root_open_path(const iket_root *root, const char *path, int flags) {
    if (path[0] == '/') {
        errno = EXDEV;
        return -1;
    }
    if (path[0] == 0) path = ".";
    return root->in_one_step ? open_in_one_step(root->fd, path, flags) : open_step_by_step(root->fd, path, flags);
}
