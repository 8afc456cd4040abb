// SPDX-License-Identifier: Apache-2.0
// encode_pftrace.c: the whole trace as one packet sequence, sorted by time over all warps (doc/pftrace.md), batch by batch
// of time (pftrace_batch.h).
#include <stdlib.h>

#include "common/array.h"
#include "decode/pftrace_batch.h"

// Records of a batch: enough that the warps which are looked at for each batch do not count, few enough that a batch stays
// in a processor's cache. A source may have this many times its share in one batch.
enum { BATCH_RECORDS = 256 * 1024, BATCH_RECORDS_MAX = 1024 * 1024, RECORDS_OF_A_SOURCE = 8, SHARES = 4, CAP_MIN = 4096 };

// ---- the span of a batch --------------------------------------------------------------------------------------------

static size_t wanted_records(const iket_pf_encoder *e) {
    size_t wanted = e->live_count * RECORDS_OF_A_SOURCE;
    return wanted < BATCH_RECORDS ? BATCH_RECORDS : wanted > BATCH_RECORDS_MAX ? BATCH_RECORDS_MAX : wanted;
}

// The width in which the sources at hand, and those that begin meanwhile, give about `wanted` records.
static double expected_width(const iket_pf_encoder *e, double wanted) {
    double rate = 0, expected = 0;
    for (size_t i = 0; i < e->live_count; i++) rate += e->sources[e->live[i]]->rate;
    uint64_t at = e->start;
    for (size_t i = e->waiting_next; i < e->waiting_count; i++) {
        uint64_t begin = iket_pf_begin_of(e->pf.trace, e->waiting[i]);
        double span = (double)(begin - at);
        if (expected + rate * span >= wanted) break;
        expected += rate * span + 1;
        at = begin;
        if (expected >= wanted) return (double)(at - e->start) + 1;
        rate += iket_pf_rate(e, e->waiting[i]);
    }
    double rest = rate > 0 ? (wanted - expected) / rate : 1e18;
    return (double)(at - e->start) + rest + 1;
}

static uint64_t next_time(const iket_pf_encoder *e) {
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < e->live_count; i++) {
        if (e->sources[e->live[i]]->next < least) least = e->sources[e->live[i]]->next;
    }
    for (size_t i = 0; i < e->kept_count; i++) {
        if (e->kept[i].time < least) least = e->kept[i].time;
    }
    uint64_t waiting = e->waiting_next < e->waiting_count ? iket_pf_begin_of(e->pf.trace, e->waiting[e->waiting_next]) : UINT64_MAX;
    if (waiting < least) least = waiting;
    return least;
}

static void set_span(iket_pf_encoder *e) {
    e->start = next_time(e);
    double wanted = (double)wanted_records(e), width = expected_width(e, wanted);
    e->shift = 0;
    while (e->shift < IKET_PF_SHIFT_MAX && width > (double)((uint64_t)IKET_PF_BINS << e->shift)) e->shift++;
    uint64_t bins = width >= (double)((uint64_t)IKET_PF_BINS << e->shift) ? IKET_PF_BINS : ((uint64_t)width >> e->shift) + 1;
    e->bins_used = (unsigned)(bins < IKET_PF_BINS ? bins : IKET_PF_BINS);
    uint64_t behind = ((uint64_t)e->bins_used << e->shift) - 1;
    e->last = e->start > UINT64_MAX - behind ? UINT64_MAX : e->start + behind;
    size_t share = (size_t)wanted * SHARES / (e->live_count + 1);
    e->cap = share > CAP_MIN ? share : CAP_MIN;
}

// ---- sources --------------------------------------------------------------------------------------------------------

static int by_id(const void *x, const void *y, void *context) {
    const iket_pf_encoder *e = context;
    uint32_t a = e->sources[*(const uint32_t *)x]->id, b = e->sources[*(const uint32_t *)y]->id;
    return a < b ? -1 : a > b;
}

