// SPDX-License-Identifier: Apache-2.0
// pftrace_source.c: what a Perfetto trace is merged from: launches, warps and streams, decoded into the bins of a batch.
#include <stdlib.h>

#include "common/array.h"
#include "common/radix.h"
#include "decode/pftrace_batch.h"
#include "decode/pftrace_event.h"

enum { RANK_RANGES = 0, RANK_MARKERS, RANK_TOKENS, RANKS_OF_A_STREAM = 1000 };

// Whether a warp's first stream nests inside its lifetime, so that both share the warp's track.
static int nests(const iket_trace *trace, const iket_location *l) {
    if (l->stream_count == 0) return 0;
    const iket_stream *s = &trace->streams[l->first_stream];
    if (s->event_count == 0) return 1;
    return (s->flags & IKET_STREAM_BACKWARDS) == 0 && s->first_time >= l->start && s->last_time <= l->end;
}

// ---- waiting sources ------------------------------------------------------------------------------------------------

// The kind of a source id, and its index in the model.
static int kind_of(const iket_trace *trace, uint32_t id, uint32_t *index) {
    *index = id;
    if (id < trace->launch_count) return IKET_PF_KIND_LAUNCH;
    *index -= (uint32_t)trace->launch_count;
    if (*index < trace->location_count) return IKET_PF_KIND_WARP;
    *index -= (uint32_t)trace->location_count;
    return IKET_PF_KIND_STREAM;
}

uint64_t iket_pf_begin_of(const iket_trace *trace, uint32_t id) {
    uint32_t index;
    switch (kind_of(trace, id, &index)) {
    case IKET_PF_KIND_LAUNCH: return trace->launches[index].start;
    case IKET_PF_KIND_WARP: return trace->locations[index].start;
    default: return trace->streams[index].first_time;
    }
}

typedef struct waiting {
    const iket_trace *trace;
    iket_keyed *items; // id by first time
    size_t count;
} waiting;

static void wait_for(waiting *w, size_t id) { w->items[w->count++] = (iket_keyed){.key = iket_pf_begin_of(w->trace, (uint32_t)id), .index = (uint32_t)id}; }

// Appends the sources of what is selected, by ascending id: launches, then locations, then streams.
static void list_sources(const iket_pf *pf, waiting *w) {
    const iket_trace *trace = pf->trace;
    for (size_t i = 0; i < trace->launch_count; i++) {
        if (iket_pf_launch_selected(pf, i)) wait_for(w, i);
    }
    for (size_t i = 0; i < trace->location_count; i++) {
        if (iket_pf_location_selected(pf, i)) wait_for(w, trace->launch_count + i);
    }
    for (size_t i = 0; i < trace->location_count; i++) {
        const iket_location *l = &trace->locations[i];
        if (!iket_pf_location_selected(pf, i)) continue;
        for (uint32_t s = nests(trace, l) ? 1 : 0; s < l->stream_count; s++) {
            if (trace->streams[l->first_stream + s].event_count > 0) wait_for(w, trace->launch_count + trace->location_count + l->first_stream + s);
        }
    }
}

int iket_pf_collect(iket_pf_encoder *e, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    size_t most = trace->launch_count + trace->location_count + trace->stream_count;
    waiting w = {.trace = trace, .items = malloc((most + 1) * sizeof *w.items)};
    e->warp_uuid = calloc(trace->location_count + 1, sizeof *e->warp_uuid);
    int result = w.items == NULL || e->warp_uuid == NULL ? iket_fail(err, "out of memory (%zu streams)", trace->stream_count) : 0;
    if (result == 0) {
        list_sources(&e->pf, &w);
        result = iket_radix_sort(w.items, w.count, err); // of one time: by id
    }
    e->waiting = result == 0 ? malloc((w.count + 1) * sizeof *e->waiting) : NULL;
    if (result == 0 && e->waiting == NULL) result = iket_fail(err, "out of memory (%zu streams)", trace->stream_count);
    for (; result == 0 && e->waiting_count < w.count; e->waiting_count++) e->waiting[e->waiting_count] = w.items[e->waiting_count].index;
    free(w.items);
    return result;
}

