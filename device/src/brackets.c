// SPDX-License-Identifier: Apache-2.0
// brackets.c: iket_launch_begin, iket_launch_end and iket_graph_launch: host times and graph keys for LNCH.
#include "session.h"

#include <string.h>
#include <time.h>

static uint64_t unix_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int check_stream(cudaStream_t stream, struct iket_recorder_error *error) {
    enum cudaStreamCaptureStatus status;
    REC_CUDA(cudaStreamIsCapturing(stream, &status));
    if (status != cudaStreamCaptureStatusNone) return rec_fail(error, "the stream is being captured: bracket the launch of the graph");
    return 0;
}

// A new bracket; when all are used, the newest of the same key, which is then taken to last until the next end.
static struct launch_bracket *open_bracket(struct launch_table *table, const char *key, int *is_new) {
    *is_new = table->bracket_count < LAUNCH_BRACKET_MAX;
    if (*is_new) {
        struct launch_bracket *bracket = &table->brackets[table->bracket_count];
        bracket->marks = &table->marks[2 * table->bracket_count++];
        memcpy(bracket->graph_key, key, strlen(key) + 1);
        bracket->host_start = unix_time();
        return bracket;
    }
    for (size_t i = table->bracket_count; i-- > 0;)
        if (strcmp(table->brackets[i].graph_key, key) == 0) return &table->brackets[i];
    return NULL;
}

static int begin_bracket(struct iket_session *session, cudaStream_t stream, const char *key, struct launch_bracket **bracket,
                         struct iket_recorder_error *error) {
    int is_new;
    if (session == NULL) return rec_fail(error, "there is no session");
    REC_TRY(check_stream(stream, error));
    *bracket = open_bracket(&session->launches, key, &is_new);
    if (*bracket != NULL && is_new) REC_CUDA(gather_mark(&(*bracket)->marks[0], stream));
    return 0;
}

static int end_bracket(struct launch_bracket *bracket, cudaStream_t stream, struct iket_recorder_error *error) {
    if (bracket == NULL) return 0;
    REC_CUDA(gather_mark(&bracket->marks[1], stream));
    bracket->host_end = unix_time();
    return 0;
}

int iket_launch_begin(struct iket_session *session, cudaStream_t stream, struct iket_recorder_error *error) {
    struct launch_bracket *bracket;
    return begin_bracket(session, stream, "", &bracket, error);
}

int iket_launch_end(struct iket_session *session, cudaStream_t stream, struct iket_recorder_error *error) {
    if (session == NULL) return rec_fail(error, "there is no session");
    REC_TRY(check_stream(stream, error));
    struct launch_table *table = &session->launches;
    struct launch_bracket *newest = NULL;
    for (size_t i = table->bracket_count; i-- > 0;) {
        struct launch_bracket *bracket = &table->brackets[i];
        if (bracket->graph_key[0] != 0) continue;
        if (newest == NULL) newest = bracket;
        if (bracket->host_end == 0) return end_bracket(bracket, stream, error);
    }
    if (newest == NULL || table->bracket_count < LAUNCH_BRACKET_MAX) return rec_fail(error, "there is no launch to end: begin one first");
    return end_bracket(newest, stream, error);
}

int iket_graph_launch(struct iket_session *session, cudaGraphExec_t graph, cudaStream_t stream, const char *key,
                      struct iket_recorder_error *error) {
    struct launch_bracket *bracket;
    if (key == NULL || *key == 0 || strlen(key) > 63) return rec_fail(error, "a graph key has 1 to 63 bytes");
    REC_TRY(begin_bracket(session, stream, key, &bracket, error));
    REC_CUDA(cudaGraphLaunch(graph, stream));
    return end_bracket(bracket, stream, error);
}
