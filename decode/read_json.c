// SPDX-License-Identifier: Apache-2.0
// read_json.c: a trace.json as a model.
//
//     rows of the file --> intervals (packed) --counting sort by location--> [ warp 0 ][ warp 1 ] ... --nesting.h--> streams
//
// Launches and locations are put into the model's order first: a location is what its launch, CTA, warp and SM say, so
// two entries of locationTable that say the same are one.
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/nesting.h"
#include "decode/trace_json.h"

// A location as it is met: which launch and place, and its lifetime.
typedef struct met_location {
    uint32_t launch, place; // index into the file's launches; id of iket_json_location
    uint64_t start, end;    // lifetime; start > end: none was given
    uint64_t first, last;   // least and greatest time of its rows
} met_location;

typedef struct loader {
    iket_trace *trace;
    iket_trace_json doc;
    iket_interval *items;
    size_t item_count, item_capacity;
    met_location *met;
    size_t met_count, met_capacity;
    uint32_t *met_slots;  // open addressing over met: index + 1
    size_t met_slot_count;
    uint32_t last_met;    // rows of a warp mostly stand together
    iket_module *module;
    size_t decl_capacity;
    uint32_t *decl_slots; // open addressing over module->decls: index + 1
    size_t decl_slot_count;
    uint32_t last_marker, last_range; // decl index, IKET_UNKNOWN: none
    uint32_t *name_of[2]; // by a name id's lowest bit and its rest: index into the model's strings + 1
    size_t name_count[2];
    uint64_t unclosed, turned, moved;
} loader;

// ---- names and declarations -------------------------------------------------------------------------------------------

// The model's string for a name of the file.
static int model_name(loader *l, uint32_t id, uint32_t *name, iket_error *err) {
    unsigned kind = id & 1;
    size_t index = id >> 1;
    if (index >= l->name_count[kind]) {
        size_t count = l->name_count[kind];
        size_t capacity = count;
        IKET_TRY(IKET_RESERVE(l->name_of[kind], count, capacity, index + 1 - count, err));
        memset(l->name_of[kind] + count, 0, (capacity - count) * sizeof *l->name_of[kind]);
        l->name_count[kind] = capacity;
    }
    if (l->name_of[kind][index] == 0) {
        const char *text = iket_json_name(&l->doc, id);
        uint32_t string = iket_model_string(l->trace, text, strlen(text), err);
        if (string == IKET_UNKNOWN) return -1;
        l->name_of[kind][index] = string + 1;
    }
    *name = l->name_of[kind][index] - 1;
    return 0;
}

static int same_decl(const iket_decl *a, const iket_decl *b) {
    return a->name == b->name && a->event_id == b->event_id && a->end_event_id == b->end_event_id && a->range_id == b->range_id &&
           a->range_scope == b->range_scope && a->color == b->color && a->pos == b->pos && a->payload_type == b->payload_type &&
           a->end_payload_type == b->end_payload_type && a->range_type == b->range_type;
}

static size_t decl_hash(const iket_decl *d) {
    uint64_t h = d->name;
    const uint32_t words[] = {d->event_id, d->range_id, d->color, d->payload_type, (uint32_t)d->pos << 8 | d->end_payload_type};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) h = (h ^ words[i]) * 0x9E3779B97F4A7C15u;
    return (size_t)(h >> 20);
}