double iket_pf_rate(const iket_pf_encoder *e, uint32_t id) {
    const iket_trace *trace = e->pf.trace;
    uint32_t index;
    int kind = kind_of(trace, id, &index);
    if (kind == IKET_PF_KIND_LAUNCH) return 0;
    if (kind == IKET_PF_KIND_WARP) { // in use for its whole lifetime, however close together its events are
        const iket_location *l = &trace->locations[index];
        uint64_t events = l->stream_count > 0 ? trace->streams[l->first_stream].event_count : 0;
        return ((double)events + 2) / ((double)(l->end - l->start) + 1);
    }
    const iket_stream *s = &trace->streams[index];
    if (s->event_count == 0) return 0;
    return (double)s->event_count / ((double)(s->last_time - s->first_time) + 1);
}

uint32_t iket_pf_take_source(iket_pf_encoder *e, uint32_t id, iket_error *err) {
    iket_pf_source *s;
    uint32_t place;
    if (e->free_count > 0) {
        place = e->free_places[--e->free_count];
        s = e->sources[place];
    } else {
        // Room to give every place back as well.
        if (IKET_RESERVE(e->free_places, e->source_count, e->free_capacity, 1, err) != 0) return UINT32_MAX;
        if (IKET_RESERVE(e->sources, e->source_count, e->source_capacity, 1, err) != 0) return UINT32_MAX;
        s = calloc(1, sizeof *s);
        if (s == NULL) {
            iket_fail(err, "out of memory (a warp)");
            return UINT32_MAX;
        }
        place = (uint32_t)e->source_count;
        e->sources[e->source_count++] = s;
    }
    s->id = id;
    s->place = place;
    s->rate = iket_pf_rate(e, id);
    s->next = s->last = 0;
    s->kind = (uint8_t)kind_of(e->pf.trace, id, &s->index);
    s->stage = s->seen = s->has_window = s->has_ahead = s->stopped = 0;
    s->uuid[IKET_PF_TRACK_WARP] = s->uuid[IKET_PF_TRACK_RANGES] = s->uuid[IKET_PF_TRACK_MARKERS] = 0;
    s->token_count = 0;
    return place;
}

// ---- records --------------------------------------------------------------------------------------------------------

static int grow_part(iket_pf_bin_part *part, iket_error *err) {
    if (part->count >= 1u << 27) return iket_fail(err, "more than %u events in one span of time and of warps", 1u << 27);
    return IKET_RESERVE(part->records, part->count, part->capacity, 1, err);
}

// Room for a record at the source's time.
IKET_ALWAYS_INLINE iket_pf_record *add_record(iket_pf_encoder *e, iket_pf_task *task, const iket_pf_source *s, unsigned type, iket_error *err) {
    uint64_t offset = s->next - e->start;
    iket_pf_bin_part *part = &task->bins[offset >> e->shift];
    if (__builtin_expect(part->count == part->capacity, 0) && grow_part(part, err) != 0) return NULL;
    iket_pf_record *r = &part->records[part->count++];
    r->bits = 0;
    r->when = (uint32_t)(offset & ((UINT64_C(1) << e->shift) - 1)) << IKET_PF_WHEN_BITS | type;
    r->from = s->place << IKET_PF_FROM_BITS;
    r->name = 0;
    return r;
}

// Where the record's track stands; the first record of a track is marked, so that the track is described before it.
IKET_ALWAYS_INLINE void set_track(iket_pf_record *r, iket_pf_source *s, uint32_t place) {
    r->track = s->uuid[place];
    if (__builtin_expect(r->track != 0, 1)) return;
    r->track = place;
    r->from |= IKET_PF_IS_PENDING;
    if ((s->seen & 1u << place) == 0) r->from |= IKET_PF_IS_NEW;
    s->seen |= (uint8_t)(1u << place);
}

