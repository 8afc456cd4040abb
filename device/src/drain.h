// SPDX-License-Identifier: Apache-2.0
// drain.h: moves records from the pool to the file, in rounds of at most the staging area.
#ifndef IKET_DEVICE_DRAIN_H
#define IKET_DEVICE_DRAIN_H

#include "session.h"

// The closed parts of buffers that no warp uses. The current device must be the session's.
int drain_closed(struct iket_session *session, struct iket_recorder_error *error);

// All closed parts and, as open chunks, the warps that still run.
int drain_everything(struct iket_session *session, struct iket_recorder_error *error);

// The same by the host alone, out of a pinned pool whose device can do nothing more.
int drain_by_host(struct iket_session *session, struct iket_recorder_error *error);

// How many buffers warps use at this moment.
int drain_count_running(struct iket_session *session, uint32_t *running, struct iket_recorder_error *error);

// Runs each kernel of the runtime once on the empty pool. CUDA loads a kernel at its first launch, and that waits for
// kernels that run: a drain beside a persistent kernel would never come back.
int drain_load_kernels(struct iket_session *session, struct iket_recorder_error *error);

#endif
