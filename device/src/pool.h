// SPDX-License-Identifier: Apache-2.0
// pool.h: a session's memory: the pool with its control block, and what draining needs beside it.
#ifndef IKET_DEVICE_POOL_H
#define IKET_DEVICE_POOL_H

#include "session.h"

// Allocates and clears everything by session->options. On failure what was allocated is freed by pool_free.
int pool_allocate(struct iket_session *session, struct iket_recorder_error *error);
void pool_free(struct iket_session *session);

// Were the guard zones around the pool left alone? 0, or an error that says which was not. by_host: a pinned pool whose
// device can do nothing more.
int pool_check_guards(const struct iket_session *session, int by_host, struct iket_recorder_error *error);

// The control block as it is now, into *copy.
int pool_read_control(const struct iket_session *session, int by_host, struct iket_control *copy, struct iket_recorder_error *error);

// Writes a field of the control block and waits until it is there.
int pool_write_control(const struct iket_session *session, size_t offset, const void *value, size_t bytes,
                       struct iket_recorder_error *error);

#endif
