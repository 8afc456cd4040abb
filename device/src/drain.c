// SPDX-License-Identifier: Apache-2.0
// drain.c: see drain.h.
#include "drain.h"

#include "parts.h"

#include <string.h>
#include <time.h>

// How far the device's clock may have drifted from the host's while a session lived.
enum { CLOCK_MARGIN = 250000000 };

static int clear_result(struct iket_session *session, struct iket_recorder_error *error) {
    REC_CUDA(cudaMemsetAsync(session->result, 0, sizeof *session->result, session->stream));
    return 0;
}

static int fetch_result(struct iket_session *session, struct iket_recorder_error *error) {
    REC_CUDA(cudaMemcpyAsync(session->result_host, session->result, sizeof *session->result, cudaMemcpyDeviceToHost, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    return 0;
}

static int add_blob(struct iket_session *session, unsigned char *at, const struct gather_blob *blob, struct iket_recorder_error *error) {
    unsigned char *closed = at + sizeof *blob, *open = closed + blob->closed_bytes;
    if (blob->torn) return 0;
    REC_TRY(parts_add_closed(session, closed, blob->closed_bytes, 1, error));
    if (!blob->open) return 0;
    const unsigned char *first = open + IKET_PART_HEADER;
    struct open_part part = {open, first, blob->first_bytes, first + blob->first_bytes, blob->lane_bytes, blob->time};
    return parts_add_open(session, &part, error);
}

// Makes what a round gathered into chunks, so many bytes of a host buffer, and hands them to the writer.
static int make_round(struct iket_session *session, unsigned char *from, uint64_t bytes, struct iket_recorder_error *error) {
    for (uint64_t at = 0; at < bytes;) {
        struct gather_blob blob;
        memcpy(&blob, from + at, sizeof blob);
        if (blob.bytes < sizeof blob || blob.bytes > bytes - at) return rec_fail(error, "the staging area is damaged at byte %llu", (unsigned long long)at);
        REC_TRY(add_blob(session, from + at, &blob, error));
        at += blob.bytes;
    }
    return writer_hand_over(&session->writer, error);
}

typedef cudaError_t gather_kernel(struct iket_control *control, unsigned char *staging, uint64_t capacity, uint32_t round,
                                  struct gather_result *result, cudaStream_t stream);

static int start_round(struct iket_session *session, gather_kernel *gather, struct iket_recorder_error *error) {
    REC_TRY(clear_result(session, error));
    REC_CUDA(gather(session->control, session->staging, session->staging_bytes, session->round, session->result, session->stream));
    return 0;
}

// Rounds until nothing is left. While the writer writes one, the host makes chunks of the next (and computes their CRC),
// and the device copies the one after that:
//
//   device:  gather 1 | copy 1 | gather 2 | copy 2 | gather 3 | copy 3 …
//   host:                      | make 1 | wait      | make 2 …
//   writer:                             | write 1 …………………… | write 2 …
//
// A host buffer is filled again two rounds after it was handed over, which the round between waited for.
static int overlapped_rounds(struct iket_session *session, gather_kernel *gather, uint32_t *torn, struct iket_recorder_error *error) {
    uint64_t bytes = 0;
    REC_TRY(start_round(session, gather, error));
    for (int round = 0, gathering = 1; gathering || bytes != 0; round++) {
        uint64_t before = bytes;
        bytes = 0;
        if (gathering) {
            REC_TRY(fetch_result(session, error));
            const struct gather_result *result = session->result_host;
            bytes = result->not_free != 0 ? ~result->not_free : result->next;
            gathering = result->left != 0;
            *torn += result->torn;
            REC_CUDA(cudaMemcpyAsync(session->staging_host[round % 3], session->staging, bytes, cudaMemcpyDeviceToHost, session->stream));
            if (gathering) REC_TRY(start_round(session, gather, error));
            if (gathering && !session->writer.threaded) writer_begin(&session->writer);
        } else {
            REC_CUDA(cudaStreamSynchronize(session->stream));
        }
        if (round > 0) REC_TRY(make_round(session, session->staging_host[(round + 2) % 3], before, error));
    }
    return 0;
}

static int run_rounds(struct iket_session *session, gather_kernel *gather, uint32_t *torn, struct iket_recorder_error *error) {
    int status = overlapped_rounds(session, gather, torn, error);
    if (status != 0) cudaStreamSynchronize(session->stream);
    if (writer_end(&session->writer, status == 0 ? error : NULL) != 0) status = -1;
    if (status != 0) writer_clear(&session->writer);
    return status;
}

int drain_closed(struct iket_session *session, struct iket_recorder_error *error) {
    uint32_t torn = 0;
    return run_rounds(session, gather_closed, &torn, error);
}

// A warp that ends while it is copied is torn: its records are closed then, and taken by the next turn.
int drain_everything(struct iket_session *session, struct iket_recorder_error *error) {
    uint32_t torn;
    if (session->round == 0) session->round = 1;
    do {
        torn = 0;
        REC_TRY(drain_closed(session, error));
        REC_TRY(run_rounds(session, gather_open, &torn, error));
    } while (torn != 0);
    return drain_closed(session, error);
}

int drain_count_running(struct iket_session *session, uint32_t *running, struct iket_recorder_error *error) {
    REC_TRY(clear_result(session, error));
    REC_CUDA(gather_count(session->control, session->result, session->stream));
    REC_TRY(fetch_result(session, error));
    *running = session->result_host->active;
    return 0;
}

// Nanoseconds of Unix time by the device's clock, not before now.
static uint64_t device_time_by_host(const struct iket_session *session) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)((int64_t)now.tv_sec * 1000000000 + now.tv_nsec + session->clock_ahead);
}

