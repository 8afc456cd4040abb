// SPDX-License-Identifier: Apache-2.0
// read_collector.c: what NVIDIA's collector leaves (doc/FORMAT.md section 6) into the model.
//
//     iket.data.json   decodeContexts -> modules, launches and graphLaunches -> launches, topology -> gpc and tpc
//     iket.data.bin    per launch: one buffer of warpBufferSize bytes a warp, CTA after CTA
//
//     a warp buffer:   used u32 | SM u32 | entry u64 | records … | closing time u32 |   (unused to its end)
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/document.h"
#include "decode/dump.h"
#include "decode/schema.h"

enum { WARP_HEADER = 16, WARP_USED_MIN = 20, SM_SHIFT = 20, CLOSING_TIME = 4, WIDE_PAYLOAD = 8, WARP_THREADS = 32 };

typedef struct sm_place {
    uint64_t context_id;
    uint32_t sm, gpc, tpc;
} sm_place;

typedef struct collector {
    iket_trace *trace;
    const char *json_path;
    const cJSON *contexts;
    sm_place *places; // sorted by context and SM
    size_t place_count, place_capacity;
} collector;

typedef struct launch_facts { // of one entry of launches[]
    const cJSON *object, *context;
    uint32_t module;
    int wide;
    uint64_t offset, size, warp_bytes;
    uint32_t first_cta[3], cta_dim[3]; // the CTAs that have buffers
    uint64_t warps_per_cta, buffer_count;
} launch_facts;

// ---- topology -------------------------------------------------------------------------------------------------------

static int by_place(const void *x, const void *y) {
    const sm_place *a = x, *b = y;
    if (a->context_id != b->context_id) return a->context_id < b->context_id ? -1 : 1;
    return a->sm < b->sm ? -1 : a->sm > b->sm;
}

static int read_topology(collector *c, const cJSON *document, iket_error *err) {
    const cJSON *topology = cJSON_GetObjectItemCaseSensitive(document, "topology"), *context, *sm;
    cJSON_ArrayForEach(context, topology) {
        uint64_t context_id = 0;
        IKET_TRY(iket_document_u64(context, "contextId", UINT64_MAX, &context_id, c->json_path, err));
        cJSON_ArrayForEach(sm, cJSON_GetObjectItemCaseSensitive(context, "sms")) {
            sm_place p = {.context_id = context_id, .sm = IKET_UNKNOWN, .gpc = IKET_UNKNOWN, .tpc = IKET_UNKNOWN};
            IKET_TRY(iket_document_u32(sm, "smId", &p.sm, c->json_path, err));
            IKET_TRY(iket_document_u32(sm, "gpcId", &p.gpc, c->json_path, err));
            IKET_TRY(iket_document_u32(sm, "tpcId", &p.tpc, c->json_path, err));
            IKET_TRY(IKET_RESERVE(c->places, c->place_count, c->place_capacity, 1, err));
            c->places[c->place_count++] = p;
        }
    }
    if (c->place_count > 0) qsort(c->places, c->place_count, sizeof *c->places, by_place);
    return 0;
}

// *known: the context has a topology at all. NULL: it lacks this SM.
static const sm_place *find_sm(const collector *c, uint64_t context_id, uint32_t sm, int *known) {
    sm_place wanted = {.context_id = context_id, .sm = sm};
    size_t first = 0, end = c->place_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (by_place(&c->places[middle], &wanted) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    const sm_place *at = first < c->place_count ? &c->places[first] : NULL;
    if (at != NULL && by_place(at, &wanted) == 0) return at;
    *known = (at != NULL && at->context_id == context_id) || (first > 0 && c->places[first - 1].context_id == context_id);
    return NULL;
}

// ---- launches -------------------------------------------------------------------------------------------------------

static int read_u32s(const cJSON *object, const char *const keys[3], uint32_t values[3], const char *where, iket_error *err) {
    for (int i = 0; i < 3; i++) IKET_TRY(iket_document_u32(object, keys[i], &values[i], where, err));
    return 0;
}

static const char *const xyz[] = {"x", "y", "z"};

static int read_xyz(const cJSON *launch, const char *key, uint32_t values[3], const char *where, iket_error *err) {
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(launch, key);
    return object == NULL ? 0 : read_u32s(object, xyz, values, where, err);
}

static uint32_t at_least_one(uint32_t value) { return value == 0 ? 1 : value; }

// UINT64_MAX stands for everything past it.
static uint64_t times(uint64_t a, uint64_t b) { return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b; }

// The module of a launch's decode context, and whether its kernel's records are wide.
static int find_context(collector *c, launch_facts *f, const char *kernel_name, iket_error *err) {
    const char *id = iket_document_string(f->object, "decodeContextId");
    f->module = IKET_UNKNOWN;
    const cJSON *context;
    uint32_t index = 0;
    cJSON_ArrayForEach(context, c->contexts) {
        if (id != NULL && strcmp(context->string, id) == 0) {
            f->module = index;
            f->context = context;
            break;
        }
        index++;
    }
    if (f->module == IKET_UNKNOWN) {
        return iket_model_note(c->trace, err, "%s: the launch of %.200s names the decode context '%.64s', which is not there: its records cannot be decoded", c->json_path, kernel_name,
                               id != NULL ? id : "");
    }
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItemCaseSensitive(f->context, "kernels")) {
        const char *name = iket_document_string(kernel, "kernelName");
        if (name == NULL || strcmp(name, kernel_name) != 0) continue;
        uint32_t widest = 0;
        IKET_TRY(iket_document_u32(kernel, "maxPayloadSize", &widest, c->json_path, err));
        f->wide = widest == WIDE_PAYLOAD;
        break;
    }
    return 0;
}

