// SPDX-License-Identifier: Apache-2.0
// device_info.h: what a dump says of its device, host and place among the processes of a job.
#ifndef IKET_DEVICE_DEVICE_INFO_H
#define IKET_DEVICE_DEVICE_INFO_H

#include "session.h"

// The DEVI section's JSON in *json, which the caller frees. The current device must be the session's.
int device_info_json(const struct iket_session *session, char **json, struct iket_recorder_error *error);

// The id of the current device's context, 0 where the driver does not tell.
uint64_t device_context_id(void);

// Rank and size of the job by the variables of torchrun, OpenMPI or SLURM; -1 where none is set.
struct job_place {
    int rank;
    int local_rank;
    int world_size;
};
struct job_place job_place_of_environment(void);

#endif
