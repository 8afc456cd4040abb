// SPDX-License-Identifier: Apache-2.0
#include "common/pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct job {
    iket_pool_fn fn;
    void *context;
    size_t count, next, done; // tasks in all, the next one to take, finished ones
    size_t failed;            // least index that failed, SIZE_MAX: none
    iket_error error;         // of that one
    struct job *older;
} job;

struct iket_pool {
    pthread_mutex_t lock; // guards everything below, the jobs' fields included
    pthread_cond_t work;  // a job came, or one was finished, or the end
    job *newest;          // of the jobs under way, by their age
    pthread_t *threads;
    unsigned wanted, started; // threads beside the caller's
    int begun, ending;
};

int iket_pool_open(iket_pool **pool, unsigned threads, iket_error *err) {
    long online = threads > 0 ? (long)threads : sysconf(_SC_NPROCESSORS_ONLN);
    if (online < 1) online = 1;
    if (online > IKET_POOL_THREADS_MAX) online = IKET_POOL_THREADS_MAX;
    iket_pool *p = calloc(1, sizeof *p);
    *pool = p;
    if (p == NULL) return iket_fail(err, "out of memory (threads)");
    p->wanted = (unsigned)online - 1;
    pthread_mutex_init(&p->lock, NULL); // both cannot fail on Linux
    pthread_cond_init(&p->work, NULL);
    return 0;
}

unsigned iket_pool_threads(const iket_pool *pool) { return pool == NULL ? 1 : pool->wanted + 1; }

// Runs one task of a job; the lock is held before and after.
static void run_task(iket_pool *p, job *j) {
    size_t index = j->next++;
    if (index < j->failed) {
        iket_error err;
        pthread_mutex_unlock(&p->lock);
        int result = j->fn(j->context, index, &err);
        pthread_mutex_lock(&p->lock);
        if (result != 0 && index < j->failed) {
            j->failed = index;
            j->error = err;
        }
    }
    if (++j->done == j->count) pthread_cond_broadcast(&p->work);
}

// The newest job that has a task to take and is not older than `limit` (NULL: any).
static job *find_work(const iket_pool *p, const job *limit) {
    for (job *j = p->newest; j != NULL; j = j->older) {
        if (j->next < j->count) return j;
        if (j == limit) break;
    }
    return NULL;
}

static void *work(void *context) {
    iket_pool *p = context;
    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        job *j = find_work(p, NULL);
        if (j != NULL) {
            run_task(p, j);
        } else {
            pthread_cond_wait(&p->work, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void begin(iket_pool *p) {
    p->begun = 1;
    p->threads = calloc(p->wanted, sizeof *p->threads);
    while (p->threads != NULL && p->started < p->wanted && pthread_create(&p->threads[p->started], NULL, work, p) == 0) p->started++;
}

void iket_pool_close(iket_pool **pool) {
    iket_pool *p = *pool;
    *pool = NULL;
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->ending = 1;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}

static int run_alone(size_t count, iket_pool_fn fn, void *context, iket_error *err) {
    for (size_t i = 0; i < count; i++) IKET_TRY(fn(context, i, err));
    return 0;
}

int iket_pool_run(iket_pool *pool, size_t count, iket_pool_fn fn, void *context, iket_error *err) {
    if (pool == NULL || pool->wanted == 0 || count <= 1) return run_alone(count, fn, context, err);
    job j = {.fn = fn, .context = context, .count = count, .failed = SIZE_MAX};
    pthread_mutex_lock(&pool->lock);
    if (!pool->begun) begin(pool);
    j.older = pool->newest;
    pool->newest = &j;
    pthread_cond_broadcast(&pool->work);
    while (j.done < count) {
        job *mine = find_work(pool, &j); // our own tasks, and those of jobs that our tasks began
        if (mine != NULL) {
            run_task(pool, mine);
        } else {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
    }
    job **link = &pool->newest;
    while (*link != &j) link = &(*link)->older;
    *link = j.older;
    pthread_mutex_unlock(&pool->lock);
    return j.failed == SIZE_MAX ? 0 : iket_fail(err, "%s", j.error.message);
}

// ---- in order -------------------------------------------------------------------------------------------------------

enum { SLOTS_OF_A_THREAD = 4 }; // so that a thread goes on while its last result waits for its turn

unsigned iket_pool_slots(const iket_pool *pool) { return pool == NULL ? 1 : iket_pool_threads(pool) * SLOTS_OF_A_THREAD; }

typedef struct ordered {
    iket_pool_ordered_fn make, write;
    void *context;
    unsigned slots;
    pthread_mutex_t lock;  // guards what follows
    pthread_cond_t moved;  // `written` grew, or something failed
    size_t written;        // indices below it are written; those up to `slots` behind it may be made
    size_t failed;         // least index that failed, SIZE_MAX: none. What is below it is still made and written
    int writing, write_failed;
    iket_error write_error;
    uint8_t made[IKET_POOL_THREADS_MAX * SLOTS_OF_A_THREAD]; // [slots]
} ordered;

static void fail_at(ordered *o, size_t index) {
    if (index < o->failed) o->failed = index;
    pthread_cond_broadcast(&o->moved);
}

// Writes what is made and next; the lock is held before and after. A thread that finds another one at it leaves it to that.
static void write_made(ordered *o) {
    if (o->writing) return;
    o->writing = 1;
    while (o->written < o->failed && o->made[o->written % o->slots]) {
        iket_error err;
        unsigned slot = (unsigned)(o->written % o->slots);
        pthread_mutex_unlock(&o->lock);
        int result = o->write(o->context, o->written, slot, &err);
        pthread_mutex_lock(&o->lock);
        o->made[slot] = 0;
        if (result != 0) {
            o->write_failed = 1;
            o->write_error = err;
            fail_at(o, o->written);
        } else {
            o->written++;
            pthread_cond_broadcast(&o->moved);
        }
    }
    o->writing = 0;
}

static int make_and_write(void *context, size_t index, iket_error *err) {
    ordered *o = context;
    pthread_mutex_lock(&o->lock);
    while (index < o->failed && index - o->written >= o->slots) pthread_cond_wait(&o->moved, &o->lock);
    int left_out = index >= o->failed;
    pthread_mutex_unlock(&o->lock);
    if (left_out) return 0; // the failure is another's
    int result = o->make(o->context, index, (unsigned)(index % o->slots), err);
    pthread_mutex_lock(&o->lock);
    if (result == 0) {
        o->made[index % o->slots] = 1;
    } else {
        fail_at(o, index);
    }
    write_made(o);
    pthread_mutex_unlock(&o->lock);
    return result;
}

int iket_pool_run_ordered(iket_pool *pool, size_t count, iket_pool_ordered_fn make, iket_pool_ordered_fn write, void *context, iket_error *err) {
    ordered o = {.make = make, .write = write, .context = context, .slots = iket_pool_slots(pool), .failed = SIZE_MAX};
    pthread_mutex_init(&o.lock, NULL);
    pthread_cond_init(&o.moved, NULL);
    int result = iket_pool_run(pool, count, make_and_write, &o, err);
    pthread_cond_destroy(&o.moved);
    pthread_mutex_destroy(&o.lock);
    return o.write_failed ? iket_fail(err, "%s", o.write_error.message) : result;
}
