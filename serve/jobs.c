// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1 // an element that there is no memory for is not added
#include <uthash.h>

#include "common/output.h"
#include "serve/child.h"

enum { WAITING_MAX = 1000, RECORDS_MAX = 10000, SETTLED_SECONDS = 2, RETRY_SECONDS = 30, MOMENT_MS = 300 };
#define FACTS_BYTES_MAX ((uint64_t)1 << 30) // larger sources are read only to be shown

#define FACTS_ENDING ".facts"

typedef struct job {
    char key[IKET_KEY_MAX];
    char *path, *meta, *selection; // of what waits or runs; the first two beneath the root
    int json;
    uint64_t most_events;
    int wants_trace;
    iket_job_state facts_state, trace_state;
    iket_facts *facts;
    char *error;
    time_t started, ended;
    int queued;
    struct job *next; // in the queue
    UT_hash_handle hh;
} job;

struct iket_jobs {
    pthread_mutex_t lock;
    pthread_cond_t work, settled;
    pthread_t thread;
    const iket_root *root;
    job *table;         // by key, oldest first
    job *first, *last;  // the queue
    size_t waiting;
    pid_t running;      // the child, 0: none
    int stopping;
};

// ---- one job, without the lock ---------------------------------------------------------------------------------------

static int read_cached_facts(const char *key, iket_facts *facts) {
    char path[IKET_CACHE_PATH];
    if (iket_cache_path(key, FACTS_ENDING, path, NULL) != 0) return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return 0;
    ssize_t n = read(fd, facts, sizeof *facts);
    close(fd);
    if (n != (ssize_t)sizeof *facts || facts->magic != IKET_FACTS_MAGIC || facts->rows > IKET_FACTS_ROWS) return 0;
    facts->note[sizeof facts->note - 1] = 0;
    for (size_t i = 0; i < IKET_FACTS_KERNELS; i++) facts->kernels[i].name[IKET_FACTS_NAME - 1] = 0;
    return 1;
}

// That facts cannot be kept costs time at the next start, nothing else.
static void keep_facts(const char *key, const iket_facts *facts) {
    char path[IKET_CACHE_PATH];
    iket_output *output;
    if (iket_cache_path(key, FACTS_ENDING, path, NULL) != 0 || iket_output_open(&output, path, IKET_OUTPUT_FORCE, NULL) != 0) return;
    if (iket_output_write(output, facts, sizeof *facts, NULL) != 0 || iket_output_commit(&output, NULL) != 0) iket_output_discard(&output);
}

static const char *ending_of(int json) { return json ? ".trace.json" : ".pftrace"; }

