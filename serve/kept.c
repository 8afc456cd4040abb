// SPDX-License-Identifier: Apache-2.0
#include "serve/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 64, SETTLED_SECONDS = 2 };

typedef struct {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    const char *type;
    struct MHD_Response *response; // NULL: the slot is empty
} slot;

struct iket_kept {
    pthread_mutex_t lock;
    slot slots[SLOTS]; // by inode
};

iket_kept *iket_kept_open(void) {
    iket_kept *kept = calloc(1, sizeof *kept);
    if (kept != NULL) pthread_mutex_init(&kept->lock, NULL);
    return kept;
}

void iket_kept_close(iket_kept *kept) {
    if (kept == NULL) return;
    for (size_t i = 0; i < SLOTS; i++) {
        if (kept->slots[i].response != NULL) MHD_destroy_response(kept->slots[i].response);
    }
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

static int is_of(const slot *s, const struct stat *info, const char *type) {
    return s->response != NULL && s->inode == info->st_ino && s->device == info->st_dev && s->size == info->st_size && s->type == type &&
           s->changed.tv_sec == info->st_ctim.tv_sec && s->changed.tv_nsec == info->st_ctim.tv_nsec;
}

int iket_kept_queue(iket_kept *kept, struct MHD_Connection *connection, const struct stat *info, const char *type, enum MHD_Result *result) {
    // Held while it is queued, so that it is not dropped in between; from then on the connection shares it.
    pthread_mutex_lock(&kept->lock);
    const slot *s = &kept->slots[info->st_ino % SLOTS];
    int found = is_of(s, info, type);
    if (found) *result = MHD_queue_response(connection, MHD_HTTP_OK, s->response);
    pthread_mutex_unlock(&kept->lock);
    return found;
}

void iket_kept_put(iket_kept *kept, const struct stat *info, const char *type, struct MHD_Response *response) {
    struct MHD_Response *other = response;
    // A file of the last moments may change again without its time of change showing it.
    if (time(NULL) - info->st_ctim.tv_sec > SETTLED_SECONDS) {
        pthread_mutex_lock(&kept->lock);
        slot *s = &kept->slots[info->st_ino % SLOTS];
        other = s->response;
        *s = (slot){info->st_dev, info->st_ino, info->st_size, info->st_ctim, type, response};
        pthread_mutex_unlock(&kept->lock);
    }
    if (other != NULL) MHD_destroy_response(other);
}
