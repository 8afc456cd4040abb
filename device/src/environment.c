// SPDX-License-Identifier: Apache-2.0
// environment.c: see environment.h. This file has no caller to report to, so it alone writes to stderr.
//
// Sessions are made while the program's static objects are constructed, because nothing of ours runs later than that and
// before its first launch. A unit's kernels are registered with CUDA before its static objects are constructed; the
// runtime's own unit may come after the program's, so the sessions wait for whichever is last.
#include "environment.h"

#include "device_info.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEVICE_MAX = 64 };

static pthread_mutex_t environment_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct iket_session *sessions[DEVICE_MAX];
static int started;
static int runtime_loaded;
static int program_has_session;

static void say(const char *text) { fprintf(stderr, "iket: %s\n", text); }
static int verbose(void) {
    const char *value = getenv("IKET_VERBOSE");
    return value != NULL && *value != 0 && strcmp(value, "0") != 0;
}

// A number of bytes with K, M or G; 0 and a message where it is none.
static size_t bytes_of(const char *name, size_t otherwise) {
    const char *text = getenv(name);
    if (text == NULL || *text == 0) return otherwise;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == text || (shift != 0 && end[1] != 0) || (shift == 0 && *end != 0)) {
        fprintf(stderr, "iket: %s=%s is no number of bytes (such as 512M); %zu is used\n", name, text, otherwise);
        return otherwise;
    }
    return (size_t)value << shift;
}

static int keep_of_environment(void) {
    const char *text = getenv("IKET_KEEP");
    if (text != NULL && strcmp(text, "last") == 0) return IKET_KEEP_LAST;
    if (text != NULL && *text != 0 && strcmp(text, "first") != 0)
        fprintf(stderr, "iket: IKET_KEEP=%s is neither first nor last; first is used\n", text);
    return IKET_KEEP_FIRST;
}

static int add_folder(char *path, size_t size, const char *format, int number) {
    size_t length = strlen(path);
    int added = snprintf(path + length, size - length, format, number);
    if (added < 0 || length + (size_t)added >= size) return -1;
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -1;
}

static int has_dump(const char *directory) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/dump.bin", directory);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) == 0) return 1;
    snprintf(path + length, sizeof path - (size_t)length, ".partial-%ld", (long)getpid());
    return access(path, F_OK) == 0;
}

// DIR, with a folder of its own for a rank and for a device where there are several. Where a dump lies already, of
// another run or of another library with a runtime of its own, a numbered folder: no run may lose its records for that.
static int output_directory(char *path, size_t size, int device, int several, int overwrite) {
    struct job_place place = job_place_of_environment();
    if (snprintf(path, size, "%s", getenv("IKET_OUTPUT_DIR")) >= (int)size) return -1;
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return -1;
    if (place.world_size > 1 && add_folder(path, size, "/rank%d", place.rank) != 0) return -1;
    if (several && add_folder(path, size, "/device%d", device) != 0) return -1;
    size_t length = strlen(path);
    for (int number = 2; has_dump(path) && !overwrite && number < 10000; number++) {
        path[length] = 0;
        if (add_folder(path, size, "/%d", number) != 0) return -1;
    }
    if (path[length] != 0) fprintf(stderr, "iket: there is a dump already: this one goes to %s\n", path);
    return 0;
}

static void make_session(int device, int several) {
    struct iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    struct iket_recorder_error error;
    struct iket_filter filter = IKET_FILTER_INIT;
    const char *place = getenv("IKET_POOL");
    char path[2048];
    options.overwrite = bytes_of("IKET_OVERWRITE", 0) != 0;
    options.keep = keep_of_environment();
    if (output_directory(path, sizeof path, device, several, options.overwrite) != 0) {
        fprintf(stderr, "iket: IKET_OUTPUT_DIR: %s: %s; nothing is recorded\n", path, strerror(errno));
        return;
    }
    options.device = device;
    options.output_dir = path;
    options.pool_place = place != NULL && strcmp(place, "pinned") == 0 ? IKET_POOL_PINNED : IKET_POOL_DEVICE;
    options.pool_bytes = bytes_of("IKET_POOL_BYTES", options.pool_bytes);
    options.first_lane_bytes = (uint32_t)bytes_of("IKET_FIRST_LANE_BYTES", 0);
    options.other_lane_bytes = (uint32_t)bytes_of("IKET_OTHER_LANE_BYTES", 0);
    filter.kernel_name = getenv("IKET_FILTER_KERNEL");
    if (session_open(&sessions[device], &options, &error) != 0 ||
        iket_session_filter(sessions[device], &filter, &error) != 0 || iket_session_begin(sessions[device], &error) != 0) {
        fprintf(stderr, "iket: device %d: %s; nothing is recorded there\n", device, error.message);
        iket_session_destroy(sessions[device], NULL);
        sessions[device] = NULL;
    } else if (verbose()) {
        fprintf(stderr, "iket: device %d records to %s\n", device, path);
    }
}

