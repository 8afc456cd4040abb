// SPDX-License-Identifier: Apache-2.0
// finish.c: see finish.h.
#include "finish.h"

#include "drain.h"
#include "metadata.h"
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Adds up the warps that got no slot and writes them as LOSS.
static int write_losses(struct iket_session *session, const struct iket_control *control, struct iket_recorder_error *error) {
    unsigned char payload[IKET_LOSS_COUNT * 24];
    uint32_t items = 0;
    for (size_t i = 0; i < IKET_LOSS_COUNT; i++) {
        const struct iket_loss_entry *loss = &control->losses[i];
        if (loss->warps == 0) continue;
        uint64_t grid_id = loss->grid_key == 0 ? 0 : loss->grid_key - 1;
        uint32_t words[2] = {(uint32_t)loss->warps, 0};
        memcpy(payload + 24 * (size_t)items, &grid_id, 8);
        memcpy(payload + 24 * (size_t)items + 8, &loss->events, 8);
        memcpy(payload + 24 * (size_t)items + 16, words, 8);
        session->report.dropped_events += loss->events;
        session->report.warps_without_slot += loss->warps;
        items++;
    }
    return items == 0 ? 0 : dump_section(&session->dump, "LOSS", items, payload, 24 * (size_t)items, error);
}

// What was full, what was lost, and the size that would have held it.
static void advise(struct iket_session *session) {
    struct iket_session_report *report = &session->report;
    double times = session->pool_shortage;
    if (report->warps_without_slot != 0) {
        double share = (double)(report->warps + report->warps_without_slot) / (double)(report->warps == 0 ? 1 : report->warps);
        if (share > times) times = share;
    }
    if (times > 0) {
        double bytes = (double)session->options.pool_bytes * times * 1.25;
        report->sufficient_pool_bytes = ((uint64_t)bytes / 1048576 + 1) * 1048576;
    }
    if (report->dropped_events == 0 && report->warps_without_slot == 0) return;
    int length = snprintf(report->advice, sizeof report->advice, "%llu events dropped", (unsigned long long)report->dropped_events);
    if (report->warps_without_slot != 0)
        length += snprintf(report->advice + length, sizeof report->advice - (size_t)length, ", %llu warps found the pool full",
                           (unsigned long long)report->warps_without_slot);
    if (report->sufficient_pool_bytes != 0)
        length += snprintf(report->advice + length, sizeof report->advice - (size_t)length,
                           "; a pool of %llu MiB would have held them (pool_bytes, IKET_POOL_BYTES)",
                           (unsigned long long)(report->sufficient_pool_bytes >> 20));
    if (session->form_b_dropped != 0)
        length += snprintf(report->advice + length, sizeof report->advice - (size_t)length,
                           "; %llu of them by lanes that IKET_FORM_B leaves out", (unsigned long long)session->form_b_dropped);
    if (report->sufficient_other_lane_bytes != 0)
        snprintf(report->advice + length, sizeof report->advice - (size_t)length,
                 "; lanes other than the first need %llu bytes (other_lane_bytes, IKET_OTHER_LANE_BYTES)",
                 (unsigned long long)report->sufficient_other_lane_bytes);
}

static int write_tail(struct iket_session *session, const struct iket_control *control, struct iket_recorder_error *error) {
    char path[4096];
    REC_TRY(metadata_write_kernels(control->kernels, &session->dump, error));
    REC_TRY(launches_write(&session->launches, &session->dump, error));
    REC_TRY(dump_section(&session->dump, "DEVI", 1, session->device_json, strlen(session->device_json), error));
    REC_TRY(write_losses(session, control, error));
    uint64_t done[2] = {session->report.chunks, session->report.dropped_events};
    REC_TRY(dump_section(&session->dump, "DONE", 1, done, sizeof done, error));
    snprintf(path, sizeof path, "%s/meta.json", session->options.output_dir);
    REC_TRY(metadata_write_json(session, control->kernels, path, error));
    return dump_commit(&session->dump, error);
}

// Brings everything that the pool holds into the file. by_host is set where the device can do nothing more.
static int drain_all(struct iket_session *session, unsigned flags, int *by_host, struct iket_recorder_error *error) {
    uint32_t off = 0, running = 0;
    struct iket_recorder_error lost;
    *by_host = pool_write_control(session, offsetof(struct iket_control, recording), &off, sizeof off, &lost) != 0 ||
               drain_count_running(session, &running, &lost) != 0;
    if (*by_host && session->options.pool_place == IKET_POOL_PINNED) return drain_by_host(session, error);
    if (*by_host)
        return rec_fail(error, "%s: the device can do nothing more, and what its memory holds is lost; a pool in pinned host memory "
                        "survives this (pool_place IKET_POOL_PINNED, IKET_POOL=pinned)", lost.message);
    session->begun = 0;
    if (running != 0 && (flags & IKET_FINISH_PARTIAL) == 0)
        return rec_fail(error, "%u warps still run and record: wait for their kernels, or finish with IKET_FINISH_PARTIAL", running);
    return running != 0 ? drain_everything(session, error) : drain_closed(session, error);
}

int finish_session(struct iket_session *session, unsigned flags, struct iket_recorder_error *error) {
    int by_host = 0;
    REC_TRY(drain_all(session, flags, &by_host, error));
    struct iket_control *control = malloc(sizeof *control);
    if (control == NULL) return rec_fail(error, "out of memory for the control block");
    int status = pool_read_control(session, by_host, control, error);
    if (status == 0) status = pool_check_guards(session, by_host, error);
    if (status == 0) status = write_tail(session, control, error);
    free(control);
    if (status != 0) return -1;
    session->report.launches = session->launches.count;
    advise(session);
    session->finished = 1;
    return 0;
}