static int grow_decl_slots(loader *l, iket_error *err) {
    size_t wanted = l->decl_slot_count == 0 ? 256 : l->decl_slot_count * 2;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return iket_fail(err, "out of memory (%zu declarations)", wanted);
    for (size_t i = 0; i < l->module->decl_count; i++) {
        size_t at = decl_hash(&l->module->decls[i]) & (wanted - 1);
        while (slots[at] != 0) at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(l->decl_slots);
    l->decl_slots = slots;
    l->decl_slot_count = wanted;
    return 0;
}

static int find_decl(loader *l, const iket_decl *decl, uint32_t *last, iket_error *err) {
    iket_module *m = l->module;
    if (*last != IKET_UNKNOWN && same_decl(&m->decls[*last], decl)) return 0;
    if ((m->decl_count + 1) * 2 > l->decl_slot_count) IKET_TRY(grow_decl_slots(l, err));
    size_t at = decl_hash(decl) & (l->decl_slot_count - 1);
    for (; l->decl_slots[at] != 0; at = (at + 1) & (l->decl_slot_count - 1)) {
        *last = l->decl_slots[at] - 1;
        if (same_decl(&m->decls[*last], decl)) return 0;
    }
    if (m->decl_count >= IKET_UNKNOWN - 1) return iket_fail(err, "too many different events");
    IKET_TRY(IKET_RESERVE(m->decls, m->decl_count, l->decl_capacity, 1, err));
    *last = (uint32_t)m->decl_count;
    m->decls[m->decl_count++] = *decl;
    l->decl_slots[at] = *last + 1;
    return 0;
}

static int decl_of_row(loader *l, const iket_json_row *row, uint32_t *decl, iket_error *err) {
    iket_decl d = {.event_id = IKET_UNKNOWN, .end_event_id = IKET_UNKNOWN, .color = row->color, .payload_type = row->payload_type};
    IKET_TRY(model_name(l, row->name, &d.name, err));
    if (row->kind == IKET_JSON_MARKER) {
        d.pos = IKET_POS_MARKER;
        IKET_TRY(find_decl(l, &d, &l->last_marker, err));
        *decl = l->last_marker;
        return 0;
    }
    int token = row->range_type == IKET_RANGE_TOKEN;
    d.pos = token ? IKET_POS_TOKEN : IKET_POS_PUSH;
    d.range_type = token ? IKET_RANGE_TOKEN : IKET_RANGE_STACK;
    d.event_id = row->event_id;
    // An unclosed range has no closing event to tell; every range of its kind closes alike.
    d.end_event_id = row->end_event_id != IKET_UNKNOWN ? row->end_event_id : token ? row->event_id : IKET_ID_POP;
    d.end_payload_type = row->end_event_id != IKET_UNKNOWN ? row->end_payload_type : token ? row->payload_type : IKET_PAYLOAD_NONE;
    d.range_id = row->range_id;
    d.range_scope = row->range_scope;
    IKET_TRY(find_decl(l, &d, &l->last_range, err));
    *decl = l->last_range;
    return 0;
}

// ---- locations --------------------------------------------------------------------------------------------------------

static size_t met_hash(uint32_t launch, uint32_t place) {
    return (size_t)((((uint64_t)launch << 32 | place) * 0x9E3779B97F4A7C15u) >> 20);
}

static int grow_met_slots(loader *l, iket_error *err) {
    size_t wanted = l->met_slot_count == 0 ? 1024 : l->met_slot_count * 2;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return iket_fail(err, "out of memory (%zu locations)", wanted);
    for (size_t i = 0; i < l->met_count; i++) {
        size_t at = met_hash(l->met[i].launch, l->met[i].place) & (wanted - 1);
        while (slots[at] != 0) at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(l->met_slots);
    l->met_slots = slots;
    l->met_slot_count = wanted;
    return 0;
}

static int find_met(loader *l, uint32_t launch, uint32_t place, uint32_t *index, iket_error *err) {
    const met_location *last = l->met_count > 0 ? &l->met[l->last_met] : NULL;
    if (last != NULL && last->launch == launch && last->place == place) {
        *index = l->last_met;
        return 0;
    }
    if ((l->met_count + 1) * 2 > l->met_slot_count) IKET_TRY(grow_met_slots(l, err));
    size_t at = met_hash(launch, place) & (l->met_slot_count - 1);
    for (; l->met_slots[at] != 0; at = (at + 1) & (l->met_slot_count - 1)) {
        const met_location *m = &l->met[l->met_slots[at] - 1];
        if (m->launch != launch || m->place != place) continue;
        *index = l->last_met = l->met_slots[at] - 1;
        return 0;
    }
    if (l->met_count >= IKET_UNKNOWN - 1) return iket_fail(err, "too many locations");
    IKET_TRY(IKET_RESERVE(l->met, l->met_count, l->met_capacity, 1, err));
    *index = l->last_met = (uint32_t)l->met_count;
    l->met[l->met_count++] = (met_location){.launch = launch, .place = place, .start = UINT64_MAX, .first = UINT64_MAX};
    l->met_slots[at] = *index + 1;
    return 0;
}

// ---- rows -------------------------------------------------------------------------------------------------------------

static int take_row(void *context, const iket_json_row *row, iket_error *err) {
    loader *l = context;
    uint32_t at = 0;
    uint64_t end = row->kind == IKET_JSON_MARKER ? row->start : row->end;
    IKET_TRY(find_met(l, row->launch, row->location, &at, err));
    met_location *met = &l->met[at];
    if (end < row->start) {
        l->turned++;
        end = row->start;
    }
    if (row->kind == IKET_JSON_LIFETIME) {
        if (row->start < met->start) met->start = row->start;
        if (end > met->end) met->end = end;
        return 0;
    }
    if (row->start < met->first) met->first = row->start;
    if (end > met->last) met->last = end;
    IKET_TRY(IKET_RESERVE(l->items, l->item_count, l->item_capacity, 1, err));
    iket_interval *item = &l->items[l->item_count];
    *item = (iket_interval){.start = row->start, .end = end, .bits = row->bits, .location = at, .payload_type = row->payload_type};
    if (row->kind == IKET_JSON_RANGE) {
        item->kind = row->range_type == IKET_RANGE_TOKEN ? IKET_INTERVAL_TOKEN : IKET_INTERVAL_STACK;
        item->end_bits = row->end_bits;
        item->end_payload_type = row->end_payload_type;
        item->unclosed = row->flags & IKET_JSON_UNCLOSED ? 1 : 0;
        l->unclosed += item->unclosed;
        if (row->flags & IKET_JSON_TWO_PLACES) l->moved++;
    }
    IKET_TRY(decl_of_row(l, row, &item->decl, err));
    l->item_count++;
    return 0;
}

// ---- the model's order ------------------------------------------------------------------------------------------------

typedef struct launch_key {
    uint64_t start, grid_id;
    uint32_t index;
} launch_key;

static int launch_order(const void *a, const void *b) {
    const launch_key *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->grid_id != y->grid_id) return x->grid_id < y->grid_id ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Appends the launches in order of their start; new_index[old] is where each went.
static int add_launches(loader *l, uint32_t *new_index, iket_error *err) {
    size_t count = l->doc.launch_count;
    launch_key *keys = calloc(count + 1, sizeof *keys);
    if (keys == NULL) return iket_fail(err, "out of memory (%zu launches)", count);
    for (size_t i = 0; i < count; i++) keys[i] = (launch_key){UINT64_MAX, l->doc.launches[i].grid_id, (uint32_t)i};
    for (size_t i = 0; i < l->met_count; i++) {
        const met_location *met = &l->met[i];
        uint64_t start = met->start <= met->end ? met->start : met->first;
        if (start < keys[met->launch].start) keys[met->launch].start = start;
    }
    qsort(keys, count, sizeof *keys, launch_order);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        iket_launch facts = l->doc.launches[keys[i].index];
        iket_launch *launch = iket_model_launch(l->trace, err);
        result = launch == NULL ? -1 : model_name(l, facts.kernel, &facts.kernel, err);
        if (result == 0 && facts.graph_key != IKET_UNKNOWN) result = model_name(l, facts.graph_key, &facts.graph_key, err);
        if (result == 0) *launch = facts;
        new_index[keys[i].index] = (uint32_t)i;
    }
    free(keys);
    return result;
}

typedef struct location_key {
    uint32_t launch, cta[3], warp, sm, gpc, tpc;
    uint32_t met;
} location_key;

static int location_order(const void *a, const void *b) {
    const location_key *x = a, *y = b;
    const uint32_t left[] = {x->launch, x->cta[2], x->cta[1], x->cta[0], x->warp, x->sm, x->gpc, x->tpc};
    const uint32_t right[] = {y->launch, y->cta[2], y->cta[1], y->cta[0], y->warp, y->sm, y->gpc, y->tpc};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

static int add_location(iket_trace *trace, const location_key *key, const met_location *met, int is_new, iket_error *err) {
    int has_lifetime = met->start <= met->end;
    uint64_t start = has_lifetime ? met->start : met->first, end = has_lifetime ? met->end : met->last;
    if (is_new) {
        iket_launch *launch = &trace->launches[key->launch];
        iket_location *location = iket_model_location(trace, err);
        if (location == NULL) return -1;
        *location = (iket_location){.launch = key->launch, .sm = key->sm, .tpc = key->tpc, .gpc = key->gpc, .warp = key->warp, .start = start, .end = end};
        memcpy(location->cta, key->cta, sizeof location->cta);
        if (launch->location_count++ == 0) launch->first_location = (uint32_t)trace->location_count - 1;
        return 0;
    }
    iket_location *location = &trace->locations[trace->location_count - 1];
    if (start < location->start) location->start = start;
    if (end > location->end) location->end = end;
    return 0;
}

// Appends the locations launch by launch; new_index[met] is where each went.
static int add_locations(loader *l, const uint32_t *launch_index, uint32_t *new_index, iket_error *err) {
    location_key *keys = calloc(l->met_count + 1, sizeof *keys);
    if (keys == NULL) return iket_fail(err, "out of memory (%zu locations)", l->met_count);
    for (size_t i = 0; i < l->met_count; i++) {
        const iket_location *place = iket_json_location(&l->doc, l->met[i].place);
        keys[i] = (location_key){.launch = launch_index[l->met[i].launch], .warp = place->warp, .sm = place->sm, .gpc = place->gpc, .tpc = place->tpc, .met = (uint32_t)i};
        memcpy(keys[i].cta, place->cta, sizeof keys[i].cta);
    }
    qsort(keys, l->met_count, sizeof *keys, location_order);
    int result = 0;
    for (size_t i = 0; i < l->met_count && result == 0; i++) {
        int is_new = i == 0 || location_order(&keys[i - 1], &keys[i]) != 0;
        result = add_location(l->trace, &keys[i], &l->met[keys[i].met], is_new, err);
        new_index[keys[i].met] = (uint32_t)l->trace->location_count - 1;
    }
    free(keys);
    return result;
}

// Puts the intervals in the order of their locations, the file's order within each; first[i] is location i's first.
static int group_items(loader *l, const uint32_t *location_index, size_t *first, iket_error *err) {
    size_t locations = l->trace->location_count;
    iket_interval *sorted = malloc((l->item_count + 1) * sizeof *sorted);
    if (sorted == NULL) return iket_fail(err, "out of memory (%zu events)", l->item_count);
    for (size_t i = 0; i < l->item_count; i++) {
        l->items[i].location = location_index[l->items[i].location];
        first[l->items[i].location + 1]++;
    }
    for (size_t i = 0; i < locations; i++) first[i + 1] += first[i];
    for (size_t i = 0; i < l->item_count; i++) sorted[first[l->items[i].location]++] = l->items[i];
    for (size_t i = locations; i > 0; i--) first[i] = first[i - 1];
    first[0] = 0;
    free(l->items);
    l->items = sorted;
    return 0;
}

static int add_streams(loader *l, const size_t *first, iket_error *err) {
    struct iket_nesting *nesting = iket_nesting_new(l->module->decl_count, err);
    if (nesting == NULL) return -1;
    int result = 0;
    for (size_t i = 0; i < l->trace->location_count && result == 0; i++) {
        result = iket_nesting_add(nesting, l->trace, (uint32_t)i, l->items + first[i], first[i + 1] - first[i], err);
    }
    iket_nesting_free(nesting);
    return result;
}

static int build(loader *l, iket_error *err) {
    uint32_t *launch_index = calloc(l->doc.launch_count + 1, sizeof *launch_index);
    uint32_t *location_index = calloc(l->met_count + 1, sizeof *location_index);
    size_t *first = calloc(l->met_count + 2, sizeof *first);
    int result = launch_index != NULL && location_index != NULL && first != NULL ? 0 : iket_fail(err, "out of memory (%zu locations)", l->met_count);
    if (result == 0) result = add_launches(l, launch_index, err);
    if (result == 0) result = add_locations(l, launch_index, location_index, err);
    if (result == 0) result = group_items(l, location_index, first, err);
    if (result == 0) result = add_streams(l, first, err);
    free(launch_index);
    free(location_index);
    free(first);
    return result;
}

static int add_notes(loader *l, iket_error *err) {
    iket_trace *trace = l->trace;
    trace->diagnostics = l->doc.diagnostics;
    if (!l->doc.has_diagnostics) trace->diagnostics.unclosedRanges = l->unclosed;
    if (l->turned > 0) IKET_TRY(iket_model_note(trace, err, "%llu ranges or lifetimes end before they start (they were given no length)", (unsigned long long)l->turned));
    if (l->moved > 0) IKET_TRY(iket_model_note(trace, err, "%llu ranges start on one warp and end on another (they are shown where they start)", (unsigned long long)l->moved));
    return 0;
}

static int load(loader *l, iket_error *err) {
    l->module = iket_model_module(l->trace, err);
    if (l->module == NULL) return -1;
    iket_json_reader reader = {.kinds = IKET_JSON_MARKER | IKET_JSON_RANGE | IKET_JSON_LIFETIME, .memory = UINT64_MAX, .row = take_row, .context = l};
    IKET_TRY(iket_trace_json_rows(&l->doc, &reader, err));
    l->trace->pid = l->doc.pid;
    l->trace->created = l->doc.created;
    IKET_TRY(build(l, err));
    IKET_TRY(add_notes(l, err));
    if (l->trace->launch_count > 0) l->trace->context_id = l->trace->launches[0].context_id;
    return iket_model_finish(l->trace, err);
}

int iket_read_json(iket_trace *trace, const void *head, size_t size, int fd, iket_error *err) {
    loader l = {.trace = trace, .last_marker = IKET_UNKNOWN, .last_range = IKET_UNKNOWN};
    iket_byte_source source = {0};
    int result = fd >= 0 ? iket_byte_source_open_rest(&source, head, size, fd, err) : iket_byte_source_open(&source, trace->path, err);
    if (result == 0) result = iket_trace_json_open(&l.doc, &source, err);
    if (result == 0) result = load(&l, err);
    if (result != 0) iket_fail_context(err, "%s", trace->path);
    iket_byte_source_close(&source);
    iket_trace_json_close(&l.doc);
    free(l.items);
    free(l.met);
    free(l.met_slots);
    free(l.decl_slots);
    free(l.name_of[0]);
    free(l.name_of[1]);
    return result;
}
