// SPDX-License-Identifier: Apache-2.0
// finish.h: the end of a session's output.
#ifndef IKET_DEVICE_FINISH_H
#define IKET_DEVICE_FINISH_H

#include "session.h"

// Stops, drains, and completes dump.bin and meta.json. The current device must be the session's.
int finish_session(struct iket_session *session, unsigned flags, struct iket_recorder_error *error);

#endif