// Takes in those that begin in the batch; live[] stays by id.
static int take_sources(iket_pf_encoder *e, iket_error *err) {
    size_t first = e->waiting_next, count;
    while (e->waiting_next < e->waiting_count && iket_pf_begin_of(e->pf.trace, e->waiting[e->waiting_next]) <= e->last) e->waiting_next++;
    count = e->waiting_next - first;
    if (count == 0) return 0;
    size_t whole = e->live_count + count;
    if (whole > e->live_capacity) {
        size_t capacity = whole + whole / 2;
        uint32_t *live = realloc(e->live, capacity * sizeof *live);
        if (live != NULL) e->live = live;
        uint32_t *merged = realloc(e->merged, capacity * sizeof *merged);
        if (merged != NULL) e->merged = merged;
        if (live == NULL || merged == NULL) return iket_fail(err, "out of memory (%zu warps at once)", whole);
        e->live_capacity = capacity;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t place = iket_pf_take_source(e, e->waiting[first + i], err);
        if (place == UINT32_MAX) return -1;
        e->live[e->live_count + i] = place;
    }
    qsort_r(e->live + e->live_count, count, sizeof *e->live, by_id, e);
    size_t a = 0, b = e->live_count;
    for (size_t i = 0; i < whole; i++) {
        int from_new = a == e->live_count || (b < whole && by_id(&e->live[b], &e->live[a], e) < 0);
        e->merged[i] = from_new ? e->live[b++] : e->live[a++];
    }
    uint32_t *merged = e->merged;
    e->merged = e->live;
    e->live = merged;
    e->live_count = whole;
    return 0;
}

// Gives back those that are done, as soon as no record of theirs is kept.
static void drop_sources(iket_pf_encoder *e) {
    if (e->kept_count > 0) return;
    size_t kept = 0;
    for (size_t i = 0; i < e->live_count; i++) {
        if (e->sources[e->live[i]]->stage == 3) {
            e->free_places[e->free_count++] = e->live[i];
        } else {
            e->live[kept++] = e->live[i];
        }
    }
    e->live_count = kept;
}

static void free_source(iket_pf_source *s) {
    iket_window_free(&s->window);
    free(s->tokens);
    free(s);
}

// ---- decoding -------------------------------------------------------------------------------------------------------

enum { KEPT_TASK = 0 };

static int write_batch(iket_pf_encoder *e, unsigned turn, iket_error *err) {
    for (size_t i = 0; i < IKET_PF_BINS; i++) {
        iket_sink_write(e->out, e->bytes[turn][i].data, e->bytes[turn][i].used);
        e->bytes[turn][i].used = 0;
    }
    return e->out->failed ? iket_fail(err, "%s", e->out->error.message) : 0;
}

// Call 0 writes the batch before, the others decode.
static int write_or_decode(void *context, size_t index, iket_error *err) {
    iket_pf_encoder *e = context;
    if (index == 0) return write_batch(e, !e->turn, err);
    iket_pf_task *task = &e->tasks[index];
    for (size_t i = task->first; i < task->end; i++) {
        iket_pf_source *s = e->sources[e->live[i]];
        if (s->stage < 3 && (s->stage == 0 || s->next <= e->last)) IKET_TRY(iket_pf_decode(e, task, s, e->last, e->cap, err));
    }
    return 0;
}

static void clear_tasks(iket_pf_encoder *e) {
    for (size_t t = 0; t <= IKET_PF_TASKS; t++) {
        iket_pf_task *task = &e->tasks[t];
        for (size_t i = 0; i < IKET_PF_BINS; i++) task->bins[i].count = 0;
        task->extra_count = 0;
        task->stopped = 0;
        task->stopped_at = UINT64_MAX;
    }
}

// Puts what was kept of the batch before into the bins of its task; what lies behind this batch stays kept.
static int place_kept(iket_pf_encoder *e, iket_error *err) {
    iket_pf_task *task = &e->tasks[KEPT_TASK];
    size_t left = 0;
    for (size_t i = 0; i < IKET_PF_BINS; i++) e->bins[i].mixed = 0;
    for (size_t i = 0; i < e->kept_count; i++) {
        iket_pf_kept k = e->kept[i];
        if (k.time > e->last) {
            e->kept[left++] = k;
            continue;
        }
        uint64_t offset = k.time - e->start;
        iket_pf_bin_part *part = &task->bins[offset >> e->shift];
        e->bins[offset >> e->shift].mixed = 1;
        IKET_TRY(IKET_RESERVE(part->records, part->count, part->capacity, 1, err));
        uint32_t flags = k.record.when & ((1u << IKET_PF_WHEN_BITS) - 1);
        k.record.when = (uint32_t)(offset & ((UINT64_C(1) << e->shift) - 1)) << IKET_PF_WHEN_BITS | flags;
        if (flags & IKET_PF_IS_EXTRA) {
            IKET_TRY(IKET_RESERVE(task->extras, task->extra_count, task->extra_capacity, 1, err));
            k.record.bits = task->extra_count;
            task->extras[task->extra_count++] = k.extra;
        }
        part->records[part->count++] = k.record;
    }
    e->kept_count = left;
    return 0;
}

