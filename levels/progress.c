// SPDX-License-Identifier: Apache-2.0
#include "levels/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "common/output.h"

#define INTERVAL UINT64_C(250000000)

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int write_file(iket_levels_progress *p, const iket_levels_names *names, iket_error *err) {
    iket_output *output;
    iket_sink sink;
    uint64_t done = atomic_load(&p->done);
    IKET_TRY(iket_output_open(&output, p->path, IKET_OUTPUT_FORCE, err));
    if (iket_sink_open(&sink, 0, iket_output_flush, output, err) != 0) {
        iket_output_discard(&output);
        return -1;
    }
    iket_sink_printf(&sink, "{\"version\":1,\"state\":\"building\",\"progress\":{\"phase\":\"%s\",\"bytes\":%" PRIu64 ",\"total\":%" PRIu64 "}", p->phase,
                     done < p->total ? done : p->total, p->total);
    iket_levels_overview_put(&p->overview, names, &sink);
    iket_sink_text(&sink, "}\n");
    if (iket_sink_close(&sink, err) != 0) {
        iket_output_discard(&output);
        return -1;
    }
    return iket_output_commit(&output, err);
}

void iket_levels_progress_open(iket_levels_progress *p, const char *path) {
    *p = (iket_levels_progress){.path = path, .phase = "reading"};
    pthread_mutex_init(&p->lock, NULL); // cannot fail on Linux
}

void iket_levels_progress_begin(iket_levels_progress *p, const iket_levels_names *names, const char *phase, uint64_t total) {
    p->phase = phase;
    p->total = total;
    p->written = 0;
    atomic_store(&p->done, 0);
    iket_levels_progress_add(p, names, 0);
}

void iket_levels_progress_add(iket_levels_progress *p, const iket_levels_names *names, uint64_t more) {
    atomic_fetch_add(&p->done, more);
    if (p->path == NULL || pthread_mutex_trylock(&p->lock) != 0) return;
    uint64_t time = now();
    if (time - p->written >= INTERVAL) {
        (void)write_file(p, names, NULL);
        p->written = time;
    }
    pthread_mutex_unlock(&p->lock);
}

void iket_levels_progress_close(iket_levels_progress *p) {
    if (p->path != NULL) unlink(p->path);
    pthread_mutex_destroy(&p->lock);
    iket_levels_overview_free(&p->overview);
}
