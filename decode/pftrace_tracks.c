// SPDX-License-Identifier: Apache-2.0
// pftrace_tracks.c: the tree that Perfetto shows: "Launches", kernel, (bucket,) launch, SM, CTA, warp.
//
// Its root is no process but a plain track with children and slices of its own: that is the one kind of row that
// Perfetto shows at the top level with its slices drawn when a trace is opened; a process opens as an empty-looking row.
//
// A track is described right before its first use, its parents before it, so that the description of a million warps
// streams like their events. What must be known from the start are numbers only: which CTA and which SM of its launch a
// location belongs to, and how many launches a kernel has.
#include <stdlib.h>

#include "common/text.h"
#include "common/utf8.h"
#include "decode/pftrace_event.h"

enum { PROCESS_UUID = 1, BUCKET = 500, RANK_KERNELS = 1000 };

int iket_pf_location_selected(const iket_pf *pf, size_t location) {
    const iket_location *l = &pf->trace->locations[location];
    return pf->selection == NULL || (pf->selection->locations[location] && iket_selection_overlaps(pf->selection, l->start, l->end));
}

int iket_pf_launch_selected(const iket_pf *pf, size_t launch) {
    const iket_launch *l = &pf->trace->launches[launch];
    for (uint32_t i = 0; i < l->location_count; i++) {
        if (iket_pf_location_selected(pf, l->first_location + i)) return 1;
    }
    return 0;
}

// ---- numbering ------------------------------------------------------------------------------------------------------

typedef struct sm_slot {
    uint32_t launch, sm, index; // index + 1, 0: free
} sm_slot;

// Gives every CTA the index of its (launch, SM).
static int number_sms(iket_pf_tracks *t, const uint32_t *cta_location, iket_error *err) {
    const iket_trace *trace = t->pf->trace;
    size_t slots = 64;
    while (slots < t->cta_count * 2) slots *= 2;
    sm_slot *table = calloc(slots, sizeof *table);
    if (table == NULL) return iket_fail(err, "out of memory (%zu CTAs)", t->cta_count);
    for (size_t c = 0; c < t->cta_count; c++) {
        const iket_location *l = &trace->locations[cta_location[c]];
        uint64_t hash = ((uint64_t)l->launch << 32 | l->sm) * UINT64_C(0x9E3779B97F4A7C15);
        size_t at = (hash >> 32) & (slots - 1);
        while (table[at].index != 0 && (table[at].launch != l->launch || table[at].sm != l->sm)) at = (at + 1) & (slots - 1);
        if (table[at].index == 0) {
            table[at] = (sm_slot){.launch = l->launch, .sm = l->sm, .index = (uint32_t)++t->sm_count};
            t->sm_of_launch[l->launch]++;
        }
        t->cta_sm[c] = table[at].index - 1;
    }
    free(table);
    return 0;
}

static int number_ctas(iket_pf_tracks *t, iket_error *err) {
    const iket_trace *trace = t->pf->trace;
    const iket_location *before = NULL;
    uint32_t *cta_location = malloc((trace->location_count + 1) * sizeof *cta_location);
    if (cta_location == NULL) return iket_fail(err, "out of memory (%zu places)", trace->location_count);
    for (size_t i = 0; i < trace->location_count; i++) {
        if (!iket_pf_location_selected(t->pf, i)) continue;
        const iket_location *l = &trace->locations[i];
        if (before == NULL || before->launch != l->launch || before->sm != l->sm || memcmp(before->cta, l->cta, sizeof l->cta) != 0) cta_location[t->cta_count++] = (uint32_t)i;
        t->location_cta[i] = (uint32_t)t->cta_count - 1;
        before = l;
    }
    t->cta_uuid = calloc(t->cta_count + 1, sizeof *t->cta_uuid);
    t->cta_sm = calloc(t->cta_count + 1, sizeof *t->cta_sm);
    int result = t->cta_uuid == NULL || t->cta_sm == NULL ? iket_fail(err, "out of memory (%zu CTAs)", t->cta_count) : number_sms(t, cta_location, err);
    free(cta_location);
    if (result != 0) return -1;
    t->sm_uuid = calloc(t->sm_count + 1, sizeof *t->sm_uuid);
    return t->sm_uuid == NULL ? iket_fail(err, "out of memory (%zu SMs)", t->sm_count) : 0;
}

static int describe_roots(iket_pf_tracks *t, iket_error *err);