static int add_buffer_by_host(struct iket_session *session, const struct iket_buffer *buffer, struct iket_recorder_error *error) {
    unsigned char *memory = (unsigned char *)(uintptr_t)buffer->address, *part = memory + buffer->fill;
    uint32_t words[32];
    REC_TRY(parts_add_closed(session, memory, buffer->fill, 0, error));
    if (buffer->state != IKET_BUFFER_ACTIVE || buffer->size - buffer->fill < IKET_PART_HEADER) return 0;
    memcpy(words, part, sizeof words);
    if (words[0] != IKET_CHUNK_MAGIC) return 0;
    if ((words[1] >> 16 & IKET_CHUNK_CLOSED) != 0) return parts_add_closed(session, part, words[28], 0, error);
    uint32_t lane_bytes = words[27] * 16;
    if (words[28] > buffer->size - buffer->fill || words[28] < IKET_PART_HEADER + 2 * IKET_SPARE_BYTES + 32 * lane_bytes) return 0;
    uint32_t first_bytes = (words[28] - IKET_PART_HEADER - 2 * IKET_SPARE_BYTES - 32 * lane_bytes) & ~15u;
    const unsigned char *first = part + IKET_PART_HEADER;
    struct open_part open = {part, first, first_bytes, first + first_bytes + IKET_SPARE_BYTES, lane_bytes, device_time_by_host(session)};
    return parts_add_open(session, &open, error);
}

int drain_by_host(struct iket_session *session, struct iket_recorder_error *error) {
    const struct iket_control *control = session->control;
    const struct iket_buffer *buffers = (const struct iket_buffer *)(uintptr_t)control->buffers;
    uint64_t count = control->line_buffers[0] < control->buffer_capacity ? control->line_buffers[0] : control->buffer_capacity;
    for (uint64_t i = 0; i < count; i++)
        if (buffers[i].state != IKET_BUFFER_UNUSED) REC_TRY(add_buffer_by_host(session, &buffers[i], error));
    return writer_hand_over(&session->writer, error);
}

int drain_load_kernels(struct iket_session *session, struct iket_recorder_error *error) {
    uint32_t running;
    REC_TRY(clear_result(session, error));
    REC_CUDA(gather_closed(session->control, session->staging, session->staging_bytes, 0, session->result, session->stream));
    REC_CUDA(gather_open(session->control, session->staging, session->staging_bytes, 1, session->result, session->stream));
    REC_CUDA(gather_mark(&session->launches.marks[0], session->stream));
    REC_TRY(drain_count_running(session, &running, error));
    session->clock_ahead = 0;
    uint64_t before = device_time_by_host(session);
    REC_CUDA(gather_mark(&session->launches.marks[0], session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    session->clock_ahead = (int64_t)(session->launches.marks[0].time - before) + CLOCK_MARGIN;
    session->launches.marks[0] = (struct gather_probe){0, 0};
    return 0;
}
