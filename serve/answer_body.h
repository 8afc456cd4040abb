// SPDX-License-Identifier: Apache-2.0
// answer_body.h: where a worker puts an answer: in memory while it is small, else in a file of the cache folder that has no
// name and goes with its descriptor. So the memory of all answers is bounded, whatever is asked for and however slowly it
// is taken.
#ifndef IKET_SERVE_ANSWER_BODY_H
#define IKET_SERVE_ANSWER_BODY_H

#include <stdatomic.h>

#include "common/sink.h"

typedef struct iket_answer_body {
    iket_memory memory;   // nothing once there is a file
    int fd;               // -1: none
    uint64_t size;
    int is_packed;        // by gzip
    atomic_size_t *total; // bytes of all bodies in memory; borrowed
    int (*is_unwanted)(void *context); // asked now and then: 1 ends the answer
    void *context;
} iket_answer_body;

iket_answer_body *iket_answer_body_open(atomic_size_t *total, int (*is_unwanted)(void *context), void *context); // NULL: out of memory

// A sink's consumer; context is an iket_answer_body.
int iket_answer_body_flush(void *context, const void *data, size_t size, iket_error *err);

// Packs what is in memory when that pays. That it cannot be done does no harm.
void iket_answer_body_pack(iket_answer_body *body);

// NULL is allowed. The type fits a callback of libmicrohttpd; the argument is an iket_answer_body.
void iket_answer_body_free(void *body);

#endif