static int set_token_track(iket_pf_record *r, iket_pf_source *s, const iket_decl *decl, iket_error *err) {
    size_t i = 0;
    while (i < s->token_count && s->tokens[i].decl != decl) i++;
    if (i == s->token_count) {
        IKET_TRY(IKET_RESERVE(s->tokens, s->token_count, s->token_capacity, 1, err));
        s->tokens[s->token_count++] = (iket_pf_token_track){.decl = decl};
        r->from |= IKET_PF_IS_NEW;
    }
    r->track = s->tokens[i].uuid;
    if (r->track == 0) {
        r->track = IKET_PF_TRACK_TOKENS + (uint32_t)i;
        r->from |= IKET_PF_IS_PENDING;
    }
    return 0;
}

static int set_extra(iket_pf_task *task, iket_pf_record *r, const iket_event *event, int is_recorded_before, iket_error *err) {
    IKET_TRY(IKET_RESERVE(task->extras, task->extra_count, task->extra_capacity, 1, err));
    iket_pf_extra *x = &task->extras[task->extra_count];
    *x = (iket_pf_extra){.unclosed = event->unclosed, .has_recorded = (uint8_t)is_recorded_before, .recorded_at = is_recorded_before ? event->recorded : 0};
    x->payload_class = (uint8_t)iket_pf_payload_class(event->payload, &x->payload_bits);
    r->bits = task->extra_count++;
    r->when |= IKET_PF_IS_EXTRA;
    return 0;
}

static size_t stream_of(const iket_pf_encoder *e, const iket_pf_source *s) {
    return s->kind == IKET_PF_KIND_WARP ? e->pf.trace->locations[s->index].first_stream : s->index;
}

// Makes the record of a begin one of type 0, whose packet is made with its arrows.
static int set_flows(iket_pf_task *task, const iket_pf_source *s, iket_pf_record *r, const iket_event *event, int is_recorded_before, uint32_t arrows, iket_error *err) {
    IKET_TRY(set_extra(task, r, event, is_recorded_before, err));
    iket_pf_extra *x = &task->extras[r->bits];
    x->flow_first = (uint32_t)(s->flow_at - arrows);
    x->flow_count = arrows;
    r->when &= ~3u;
    r->from |= IKET_PF_IS_NEW;
    return 0;
}

IKET_ALWAYS_INLINE int add_event(iket_pf_encoder *e, iket_pf_task *task, iket_pf_source *s, const iket_event *event, iket_error *err) {
    int is_token = event->decl->pos == IKET_POS_TOKEN;
    if (event->kind != IKET_EVENT_MARKER && !is_token && __builtin_expect(event->depth >= IKET_PF_DEPTH_MAX, 0)) {
        task->too_deep += event->kind == IKET_EVENT_BEGIN;
        return 0;
    }
    unsigned type = event->kind == IKET_EVENT_MARKER ? IKET_PF_INSTANT : event->kind == IKET_EVENT_BEGIN ? IKET_PF_BEGIN : IKET_PF_END;
    iket_pf_record *r = add_record(e, task, s, type, err);
    if (r == NULL) return -1;
    if (event->kind == IKET_EVENT_MARKER) {
        r->from |= IKET_PF_CAT_MARKER - IKET_PF_CAT_LIFETIME;
        set_track(r, s, IKET_PF_TRACK_MARKERS);
        task->instants++;
    } else {
        r->from |= is_token ? IKET_PF_CAT_TOKEN - IKET_PF_CAT_LIFETIME : IKET_PF_CAT_RANGE - IKET_PF_CAT_LIFETIME;
        task->slices += event->kind == IKET_EVENT_BEGIN;
        if (is_token) {
            IKET_TRY(set_token_track(r, s, event->decl, err));
        } else {
            set_track(r, s, s->kind == IKET_PF_KIND_WARP ? IKET_PF_TRACK_WARP : IKET_PF_TRACK_RANGES);
        }
    }
    r->name = event->decl->name + 1;
    int is_recorded_before = event->recorded < s->next && !event->unclosed;
    if (__builtin_expect(e->flows != NULL, 0) && event->kind == IKET_EVENT_BEGIN) {
        uint32_t arrows = iket_pf_flows_at(e->flows, s, stream_of(e, s), event->ordinal);
        if (arrows > 0) return set_flows(task, s, r, event, is_recorded_before, arrows, err);
    }
    if (__builtin_expect(is_recorded_before || event->unclosed, 0)) return set_extra(task, r, event, is_recorded_before, err);
    if (event->payload.type != IKET_PAYLOAD_NONE) r->when |= iket_pf_payload_class(event->payload, &r->bits) << IKET_PF_CLASS_SHIFT;
    return 0;
}

