// SPDX-License-Identifier: Apache-2.0
// drain.c: see drain.h.
#include "drain.h"

#include "parts.h"

#include <string.h>

static int clear_result(struct iket_session *session, struct iket_recorder_error *error) {
    REC_CUDA(cudaMemsetAsync(session->result, 0, sizeof *session->result, session->stream));
    return 0;
}

static int fetch_result(struct iket_session *session, struct iket_recorder_error *error) {
    REC_CUDA(cudaMemcpyAsync(session->result_host, session->result, sizeof *session->result, cudaMemcpyDeviceToHost, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    return 0;
}

static int write_blob(struct iket_session *session, const unsigned char *at, const struct gather_blob *blob,
                      struct iket_recorder_error *error) {
    const unsigned char *closed = at + sizeof *blob, *open = closed + blob->closed_bytes;
    if (blob->torn) return 0;
    REC_TRY(parts_write_closed(session, closed, blob->closed_bytes, error));
    if (!blob->open) return 0;
    const unsigned char *first = open + IKET_PART_HEADER, *lanes = first + blob->first_bytes;
    return parts_write_open(session, open, first, blob->first_bytes, lanes, blob->lane_bytes, error);
}

// Copies what a round gathered and writes it as one WARP section.
static int write_round(struct iket_session *session, struct iket_recorder_error *error) {
    REC_TRY(fetch_result(session, error));
    const struct gather_result *result = session->result_host;
    uint64_t bytes = result->not_free != 0 ? ~result->not_free : result->next;
    if (bytes == 0) return 0;
    REC_CUDA(cudaMemcpyAsync(session->staging_host, session->staging, bytes, cudaMemcpyDeviceToHost, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    REC_TRY(dump_warp_begin(&session->dump, error));
    for (uint64_t at = 0; at < bytes;) {
        struct gather_blob blob;
        memcpy(&blob, session->staging_host + at, sizeof blob);
        if (blob.bytes < sizeof blob || blob.bytes > bytes - at) return rec_fail(error, "the staging area is damaged at byte %llu", (unsigned long long)at);
        REC_TRY(write_blob(session, session->staging_host + at, &blob, error));
        at += blob.bytes;
    }
    return dump_warp_end(&session->dump, error);
}

int drain_closed(struct iket_session *session, struct iket_recorder_error *error) {
    do {
        REC_TRY(clear_result(session, error));
        REC_CUDA(gather_closed(session->control, session->staging, session->staging_bytes, session->round, session->result, session->stream));
        REC_TRY(write_round(session, error));
    } while (session->result_host->left != 0);
    return 0;
}

int drain_everything(struct iket_session *session, struct iket_recorder_error *error) {
    if (session->round == 0) session->round = 1;
    do {
        REC_TRY(drain_closed(session, error));
        REC_TRY(clear_result(session, error));
        REC_CUDA(gather_open(session->control, session->staging, session->staging_bytes, session->round, session->result, session->stream));
        REC_TRY(write_round(session, error));
    } while (session->result_host->left != 0 || session->result_host->torn != 0);
    return 0;
}

int drain_count_running(struct iket_session *session, uint32_t *running, struct iket_recorder_error *error) {
    REC_TRY(clear_result(session, error));
    REC_CUDA(gather_count(session->control, session->result, session->stream));
    REC_TRY(fetch_result(session, error));
    *running = session->result_host->active;
    return 0;
}

static int write_buffer_by_host(struct iket_session *session, const struct iket_buffer *buffer, struct iket_recorder_error *error) {
    const unsigned char *memory = (const unsigned char *)(uintptr_t)buffer->address, *part = memory + buffer->fill;
    uint32_t words[32];
    REC_TRY(parts_write_closed(session, memory, buffer->fill, error));
    if (buffer->state != IKET_BUFFER_ACTIVE || buffer->size - buffer->fill < IKET_PART_HEADER) return 0;
    memcpy(words, part, sizeof words);
    if (words[0] != IKET_CHUNK_MAGIC) return 0;
    if ((words[1] >> 16 & IKET_CHUNK_CLOSED) != 0) return parts_write_closed(session, part, words[28], error);
    uint32_t lane_bytes = words[27] * 16;
    if (words[28] > buffer->size - buffer->fill || words[28] < IKET_PART_HEADER + 2 * IKET_SPARE_BYTES + 32 * lane_bytes) return 0;
    uint32_t first_bytes = (words[28] - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 32 * lane_bytes) & ~15u;
    const unsigned char *first = part + IKET_PART_HEADER;
    return parts_write_open(session, part, first, first_bytes, first + first_bytes + IKET_SPARE_BYTES, lane_bytes, error);
}

int drain_by_host(struct iket_session *session, struct iket_recorder_error *error) {
    const struct iket_control *control = session->control;
    const struct iket_buffer *buffers = (const struct iket_buffer *)(uintptr_t)control->buffers;
    uint64_t count = control->line_buffers[0] < control->buffer_capacity ? control->line_buffers[0] : control->buffer_capacity;
    REC_TRY(dump_warp_begin(&session->dump, error));
    for (uint64_t i = 0; i < count; i++)
        if (buffers[i].state != IKET_BUFFER_UNUSED) REC_TRY(write_buffer_by_host(session, &buffers[i], error));
    return dump_warp_end(&session->dump, error);
}

int drain_load_kernels(struct iket_session *session, struct iket_recorder_error *error) {
    uint32_t running;
    REC_TRY(clear_result(session, error));
    REC_CUDA(gather_closed(session->control, session->staging, session->staging_bytes, 0, session->result, session->stream));
    REC_CUDA(gather_open(session->control, session->staging, session->staging_bytes, 1, session->result, session->stream));
    REC_CUDA(gather_mark(&session->launches.marks[0], session->stream));
    REC_TRY(drain_count_running(session, &running, error));
    session->launches.marks[0] = (struct gather_probe){0, 0};
    return 0;
}