static int check_file(collector *c, const cJSON *data_ref, iket_error *err) {
    const char *name = iket_document_string(data_ref, "filename");
    if (name == NULL || name[0] == 0) return iket_fail(err, "%s: a launch that can be decoded has no dataRef.filename", c->json_path);
    if (strchr(name, '/') != NULL || strcmp(name, "..") == 0 || strcmp(name, ".") == 0) {
        return iket_fail(err, "%s: dataRef.filename is '%.200s': the data must lie beside the JSON", c->json_path, name);
    }
    return 0;
}

static int read_facts(collector *c, iket_launch *l, launch_facts *f, iket_error *err) {
    static const char *const grid_keys[] = {"gridDimX", "gridDimY", "gridDimZ"}, *const block_keys[] = {"blockDimX", "blockDimY", "blockDimZ"};
    const char *path = c->json_path, *kernel_name = iket_document_string(f->object, "kernelName");
    if (kernel_name == NULL) kernel_name = "";
    IKET_TRY(iket_document_u64(f->object, "contextId", UINT64_MAX, &l->context_id, path, err));
    IKET_TRY(iket_document_u64(f->object, "gridId", UINT64_MAX, &l->grid_id, path, err));
    IKET_TRY(read_u32s(f->object, grid_keys, l->grid_dim, path, err));
    IKET_TRY(read_u32s(f->object, block_keys, l->block_dim, path, err));
    l->kernel = iket_model_string(c->trace, kernel_name, strlen(kernel_name), err);
    if (l->kernel == IKET_UNKNOWN) return -1;
    uint32_t cluster[3] = {0};
    IKET_TRY(read_xyz(f->object, "clusterDim", cluster, path, err));
    IKET_TRY(read_xyz(f->object, "enabledCluster", l->enabled_cluster, path, err));
    IKET_TRY(iket_document_u32(f->object, "singleClusterActive", &l->single_cluster_active, path, err));
    l->has_cluster = cJSON_HasObjectItem(f->object, "enabledCluster") && cJSON_HasObjectItem(f->object, "singleClusterActive");
    IKET_TRY(iket_document_u64(f->object, "warpBufferSize", UINT64_MAX, &f->warp_bytes, path, err));
    const cJSON *data_ref = cJSON_GetObjectItemCaseSensitive(f->object, "dataRef");
    IKET_TRY(iket_document_u64(data_ref, "offset", UINT64_MAX, &f->offset, path, err));
    IKET_TRY(iket_document_u64(data_ref, "size", UINT64_MAX, &f->size, path, err));
    IKET_TRY(check_file(c, data_ref, err));
    for (int i = 0; i < 3; i++) {
        f->cta_dim[i] = l->single_cluster_active ? at_least_one(cluster[i]) : l->grid_dim[i];
        f->first_cta[i] = l->single_cluster_active ? (uint32_t)times(l->enabled_cluster[i], at_least_one(cluster[i])) : 0;
    }
    uint64_t threads = times(times(l->block_dim[0], l->block_dim[1]), l->block_dim[2]);
    f->warps_per_cta = threads / WARP_THREADS + (threads % WARP_THREADS != 0);
    f->buffer_count = times(times(times(f->cta_dim[0], f->cta_dim[1]), f->cta_dim[2]), f->warps_per_cta);
    return find_context(c, f, kernel_name, err);
}