int iket_pf_tracks_open(iket_pf_tracks *t, iket_pf *pf, iket_error *err) {
    const iket_trace *trace = pf->trace;
    *t = (iket_pf_tracks){.pf = pf};
    uint32_t **const by_string[] = {&t->kernel_uuid, &t->kernel_launches, &t->bucket_uuid, &t->bucket_number};
    uint32_t **const by_launch[] = {&t->launch_uuid, &t->launch_number, &t->sm_of_launch};
    int failed = 0;
    for (size_t i = 0; i < 4; i++) failed |= (*by_string[i] = calloc(trace->string_count + 1, sizeof(uint32_t))) == NULL;
    for (size_t i = 0; i < 3; i++) failed |= (*by_launch[i] = calloc(trace->launch_count + 1, sizeof(uint32_t))) == NULL;
    t->location_cta = calloc(trace->location_count + 1, sizeof *t->location_cta);
    if (failed || t->location_cta == NULL) return iket_fail(err, "out of memory (%zu places)", trace->location_count);
    for (size_t i = 0; i < trace->launch_count; i++) {
        if (iket_pf_launch_selected(pf, i)) t->launch_number[i] = t->kernel_launches[trace->launches[i].kernel]++;
    }
    IKET_TRY(number_ctas(t, err));
    return describe_roots(t, err);
}

void iket_pf_tracks_close(iket_pf_tracks *t) {
    free(t->kernel_uuid);
    free(t->kernel_launches);
    free(t->bucket_uuid);
    free(t->bucket_number);
    free(t->launch_uuid);
    free(t->launch_number);
    free(t->sm_of_launch);
    free(t->location_cta);
    free(t->cta_uuid);
    free(t->cta_sm);
    free(t->sm_uuid);
}

// ---- descriptions ---------------------------------------------------------------------------------------------------

static int describe(iket_pf_tracks *t, Iket__Perfetto__TrackDescriptor *descriptor, iket_error *err) {
    Iket__Perfetto__TracePacket packet = IKET__PERFETTO__TRACE_PACKET__INIT;
    packet.track_descriptor = descriptor;
    t->pf->facts.tracks++;
    return iket_pf_packet(t->pf, &packet, 0, 0, err);
}

// Through protobuf-c, for a long name or a description.
static uint64_t new_long_track(iket_pf_tracks *t, uint64_t parent, const char *name, int32_t rank, int is_group, const char *description, iket_error *err) {
    Iket__Perfetto__TrackDescriptor d = IKET__PERFETTO__TRACK_DESCRIPTOR__INIT;
    d.has_uuid = d.has_sibling_order_rank = d.has_sibling_merge_behavior = 1;
    d.uuid = ++t->last_uuid;
    d.has_parent_uuid = parent != 0;
    d.parent_uuid = parent;
    d.name = (char *)(uintptr_t)name;
    d.description = (char *)(uintptr_t)description;
    d.sibling_order_rank = rank;
    d.sibling_merge_behavior = IKET_PF_MERGE_NONE;
    d.has_child_ordering = (protobuf_c_boolean)is_group;
    d.child_ordering = IKET_PF_ORDER_EXPLICIT;
    return describe(t, &d, err) == 0 ? d.uuid : 0;
}

uint64_t iket_pf_new_track(iket_pf_tracks *t, uint64_t parent, const char *name, int32_t rank, int is_group, iket_error *err) {
    size_t size = strlen(name);
    if (size > IKET_PF_TRACK_NAME_MAX) return new_long_track(t, parent, name, rank, is_group, NULL, err);
    iket_sink *sink = t->pf->sink;
    const iket_pf_track track = {.uuid = ++t->last_uuid, .parent = parent, .name = name, .name_size = size, .rank = rank, .is_group = is_group};
    iket_sink_commit(sink, iket_pf_put_track(iket_sink_reserve(sink, IKET_PF_EVENT_BYTES), &track));
    t->pf->facts.tracks++;
    if (!sink->failed) return track.uuid;
    iket_fail(err, "%s", sink->error.message);
    return 0;
}

static int describe_roots(iket_pf_tracks *t, iket_error *err) {
    Iket__Perfetto__TrackDescriptor__Process process = IKET__PERFETTO__TRACK_DESCRIPTOR__PROCESS__INIT;
    uint64_t pid = t->pf->trace->pid & INT32_MAX;
    process.has_pid = 1;
    process.pid = pid == 0 ? 1 : (int32_t)pid; // 0 is the idle process to Perfetto
    process.process_name = (char *)(uintptr_t)"IKET";
    Iket__Perfetto__TrackDescriptor d = IKET__PERFETTO__TRACK_DESCRIPTOR__INIT;
    d.has_uuid = 1;
    d.uuid = PROCESS_UUID;
    d.process = &process;
    t->last_uuid = PROCESS_UUID;
    IKET_TRY(describe(t, &d, err));
    t->root = (uint32_t)new_long_track(t, 0, "Launches", 0, 1, "kernel > launch > SM > CTA > warp", err);
    return t->root != 0 ? 0 : -1;
}