static void finish_session(int device) {
    struct iket_session_report report;
    struct iket_recorder_error error;
    if (sessions[device] == NULL) return;
    if (iket_session_finish(sessions[device], IKET_FINISH_PARTIAL, &report, &error) != 0) say(error.message);
    else if (report.warps == 0 && report.warps_without_slot == 0)
        fprintf(stderr, "iket: device %d: no warp recorded anything: no annotated kernel ran there (IKET_DEVICE chooses the device)\n", device);
    else if (report.advice[0] != 0) say(report.advice);
    else if (verbose())
        fprintf(stderr, "iket: device %d: %llu warps, %llu bytes of records, %llu events overwritten by newer ones\n", device,
                (unsigned long long)report.warps, (unsigned long long)report.record_bytes, (unsigned long long)report.overwritten_events);
    iket_session_destroy(sessions[device], NULL);
    sessions[device] = NULL;
}

static void at_exit(void) {
    pthread_mutex_lock(&environment_mutex);
    int any = program_has_session;
    for (int device = 0; device < DEVICE_MAX; device++) {
        if (sessions[device] == NULL) continue;
        any = 1;
        int current = 0;
        cudaGetDevice(&current);
        cudaSetDevice(device);
        cudaDeviceSynchronize();
        cudaSetDevice(current);
        finish_session(device);
    }
    pthread_mutex_unlock(&environment_mutex);
    if (!any && verbose()) say("nothing was recorded: there was no session (set IKET_OUTPUT_DIR=DIR, or create one)");
}

static void make_sessions(void) {
    int count = 0;
    const char *wanted = getenv("IKET_DEVICE");
    struct job_place place = job_place_of_environment();
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        fprintf(stderr, "iket: no device to record on: %s\n", cudaGetErrorString(status));
        return;
    }
    if (count > DEVICE_MAX) count = DEVICE_MAX;
    if (wanted != NULL && strcmp(wanted, "all") == 0) {
        for (int device = 0; device < count; device++) make_session(device, count > 1);
        return;
    }
    int device = wanted != NULL ? atoi(wanted) : place.local_rank >= 0 ? place.local_rank % count : 0;
    if (device < 0 || device >= count) fprintf(stderr, "iket: IKET_DEVICE=%s: there are %d devices; nothing is recorded\n", wanted, count);
    else make_session(device, 0);
}

// Makes the sessions once both a module and the runtime are there, and attaches what came later.
static void start_or_attach(void) {
    const char *directory = getenv("IKET_OUTPUT_DIR");
    int asked = directory != NULL && *directory != 0;
    if (!runtime_loaded || !modules_registered()) return;
    if (!started && (asked || verbose())) {
        started = 1;
        if (asked) make_sessions();
        atexit(at_exit);
        return;
    }
    for (int device = 0; device < DEVICE_MAX; device++) {
        struct iket_recorder_error error;
        if (sessions[device] != NULL && session_attach(sessions[device], &error) != 0) say(error.message);
    }
}

void environment_module_loaded(void) {
    pthread_mutex_lock(&environment_mutex);
    start_or_attach();
    pthread_mutex_unlock(&environment_mutex);
}

void environment_runtime_loaded(void) {
    pthread_mutex_lock(&environment_mutex);
    runtime_loaded = 1;
    start_or_attach();
    pthread_mutex_unlock(&environment_mutex);
}

void environment_give_way(int device) {
    struct iket_recorder_error error;
    if (device < 0 || device >= DEVICE_MAX) return;
    pthread_mutex_lock(&environment_mutex);
    struct iket_session *session = sessions[device];
    if (session != NULL && session_has_records(session)) finish_session(device);
    else if (session != NULL && iket_session_destroy(session, &error) != 0) say(error.message);
    else sessions[device] = NULL;
    pthread_mutex_unlock(&environment_mutex);
}

void environment_session_made(void) { program_has_session = 1; }

struct iket_session *iket_environment_session(void) {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || device >= DEVICE_MAX) return NULL;
    return sessions[device];
}