static int keep_part(iket_pf_encoder *e, const iket_pf_task *task, size_t bin, iket_error *err) {
    const iket_pf_bin_part *part = &task->bins[bin];
    for (size_t i = 0; i < part->count; i++) {
        const iket_pf_record *r = &part->records[i];
        IKET_TRY(IKET_RESERVE(e->kept, e->kept_count, e->kept_capacity, 1, err));
        iket_pf_kept *k = &e->kept[e->kept_count++];
        *k = (iket_pf_kept){.time = e->start + ((uint64_t)bin << e->shift) + (r->when >> IKET_PF_WHEN_BITS), .record = *r};
        if (r->when & IKET_PF_IS_EXTRA) k->extra = task->extras[r->bits];
    }
    return 0;
}

// Some source has far more records in this batch than its rate let expect: the batch ends with the last bin that is whole
// (the first one is made so), and what was decoded behind it is kept. Records stay in the order of their task and place:
// the older ones of a source before the newer.
static int cut_batch(iket_pf_encoder *e, uint64_t stopped_at, iket_error *err) {
    unsigned whole = (unsigned)((stopped_at - e->start) >> e->shift);
    if (whole == 0) {
        whole = 1;
        e->bins[0].mixed = 1;
        uint64_t end_of_first = e->start + ((UINT64_C(1) << e->shift) - 1);
        for (size_t t = 1; t < e->task_count; t++) {
            for (size_t i = e->tasks[t].first; i < e->tasks[t].end; i++) {
                iket_pf_source *s = e->sources[e->live[i]];
                if (s->stopped && s->next <= end_of_first) IKET_TRY(iket_pf_decode(e, &e->tasks[t], s, end_of_first, SIZE_MAX, err));
            }
        }
    }
    iket_pf_kept *before = e->kept;
    size_t before_count = e->kept_count;
    e->kept = NULL;
    e->kept_count = e->kept_capacity = 0;
    int result = 0;
    for (size_t t = 0; t < e->task_count; t++) {
        for (size_t i = whole; i < e->bins_used; i++) {
            if (result == 0) result = keep_part(e, &e->tasks[t], i, err);
            e->tasks[t].bins[i].count = 0;
        }
    }
    for (size_t i = 0; i < before_count && result == 0; i++) { // behind the batch anyway, and older than nothing above
        result = IKET_RESERVE(e->kept, e->kept_count, e->kept_capacity, 1, err);
        if (result == 0) e->kept[e->kept_count++] = before[i];
    }
    free(before);
    e->bins_used = whole;
    e->last = e->start + ((uint64_t)whole << e->shift) - 1;
    return result;
}

static int decode_batch(iket_pf_encoder *e, iket_error *err) {
    clear_tasks(e);
    IKET_TRY(place_kept(e, err));
    size_t share = (e->live_count + IKET_PF_TASKS - 1) / IKET_PF_TASKS;
    if (share == 0) share = 1;
    e->task_count = 1;
    for (size_t first = 0; first < e->live_count; first += share) {
        iket_pf_task *task = &e->tasks[e->task_count++];
        task->first = first;
        task->end = first + share < e->live_count ? first + share : e->live_count;
    }
    IKET_TRY(iket_pool_run(e->pool, e->task_count, write_or_decode, e, err));
    uint64_t stopped_at = UINT64_MAX;
    int stopped = 0;
    for (size_t t = 1; t < e->task_count; t++) {
        stopped |= e->tasks[t].stopped;
        if (e->tasks[t].stopped_at < stopped_at) stopped_at = e->tasks[t].stopped_at;
    }
    if (stopped) IKET_TRY(cut_batch(e, stopped_at, err));
    for (size_t i = 0; i < e->live_count; i++) e->sources[e->live[i]]->stopped = 0;
    return 0;
}

// ---- what comes once ------------------------------------------------------------------------------------------------

// The packets that go before a record which is the first on its track, or stand for it.
static int write_mark(iket_pf_encoder *e, const iket_pf_task *task, const iket_pf_record *r, uint64_t time, iket_error *err) {
    iket_pf_source *s = e->sources[r->from >> IKET_PF_FROM_BITS];
    if ((r->when & 3) == 0 && s->kind == IKET_PF_KIND_LAUNCH) return iket_pf_write_launch(e, s->index, r->name != 0, time, err);
    if ((r->when & 3) == 0) return iket_pf_write_flow_begin(e, task, r, time, err);
    return iket_pf_describe_track(e, s, r->track, err);
}

