// SPDX-License-Identifier: Apache-2.0
// session.c: the life of a session, from create to destroy. What each call promises stands in iket/recorder.h.
#include "session.h"

#include "device_info.h"
#include "environment.h"
#include "finish.h"
#include "drain.h"
#include "metadata.h"
#include "pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t sessions_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct iket_session *all_sessions;

// The calls here report what earlier launches did, if anything; whoever uses the device next reports it with its call.
int session_enter(const struct iket_session *session, struct session_scope *scope, struct iket_recorder_error *error) {
    if (session == NULL) return rec_fail(error, "there is no session");
    scope->device = session->device;
    scope->mode = cudaStreamCaptureModeRelaxed;
    cudaGetDevice(&scope->device);
    cudaThreadExchangeStreamCaptureMode(&scope->mode);
    cudaSetDevice(session->device);
    return 0;
}

void session_leave(const struct session_scope *scope) {
    enum cudaStreamCaptureMode mode = scope->mode;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaSetDevice(scope->device);
}

// Puts the session among those of the process; a device has one.
static int list_session(struct iket_session *session, struct iket_recorder_error *error) {
    int status = 0;
    pthread_mutex_lock(&sessions_mutex);
    for (struct iket_session *other = all_sessions; other != NULL; other = other->next)
        if (other->device == session->device) status = rec_fail(error, "device %d has a session already: destroy it first", session->device);
    if (status == 0) {
        session->next = all_sessions;
        all_sessions = session;
    }
    pthread_mutex_unlock(&sessions_mutex);
    return status;
}

static void unlist_session(struct iket_session *session) {
    pthread_mutex_lock(&sessions_mutex);
    for (struct iket_session **at = &all_sessions; *at != NULL; at = &(*at)->next)
        if (*at == session) {
            *at = session->next;
            break;
        }
    pthread_mutex_unlock(&sessions_mutex);
}

int session_attach(struct iket_session *session, struct iket_recorder_error *error) {
    struct session_scope scope;
    REC_TRY(session_enter(session, &scope, error));
    size_t known = session->modules.count;
    int status = modules_attach(&session->modules, session->control, session->stream, error);
    if (metadata_write_modules(session, known, &session->dump, status == 0 ? error : NULL) != 0) status = -1;
    session_leave(&scope);
    return status;
}

static int open_output(struct iket_session *session, struct iket_recorder_error *error) {
    char path[4096];
    const char *directory = session->options.output_dir;
    if (directory == NULL || *directory == 0) return rec_fail(error, "output_dir is not set");
    if ((size_t)snprintf(path, sizeof path, "%s/dump.bin", directory) >= sizeof path) return rec_fail(error, "output_dir is too long");
    session->options.output_dir = strdup(directory);
    if (session->options.output_dir == NULL) return rec_fail(error, "out of memory for output_dir");
    return dump_open(&session->dump, path, session->options.overwrite, device_context_id(), error);
}

static int fill_session(struct iket_session *session, struct iket_recorder_error *error) {
    REC_CUDA(cudaFree(NULL));
    REC_TRY(open_output(session, error));
    REC_TRY(writer_init(&session->writer, &session->dump, error));
    REC_CUDA(cudaStreamCreateWithFlags(&session->stream, cudaStreamNonBlocking));
    REC_TRY(pool_allocate(session, error));
    REC_TRY(launches_init(&session->launches, error));
    REC_TRY(device_info_json(session, &session->device_json, error));
    REC_TRY(drain_load_kernels(session, error));
    return session_attach(session, error);
}

static void free_session(struct iket_session *session) {
    dump_discard(&session->dump);
    modules_free(&session->modules);
    launches_free(&session->launches);
    pool_free(session);
    writer_free(&session->writer);
    if (session->stream != NULL) cudaStreamDestroy(session->stream);
    if (session->options.output_dir != NULL) free((void *)(uintptr_t)session->options.output_dir);
    free(session->device_json);
    free(session);
}

int session_open(struct iket_session **out, const struct iket_session_options *options, struct iket_recorder_error *error) {
    struct session_scope scope;
    int count = 0;
    *out = NULL;
    REC_CUDA(cudaGetDeviceCount(&count));
    struct iket_session *session = calloc(1, sizeof *session);
    if (session == NULL) return rec_fail(error, "out of memory for a session");
    session->options = *options;
    session->dump.file = -1;
    session->device = options->device;
    int status = options->device >= 0 ? 0 : rec_cuda(cudaGetDevice(&session->device), "cudaGetDevice", error);
    if (status == 0 && session->device >= count) status = rec_fail(error, "there is no device %d: this process sees %d", session->device, count);
    if (status == 0) status = list_session(session, error);
    if (status != 0) {
        free(session);
        return -1;
    }
    const char *directory = session->options.output_dir;
    status = session_enter(session, &scope, error);
    if (status == 0) {
        status = fill_session(session, error);
        if (session->options.output_dir == directory) session->options.output_dir = NULL;
        if (status != 0) modules_detach(&session->modules, session->stream, NULL);
        if (status != 0) unlist_session(session), free_session(session);
        session_leave(&scope);
    } else {
        unlist_session(session);
        free(session);
    }
    if (status == 0) *out = session;
    return status;
}

