// SPDX-License-Identifier: Apache-2.0
#include "serve/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, WAITING_MAX = 256, LONG_WAITING_MAX = 64 };

struct iket_workers {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t threads[WORKERS];
    size_t thread_count;
    iket_worker_task *first, *last; // what waits
    size_t waiting, long_waiting, long_running;
    atomic_int ending;
};

// With the lock held: takes the first task out that may run now, or any when the workers end.
static iket_worker_task *take(iket_workers *workers) {
    iket_worker_task *before = NULL, *task = workers->first;
    int any = atomic_load(&workers->ending) || workers->long_running < WORKERS - 1;
    while (task != NULL && task->is_long && !any) {
        before = task;
        task = task->next;
    }
    if (task == NULL) return NULL;
    if (before != NULL) {
        before->next = task->next;
    } else {
        workers->first = task->next;
    }
    if (workers->last == task) workers->last = before;
    workers->waiting--;
    workers->long_waiting -= (size_t)task->is_long;
    return task;
}

static void *serve_queue(void *context) {
    iket_workers *workers = context;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        iket_worker_task *task = take(workers);
        int ending = atomic_load(&workers->ending);
        if (task == NULL && ending) break;
        if (task == NULL) {
            pthread_cond_wait(&workers->work, &workers->lock);
            continue;
        }
        int is_long = task->is_long;
        workers->long_running += (size_t)is_long;
        pthread_mutex_unlock(&workers->lock);
        if (!ending) task->run(task);
        task->finish(task);
        pthread_mutex_lock(&workers->lock);
        workers->long_running -= (size_t)is_long;
        if (is_long) pthread_cond_signal(&workers->work); // the next long one may have been passed over
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

int iket_workers_open(iket_workers **workers, iket_error *err) {
    *workers = NULL;
    iket_workers *w = calloc(1, sizeof *w);
    if (w == NULL) return iket_fail(err, "out of memory");
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    for (size_t i = 0; i < WORKERS; i++) {
        int why = pthread_create(&w->threads[i], NULL, serve_queue, w);
        if (why != 0) {
            iket_workers_stop(w);
            iket_workers_close(w);
            return iket_fail(err, "cannot start a thread: %s", strerror(why));
        }
        w->thread_count++;
    }
    *workers = w;
    return 0;
}

int iket_workers_add(iket_workers *workers, iket_worker_task *task) {
    pthread_mutex_lock(&workers->lock);
    int has_room = workers->waiting < WAITING_MAX && (!task->is_long || workers->long_waiting < LONG_WAITING_MAX) && !atomic_load(&workers->ending);
    if (has_room) {
        task->next = NULL;
        if (workers->last != NULL) {
            workers->last->next = task;
        } else {
            workers->first = task;
        }
        workers->last = task;
        workers->waiting++;
        workers->long_waiting += (size_t)task->is_long;
        pthread_cond_broadcast(&workers->work);
    }
    pthread_mutex_unlock(&workers->lock);
    return has_room ? 0 : -1;
}

int iket_workers_are_ending(const iket_workers *workers) { return atomic_load(&workers->ending); }

void iket_workers_stop(iket_workers *workers) {
    if (workers == NULL) return;
    pthread_mutex_lock(&workers->lock);
    atomic_store(&workers->ending, 1);
    pthread_cond_broadcast(&workers->work);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < workers->thread_count; i++) pthread_join(workers->threads[i], NULL);
    workers->thread_count = 0;
}

void iket_workers_close(iket_workers *workers) {
    if (workers == NULL) return;
    pthread_mutex_destroy(&workers->lock);
    pthread_cond_destroy(&workers->work);
    free(workers);
}
