// SPDX-License-Identifier: Apache-2.0
#include "serve/clients.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

struct iket_client {
    iket_client *before, *after; // guarded by the table's lock, as is the life of the struct
    int fd;
    atomic_int answering, held;
    atomic_llong since;          // ms: when it began to wait, or to be answered
    int file;                    // with the next three, written by the serving thread with the table's lock; -1: none
    dev_t device;
    ino_t inode;
    uint64_t end;
    int measured;                // the two below hold; only the watching thread touches the three
    long long measured_at;
    uint64_t measured_bytes;
};

struct iket_clients {
    pthread_mutex_t lock;
    pthread_cond_t stop;
    pthread_t thread;
    int stopping;
    iket_client list; // a ring through its own before and after
    size_t count, limit;
    long long timeout; // ms
    atomic_size_t busy;
};

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Bytes that the peer has acknowledged. 0: unknown, which counts as no progress only if it stays so.
static uint64_t acknowledged(int fd) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
    return info.tcpi_bytes_acked;
}

// The descriptor is still open while the struct is in the list, so that it cannot be another connection's.
static void drop(const iket_client *client) { shutdown(client->fd, SHUT_RDWR); }

static void watch_answer(const iket_clients *clients, iket_client *client, long long since, long long now) {
    if (!client->measured || client->measured_at < since) {
        client->measured = 1;
        client->measured_at = now;
        client->measured_bytes = acknowledged(client->fd);
    } else if (now - client->measured_at >= clients->timeout) {
        uint64_t bytes = acknowledged(client->fd);
        uint64_t least = (uint64_t)(now - client->measured_at) * IKET_CLIENTS_LEAST_RATE / 1000;
        if (bytes - client->measured_bytes < least) drop(client);
        client->measured_at = now;
        client->measured_bytes = bytes;
    }
}

// The descriptor may be closed by now, or another file's: then it tells nothing.
static int is_cut(const iket_client *client) {
    struct stat info;
    return client->file >= 0 && fstat(client->file, &info) == 0 && info.st_dev == client->device && info.st_ino == client->inode && (uint64_t)info.st_size < client->end;
}

static void watch_all(iket_clients *clients, long long now) {
    for (iket_client *c = clients->list.after; c != &clients->list; c = c->after) {
        long long since = atomic_load(&c->since);
        if (atomic_load(&c->held)) continue;
        if (atomic_load(&c->answering) && is_cut(c)) {
            drop(c);
        } else if (atomic_load(&c->answering)) {
            watch_answer(clients, c, since, now);
        } else if (now - since >= clients->timeout) {
            drop(c);
        }
    }
}

static void *watch(void *argument) {
    iket_clients *clients = argument;
    long long pause = clients->timeout / 4;
    if (pause > 1000) pause = 1000;
    pthread_mutex_lock(&clients->lock);
    while (!clients->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += pause / 1000;
        until.tv_nsec += pause % 1000 * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&clients->stop, &clients->lock, &until);
        watch_all(clients, now_ms());
    }
    pthread_mutex_unlock(&clients->lock);
    return NULL;
}

int iket_clients_open(iket_clients **clients, size_t limit, unsigned timeout, iket_error *err) {
    *clients = NULL;
    iket_clients *c = calloc(1, sizeof *c);
    if (c == NULL) return iket_fail(err, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->stop, NULL);
    c->list.before = c->list.after = &c->list;
    c->limit = limit;
    c->timeout = (long long)timeout * 1000;
    int why = pthread_create(&c->thread, NULL, watch, c);
    if (why != 0) {
        free(c);
        return iket_fail(err, "cannot start a thread: %s", strerror(why));
    }
    *clients = c;
    return 0;
}

void iket_clients_close(iket_clients *clients) {
    if (clients == NULL) return;
    pthread_mutex_lock(&clients->lock);
    clients->stopping = 1;
    pthread_cond_signal(&clients->stop);
    pthread_mutex_unlock(&clients->lock);
    pthread_join(clients->thread, NULL);
    pthread_mutex_destroy(&clients->lock);
    pthread_cond_destroy(&clients->stop);
    free(clients);
}

// With the lock held.
static void drop_longest_idle(iket_clients *clients) {
    iket_client *oldest = NULL;
    for (iket_client *c = clients->list.after; c != &clients->list; c = c->after) {
        if (!atomic_load(&c->answering) && (oldest == NULL || atomic_load(&c->since) < atomic_load(&oldest->since))) oldest = c;
    }
    if (oldest == NULL) return;
    drop(oldest);
    // Not again, while the thread that serves it takes its time to notice.
    atomic_store(&oldest->since, now_ms());
}

iket_client *iket_clients_add(iket_clients *clients, int fd) {
    iket_client *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->fd = fd;
    c->file = -1;
    atomic_init(&c->answering, 0);
    atomic_init(&c->held, 0);
    atomic_init(&c->since, now_ms());
    pthread_mutex_lock(&clients->lock);
    if (++clients->count > clients->limit - clients->limit / 8) drop_longest_idle(clients);
    c->before = clients->list.before;
    c->after = &clients->list;
    c->before->after = c->after->before = c;
    pthread_mutex_unlock(&clients->lock);
    return c;
}

void iket_clients_remove(iket_clients *clients, iket_client *client) {
    if (client == NULL) return;
    iket_clients_end(clients, client);
    pthread_mutex_lock(&clients->lock);
    client->before->after = client->after;
    client->after->before = client->before;
    clients->count--;
    pthread_mutex_unlock(&clients->lock);
    free(client);
}

void iket_clients_begin(iket_clients *clients, iket_client *client) {
    if (client == NULL || atomic_exchange(&client->answering, 1)) return;
    atomic_store(&client->since, now_ms());
    atomic_fetch_add(&clients->busy, 1);
}

void iket_clients_end(iket_clients *clients, iket_client *client) {
    if (client == NULL || !atomic_exchange(&client->answering, 0)) return;
    if (client->file >= 0) {
        pthread_mutex_lock(&clients->lock);
        client->file = -1;
        pthread_mutex_unlock(&clients->lock);
    }
    atomic_store(&client->since, now_ms());
    atomic_fetch_sub(&clients->busy, 1);
}

void iket_clients_hold(iket_clients *clients, iket_client *client) {
    (void)clients;
    if (client != NULL) atomic_store(&client->held, 1);
}

void iket_clients_go_on(iket_clients *clients, iket_client *client) {
    (void)clients;
    if (client == NULL) return;
    atomic_store(&client->since, now_ms()); // what moved before does not count
    atomic_store(&client->held, 0);
}

void iket_clients_watch_file(iket_clients *clients, iket_client *client, int fd, const struct stat *info, uint64_t end) {
    if (client == NULL) return;
    pthread_mutex_lock(&clients->lock);
    client->file = fd;
    client->device = info->st_dev;
    client->inode = info->st_ino;
    client->end = end;
    pthread_mutex_unlock(&clients->lock);
}

size_t iket_clients_busy(iket_clients *clients) { return atomic_load(&clients->busy); }