int iket_session_create(struct iket_session **session, const struct iket_session_options *options, struct iket_recorder_error *error) {
    int device = options->device;
    *session = NULL;
    if (device < 0) REC_CUDA(cudaGetDevice(&device));
    environment_give_way(device);
    environment_session_made();
    return session_open(session, options, error);
}

static int is_no_filter(const struct iket_filter_state *filter) {
    int all = filter->warp_mask == UINT32_MAX && filter->pattern[0] == 0;
    for (int i = 0; i < 3; i++) all &= filter->cta_low[i] == 0 && filter->cta_high[i] == UINT32_MAX;
    return all;
}

static int set_recording(struct iket_session *session, int on, struct iket_recorder_error *error) {
    struct session_scope scope;
    uint32_t recording = !on ? IKET_RECORD_NONE : is_no_filter(&session->layout.filter) ? IKET_RECORD_ALL : IKET_RECORD_FILTERED;
    REC_TRY(session_enter(session, &scope, error));
    int status = pool_write_control(session, offsetof(struct iket_control, recording), &recording, sizeof recording, error);
    session_leave(&scope);
    return status;
}

int iket_session_begin(struct iket_session *session, struct iket_recorder_error *error) {
    if (session == NULL) return rec_fail(error, "there is no session");
    if (session->finished) return rec_fail(error, "the session is finished: create another");
    if (session->begun) return rec_fail(error, "the session records already: begin was called twice");
    REC_TRY(session_attach(session, error));
    REC_TRY(set_recording(session, 1, error));
    session->begun = 1;
    return 0;
}

int iket_session_stop(struct iket_session *session, struct iket_recorder_error *error) {
    if (session == NULL) return rec_fail(error, "there is no session");
    if (!session->begun) return rec_fail(error, "the session does not record: begin it first");
    REC_TRY(set_recording(session, 0, error));
    session->begun = 0;
    return 0;
}

int iket_session_filter(struct iket_session *session, const struct iket_filter *filter, struct iket_recorder_error *error) {
    struct session_scope scope;
    if (session == NULL) return rec_fail(error, "there is no session");
    struct iket_filter_state *state = &session->layout.filter;
    const char *name = filter->kernel_name == NULL ? "" : filter->kernel_name;
    if (strlen(name) >= sizeof state->pattern) return rec_fail(error, "the kernel name %s is longer than %zu bytes", name, sizeof state->pattern - 1);
    state->generation++;
    state->warp_mask = filter->warp_mask;
    memcpy(state->cta_low, filter->cta_low, sizeof state->cta_low);
    memcpy(state->cta_high, filter->cta_high, sizeof state->cta_high);
    memset(state->pattern, 0, sizeof state->pattern);
    memcpy(state->pattern, name, strlen(name));
    REC_TRY(session_enter(session, &scope, error));
    int status = pool_write_control(session, offsetof(struct iket_control, filter), state, sizeof *state, error);
    session_leave(&scope);
    return status == 0 && session->begun ? set_recording(session, 1, error) : status;
}

int session_has_records(struct iket_session *session) {
    struct iket_control *control = malloc(sizeof *control);
    struct session_scope scope;
    int any = control == NULL || session_enter(session, &scope, NULL) != 0;
    if (any) {
        free(control);
        return 1;
    }
    any = pool_read_control(session, 0, control, NULL) != 0 || control->line_buffers[0] != 0;
    for (size_t i = 0; i < IKET_LOSS_COUNT && !any; i++) any = control->losses[i].warps != 0;
    session_leave(&scope);
    free(control);
    return any;
}

int iket_session_drain(struct iket_session *session, struct iket_session_report *report, struct iket_recorder_error *error) {
    struct session_scope scope;
    if (session == NULL) return rec_fail(error, "there is no session");
    if (session->finished) return rec_fail(error, "the session is finished: its dump is written");
    REC_TRY(session_enter(session, &scope, error));
    int status = drain_closed(session, error);
    session_leave(&scope);
    session->report.launches = session->launches.count;
    if (status == 0 && report != NULL) *report = session->report;
    return status;
}

int iket_session_finish(struct iket_session *session, unsigned flags, struct iket_session_report *report, struct iket_recorder_error *error) {
    struct session_scope scope;
    if (session == NULL) return rec_fail(error, "there is no session");
    if (session->finished) return rec_fail(error, "the session is finished already");
    REC_TRY(session_enter(session, &scope, error));
    int status = finish_session(session, flags, error);
    session_leave(&scope);
    if (status == 0 && report != NULL) *report = session->report;
    return status;
}

// 0 when no warp uses the pool. A device that can do nothing more runs none.
static int check_idle(struct iket_session *session, struct iket_recorder_error *error) {
    uint32_t running = 0;
    if (drain_count_running(session, &running, NULL) != 0 || running == 0) return 0;
    return rec_fail(error, "%u warps still run and record: wait for their kernels, then destroy the session", running);
}

int iket_session_destroy(struct iket_session *session, struct iket_recorder_error *error) {
    struct session_scope scope;
    uint32_t off = 0;
    if (session == NULL) return 0;
    REC_TRY(session_enter(session, &scope, error));
    int status = check_idle(session, error);
    if (status == 0) {
        pool_write_control(session, offsetof(struct iket_control, recording), &off, sizeof off, NULL);
        modules_detach(&session->modules, session->stream, NULL);
        unlist_session(session);
        free_session(session);
    }
    session_leave(&scope);
    return status;
}
