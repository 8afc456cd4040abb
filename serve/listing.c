// SPDX-License-Identifier: Apache-2.0
#include "serve/listing.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUICK_MS = 50, STANDS_FOR = 10 }; // times what it took

// A catalog that is shared; freed with its last user.
typedef struct {
    iket_catalog catalog; // first, so that a borrower's pointer is this one's
    size_t users;         // the listing itself among them
    char *folder;
    long long made, took; // ms
} shared;

struct iket_listing {
    pthread_mutex_t lock;
    shared *last; // NULL: none
};

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// With the lock held.
static void drop(shared *s) {
    if (s == NULL || --s->users > 0) return;
    iket_catalog_free(&s->catalog);
    free(s->folder);
    free(s);
}

iket_listing *iket_listing_open(void) {
    iket_listing *listing = calloc(1, sizeof *listing);
    if (listing != NULL) pthread_mutex_init(&listing->lock, NULL);
    return listing;
}

void iket_listing_close(iket_listing *listing) {
    if (listing == NULL) return;
    drop(listing->last);
    pthread_mutex_destroy(&listing->lock);
    free(listing);
}

static shared *scan(const iket_root *root, const char *folder, iket_error *err) {
    shared *s = calloc(1, sizeof *s);
    char *name = strdup(folder);
    if (s == NULL || name == NULL) {
        iket_fail(err, "out of memory");
    } else {
        long long begin = now_ms();
        if (iket_catalog_scan(&s->catalog, root, folder, err) == 0) {
            s->folder = name;
            s->made = now_ms();
            s->took = s->made - begin;
            s->users = 1;
            return s;
        }
    }
    free(name);
    free(s);
    return NULL;
}

static int still_stands(const shared *s, const char *folder) {
    return s != NULL && strcmp(s->folder, folder) == 0 && s->took > QUICK_MS && now_ms() - s->made < s->took * STANDS_FOR;
}

const iket_catalog *iket_listing_borrow(iket_listing *listing, const iket_root *root, const char *folder, iket_error *err) {
    pthread_mutex_lock(&listing->lock);
    shared *s = still_stands(listing->last, folder) ? listing->last : NULL;
    if (s != NULL) s->users++;
    pthread_mutex_unlock(&listing->lock);
    if (s != NULL) return &s->catalog;
    s = scan(root, folder, err);
    if (s == NULL) return NULL;
    if (s->took <= QUICK_MS) return &s->catalog;
    pthread_mutex_lock(&listing->lock);
    drop(listing->last);
    listing->last = s;
    s->users++;
    pthread_mutex_unlock(&listing->lock);
    return &s->catalog;
}

void iket_listing_return(iket_listing *listing, const iket_catalog *catalog) {
    pthread_mutex_lock(&listing->lock);
    drop((shared *)(uintptr_t)catalog);
    pthread_mutex_unlock(&listing->lock);
}