// ---- decoding -------------------------------------------------------------------------------------------------------

// Notes that the source has too many records for this batch.
static int stop(iket_pf_task *task, iket_pf_source *s) {
    s->stopped = 1;
    task->stopped = 1;
    if (s->next < task->stopped_at) task->stopped_at = s->next;
    return 0;
}

// The events of the source's stream up to `last`. *more: there are further ones.
static int decode_stream(iket_pf_encoder *e, iket_pf_task *task, iket_pf_source *s, uint64_t last, size_t cap, int *more, iket_error *err) {
    int got = 1;
    if (!s->has_ahead) got = iket_window_next(&s->window, &s->ahead, err);
    *more = 1;
    if (got <= 0) {
        *more = 0;
        return got;
    }
    s->has_ahead = 1;
    iket_event event = s->ahead;
    for (;;) {
        s->next = event.time > s->last ? event.time : s->last;
        if (s->next > last || cap == 0) {
            s->ahead = event;
            return s->next > last ? 0 : stop(task, s);
        }
        if (add_event(e, task, s, &event, err) != 0) return -1;
        cap--;
        s->last = s->next;
        got = iket_window_next(&s->window, &event, err);
        if (got <= 0) break;
    }
    s->has_ahead = 0;
    *more = 0;
    return got;
}

static void open_source(iket_pf_encoder *e, iket_pf_source *s) {
    const iket_trace *trace = e->pf.trace;
    s->stage = 1;
    if (s->kind == IKET_PF_KIND_LAUNCH) {
        s->next = trace->launches[s->index].start;
        return;
    }
    size_t stream = s->index;
    s->has_window = 1;
    if (s->kind == IKET_PF_KIND_WARP) {
        const iket_location *l = &trace->locations[s->index];
        s->location = s->index;
        s->next = s->last = l->start;
        s->has_window = (uint8_t)nests(trace, l);
        stream = l->first_stream;
    } else {
        s->location = trace->streams[s->index].location;
    }
    if (e->flows != NULL && s->has_window) s->flow_at = iket_pf_find_flows(e->flows, stream);
    const iket_selection *selection = e->pf.selection;
    if (s->has_window) iket_window_start(&s->window, trace, stream, selection != NULL ? selection->from : 0, selection != NULL ? selection->to : UINT64_MAX);
}

static int decode_launch(iket_pf_encoder *e, iket_pf_task *task, iket_pf_source *s, uint64_t last, iket_error *err) {
    while (s->stage < 3 && s->next <= last) {
        iket_pf_record *r = add_record(e, task, s, 0, err);
        if (r == NULL) return -1;
        r->from |= IKET_PF_IS_NEW;
        r->name = s->stage == 2; // the end
        s->next = e->pf.trace->launches[s->index].end;
        s->stage++;
    }
    return 0;
}

// Begin of a warp's lifetime, its stream's events, end of its lifetime.
static int decode_warp(iket_pf_encoder *e, iket_pf_task *task, iket_pf_source *s, uint64_t last, size_t cap, iket_error *err) {
    const iket_location *l = &e->pf.trace->locations[s->location];
    iket_pf_record *r;
    if (s->stage == 1) {
        if (s->next > last) return 0;
        if ((r = add_record(e, task, s, IKET_PF_BEGIN, err)) == NULL) return -1;
        r->name = (uint32_t)iket_pf_lifetime_iid(e->pf.trace);
        set_track(r, s, IKET_PF_TRACK_WARP);
        task->slices++;
        s->stage = 2;
    }
    int more = 0;
    if (s->has_window) {
        IKET_TRY(decode_stream(e, task, s, last, cap, &more, err));
        if (more) return 0;
        s->has_window = 0;
    }
    s->next = l->end > s->last ? l->end : s->last;
    if (s->next > last) return 0;
    if ((r = add_record(e, task, s, IKET_PF_END, err)) == NULL) return -1;
    set_track(r, s, IKET_PF_TRACK_WARP);
    s->stage = 3;
    return 0;
}

