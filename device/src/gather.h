// SPDX-License-Identifier: Apache-2.0
// gather.h: the device side of draining: kernels that copy what is to be saved into one staging area.
//
//   staging: | blob header 32 | closed parts | open part: header 128, first lane's records, lane regions | blob … |
//
// Every launch goes to the given stream and returns its status; the program's last CUDA error is left alone.
#ifndef IKET_DEVICE_GATHER_H
#define IKET_DEVICE_GATHER_H

#include "iket/pool_layout.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gather_blob {
    uint32_t bytes;         // of the blob, this header included, a multiple of 16
    uint32_t closed_bytes;  // closed parts
    uint32_t open;          // an open part follows them
    uint32_t torn;          // the warp ended while it was copied: the blob says nothing
    uint32_t first_bytes;   // of the open part's first lane
    uint32_t lane_bytes;    // of each of its 32 lane regions
    uint64_t time;          // %globaltimer after the open part was copied
};

// What one round did. Zeroed before it.
struct gather_result {
    unsigned long long next;      // bytes asked for
    unsigned long long not_free;  // ~(offset of the first blob that did not fit), 0: all fitted
    uint32_t left;                // buffers that did not fit
    uint32_t torn;
    uint32_t active;
    uint32_t zero;
};

// Takes closed parts out of every buffer that no warp uses, clears them and makes the buffers free again. Buffers whose
// round is skip_round stay as they are (0: none).
cudaError_t gather_closed(struct iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t skip_round,
                          struct gather_result *result, cudaStream_t stream);

// Copies the buffers in use as they are, closed parts in them included, and marks them with the round.
cudaError_t gather_open(struct iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t round,
                        struct gather_result *result, cudaStream_t stream);

// Counts the buffers in use.
cudaError_t gather_count(struct iket_control *control, struct gather_result *result, cudaStream_t stream);

// Writes %gridid and %globaltimer: where a launch of the stream stands among others.
struct gather_probe {
    uint64_t grid_id;
    uint64_t time;
};
cudaError_t gather_mark(struct gather_probe *probe, cudaStream_t stream);

// Writes the least step of %globaltimer that was seen.
cudaError_t gather_timer_step(uint64_t *step, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
