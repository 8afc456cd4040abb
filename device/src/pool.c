// SPDX-License-Identifier: Apache-2.0
// pool.c: see pool.h and iket/pool_layout.h.
#include "pool.h"

#include <string.h>

static size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// A slot that holds the regions the options ask for.
static size_t slot_for_options(const struct iket_session_options *options) {
    size_t bytes = IKET_PART_HEADER + 2 * IKET_SPARE_BYTES + 1024 + 32 * (size_t)options->other_lane_bytes;
    if (options->first_lane_bytes != 0) bytes += options->first_lane_bytes;
    return round_up(bytes > IKET_SLOT_MIN ? bytes : IKET_SLOT_MIN, 256);
}

static int check_options(const struct iket_session_options *options, struct iket_recorder_error *error) {
    size_t slot = slot_for_options(options);
    if (options->pool_bytes < (size_t)1 << 20) return rec_fail(error, "pool_bytes is %zu: at least 1 MiB is needed", options->pool_bytes);
    if (options->other_lane_bytes != 0 && options->other_lane_bytes < IKET_LANE_REGION_MIN)
        return rec_fail(error, "other_lane_bytes is %u: at least %u are needed", options->other_lane_bytes, IKET_LANE_REGION_MIN);
    if (options->keep != IKET_KEEP_FIRST && options->keep != IKET_KEEP_LAST)
        return rec_fail(error, "keep is %d: IKET_KEEP_FIRST or IKET_KEEP_LAST is needed", options->keep);
    if (slot > options->pool_bytes / 2 || slot > (size_t)1 << 30)
        return rec_fail(error, "a slot of %zu bytes (first_lane_bytes %u, other_lane_bytes %u) does not fit a pool of %zu", slot,
                        options->first_lane_bytes, options->other_lane_bytes, options->pool_bytes);
    return 0;
}