// The track under which a launch stands: its kernel's, or the bucket of 500 launches there.
static uint64_t launch_parent(iket_pf_tracks *t, size_t launch, iket_error *err) {
    uint32_t kernel = t->pf->trace->launches[launch].kernel;
    if (t->kernel_uuid[kernel] == 0) t->kernel_uuid[kernel] = (uint32_t)iket_pf_new_track(t, t->root, t->pf->trace->strings[kernel], RANK_KERNELS + (int32_t)(kernel & 0xFFFFFF), 1, err);
    if (t->kernel_uuid[kernel] == 0 || t->kernel_launches[kernel] <= BUCKET) return t->kernel_uuid[kernel];
    uint32_t bucket = t->launch_number[launch] / BUCKET;
    if (t->bucket_uuid[kernel] == 0 || t->bucket_number[kernel] != bucket) {
        char name[64];
        uint32_t last = bucket * BUCKET + BUCKET - 1;
        if (last >= t->kernel_launches[kernel]) last = t->kernel_launches[kernel] - 1;
        snprintf(name, sizeof name, "launches %u-%u", bucket * BUCKET, last);
        t->bucket_number[kernel] = bucket;
        t->bucket_uuid[kernel] = (uint32_t)iket_pf_new_track(t, t->kernel_uuid[kernel], name, (int32_t)bucket, 1, err);
    }
    return t->bucket_uuid[kernel];
}

uint64_t iket_pf_launch_track(iket_pf_tracks *t, size_t launch, iket_error *err) {
    if (t->launch_uuid[launch] != 0) return t->launch_uuid[launch];
    const iket_launch *l = &t->pf->trace->launches[launch];
    uint64_t parent = launch_parent(t, launch, err);
    if (parent == 0) return 0;
    char name[256];
    if (l->graph_key == IKET_UNKNOWN) {
        snprintf(name, sizeof name, "launch %u", l->ordinal);
    } else {
        snprintf(name, sizeof name, "%.200s #%u", t->pf->trace->strings[l->graph_key], l->ordinal);
        while (name[0] != 0 && !iket_utf8_valid(name, strlen(name))) name[strlen(name) - 1] = 0; // cut between characters
    }
    t->launch_uuid[launch] = (uint32_t)iket_pf_new_track(t, parent, name, (int32_t)t->launch_number[launch], 1, err);
    return t->launch_uuid[launch];
}

static uint64_t sm_track(iket_pf_tracks *t, const iket_location *l, uint32_t index, iket_error *err) {
    if (t->sm_uuid[index] != 0) return t->sm_uuid[index];
    uint64_t parent = iket_pf_launch_track(t, l->launch, err);
    if (parent == 0) return 0;
    char name[80];
    if (l->gpc != IKET_UNKNOWN && l->tpc != IKET_UNKNOWN) {
        snprintf(name, sizeof name, "SM %u (GPC %u, TPC %u)", l->sm, l->gpc, l->tpc);
    } else if (l->sm != IKET_UNKNOWN) {
        snprintf(name, sizeof name, "SM %u", l->sm);
    } else {
        snprintf(name, sizeof name, "SM unknown");
    }
    t->sm_uuid[index] = (uint32_t)iket_pf_new_track(t, parent, name, (int32_t)(l->sm & INT32_MAX), 1, err);
    return t->sm_uuid[index];
}

uint64_t iket_pf_warp_track(iket_pf_tracks *t, size_t location, iket_error *err) {
    const iket_location *l = &t->pf->trace->locations[location];
    uint32_t cta = t->location_cta[location];
    char name[80];
    if (t->cta_uuid[cta] == 0) {
        uint64_t parent = sm_track(t, l, t->cta_sm[cta], err);
        if (parent == 0) return 0;
        snprintf(name, sizeof name, "CTA (%u, %u, %u)", l->cta[0], l->cta[1], l->cta[2]);
        t->cta_uuid[cta] = (uint32_t)iket_pf_new_track(t, parent, name, (int32_t)(cta & INT32_MAX), 1, err);
        if (t->cta_uuid[cta] == 0) return 0;
    }
    memcpy(name, "warp ", 5);
    *iket_text_u64(name + 5, l->warp) = 0;
    return iket_pf_new_track(t, t->cta_uuid[cta], name, (int32_t)l->warp, 1, err);
}
