// SPDX-License-Identifier: Apache-2.0
#include "common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct iket_output {
    int fd;
    char *path;      // as the user wrote it, for messages
    char *target;    // what to rename to; NULL when written in place
    char *temporary; // what to remove on failure; NULL when written in place
    int slot;        // in unfinished[], -1 for none
    int force;       // replace a target that exists at the commit
};

// Names that a signal handler must remove. A handler has no argument, so this is the one place of process-wide state;
// a slot is filled before its file exists and emptied after it is renamed or removed.
enum { UNFINISHED_SLOTS = 64 };
static char *volatile unfinished[UNFINISHED_SLOTS];

static void remove_unfinished_and_die(int signal_number) {
    for (int i = 0; i < UNFINISHED_SLOTS; i++) {
        char *path = unfinished[i];
        if (path != NULL) unlink(path);
    }
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(signal_number, &by_default, NULL);
    raise(signal_number);
}

void iket_output_guard_signals(void) {
    struct sigaction guard = {.sa_handler = remove_unfinished_and_die};
    sigemptyset(&guard.sa_mask);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signals[i], &guard, NULL);
    }
}

static void release(iket_output **out) {
    iket_output *o = *out;
    *out = NULL;
    if (o->slot >= 0) unfinished[o->slot] = NULL;
    free(o->path);
    free(o->target);
    free(o->temporary);
    free(o);
}

void iket_output_discard(iket_output **out) {
    if (*out == NULL) return;
    if ((*out)->fd > STDERR_FILENO) close((*out)->fd);
    if ((*out)->temporary != NULL) unlink((*out)->temporary);
    release(out);
}

// Follows a symbolic link, so that the file it names is replaced and not the link.
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    return real != NULL ? real : strdup(path);
}

static int open_beside(iket_output *o, const char *path, mode_t mode, iket_error *err) {
    size_t room = strlen(path) + 32;
    o->target = resolve(path);
    if (o->target != NULL) room = strlen(o->target) + 32;
    o->temporary = malloc(room);
    if (o->target == NULL || o->temporary == NULL) return iket_fail(err, "%s: out of memory", path);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        snprintf(o->temporary, room, "%s.part%ld-%u", o->target, (long)getpid(), attempt);
        o->fd = open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (o->fd >= 0 || errno != EEXIST) break;
    }
    if (o->fd < 0) {
        int why = errno;
        free(o->temporary);
        o->temporary = NULL;
        return iket_fail(err, "%s: cannot be written: %s", path, strerror(why));
    }
    for (int i = 0; i < UNFINISHED_SLOTS && o->slot < 0; i++) {
        if (unfinished[i] == NULL) {
            unfinished[i] = o->temporary;
            o->slot = i;
        }
    }
    return 0;
}

int iket_output_open(iket_output **out, const char *path, unsigned flags, iket_error *err) {
    *out = NULL;
    iket_output *o = calloc(1, sizeof *o);
    if (o == NULL) return iket_fail(err, "%s: out of memory", path);
    o->slot = -1;
    o->fd = -1;
    o->force = (flags & IKET_OUTPUT_FORCE) != 0;
    o->path = strdup(path);
    struct stat info;
    int result = 0;
    if (o->path == NULL) {
        result = iket_fail(err, "%s: out of memory", path);
    } else if (strcmp(path, "-") == 0) {
        o->fd = STDOUT_FILENO;
        if ((flags & IKET_OUTPUT_BINARY) && isatty(STDOUT_FILENO)) {
            result = iket_fail(err, "standard output is a terminal: binary is not written there (redirect it, or give -o)");
        }
    } else if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            result = iket_fail(err, "%s: is a directory, not a file to write", path);
        } else if (!S_ISREG(info.st_mode)) {
            o->fd = open(path, O_WRONLY | O_CLOEXEC);
            if (o->fd < 0) result = iket_fail(err, "%s: cannot be written: %s", path, strerror(errno));
        } else if (!o->force) {
            result = iket_fail(err, "%s: exists already (--force replaces it)", path);
        } else {
            result = open_beside(o, path, info.st_mode & 0777, err);
        }
    } else {
        result = open_beside(o, path, 0666, err);
    }
    if (result != 0) {
        iket_output_discard(&o);
        return -1;
    }
    *out = o;
    return 0;
}

int iket_output_write(iket_output *out, const void *data, size_t size, iket_error *err) {
    const char *from = data;
    while (size > 0) {
        ssize_t written = write(out->fd, from, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return iket_fail(err, "%s: write failed: %s", strcmp(out->path, "-") == 0 ? "standard output" : out->path, strerror(errno));
        from += written;
        size -= (size_t)written;
    }
    return 0;
}

int iket_output_descriptor(const iket_output *out) { return out->fd; }

int iket_output_flush(void *context, const void *data, size_t size, iket_error *err) {
    return iket_output_write(context, data, size, err);
}

int iket_output_commit(iket_output **out, iket_error *err) {
    iket_output *o = *out;
    int result = 0;
    if (o->fd > STDERR_FILENO) {
        int fd = o->fd;
        o->fd = -1;
        if (close(fd) != 0) result = iket_fail(err, "%s: write failed: %s", o->path, strerror(errno));
    }
    if (result == 0 && o->temporary != NULL) {
        // link() refuses a target that appeared meanwhile; a file system without hard links falls back to rename().
        if (o->force || (link(o->temporary, o->target) != 0 && errno != EEXIST)) {
            if (rename(o->temporary, o->target) != 0) result = iket_fail(err, "%s: cannot be renamed into place: %s", o->path, strerror(errno));
        } else if (access(o->temporary, F_OK) == 0) {
            struct stat ours, theirs;
            if (stat(o->temporary, &ours) != 0 || stat(o->target, &theirs) != 0 || ours.st_ino != theirs.st_ino) {
                result = iket_fail(err, "%s: appeared while it was being written (--force replaces it)", o->path);
            } else {
                unlink(o->temporary);
            }
        }
    }
    if (result != 0) {
        iket_output_discard(out);
        return -1;
    }
    release(out);
    return 0;
}

int iket_output_close_stdout(iket_error *err) {
    int failed = ferror(stdout);
    errno = 0;
    if (fflush(stdout) != 0) failed = 1;
    int why = errno;
    if (close(STDOUT_FILENO) != 0 && errno != EBADF && !failed) {
        failed = 1;
        why = errno;
    }
    if (!failed || why == EPIPE) return 0;
    return iket_fail(err, "standard output: write failed%s%s", why != 0 ? ": " : "", why != 0 ? strerror(why) : "");
}