// ---- warp buffers ---------------------------------------------------------------------------------------------------

static int note_corrupt(collector *c, const launch_facts *f, uint64_t index, uint64_t count, const char *why, iket_error *err) {
    uint64_t *corrupt = &c->trace->diagnostics.corruptChunks;
    *corrupt = count > UINT64_MAX - *corrupt ? UINT64_MAX : *corrupt + count; // never back to 0: a grid may be of any size
    uint64_t at = f->offset + times(index, f->warp_bytes);
    return iket_model_note(c->trace, err, "iket.data.bin: byte 0x%llx: corrupt warp buffer: %s (left out)", (unsigned long long)at, why);
}

static int add_warp(collector *c, const launch_facts *f, uint64_t index, const uint8_t *buffer, iket_error *err) {
    iket_trace *trace = c->trace;
    iket_launch *launch = &trace->launches[trace->launch_count - 1];
    uint32_t used = iket_u32(buffer), sm = iket_u32(buffer + 4) >> SM_SHIFT;
    if (used == 0) return 0;
    if (used < WARP_USED_MIN) return note_corrupt(c, f, index, 1, "its used bytes are less than a header and a closing time", err);
    int topology_known = 0;
    const sm_place *place = find_sm(c, launch->context_id, sm, &topology_known);
    if (place == NULL && topology_known) return note_corrupt(c, f, index, 1, "its SM is not in the topology", err);
    int overflowed = used > f->warp_bytes;
    if (overflowed) {
        trace->diagnostics.overflowedWarps++;
        IKET_TRY(iket_model_note(trace, err, "iket.data.bin: byte 0x%llx: a warp wrote %u bytes into a buffer of %llu and over its neighbour (the collector sizes buffers by a dry run; "
                                             "record again with a larger one, or with the open recorder)",
                                 (unsigned long long)(f->offset + index * f->warp_bytes), used, (unsigned long long)f->warp_bytes));
    }
    iket_location *location = iket_model_location(trace, err);
    iket_stream *stream = iket_model_stream(trace, err);
    iket_segment *segment = iket_model_segment(trace, err);
    if (location == NULL || stream == NULL || segment == NULL) return -1;
    uint64_t cta = index / f->warps_per_cta;
    location->launch = (uint32_t)trace->launch_count - 1;
    location->sm = sm;
    location->tpc = place != NULL ? place->tpc : IKET_UNKNOWN;
    location->gpc = place != NULL ? place->gpc : IKET_UNKNOWN;
    location->cta[0] = f->first_cta[0] + (uint32_t)(cta % f->cta_dim[0]);
    location->cta[1] = f->first_cta[1] + (uint32_t)(cta / f->cta_dim[0] % f->cta_dim[1]);
    location->cta[2] = f->first_cta[2] + (uint32_t)(cta / f->cta_dim[0] / f->cta_dim[1]);
    location->warp = (uint32_t)(index % f->warps_per_cta);
    location->start = iket_u64(buffer + 8);
    location->first_stream = (uint32_t)trace->stream_count - 1;
    location->stream_count = 1;
    stream->location = (uint32_t)trace->location_count - 1;
    stream->lane = IKET_UNKNOWN;
    stream->source = (uint32_t)trace->backing->segment_count - 1;
    stream->source_count = 1;
    segment->records = buffer + WARP_HEADER;
    segment->size = overflowed ? (uint32_t)(f->warp_bytes - WARP_HEADER) : used - WARP_HEADER - CLOSING_TIME;
    segment->module = f->module;
    segment->flags = IKET_SEGMENT_CLOSED | (overflowed ? 0u : IKET_SEGMENT_CLOSING) | (f->wide ? IKET_SEGMENT_WIDE : 0u);
    segment->start = location->start;
    if (!overflowed) memcpy(&segment->end, buffer + used - CLOSING_TIME, CLOSING_TIME);
    launch->location_count++;
    trace->chunk_count++;
    if ((double)used * (double)trace->fullest_room >= (double)trace->fullest_used * (double)f->warp_bytes) {
        trace->fullest_used = used;
        trace->fullest_room = f->warp_bytes;
    }
    return 0;
}

