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

#include "serve/work.h"

enum { WAITING_MAX = 1000, RECORDS_MAX = 10000, SETTLED_SECONDS = 2, RETRY_SECONDS = 30, MOMENT_MS = 300 };
#define FACTS_BYTES_MAX ((uint64_t)1 << 30) // larger sources are read only to be shown

typedef struct job {
    char key[IKET_KEY_MAX];
    iket_work work; // of what waits or runs; does not change while it runs
    iket_job_state facts_state, trace_state; // trace: the export or the level file
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

// ---- the thread ------------------------------------------------------------------------------------------------------

static int run_child(void *context, const iket_child_task *task, iket_facts *facts, iket_error *err) {
    iket_jobs *jobs = context;
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

// With the lock held.
static void settle(job *j, iket_work_kind kind, int result, iket_facts *facts, const iket_error *err) {
    iket_job_state state = result == 0 ? IKET_JOB_DONE : IKET_JOB_FAILED;
    int has_facts = result == 0 && kind != IKET_WORK_LEVELS;
    free(j->facts);
    free(j->error);
    j->facts = has_facts ? facts : NULL;
    j->error = result == 0 ? NULL : strdup(err->message);
    j->facts_state = state;
    if (kind != IKET_WORK_FACTS) j->trace_state = has_facts && !facts->written ? IKET_JOB_NONE : state;
    if (!has_facts) free(facts);
}

static void *run_queue(void *context) {
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
        iket_work copy = j->work;
        pthread_mutex_unlock(&jobs->lock);
        iket_error err = {""};
        iket_facts *facts = calloc(1, sizeof *facts);
        int result = facts != NULL ? iket_work_do(&copy, j->key, jobs->root, run_child, jobs, facts, &err) : iket_fail(&err, "out of memory");
        pthread_mutex_lock(&jobs->lock);
        settle(j, copy.kind, result, facts, &err);
        j->queued = 0;
        j->ended = time(NULL);
        iket_work_clear(&j->work);
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
    int why = pthread_create(&j->thread, NULL, run_queue, j);
    if (why != 0) {
        free(j);
        return iket_fail(err, "cannot start a thread: %s", strerror(why));
    }
    *jobs = j;
    return 0;
}

static void free_job(job *j) {
    iket_work_clear(&j->work);
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

// Puts it into the queue, in front when somebody waits to see it; takes work.
static int enqueue(iket_jobs *jobs, job *j, iket_work *work) {
    int in_front = work->kind != IKET_WORK_FACTS;
    // A job that runs for its facts alone is asked for again.
    int has_place = j->queued || jobs->waiting < (in_front ? 2 * WAITING_MAX : WAITING_MAX);
    if (j->queued || !has_place || work->selection == NULL) {
        iket_work_clear(work);
        return has_place && work->selection != NULL ? 0 : -1;
    }
    j->work = *work;
    j->queued = 1;
    j->started = 0;
    if (in_front || jobs->last == NULL) {
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

// What turns a source into its facts (export NULL) and another file. `path` NULL: out of memory.
static int enqueue_export(iket_jobs *jobs, job *j, const iket_catalog_trace *trace, iket_file_kind kind, const iket_export *export) {
    iket_work work = {
        .kind = export != NULL ? IKET_WORK_EXPORT : IKET_WORK_FACTS,
        .path = join(trace->folder, trace->base, iket_file_ending(kind)),
        .meta = trace->meta.there ? join(trace->folder, kind == IKET_FILE_DUMP ? "meta.json" : "iket.data.json", "") : NULL,
        .selection = strdup(export != NULL ? export->selection : ""),
        .json = export != NULL && export->json,
        .most_events = export != NULL ? export->most_events : 0,
    };
    if (work.path != NULL && (work.meta != NULL || !trace->meta.there)) return enqueue(jobs, j, &work);
    iket_work_clear(&work);
    return -1;
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
    if (j != NULL && j->facts_state == IKET_JOB_NONE && is_settled(trace) && enqueue_export(jobs, j, trace, kind, NULL) == 0) j->facts_state = IKET_JOB_PENDING;
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
        if (enqueue_export(jobs, j, trace, kind, export) == 0) j->trace_state = IKET_JOB_PENDING;
    } else if (j->started == 0) { // it waits for its facts: both at once
        j->work.kind = IKET_WORK_EXPORT;
        j->work.most_events = export->most_events;
        j->trace_state = IKET_JOB_PENDING;
        move_to_front(jobs, j);
    }
}

// An export of its own is told apart by a hash of what it selects.
static void add_export(char key[IKET_KEY_MAX], const iket_export *export) {
    char hash[IKET_HASH_DIGITS + 1];
    size_t used = strlen(key);
    if (export->selection[0] == 0 && !export->json) return;
    iket_cache_hash(export->selection, hash);
    snprintf(key + used, IKET_KEY_MAX - used, "+%s%s", hash, export->json ? "j" : "");
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
    return known || iket_work_cached_facts(key, facts);
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
    *fd = iket_work_open_cached(key, iket_work_export_ending(export->json));
    if (*fd >= 0) return IKET_JOB_DONE;
    pthread_mutex_lock(&jobs->lock);
    iket_job_state state = ask_for(jobs, key, trace, kind, export, seconds, err);
    pthread_mutex_unlock(&jobs->lock);
    if (state == IKET_JOB_DONE) *fd = iket_work_open_cached(key, iket_work_export_ending(export->json));
    return state == IKET_JOB_DONE && *fd < 0 ? IKET_JOB_PENDING : state;
}

// ---- level files -----------------------------------------------------------------------------------------------------

int iket_jobs_levels_key(const iket_catalog_trace *trace, const char *selection, char key[IKET_KEY_MAX]) {
    iket_export export = {.selection = selection};
    if (selection == NULL) {
        const iket_catalog_file *files = trace->files;
        if (!files[IKET_FILE_PFTRACE].there && !files[IKET_FILE_PFTRACE_GZ].there) return 0;
        iket_cache_file_key(&files[files[IKET_FILE_PFTRACE].there ? IKET_FILE_PFTRACE : IKET_FILE_PFTRACE_GZ], key);
    } else {
        if (iket_cache_key(trace, key) == IKET_FILE_KINDS) return 0;
        add_export(key, &export);
    }
    strcat(key, IKET_LEVELS_ENDING);
    return 1;
}

// With the lock held: what is pending.
static void describe_pending(const iket_jobs *jobs, const job *j, iket_levels_progress *progress) {
    char path[IKET_CACHE_PATH], ending[64];
    struct stat info;
    progress->waiting = j->started == 0;
    progress->decoding = j->work.kind != IKET_WORK_LEVELS;
    if (progress->waiting || !progress->decoding || jobs->running == 0) return;
    // As iket_output names what it has not finished.
    snprintf(ending, sizeof ending, "%s.part%ld-0", iket_work_export_ending(0), (long)jobs->running);
    if (iket_cache_path(j->key, ending, path, NULL) == 0 && stat(path, &info) == 0) progress->written = (uint64_t)info.st_size;
}

// With the lock held. PENDING with *progress, DONE, FAILED with err; of a job that has its turn next.
static iket_job_state state_of(const iket_jobs *jobs, const job *j, iket_levels_progress *progress, iket_error *err) {
    if (j->queued) {
        describe_pending(jobs, j, progress);
        return IKET_JOB_PENDING;
    }
    if (j->trace_state == IKET_JOB_FAILED) iket_fail(err, "%s", j->error != NULL ? j->error : "out of memory");
    if (j->trace_state == IKET_JOB_DONE || j->trace_state == IKET_JOB_FAILED) return j->trace_state;
    progress->waiting = 1;
    return IKET_JOB_PENDING;
}

// With the lock held: the .pftrace that the level file is to be made of.
static iket_job_state ask_for_source(iket_jobs *jobs, const iket_catalog_trace *trace, const char *selection, iket_levels_progress *progress, iket_error *err) {
    char key[IKET_KEY_MAX];
    iket_export export = {.selection = selection};
    iket_file_kind kind = iket_cache_key(trace, key);
    add_export(key, &export);
    int fd = iket_work_open_cached(key, iket_work_export_ending(0));
    if (fd >= 0) {
        close(fd);
        return IKET_JOB_DONE;
    }
    job *j = find_or_add(jobs, key);
    if (j == NULL) return IKET_JOB_NONE;
    if (wants_start(j)) start_trace(jobs, j, trace, kind, &export);
    return state_of(jobs, j, progress, err);
}

// With the lock held.
static iket_job_state ask_for_levels(iket_jobs *jobs, const char *key, const iket_catalog_trace *trace, int decoded, iket_levels_progress *progress, iket_error *err) {
    job *j = find_or_add(jobs, key);
    if (j == NULL) return IKET_JOB_NONE;
    if (!j->queued && wants_start(j)) {
        iket_file_kind kind = trace->files[IKET_FILE_PFTRACE].there ? IKET_FILE_PFTRACE : IKET_FILE_PFTRACE_GZ;
        iket_work work = {.kind = IKET_WORK_LEVELS, .path = decoded ? NULL : join(trace->folder, trace->base, iket_file_ending(kind)), .selection = strdup("")};
        if (work.path == NULL && !decoded) iket_work_clear(&work);
        if (enqueue(jobs, j, &work) == 0) j->trace_state = IKET_JOB_PENDING;
    }
    return state_of(jobs, j, progress, err);
}

iket_job_state iket_jobs_levels(iket_jobs *jobs, const iket_catalog_trace *trace, const char *selection, iket_levels_progress *progress, iket_error *err) {
    char key[IKET_KEY_MAX];
    *progress = (iket_levels_progress){0};
    if (!iket_jobs_levels_key(trace, selection, key)) return IKET_JOB_NONE;
    pthread_mutex_lock(&jobs->lock);
    iket_job_state state = selection != NULL ? ask_for_source(jobs, trace, selection, progress, err) : IKET_JOB_DONE;
    if (state == IKET_JOB_DONE) state = ask_for_levels(jobs, key, trace, selection != NULL, progress, err);
    pthread_mutex_unlock(&jobs->lock);
    return state;
}