static void plan_layout(struct iket_session *session, const struct cudaDeviceProp *device) {
    struct iket_control *control = &session->layout;
    const struct iket_session_options *options = &session->options;
    size_t pool = options->pool_bytes / 4096 * 4096, slot = slot_for_options(options), largest = pool / 512 / 256 * 256;
    uint32_t resident = (uint32_t)(device->maxThreadsPerMultiProcessor / 32 * device->multiProcessorCount);
    size_t reserve = (size_t)resident * IKET_SLOT_MIN < pool / 4 ? (size_t)resident * IKET_SLOT_MIN : pool / 4 / 4096 * 4096;
    *control = (struct iket_control){.layout_version = IKET_POOL_LAYOUT_VERSION, .resident_warps = resident};
    control->slot_min = (uint32_t)slot;
    control->slot_max = (uint32_t)(largest > slot ? largest : slot);
    control->first_lane_bytes = options->first_lane_bytes / 16 * 16;
    control->other_lane_bytes = options->other_lane_bytes / 16 * 16;
    if (options->first_lane_bytes != 0 && control->other_lane_bytes == 0) control->other_lane_bytes = IKET_LANE_REGION_MIN;
    control->keep_last = options->keep == IKET_KEEP_LAST;
    control->host_memory = options->pool_place == IKET_POOL_PINNED;
    control->buffer_capacity = (uint32_t)(pool / IKET_SLOT_MIN + 1);
    control->main_bytes = pool - reserve;
    control->reserve_bytes = reserve;
    control->filter = (struct iket_filter_state){.generation = 1, .warp_mask = UINT32_MAX,
                                                 .cta_high = {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    session->staging_bytes = round_up(options->staging_bytes > 65536 ? options->staging_bytes : 65536, 16);
    // Two of the largest parts, so that a round is not half empty because the second did not fit.
    if (session->staging_bytes < 2 * (size_t)control->slot_max + 65536) session->staging_bytes = 2 * (size_t)control->slot_max + 65536;
}

static int clear_pool(struct iket_session *session, size_t control_at, struct iket_recorder_error *error) {
    unsigned char *base = session->allocation;
    size_t last = session->allocation_bytes - POOL_GUARD_BYTES;
    REC_CUDA(cudaMemsetAsync(base, 0, session->allocation_bytes, session->stream));
    REC_CUDA(cudaMemsetAsync(base, POOL_GUARD_BYTE, POOL_GUARD_BYTES, session->stream));
    REC_CUDA(cudaMemsetAsync(base + last, POOL_GUARD_BYTE, POOL_GUARD_BYTES, session->stream));
    REC_CUDA(cudaMemcpyAsync(base + control_at, &session->layout, sizeof session->layout, cudaMemcpyHostToDevice, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    return 0;
}

int pool_allocate(struct iket_session *session, struct iket_recorder_error *error) {
    struct cudaDeviceProp device;
    REC_TRY(check_options(&session->options, error));
    REC_CUDA(cudaGetDeviceProperties(&device, session->device));
    plan_layout(session, &device);
    struct iket_control *control = &session->layout;
    size_t table_at = POOL_GUARD_BYTES + round_up(sizeof *control, 4096);
    size_t main_at = table_at + round_up(control->buffer_capacity * sizeof(struct iket_buffer), 4096);
    size_t bytes = main_at + control->main_bytes + control->reserve_bytes + POOL_GUARD_BYTES;
    int pinned = session->options.pool_place == IKET_POOL_PINNED;
    cudaError_t status = pinned ? cudaHostAlloc((void **)&session->allocation, bytes, cudaHostAllocPortable | cudaHostAllocMapped)
                                : cudaMalloc((void **)&session->allocation, bytes);
    if (status != cudaSuccess) {
        session->allocation = NULL;
        rec_cuda(status, pinned ? "cudaHostAlloc" : "cudaMalloc", error);
        return rec_fail(error, "the pool of %zu bytes does not fit: %s: %s", bytes, pinned ? "cudaHostAlloc" : "cudaMalloc",
                        cudaGetErrorString(status));
    }
    session->allocation_bytes = bytes;
    session->control = (struct iket_control *)(void *)(session->allocation + POOL_GUARD_BYTES);
    control->buffers = (uint64_t)(uintptr_t)(session->allocation + table_at);
    control->main_address = (uint64_t)(uintptr_t)(session->allocation + main_at);
    control->reserve_address = control->main_address + control->main_bytes;
    control->borders = (uint32_t)((control->reserve_address >> 32) - (control->main_address >> 32));
    REC_CUDA(cudaMalloc((void **)&session->sinks, IKET_LIST_COUNT * IKET_SINK_BYTES));
    control->sinks = (uint64_t)(uintptr_t)session->sinks;
    REC_CUDA(cudaMalloc((void **)&session->staging, session->staging_bytes));
    for (int i = 0; i < 3; i++)
        REC_CUDA(cudaHostAlloc((void **)&session->staging_host[i], session->staging_bytes, cudaHostAllocDefault));
    REC_CUDA(cudaMalloc((void **)&session->result, sizeof *session->result));
    REC_CUDA(cudaHostAlloc((void **)&session->result_host, sizeof *session->result_host, cudaHostAllocDefault));
    return clear_pool(session, POOL_GUARD_BYTES, error);
}

void pool_free(struct iket_session *session) {
    if (session->allocation != NULL && session->options.pool_place == IKET_POOL_PINNED) cudaFreeHost(session->allocation);
    else if (session->allocation != NULL) cudaFree(session->allocation);
    if (session->sinks != NULL) cudaFree(session->sinks);
    if (session->staging != NULL) cudaFree(session->staging);
    for (int i = 0; i < 3; i++)
        if (session->staging_host[i] != NULL) cudaFreeHost(session->staging_host[i]);
    if (session->result != NULL) cudaFree(session->result);
    if (session->result_host != NULL) cudaFreeHost(session->result_host);
    session->allocation = session->sinks = session->staging = NULL;
    memset(session->staging_host, 0, sizeof session->staging_host);
    session->result = session->result_host = NULL;
}

// Copies from the pool, through the device or as plain memory.
static int read_pool(const struct iket_session *session, int by_host, void *to, const void *from, size_t bytes,
                     struct iket_recorder_error *error) {
    if (by_host) {
        memcpy(to, from, bytes);
        return 0;
    }
    REC_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    return 0;
}

int pool_check_guards(const struct iket_session *session, int by_host, struct iket_recorder_error *error) {
    static const char *const which[2] = {"before", "behind"};
    const unsigned char *at[2] = {session->allocation, session->allocation + session->allocation_bytes - POOL_GUARD_BYTES};
    for (int i = 0; i < 2; i++) {
        unsigned char guard[POOL_GUARD_BYTES];
        REC_TRY(read_pool(session, by_host, guard, at[i], sizeof guard, error));
        for (size_t byte = 0; byte < sizeof guard; byte++)
            if (guard[byte] != POOL_GUARD_BYTE)
                return rec_fail(error, "the guard zone %s the pool was written to at byte %zu: the dump cannot be trusted", which[i], byte);
    }
    return 0;
}

int pool_read_control(const struct iket_session *session, int by_host, struct iket_control *copy, struct iket_recorder_error *error) {
    return read_pool(session, by_host, copy, session->control, sizeof *copy, error);
}

int pool_write_control(const struct iket_session *session, size_t offset, const void *value, size_t bytes,
                       struct iket_recorder_error *error) {
    REC_CUDA(cudaMemcpyAsync((unsigned char *)session->control + offset, value, bytes, cudaMemcpyDefault, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    return 0;
}
