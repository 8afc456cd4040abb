// SPDX-License-Identifier: Apache-2.0
#include "serve/listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024, NEIGHBOURS = 100, HOLDER_BYTES = 160 };

typedef struct {
    struct sockaddr_storage bytes;
    socklen_t size;
} address;

static int resolve(const char *host, address *to, iket_error *err) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    // "localhost" is told to be 127.0.0.1, as the URL of most people's habit has it.
    if (strcmp(host, "localhost") == 0) hints.ai_family = AF_INET;
    int why = getaddrinfo(host, NULL, &hints, &found);
    if (why != 0) return iket_fail(err, "--host %s: no such address: %s", host, gai_strerror(why));
    memcpy(&to->bytes, found->ai_addr, found->ai_addrlen);
    to->size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static void set_port(address *at, uint16_t port) {
    if (at->bytes.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&at->bytes)->sin6_port = htons(port);
    } else {
        ((struct sockaddr_in *)&at->bytes)->sin_port = htons(port);
    }
}

static void describe(iket_listener *listener, const address *at) {
    if (at->bytes.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at->bytes;
        inet_ntop(AF_INET6, &six->sin6_addr, listener->address, sizeof listener->address);
        listener->is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
        listener->is_wildcard = IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
        listener->port = ntohs(six->sin6_port);
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&at->bytes;
        inet_ntop(AF_INET, &four->sin_addr, listener->address, sizeof listener->address);
        listener->is_loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
        listener->is_wildcard = four->sin_addr.s_addr == htonl(INADDR_ANY);
        listener->port = ntohs(four->sin_port);
    }
}

// A listening socket, or -1 with errno.
static int listen_at(const address *at) {
    int fd = socket(at->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&at->bytes, at->size) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

// ---- who holds a port: the inode of its socket from /proc/net/tcp, then the process that has it open ----------------

// Finds the listening socket on `port`. Returns 1 with its inode and its owner.
static int find_socket(const char *table, uint16_t port, unsigned long *inode, unsigned *user) {
    FILE *f = fopen(table, "re");
    if (f == NULL) return 0;
    char line[512];
    int found = 0;
    while (!found && fgets(line, sizeof line, f) != NULL) {
        unsigned local_port, state;
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %u %*u %lu", &local_port, &state, user, inode) != 4) continue;
        found = local_port == port && state == 0x0A;
    }
    fclose(f);
    return found;
}

static int has_open(const char *pid, unsigned long inode) {
    char path[300], wanted[64], target[64];
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *fds = opendir(path);
    if (fds == NULL) return 0;
    int found = 0;
    for (struct dirent *e; !found && (e = readdir(fds)) != NULL;) {
        ssize_t n = readlinkat(dirfd(fds), e->d_name, target, sizeof target - 1);
        found = n > 0 && (target[n] = 0, strcmp(target, wanted) == 0);
    }
    closedir(fds);
    return found;
}

static void read_command(const char *pid, char *name, size_t room) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *f = fopen(path, "re");
    name[0] = 0;
    if (f == NULL) return;
    if (fgets(name, (int)room, f) == NULL) name[0] = 0;
    name[strcspn(name, "\n")] = 0;
    fclose(f);
}

// " by python3 (pid 123)", " by a process of user bob", or "".
static void find_holder(uint16_t port, char holder[HOLDER_BYTES]) {
    unsigned long inode;
    unsigned user;
    holder[0] = 0;
    if (!find_socket("/proc/net/tcp", port, &inode, &user) && !find_socket("/proc/net/tcp6", port, &inode, &user)) return;
    DIR *processes = opendir("/proc");
    for (struct dirent *e; processes != NULL && holder[0] == 0 && (e = readdir(processes)) != NULL;) {
        char name[64];
        if (!isdigit((unsigned char)e->d_name[0]) || !has_open(e->d_name, inode)) continue;
        read_command(e->d_name, name, sizeof name);
        snprintf(holder, HOLDER_BYTES, " by %s (pid %.20s)", name, e->d_name);
    }
    if (processes != NULL) closedir(processes);
    if (holder[0] != 0) return;
    const struct passwd *owner = getpwuid(user);
    if (owner != NULL) {
        snprintf(holder, HOLDER_BYTES, " by a process of user %.64s", owner->pw_name);
    } else {
        snprintf(holder, HOLDER_BYTES, " by a process of user %u", user);
    }
}

static uint16_t next_free(address at, uint16_t port) {
    for (unsigned p = port + 1u; p <= 65535 && p <= port + (unsigned)NEIGHBOURS; p++) {
        set_port(&at, (uint16_t)p);
        int fd = listen_at(&at);
        if (fd < 0) continue;
        close(fd);
        return (uint16_t)p;
    }
    return 0;
}

static int port_busy(const address *at, const iket_listener *listener, uint16_t port, iket_error *err) {
    char holder[HOLDER_BYTES], instead[48] = "--port 0 takes any";
    find_holder(port, holder);
    uint16_t free_port = next_free(*at, port);
    if (free_port != 0) snprintf(instead, sizeof instead, "--port %u is free; --port 0 takes any", (unsigned)free_port);
    return iket_fail(err, "%s port %u: in use%s (%s)", listener->address, (unsigned)port, holder, instead);
}

int iket_listen_resolve(iket_listener *listener, const char *host, iket_error *err) {
    address at = {0};
    *listener = (iket_listener){.fd = -1};
    IKET_TRY(resolve(host, &at, err));
    describe(listener, &at);
    return 0;
}

int iket_listen(iket_listener *listener, const char *host, uint16_t port, iket_error *err) {
    address at = {0};
    *listener = (iket_listener){.fd = -1};
    IKET_TRY(resolve(host, &at, err));
    set_port(&at, port);
    describe(listener, &at);
    int fd = listen_at(&at);
    if (fd < 0 && errno == EADDRINUSE) return port_busy(&at, listener, port, err);
    if (fd < 0 && errno == EACCES) return iket_fail(err, "%s port %u: not allowed (ports from 1024 are)", listener->address, (unsigned)port);
    if (fd < 0) return iket_fail(err, "%s port %u: cannot listen: %s", listener->address, (unsigned)port, strerror(errno));
    if (getsockname(fd, (struct sockaddr *)&at.bytes, &at.size) != 0) {
        close(fd);
        return iket_fail(err, "%s port %u: cannot listen: %s", listener->address, (unsigned)port, strerror(errno));
    }
    describe(listener, &at);
    listener->fd = fd;
    return 0;
}
