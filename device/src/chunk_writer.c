// SPDX-License-Identifier: Apache-2.0
// chunk_writer.c: see chunk_writer.h.
#include "chunk_writer.h"

#include <signal.h>

int writer_init(struct chunk_writer *writer, struct dump_file *dump, struct iket_recorder_error *error) {
    *writer = (struct chunk_writer){.dump = dump};
    REC_TRY(batch_init(&writer->batches[0], error));
    if (batch_init(&writer->batches[1], error) == 0) return 0;
    batch_free(&writer->batches[0]);
    return -1;
}

void writer_free(struct chunk_writer *writer) {
    batch_free(&writer->batches[0]);
    batch_free(&writer->batches[1]);
}

void writer_clear(struct chunk_writer *writer) {
    batch_clear(&writer->batches[0]);
    batch_clear(&writer->batches[1]);
}

static void *write_batches(void *context) {
    struct chunk_writer *writer = context;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (writer->writing == NULL && !writer->ending) pthread_cond_wait(&writer->changed, &writer->mutex);
        if (writer->writing == NULL) break;
        struct iket_recorder_error error;
        pthread_mutex_unlock(&writer->mutex);
        int status = batch_write(writer->writing, writer->dump, &error);
        pthread_mutex_lock(&writer->mutex);
        if (status != 0 && writer->status == 0) writer->status = status, writer->error = error;
        writer->writing = NULL;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

void writer_begin(struct chunk_writer *writer) {
    writer->ending = writer->status = 0;
    writer->writing = NULL;
    if (pthread_mutex_init(&writer->mutex, NULL) != 0) return;
    if (pthread_cond_init(&writer->changed, NULL) != 0) {
        pthread_mutex_destroy(&writer->mutex);
        return;
    }
    // The program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    writer->threaded = pthread_create(&writer->thread, NULL, write_batches, writer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (writer->threaded) return;
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
}

// What the thread failed at, said by the call that finds out.
static int said(const struct chunk_writer *writer, struct iket_recorder_error *error) {
    return writer->status == 0 ? 0 : rec_fail(error, "%s", writer->error.message);
}

int writer_hand_over(struct chunk_writer *writer, struct iket_recorder_error *error) {
    struct chunk_batch *batch = &writer->batches[writer->which];
    if (!writer->threaded) return batch_write(batch, writer->dump, error);
    pthread_mutex_lock(&writer->mutex);
    while (writer->writing != NULL) pthread_cond_wait(&writer->changed, &writer->mutex);
    writer->writing = batch;
    pthread_cond_broadcast(&writer->changed);
    int status = said(writer, error);
    pthread_mutex_unlock(&writer->mutex);
    writer->which ^= 1;
    return status;
}

struct chunk_batch *writer_reserve(struct chunk_writer *writer, struct iket_recorder_error *error) {
    if (batch_full(&writer->batches[writer->which]) && writer_hand_over(writer, error) != 0) return NULL;
    struct chunk_batch *batch = &writer->batches[writer->which];
    batch->items++;
    return batch;
}

int writer_end(struct chunk_writer *writer, struct iket_recorder_error *error) {
    if (!writer->threaded) return 0;
    pthread_mutex_lock(&writer->mutex);
    writer->ending = 1;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    writer->threaded = 0;
    return said(writer, error);
}