int iket_pf_decode(iket_pf_encoder *e, iket_pf_task *task, iket_pf_source *s, uint64_t last, size_t cap, iket_error *err) {
    if (s->stage == 0) open_source(e, s);
    if (s->kind == IKET_PF_KIND_LAUNCH) return decode_launch(e, task, s, last, err);
    if (s->kind == IKET_PF_KIND_WARP) return decode_warp(e, task, s, last, cap, err);
    int more;
    IKET_TRY(decode_stream(e, task, s, last, cap, &more, err));
    if (!more) s->stage = 3;
    return 0;
}

// ---- tracks ---------------------------------------------------------------------------------------------------------

// A track below the warp's for one kind of event of one stream: "markers", or "lane 5 markers" past the first stream.
static uint32_t leaf_track(iket_pf_encoder *e, const iket_pf_source *s, const char *what, const char *name, int32_t rank, iket_error *err) {
    const iket_trace *trace = e->pf.trace;
    const iket_location *l = &trace->locations[s->location];
    uint32_t stream = s->kind == IKET_PF_KIND_WARP ? l->first_stream : s->index, number = stream - l->first_stream;
    rank += (int32_t)(number % 1000000) * RANKS_OF_A_STREAM;
    if (number == 0 && name[0] == 0) return (uint32_t)iket_pf_new_track(&e->tracks, e->warp_uuid[s->location], what, rank, 0, err);
    char prefix[32] = "";
    if (number > 0 && trace->streams[stream].lane != IKET_UNKNOWN) snprintf(prefix, sizeof prefix, "lane %u ", trace->streams[stream].lane);
    if (number > 0 && trace->streams[stream].lane == IKET_UNKNOWN) snprintf(prefix, sizeof prefix, "stream %u ", number);
    size_t room = strlen(prefix) + strlen(what) + strlen(name) + 1;
    char *text = malloc(room);
    if (text == NULL) {
        iket_fail(err, "out of memory (a track)");
        return 0;
    }
    snprintf(text, room, "%s%s%s", prefix, what, name);
    uint32_t uuid = (uint32_t)iket_pf_new_track(&e->tracks, e->warp_uuid[s->location], text, rank, 0, err);
    free(text);
    return uuid;
}

int iket_pf_describe_track(iket_pf_encoder *e, iket_pf_source *s, uint32_t place, iket_error *err) {
    uint32_t *warp = &e->warp_uuid[s->location];
    if (*warp == 0) *warp = (uint32_t)iket_pf_warp_track(&e->tracks, s->location, err);
    if (*warp == 0) return -1;
    uint32_t *uuid;
    if (place >= IKET_PF_TRACK_TOKENS) {
        iket_pf_token_track *t = &s->tokens[place - IKET_PF_TRACK_TOKENS];
        int32_t rank = RANK_TOKENS + (int32_t)((place - IKET_PF_TRACK_TOKENS) % (RANKS_OF_A_STREAM - RANK_TOKENS));
        uuid = &t->uuid;
        *uuid = leaf_track(e, s, "token ", e->pf.trace->strings[t->decl->name], rank, err);
    } else {
        uuid = &s->uuid[place];
        if (place == IKET_PF_TRACK_WARP) *uuid = *warp;
        if (place == IKET_PF_TRACK_RANGES) *uuid = leaf_track(e, s, "ranges", "", RANK_RANGES, err);
        if (place == IKET_PF_TRACK_MARKERS) *uuid = leaf_track(e, s, "markers", "", RANK_MARKERS, err);
    }
    return *uuid == 0 ? -1 : 0;
}
