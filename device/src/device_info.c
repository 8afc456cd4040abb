// SPDX-License-Identifier: Apache-2.0
// device_info.c: see device_info.h.
#include "device_info.h"

#include "text_buffer.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int first_number(const char *const *names) {
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        if (text == NULL || *text < '0' || *text > '9') continue;
        long value = strtol(text, NULL, 10);
        if (value <= 1000000) return (int)value;
    }
    return -1;
}

struct job_place job_place_of_environment(void) {
    static const char *const rank[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", NULL};
    static const char *const local[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", NULL};
    static const char *const size[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL};
    return (struct job_place){first_number(rank), first_number(local), first_number(size)};
}

uint64_t device_context_id(void) {
    void *get_current = NULL, *get_id = NULL;
    enum cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &get_current, 12000, cudaEnableDefault, &found) != cudaSuccess ||
        cudaGetDriverEntryPointByVersion("cuCtxGetId", &get_id, 12000, cudaEnableDefault, &found) != cudaSuccess ||
        get_current == NULL || get_id == NULL)
        return 0;
    CUcontext context = NULL;
    unsigned long long id = 0;
    CUresult (*current_function)(CUcontext *);
    CUresult (*id_function)(CUcontext, unsigned long long *);
    memcpy(&current_function, &get_current, sizeof current_function);
    memcpy(&id_function, &get_id, sizeof id_function);
    if (current_function(&context) != CUDA_SUCCESS || id_function(context, &id) != CUDA_SUCCESS) return 0;
    return id;
}

static int timer_step(const struct iket_session *session, uint64_t *step, struct iket_recorder_error *error) {
    uint64_t *device_step = (uint64_t *)(void *)session->staging;
    REC_CUDA(gather_timer_step(device_step, session->stream));
    REC_CUDA(cudaMemcpyAsync(step, device_step, sizeof *step, cudaMemcpyDeviceToHost, session->stream));
    REC_CUDA(cudaStreamSynchronize(session->stream));
    REC_CUDA(cudaMemsetAsync(device_step, 0, sizeof *step, session->stream));
    return 0;
}

static void put_uuid(struct text_buffer *out, const cudaUUID_t *uuid) {
    buffer_print(out, ", \"uuid\": \"GPU-");
    for (int i = 0; i < 16; i++)
        buffer_print(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid->bytes[i]);
    buffer_print(out, "\"");
}

int device_info_json(const struct iket_session *session, char **json, struct iket_recorder_error *error) {
    struct cudaDeviceProp properties;
    struct text_buffer out = {0};
    char host[256] = "";
    int driver = 0, runtime = 0;
    uint64_t step = 0;
    struct job_place place = job_place_of_environment();
    REC_CUDA(cudaGetDeviceProperties(&properties, session->device));
    REC_CUDA(cudaDriverGetVersion(&driver));
    REC_CUDA(cudaRuntimeGetVersion(&runtime));
    REC_TRY(timer_step(session, &step, error));
    gethostname(host, sizeof host - 1);
    buffer_print(&out, "{\"name\": ");
    buffer_json_string(&out, properties.name);
    put_uuid(&out, &properties.uuid);
    buffer_print(&out, ", \"smCount\": %d, \"computeCapability\": \"%d.%d\", \"driverVersion\": \"%d.%d\", \"runtimeVersion\": \"%d.%d\"",
                 properties.multiProcessorCount, properties.major, properties.minor, driver / 1000, driver % 1000 / 10,
                 runtime / 1000, runtime % 1000 / 10);
    buffer_print(&out, ", \"device\": %d, \"timerStepNs\": %llu, \"poolBytes\": %zu, \"poolPlace\": \"%s\", \"keep\": \"%s\", \"hostName\": ",
                 session->device, (unsigned long long)step, session->options.pool_bytes,
                 session->options.pool_place == IKET_POOL_PINNED ? "pinned" : "device",
                 session->options.keep == IKET_KEEP_LAST ? "last" : "first");
    buffer_json_string(&out, host);
    if (place.rank >= 0) buffer_print(&out, ", \"rank\": %d", place.rank);
    if (place.local_rank >= 0) buffer_print(&out, ", \"localRank\": %d", place.local_rank);
    if (place.world_size >= 0) buffer_print(&out, ", \"worldSize\": %d", place.world_size);
    buffer_put(&out, "}", 2);
    if (out.failed) {
        buffer_free(&out);
        return rec_fail(error, "out of memory for the device's description");
    }
    *json = (char *)out.bytes;
    return 0;
}
