// SPDX-License-Identifier: Apache-2.0
// chunk_writer.h: writes batches of chunks, in a thread of its own while a drain wants that: the next batch is made
// meanwhile. There are two; handing one over waits until the other is written.
#ifndef IKET_DEVICE_CHUNK_WRITER_H
#define IKET_DEVICE_CHUNK_WRITER_H

#include "chunk_batch.h"

#include <pthread.h>

struct chunk_writer {
    struct chunk_batch batches[2];
    int which;                        // that is being made
    struct dump_file *dump;           // borrowed
    int threaded;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct chunk_batch *writing;      // by the thread, NULL: it waits
    int ending;
    int status;                       // of the writes since writer_begin
    struct iket_recorder_error error;
};

int writer_init(struct chunk_writer *writer, struct dump_file *dump, struct iket_recorder_error *error);
void writer_free(struct chunk_writer *writer);

// Forgets what was not handed over yet.
void writer_clear(struct chunk_writer *writer);

// Makes room for one chunk more and counts it; returns the batch that takes it, NULL on failure.
struct chunk_batch *writer_reserve(struct chunk_writer *writer, struct iket_recorder_error *error);

// Hands the batch over. What it points to must stay until the batch after it was handed over, or until writer_end.
int writer_hand_over(struct chunk_writer *writer, struct iket_recorder_error *error);

// Between these, batches are written by a thread, if one can be made. The end waits for all that was handed over.
void writer_begin(struct chunk_writer *writer);
int writer_end(struct chunk_writer *writer, struct iket_recorder_error *error);

#endif