static int write_marks(iket_pf_encoder *e, iket_error *err) {
    e->side_bytes.used = 0;
    e->side.total = 0;
    for (size_t b = 0; b < e->bins_used; b++) {
        iket_pf_bin *bin = &e->bins[b];
        uint64_t origin = e->start + ((uint64_t)b << e->shift);
        bin->now = e->pf.now;
        for (size_t i = 0; i < bin->mark_count; i++) {
            iket_pf_mark *mark = &bin->marks[i];
            if (mark->at > 0) e->pf.now = origin + (bin->keys[mark->at - 1] >> 32);
            mark->first = e->side.total + e->side.used;
            uint64_t key = bin->keys[mark->at];
            IKET_TRY(write_mark(e, &e->tasks[(uint32_t)key >> 27], iket_pf_record_of(e, b, key), origin + (key >> 32), err));
            mark->end = e->side.total + e->side.used;
        }
        if (bin->count > 0) e->pf.now = origin + (bin->keys[bin->count - 1] >> 32);
    }
    return iket_sink_flush(&e->side, err);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static int write_batches(iket_pf_encoder *e, iket_error *err) {
    while (e->live_count > 0 || e->kept_count > 0 || e->waiting_next < e->waiting_count) {
        set_span(e);
        IKET_TRY(take_sources(e, err));
        IKET_TRY(decode_batch(e, err));
        IKET_TRY(iket_pool_run(e->pool, e->bins_used, iket_pf_sort_bin, e, err));
        IKET_TRY(write_marks(e, err));
        IKET_TRY(iket_pool_run(e->pool, e->bins_used, iket_pf_encode_bin, e, err));
        for (size_t t = 1; t < e->task_count; t++) {
            e->pf.facts.slices += e->tasks[t].slices;
            e->pf.facts.instants += e->tasks[t].instants;
            e->pf.facts.too_deep += e->tasks[t].too_deep;
            e->tasks[t].slices = e->tasks[t].instants = e->tasks[t].too_deep = 0;
        }
        drop_sources(e);
        e->turn = !e->turn;
    }
    return write_batch(e, !e->turn, err);
}

static void free_encoder(iket_pf_encoder *e) {
    for (size_t i = 0; i < e->source_count; i++) free_source(e->sources[i]);
    for (size_t t = 0; t <= IKET_PF_TASKS; t++) {
        for (size_t i = 0; i < IKET_PF_BINS; i++) free(e->tasks[t].bins[i].records);
        free(e->tasks[t].extras);
    }
    for (size_t i = 0; i < IKET_PF_BINS; i++) {
        free(e->bins[i].keys);
        free(e->bins[i].spare);
        free(e->bins[i].marks);
        free(e->bytes[0][i].data);
        free(e->bytes[1][i].data);
    }
    iket_sink_drop(&e->side);
    free(e->side_bytes.data);
    iket_pf_tracks_close(&e->tracks);
    free(e->sources);
    free(e->free_places);
    free(e->live);
    free(e->merged);
    free(e->kept);
    free(e->waiting);
    free(e->warp_uuid);
    free(e->queue);
    free(e);
}

int iket_write_pftrace(const iket_trace *trace, const iket_selection *selection, const iket_flows *flows, iket_pool *pool, iket_sink *sink,
                       iket_pftrace_facts *facts, iket_error *err) {
    iket_pf_encoder *e = calloc(1, sizeof *e);
    if (e == NULL) return iket_fail(err, "out of memory (an encoder)");
    e->pf = (iket_pf){.trace = trace, .selection = selection, .sink = sink};
    e->flows = flows;
    e->pool = pool;
    e->out = sink;
    int result = iket_sink_open(&e->side, 0, iket_memory_flush, &e->side_bytes, err);
    if (result == 0) result = iket_pf_collect(e, err);
    if (result == 0) result = iket_pf_assign_queues(e, err);
    if (result == 0) result = iket_pf_preamble(&e->pf, e->waiting_count > 0 ? iket_pf_begin_of(trace, e->waiting[0]) : 0, e->queue_count, err);
    if (result == 0) result = iket_pf_tracks_open(&e->tracks, &e->pf, err);
    if (result == 0) result = iket_pf_write_diagnostics(e, err);
    e->pf.sink = &e->side;
    if (result == 0) result = write_batches(e, err);
    if (facts != NULL) *facts = e->pf.facts;
    free_encoder(e);
    return result;
}