static int open_cached_export(const char *key, int json) {
    char path[IKET_CACHE_PATH];
    if (iket_cache_path(key, ending_of(json), path, NULL) != 0) return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static int run_child(iket_jobs *jobs, const iket_child_task *task, iket_facts *facts, iket_error *err) {
    iket_child child;
    pthread_mutex_lock(&jobs->lock);
    int result = jobs->stopping ? iket_fail(err, "the server is ending") : iket_child_start(&child, task, err);
    jobs->running = result == 0 ? child.pid : 0;
    pthread_mutex_unlock(&jobs->lock);
    if (result != 0) return -1;
    result = iket_child_finish(&child, facts, err);
    pthread_mutex_lock(&jobs->lock);
    jobs->running = 0;
    pthread_mutex_unlock(&jobs->lock);
    return result;
}

// Fills facts and, when wanted, the cached trace.
static int work_on(iket_jobs *jobs, const job *j, iket_facts *facts, iket_error *err) {
    char output[IKET_CACHE_PATH];
    if (!j->wants_trace && read_cached_facts(j->key, facts)) return 0;
    if (j->wants_trace) IKET_TRY(iket_cache_path(j->key, ending_of(j->json), output, err));
    int source = iket_root_open_path(jobs->root, j->path, 0);
    if (source < 0) return iket_fail(err, "%s: cannot be read: %s", j->path, strerror(errno));
    int meta = j->meta != NULL ? iket_root_open_path(jobs->root, j->meta, 0) : -1;
    iket_child_task task = {.source = source, .meta = meta, .name = j->path, .selection = j->selection, .most_events = j->most_events, .output = j->wants_trace ? output : NULL};
    int result = j->meta != NULL && meta < 0 ? iket_fail(err, "%s: cannot be read: %s", j->meta, strerror(errno)) : run_child(jobs, &task, facts, err);
    close(source);
    if (meta >= 0) close(meta);
    if (result != 0) return -1;
    if (j->selection[0] == 0 && !j->json) keep_facts(j->key, facts);
    if (j->wants_trace) iket_cache_prune();
    return 0;
}

// ---- the thread ------------------------------------------------------------------------------------------------------

static void forget_input(job *j) {
    free(j->path);
    free(j->meta);
    free(j->selection);
    j->path = j->meta = j->selection = NULL;
}

// With the lock held.
static void settle(job *j, int with_trace, int result, iket_facts *facts, const iket_error *err) {
    free(j->facts);
    free(j->error);
    j->facts = result == 0 ? facts : NULL;
    j->error = result == 0 ? NULL : strdup(err->message);
    j->facts_state = result == 0 ? IKET_JOB_DONE : IKET_JOB_FAILED;
    if (with_trace) j->trace_state = result == 0 && !facts->written ? IKET_JOB_NONE : j->facts_state;
    if (result != 0) free(facts);
}

static void *work(void *context) {
    iket_jobs *jobs = context;
    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        while (jobs->first == NULL && !jobs->stopping) pthread_cond_wait(&jobs->work, &jobs->lock);
        if (jobs->stopping) break;
        job *j = jobs->first;
        jobs->first = j->next;
        if (jobs->first == NULL) jobs->last = NULL;
        jobs->waiting--;
        j->started = time(NULL);
        job copy = *j; // the path, meta and wants_trace of a job that runs do not change
        pthread_mutex_unlock(&jobs->lock);
        iket_error err = {""};
        iket_facts *facts = calloc(1, sizeof *facts);
        int result = facts != NULL ? work_on(jobs, &copy, facts, &err) : iket_fail(&err, "out of memory");
        pthread_mutex_lock(&jobs->lock);
        settle(j, copy.wants_trace, result, facts, &err);
        j->queued = 0;
        j->ended = time(NULL);
        forget_input(j);
        pthread_cond_broadcast(&jobs->settled);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

int iket_jobs_open(iket_jobs **jobs, const iket_root *root, iket_error *err) {
    *jobs = NULL;
    iket_jobs *j = calloc(1, sizeof *j);
    if (j == NULL) return iket_fail(err, "out of memory");
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->work, NULL);
    pthread_cond_init(&j->settled, NULL);
    j->root = root;
    int why = pthread_create(&j->thread, NULL, work, j);
    if (why != 0) {
        free(j);
        return iket_fail(err, "cannot start a thread: %s", strerror(why));
    }
    *jobs = j;
    return 0;
}

static void free_job(job *j) {
    forget_input(j);
    free(j->facts);
    free(j->error);
    free(j);
}

void iket_jobs_close(iket_jobs *jobs) {
    if (jobs == NULL) return;
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = 1;
    if (jobs->running > 0) kill(jobs->running, SIGTERM);
    pthread_cond_signal(&jobs->work);
    pthread_mutex_unlock(&jobs->lock);
    pthread_join(jobs->thread, NULL);
    job *j, *next;
    HASH_ITER(hh, jobs->table, j, next) {
        HASH_DEL(jobs->table, j);
        free_job(j);
    }
    pthread_mutex_destroy(&jobs->lock);
    pthread_cond_destroy(&jobs->work);
    pthread_cond_destroy(&jobs->settled);
    free(jobs);
}

// ---- asking, with the lock held --------------------------------------------------------------------------------------

static void forget_oldest(iket_jobs *jobs) {
    job *j, *next;
    HASH_ITER(hh, jobs->table, j, next) {
        if (j->queued) continue;
        HASH_DEL(jobs->table, j);
        free_job(j);
        return;
    }
}

static job *find_or_add(iket_jobs *jobs, const char *key) {
    job *j;
    HASH_FIND_STR(jobs->table, key, j);
    if (j != NULL) return j;
    if (HASH_COUNT(jobs->table) >= RECORDS_MAX) forget_oldest(jobs);
    j = calloc(1, sizeof *j);
    if (j == NULL) return NULL;
    memcpy(j->key, key, strlen(key) + 1);
    HASH_ADD_STR(jobs->table, key, j);
    if (j->hh.tbl != NULL) return j;
    free(j);
    return NULL;
}

static void put_in_front(iket_jobs *jobs, job *j) {
    j->next = jobs->first;
    jobs->first = j;
    if (jobs->last == NULL) jobs->last = j;
}

// Of a job that waits.
static void move_to_front(iket_jobs *jobs, job *j) {
    if (jobs->first == j) return;
    for (job *before = jobs->first; before != NULL; before = before->next) {
        if (before->next != j) continue;
        before->next = j->next;
        if (jobs->last == j) jobs->last = before;
        put_in_front(jobs, j);
        return;
    }
}

static char *join(const char *folder, const char *name, const char *ending) {
    char *path;
    return asprintf(&path, "%s%s%s%s", folder, folder[0] != 0 ? "/" : "", name, ending) < 0 ? NULL : path;
}

// Puts it into the queue: in front when somebody waits to see it.
static int enqueue(iket_jobs *jobs, job *j, const iket_catalog_trace *trace, iket_file_kind kind, const iket_export *export) {
    if (j->queued) return 0; // a job that runs for its facts alone is asked for again
    int wants_trace = export != NULL;
    if (jobs->waiting >= (wants_trace ? 2 * WAITING_MAX : WAITING_MAX)) return -1;
    j->path = join(trace->folder, trace->base, iket_file_ending(kind));
    j->meta = trace->meta.there ? join(trace->folder, kind == IKET_FILE_DUMP ? "meta.json" : "iket.data.json", "") : NULL;
    j->selection = strdup(export != NULL ? export->selection : "");
    j->json = export != NULL && export->json;
    j->most_events = export != NULL ? export->most_events : 0;
    if (j->path == NULL || j->selection == NULL || (trace->meta.there && j->meta == NULL)) {
        forget_input(j);
        return -1;
    }
    j->wants_trace = wants_trace;
    j->queued = 1;
    j->started = 0;
    if (wants_trace || jobs->last == NULL) {
        put_in_front(jobs, j);
    } else {
        j->next = NULL;
        jobs->last->next = j;
        jobs->last = j;
    }
    jobs->waiting++;
    pthread_cond_signal(&jobs->work);
    return 0;
}

// A file of the last moments may still be growing.
static int is_settled(const iket_catalog_trace *trace) { return time(NULL) - trace->modified > SETTLED_SECONDS; }

iket_job_state iket_jobs_facts(iket_jobs *jobs, const iket_catalog_trace *trace, iket_facts *facts, iket_error *err) {
    char key[IKET_KEY_MAX];
    iket_file_kind kind = iket_cache_key(trace, key);
    if (kind == IKET_FILE_KINDS || trace->files[kind].size > FACTS_BYTES_MAX) return IKET_JOB_NONE;
    iket_job_state state = IKET_JOB_NONE;
    pthread_mutex_lock(&jobs->lock);
    job *j = find_or_add(jobs, key);
    if (j != NULL && j->facts_state == IKET_JOB_NONE && is_settled(trace) && enqueue(jobs, j, trace, kind, NULL) == 0) j->facts_state = IKET_JOB_PENDING;
    if (j != NULL) state = j->facts_state;
    if (state == IKET_JOB_DONE) *facts = *j->facts;
    if (state == IKET_JOB_FAILED) iket_fail(err, "%s", j->error != NULL ? j->error : "out of memory");
    pthread_mutex_unlock(&jobs->lock);
    return state;
}

// Not begun; or done, but gone from the cache; or failed a while ago, for a reason that may have passed (a full disk).
static int wants_start(const job *j) {
    return j->trace_state == IKET_JOB_NONE || j->trace_state == IKET_JOB_DONE || (j->trace_state == IKET_JOB_FAILED && time(NULL) - j->ended > RETRY_SECONDS);
}

static void start_trace(iket_jobs *jobs, job *j, const iket_catalog_trace *trace, iket_file_kind kind, const iket_export *export) {
    if (!j->queued) {
        if (enqueue(jobs, j, trace, kind, export) == 0) j->trace_state = IKET_JOB_PENDING;
    } else if (j->started == 0) { // it waits for its facts: both at once
        j->wants_trace = 1;
        j->most_events = export->most_events;
        j->trace_state = IKET_JOB_PENDING;
        move_to_front(jobs, j);
    }
}

// An export of its own is told apart by two hashes (FNV-1a, from two beginnings) of what it selects.
static void add_export(char key[IKET_KEY_MAX], const iket_export *export) {
    uint64_t a = UINT64_C(0xCBF29CE484222325), b = UINT64_C(0x84222325CBF29CE4);
    size_t used = strlen(key);
    if (export->selection[0] == 0 && !export->json) return;
    for (const char *c = export->selection; *c != 0; c++) {
        a = (a ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
        b = (b ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    }
    snprintf(key + used, IKET_KEY_MAX - used, "+%016" PRIx64 "%016" PRIx64 "%s", a, b, export->json ? "j" : "");
}

int iket_jobs_known_facts(iket_jobs *jobs, const iket_catalog_trace *trace, iket_facts *facts) {
    char key[IKET_KEY_MAX];
    job *j;
    if (iket_cache_key(trace, key) == IKET_FILE_KINDS) return 0;
    pthread_mutex_lock(&jobs->lock);
    HASH_FIND_STR(jobs->table, key, j);
    int known = j != NULL && j->facts_state == IKET_JOB_DONE;
    if (known) *facts = *j->facts;
    pthread_mutex_unlock(&jobs->lock);
    return known || read_cached_facts(key, facts);
}

static int is_too_large(const job *j, const iket_export *export) {
    return export->most_events > 0 && j->facts_state == IKET_JOB_DONE && j->facts->markers + j->facts->ranges > export->most_events;
}

// With the lock held, but for the moment that it waits: most traces are small, and an answer a little later spares the
// page that says to wait.
static iket_job_state ask_for(iket_jobs *jobs, const char *key, const iket_catalog_trace *trace, iket_file_kind kind, const iket_export *export, unsigned *seconds, iket_error *err) {
    struct timespec until;
    job *j = find_or_add(jobs, key);
    if (j == NULL || is_too_large(j, export)) return IKET_JOB_NONE;
    if (wants_start(j)) start_trace(jobs, j, trace, kind, export);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    // Looked up anew each time: a job that is over may be forgotten.
    while (j != NULL && j->queued && pthread_cond_timedwait(&jobs->settled, &jobs->lock, &until) == 0) HASH_FIND_STR(jobs->table, key, j);
    if (j == NULL) return IKET_JOB_PENDING;
    if (j->queued) {
        if (j->started != 0) *seconds = (unsigned)(time(NULL) - j->started);
        return IKET_JOB_PENDING;
    }
    if (is_too_large(j, export)) return IKET_JOB_NONE;
    if (j->trace_state == IKET_JOB_FAILED) iket_fail(err, "%s", j->error != NULL ? j->error : "out of memory");
    // What ran was for the facts alone, or the queue had no room: asked for again, it has its turn.
    return j->trace_state == IKET_JOB_NONE ? IKET_JOB_PENDING : j->trace_state;
}

iket_job_state iket_jobs_export(iket_jobs *jobs, const iket_catalog_trace *trace, const iket_export *export, int *fd, unsigned *seconds, iket_error *err) {
    char key[IKET_KEY_MAX];
    iket_file_kind kind = iket_cache_key(trace, key);
    *fd = -1;
    *seconds = 0;
    if (kind == IKET_FILE_KINDS) return IKET_JOB_NONE;
    add_export(key, export);
    *fd = open_cached_export(key, export->json);
    if (*fd >= 0) return IKET_JOB_DONE;
    pthread_mutex_lock(&jobs->lock);
    iket_job_state state = ask_for(jobs, key, trace, kind, export, seconds, err);
    pthread_mutex_unlock(&jobs->lock);
    if (state == IKET_JOB_DONE) *fd = open_cached_export(key, export->json);
    return state == IKET_JOB_DONE && *fd < 0 ? IKET_JOB_PENDING : state;
}