static int add_warps(collector *c, const launch_facts *f, iket_error *err) {
    const iket_input *raw = &c->trace->backing->raw;
    if (f->warp_bytes < WARP_USED_MIN) {
        if (f->buffer_count == 0 || f->size == 0) return 0;
        return note_corrupt(c, f, 0, f->buffer_count, "warpBufferSize is less than a header and a closing time", err);
    }
    uint64_t in_file = f->offset < raw->size ? raw->size - f->offset : 0;
    uint64_t whole = (f->size < in_file ? f->size : in_file) / f->warp_bytes;
    if (whole > f->buffer_count) whole = f->buffer_count;
    for (uint64_t i = 0; i < whole; i++) IKET_TRY(add_warp(c, f, i, raw->data + f->offset + i * f->warp_bytes, err));
    if (whole == f->buffer_count) return 0;
    return note_corrupt(c, f, whole, f->buffer_count - whole, "it does not lie wholly in the file", err);
}

static int add_launch(collector *c, const cJSON *object, uint32_t graph_key, iket_error *err) {
    iket_trace *trace = c->trace;
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "canDecode"))) return 0; // not instrumented
    iket_launch *l = iket_model_launch(trace, err);
    if (l == NULL) return -1;
    l->graph_key = graph_key;
    l->first_location = (uint32_t)trace->location_count;
    launch_facts f = {.object = object};
    IKET_TRY(read_facts(c, l, &f, err));
    IKET_TRY(add_warps(c, &f, err));
    if (trace->launches[trace->launch_count - 1].location_count > 0) return 0;
    trace->launch_count--; // it left nothing
    return iket_model_empty_kernel(trace, trace->launches[trace->launch_count].kernel, err);
}

static int read_document(collector *c, const cJSON *document, iket_error *err) {
    const cJSON *launches = cJSON_GetObjectItemCaseSensitive(document, "launches"), *graphs = cJSON_GetObjectItemCaseSensitive(document, "graphLaunches");
    const cJSON *context, *launch, *graph;
    c->contexts = cJSON_GetObjectItemCaseSensitive(document, "decodeContexts");
    if (!cJSON_IsObject(c->contexts) || !cJSON_IsArray(launches)) return iket_fail(err, "%s: lacks decodeContexts or launches (not an iket.data.json of the collector)", c->json_path);
    cJSON_ArrayForEach(context, c->contexts) IKET_TRY(iket_schema_from_json(c->trace, context, &iket_collector_keys, c->json_path, c->trace->module_count, err));
    IKET_TRY(read_topology(c, document, err));
    cJSON_ArrayForEach(launch, launches) IKET_TRY(add_launch(c, launch, IKET_UNKNOWN, err));
    cJSON_ArrayForEach(graph, graphs) {
        uint32_t key = iket_model_string(c->trace, graph->string, strlen(graph->string), err);
        if (key == IKET_UNKNOWN) return -1;
        cJSON_ArrayForEach(launch, graph) IKET_TRY(add_launch(c, launch, key, err));
    }
    return iket_model_finish(c->trace, err);
}

// The first data file that a launch names, beside the JSON; NULL where no launch has one. The caller frees it.
static char *data_path(const char *json_path, const cJSON *document) {
    const char *slash = strrchr(json_path, '/'), *name = NULL;
    const cJSON *launch, *graph;
    cJSON_ArrayForEach(launch, cJSON_GetObjectItemCaseSensitive(document, "launches")) {
        if (name == NULL || name[0] == 0) name = iket_document_string(cJSON_GetObjectItemCaseSensitive(launch, "dataRef"), "filename");
    }
    cJSON_ArrayForEach(graph, cJSON_GetObjectItemCaseSensitive(document, "graphLaunches")) {
        cJSON_ArrayForEach(launch, graph) {
            if (name == NULL || name[0] == 0) name = iket_document_string(cJSON_GetObjectItemCaseSensitive(launch, "dataRef"), "filename");
        }
    }
    if (name == NULL || name[0] == 0 || strchr(name, '/') != NULL) return NULL;
    size_t folder = slash != NULL ? (size_t)(slash - json_path) + 1 : 0;
    char *path = malloc(folder + strlen(name) + 1);
    if (path == NULL) return NULL;
    memcpy(path, json_path, folder);
    memcpy(path + folder, name, strlen(name) + 1);
    return path;
}

int iket_read_collector(iket_trace *trace, const char *json_path, const char *bin_path, iket_error *err) {
    cJSON *document;
    IKET_TRY(iket_document_load(&document, json_path, err));
    collector c = {.trace = trace, .json_path = json_path};
    char *found = bin_path == NULL ? data_path(json_path, document) : NULL;
    if (found != NULL) bin_path = found;
    int result = bin_path != NULL ? iket_input_open(&trace->backing->raw, bin_path, err) : 0;
    if (result == 0) result = read_document(&c, document, err);
    free(found);
    free(c.places);
    cJSON_Delete(document);
    return result;
}
