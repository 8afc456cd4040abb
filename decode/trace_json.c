// SPDX-License-Identifier: Apache-2.0
#include "decode/trace_json.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum { NEEDS_STRINGS = 1, NEEDS_LOCATIONS = 2 };

enum { FACT_KERNEL = 1, FACT_GRID_ID = 2, FACT_CONTEXT = 4, ALL_FACTS = 7 | 63 << 3 }; // and a bit per dimension

// ---- small values -----------------------------------------------------------------------------------------------------

int iket_json_read_u32(iket_scan *scan, uint32_t *value, iket_error *err) {
    uint64_t magnitude;
    int negative;
    IKET_TRY(iket_scan_integer(scan, &magnitude, &negative, err));
    if (negative && magnitude == 1) {
        *value = IKET_UNKNOWN;
        return 0;
    }
    if ((negative && magnitude != 0) || magnitude > UINT32_MAX) return iket_scan_fail(scan, err, "a number that does not fit 32 bits");
    *value = (uint32_t)magnitude;
    return 0;
}

// An id: an integer, or a string with 0x and hexadecimal digits.
static int read_id(iket_scan *scan, uint64_t *value, iket_error *err) {
    if (iket_scan_peek(scan, err) != '"') return iket_scan_u64(scan, value, err);
    iket_scan_text text;
    IKET_TRY(iket_scan_string(scan, &text, err));
    char digits[24] = "", *end = digits;
    if (text.size > 2 && text.size < sizeof digits && text.data[0] == '0' && (text.data[1] | 0x20) == 'x') {
        memcpy(digits, text.data, text.size);
        *value = strtoull(digits + 2, &end, 16);
    }
    if (end == digits || *end != 0) return iket_scan_fail(scan, err, "an id that is no number (as text it is 0x and hexadecimal digits)");
    return 0;
}

int iket_json_read_name(iket_trace_json *doc, uint32_t *id, iket_error *err) {
    iket_scan_text text;
    const char *utf8;
    size_t size;
    IKET_TRY(iket_scan_string(&doc->scan, &text, err));
    IKET_TRY(iket_scan_utf8(&doc->scan, &text, &utf8, &size, err));
    return iket_json_add_name(&doc->names, utf8, size, 1, id, err);
}

static int read_three(iket_scan *scan, uint32_t values[3], iket_error *err) {
    int count = 0, first = 1, more;
    IKET_TRY(iket_scan_array(scan, err));
    while ((more = iket_scan_item(scan, &first, err)) > 0) {
        uint32_t value;
        IKET_TRY(iket_json_read_u32(scan, &value, err));
        if (count < 3) values[count++] = value;
    }
    return more;
}

int iket_json_read_place(iket_scan *scan, iket_location *place, iket_error *err) {
    *place = (iket_location){.sm = IKET_UNKNOWN, .tpc = IKET_UNKNOWN, .gpc = IKET_UNKNOWN};
    iket_scan_text key;
    int first = 1, more;
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        if (iket_scan_is(&key, "smId")) {
            IKET_TRY(iket_json_read_u32(scan, &place->sm, err));
        } else if (iket_scan_is(&key, "tpcId")) {
            IKET_TRY(iket_json_read_u32(scan, &place->tpc, err));
        } else if (iket_scan_is(&key, "gpcId")) {
            IKET_TRY(iket_json_read_u32(scan, &place->gpc, err));
        } else if (iket_scan_is(&key, "warpId")) {
            IKET_TRY(iket_json_read_u32(scan, &place->warp, err));
        } else if (iket_scan_is(&key, "ctaId")) {
            IKET_TRY(read_three(scan, place->cta, err));
        } else {
            IKET_TRY(iket_scan_skip(scan, err));
        }
    }
    return more;
}

// ---- tables and meta ----------------------------------------------------------------------------------------------------

static int read_strings(iket_trace_json *doc, iket_error *err) {
    iket_scan *scan = &doc->scan;
    int first = 1, more;
    if (doc->strings_seen) return iket_scan_fail(scan, err, "a second stringTable");
    IKET_TRY(iket_scan_array(scan, err));
    while ((more = iket_scan_item(scan, &first, err)) > 0) {
        iket_scan_text text;
        const char *utf8;
        size_t size;
        uint32_t id;
        IKET_TRY(iket_scan_string(scan, &text, err));
        IKET_TRY(iket_scan_utf8(scan, &text, &utf8, &size, err));
        IKET_TRY(iket_json_add_name(&doc->names, utf8, size, 0, &id, err));
    }
    doc->strings_seen = 1;
    return more;
}

static int read_locations(iket_trace_json *doc, iket_error *err) {
    iket_scan *scan = &doc->scan;
    int first = 1, more;
    if (doc->locations_seen) return iket_scan_fail(scan, err, "a second locationTable");
    IKET_TRY(iket_scan_array(scan, err));
    while ((more = iket_scan_item(scan, &first, err)) > 0) {
        iket_location place;
        uint32_t id;
        IKET_TRY(iket_json_read_place(scan, &place, err));
        IKET_TRY(iket_json_add_place(&doc->places, &place, 0, &id, err));
    }
    doc->locations_seen = 1;
    return more;
}

static int read_diagnostics(iket_trace_json *doc, iket_error *err) {
    iket_scan *scan = &doc->scan;
    iket_scan_text key;
    int first = 1, more;
    doc->has_diagnostics = 1;
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        uint64_t *counter = NULL;
#define IKET_FIND_COUNTER(name)                                                                                        \
    if (iket_scan_is(&key, #name)) counter = &doc->diagnostics.name;
        IKET_DIAGNOSTICS(IKET_FIND_COUNTER)
#undef IKET_FIND_COUNTER
        if (counter == NULL) {
            IKET_TRY(iket_scan_skip(scan, err));
        } else {
            IKET_TRY(iket_scan_u64(scan, counter, err));
        }
    }
    return more;
}

// What our own writer adds to `meta`: pid and created. A value of another kind is somebody else's.
static int read_meta(iket_trace_json *doc, iket_error *err) {
    iket_scan *scan = &doc->scan;
    iket_scan_text key;
    int first = 1, more;
    if (iket_scan_peek(scan, err) != '{') return iket_scan_skip(scan, err);
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        uint64_t *value = iket_scan_is(&key, "pid") ? &doc->pid : iket_scan_is(&key, "created") ? &doc->created : NULL;
        int c = iket_scan_peek(scan, err);
        IKET_TRY(value != NULL && c >= '0' && c <= '9' ? iket_scan_u64(scan, value, err) : iket_scan_skip(scan, err));
    }
    return more;
}

// ---- rows on their way out ----------------------------------------------------------------------------------------------

static int deliver(iket_trace_json *doc, iket_json_reader *reader, const iket_json_row *row, iket_error *err) {
    const iket_json_names *names = &doc->names;
    const iket_json_places *places = &doc->places;
    if (row->kind != IKET_JSON_LIFETIME && !(row->name & 1) && row->name >> 1 >= names->table_count) {
        return iket_fail(err, "launch %u: a %s has the name index %u, but stringTable has %zu names", row->launch,
                         row->kind == IKET_JSON_MARKER ? "marker" : "range", row->name >> 1, names->table_count);
    }
    if (!(row->location & 1) && row->location >> 1 >= places->table_count) {
        return iket_fail(err, "launch %u: a row has the location index %u, but locationTable has %zu places", row->launch, row->location >> 1, places->table_count);
    }
    if (reader->row == NULL) return 0;
    int result = reader->row(reader->context, row, err);
    if (result > 0) reader->stopped = 1;
    return result < 0 ? -1 : 0;
}

static size_t packed_size(unsigned kind) { return kind == IKET_JSON_MARKER ? offsetof(iket_json_row, end) : sizeof(iket_json_row); }

static int drain(iket_trace_json *doc, iket_json_reader *reader, iket_error *err) {
    iket_json_row row = {0};
    const size_t head = offsetof(iket_json_row, end);
    int more;
    while (!reader->stopped && (more = iket_spool_read(&reader->spool, &row, head, err)) != 0) {
        if (more < 0) return -1;
        if (packed_size(row.kind) > head && iket_spool_read(&reader->spool, (char *)&row + head, sizeof row - head, err) != 1) return -1;
        IKET_TRY(deliver(doc, reader, &row, err));
    }
    reader->spooling = 0;
    reader->missing = 0;
    return iket_spool_reset(&reader->spool, err);
}

// The tables that a row needs and that were not read yet.
static unsigned missing_tables(const iket_trace_json *doc, const iket_json_row *row) {
    unsigned missing = 0;
    if (!doc->strings_seen && row->kind != IKET_JSON_LIFETIME && !(row->name & 1)) missing |= NEEDS_STRINGS;
    if (!doc->locations_seen && !(row->location & 1)) missing |= NEEDS_LOCATIONS;
    return missing;
}

static int pass_on(iket_trace_json *doc, iket_json_reader *reader, const iket_json_row *row, iket_error *err) {
    unsigned missing = missing_tables(doc, row);
    if (doc->source.mapped || !(reader->spooling || reader->hold || missing != 0 || !reader->launch_known)) return deliver(doc, reader, row, err);
    reader->spooling = 1;
    reader->missing |= missing;
    return iket_spool_write(&reader->spool, row, packed_size(row->kind), err);
}

// ---- launches -----------------------------------------------------------------------------------------------------------

static void note_lifetime(iket_launch *launch, const iket_json_row *row) {
    if (row->start < launch->start) launch->start = row->start;
    if (row->end > launch->end) launch->end = row->end;
}

// Reads the array of rows that is next.
static int read_rows(iket_trace_json *doc, iket_json_reader *reader, uint32_t launch, unsigned kind, iket_error *err) {
    int first = 1, more;
    iket_json_row row;
    IKET_TRY(iket_scan_array(&doc->scan, err));
    while ((more = iket_scan_item(&doc->scan, &first, err)) > 0) {
        IKET_TRY(iket_json_read_row(doc, kind, &row, err));
        row.launch = launch;
        if (kind == IKET_JSON_LIFETIME) note_lifetime(&doc->launches[launch], &row);
        if (reader->kinds & kind) IKET_TRY(pass_on(doc, reader, &row, err));
        if (reader->stopped) return 0;
    }
    return more;
}

// An array of rows in a launch: noted in a mapped file, read from a pipe when it is wanted (lifetimes always are).
static int meet_rows(iket_trace_json *doc, uint32_t launch, unsigned kind, iket_error *err) {
    iket_json_reader *reader = doc->reader;
    int c = iket_scan_peek(&doc->scan, err);
    if (c == 'n') return iket_scan_null(&doc->scan, err); // none, as some writers say it
    if (c != '[') return iket_scan_array(&doc->scan, err);
    if (reader != NULL) {
        if (!(reader->kinds & kind) && kind != IKET_JSON_LIFETIME) return iket_scan_skip(&doc->scan, err);
        return read_rows(doc, reader, launch, kind, err);
    }
    IKET_TRY(IKET_RESERVE(doc->spans, doc->span_count, doc->span_capacity, 1, err));
    doc->spans[doc->span_count++] = (iket_json_span){iket_scan_offset(&doc->scan), launch, kind};
    return iket_scan_skip(&doc->scan, err);
}

// {x, y, z}
static int read_cluster(iket_scan *scan, uint32_t values[3], iket_error *err) {
    if (iket_scan_peek(scan, err) == '[') return read_three(scan, values, err);
    iket_scan_text key;
    int first = 1, more;
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        if (key.size == 1 && key.data[0] >= 'x' && key.data[0] <= 'z') {
            IKET_TRY(iket_json_read_u32(scan, &values[key.data[0] - 'x'], err));
        } else {
            IKET_TRY(iket_scan_skip(scan, err));
        }
    }
    return more;
}

// gridDimX and the like; the fact's bit, 0 for another key.
static unsigned dimension(const iket_scan_text *key, iket_launch *launch, uint32_t **value) {
    int grid = key->size == 8 && memcmp(key->data, "gridDim", 7) == 0;
    int block = key->size == 9 && memcmp(key->data, "blockDim", 8) == 0;
    if (!grid && !block) return 0;
    int axis = key->data[key->size - 1] - 'X';
    if (axis < 0 || axis > 2) return 0;
    *value = grid ? &launch->grid_dim[axis] : &launch->block_dim[axis];
    return 8u << (axis + (grid ? 0 : 3));
}

// A fact of the launch; *known gets its bit. 1: it was one, 0: it was not, -1: error.
static int read_fact(iket_trace_json *doc, const iket_scan_text *key, uint32_t index, unsigned *known, iket_error *err) {
    iket_scan *scan = &doc->scan;
    iket_launch *launch = &doc->launches[index];
    uint32_t *value = NULL;
    unsigned bit = dimension(key, launch, &value);
    if (bit != 0) {
        *known |= bit;
        return iket_json_read_u32(scan, value, err) == 0 ? 1 : -1;
    }
    if (iket_scan_is(key, "kernelName")) {
        *known |= FACT_KERNEL;
        return iket_json_read_name(doc, &launch->kernel, err) == 0 ? 1 : -1;
    }
    if (iket_scan_is(key, "gridId")) {
        *known |= FACT_GRID_ID;
        return read_id(scan, &launch->grid_id, err) == 0 ? 1 : -1;
    }
    if (iket_scan_is(key, "contextId")) {
        *known |= FACT_CONTEXT;
        return read_id(scan, &launch->context_id, err) == 0 ? 1 : -1;
    }
    if (iket_scan_is(key, "enabledCluster")) {
        launch->has_cluster = 1;
        return read_cluster(scan, launch->enabled_cluster, err) == 0 ? 1 : -1;
    }
    if (iket_scan_is(key, "singleClusterActive")) {
        launch->has_cluster = 1;
        int c = iket_scan_peek(scan, err), flag = 0;
        if (c != 't' && c != 'f') return iket_json_read_u32(scan, &launch->single_cluster_active, err) == 0 ? 1 : -1;
        if (iket_scan_bool(scan, &flag, err) != 0) return -1;
        launch->single_cluster_active = (uint32_t)flag;
        return 1;
    }
    return 0;
}

static int read_launch(iket_trace_json *doc, uint32_t graph_key, uint32_t ordinal, iket_error *err) {
    iket_scan *scan = &doc->scan;
    iket_json_reader *reader = doc->reader;
    IKET_TRY(IKET_RESERVE(doc->launches, doc->launch_count, doc->launch_capacity, 1, err));
    if (doc->launch_count >= IKET_UNKNOWN) return iket_scan_fail(scan, err, "too many launches");
    uint32_t index = (uint32_t)doc->launch_count++;
    doc->launches[index] = (iket_launch){.kernel = IKET_UNKNOWN, .graph_key = graph_key, .ordinal = ordinal, .start = UINT64_MAX};
    unsigned known = 0;
    if (reader != NULL) reader->launch_known = 0;
    iket_scan_text key;
    int first = 1, more;
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        unsigned kind = iket_scan_is(&key, "markers") ? IKET_JSON_MARKER : iket_scan_is(&key, "ranges") ? IKET_JSON_RANGE
                      : iket_scan_is(&key, "warpLifetimes") ? IKET_JSON_LIFETIME : 0u;
        int result = kind != 0 ? 0 : read_fact(doc, &key, index, &known, err);
        if (result < 0) return -1;
        if (reader != NULL) reader->launch_known = known == ALL_FACTS;
        if (kind != 0) {
            IKET_TRY(meet_rows(doc, index, kind, err));
        } else if (result == 0) {
            IKET_TRY(iket_scan_skip(scan, err));
        }
        if (reader != NULL && reader->stopped) return 0;
    }
    if (more < 0) return -1;
    if (doc->launches[index].kernel == IKET_UNKNOWN) IKET_TRY(iket_json_add_name(&doc->names, "", 0, 1, &doc->launches[index].kernel, err));
    if (reader == NULL || !reader->spooling || reader->hold) return 0;
    if ((reader->missing & NEEDS_STRINGS && !doc->strings_seen) || (reader->missing & NEEDS_LOCATIONS && !doc->locations_seen)) return 0;
    return drain(doc, reader, err);
}

static int read_launches(iket_trace_json *doc, uint32_t graph_key, iket_error *err) {
    int first = 1, more;
    uint32_t ordinal = 0;
    IKET_TRY(iket_scan_array(&doc->scan, err));
    while ((more = iket_scan_item(&doc->scan, &first, err)) > 0) {
        IKET_TRY(read_launch(doc, graph_key, ordinal++, err));
        if (doc->reader != NULL && doc->reader->stopped) return 0;
    }
    return more;
}

static int read_graphs(iket_trace_json *doc, iket_error *err) {
    iket_scan *scan = &doc->scan;
    iket_scan_text key;
    int first = 1, more;
    int c = iket_scan_peek(scan, err);
    if (c == 'n') return iket_scan_null(scan, err);
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        uint32_t id;
        IKET_TRY(iket_json_add_name(&doc->names, key.data, key.size, 1, &id, err));
        IKET_TRY(read_launches(doc, id, err));
        if (doc->reader != NULL && doc->reader->stopped) return 0;
    }
    return more;
}

static int read_document(iket_trace_json *doc, iket_error *err) {
    iket_scan *scan = &doc->scan;
    iket_scan_text key;
    int first = 1, more, known = 0;
    IKET_TRY(iket_scan_bom(scan, err));
    IKET_TRY(iket_scan_object(scan, err));
    while ((more = iket_scan_key(scan, &first, &key, err)) > 0) {
        known = 1;
        if (iket_scan_is(&key, "stringTable")) {
            IKET_TRY(read_strings(doc, err));
        } else if (iket_scan_is(&key, "locationTable")) {
            IKET_TRY(read_locations(doc, err));
        } else if (iket_scan_is(&key, "launches")) {
            IKET_TRY(read_launches(doc, IKET_UNKNOWN, err));
            doc->whole = 1;
        } else if (iket_scan_is(&key, "graphLaunches")) {
            IKET_TRY(read_graphs(doc, err));
            doc->whole = 1;
        } else if (iket_scan_is(&key, "diagnostics") && iket_scan_peek(scan, err) == '{') {
            IKET_TRY(read_diagnostics(doc, err));
        } else if (iket_scan_is(&key, "meta")) {
            IKET_TRY(read_meta(doc, err));
        } else {
            IKET_TRY(iket_scan_skip(scan, err));
        }
        if (doc->reader != NULL && doc->reader->stopped) return 0;
    }
    if (more < 0) return -1;
    IKET_TRY(iket_scan_finish(scan, err));
    if (!doc->whole) return iket_fail(err, "%s without launches: it is no IKET trace", known ? "a JSON object" : "an empty JSON object");
    return 0;
}

// ---- the public calls -----------------------------------------------------------------------------------------------------

int iket_trace_json_open(iket_trace_json *doc, iket_byte_source *source, iket_error *err) {
    *doc = (iket_trace_json){.source = *source};
    *source = (iket_byte_source){0};
    iket_scan_start(&doc->scan, &doc->source);
    if (doc->source.mapped && read_document(doc, err) != 0) {
        iket_trace_json_close(doc);
        return -1;
    }
    return 0;
}

static int read_spans(iket_trace_json *doc, iket_json_reader *reader, iket_error *err) {
    for (size_t i = 0; i < doc->span_count && !reader->stopped; i++) {
        const iket_json_span *span = &doc->spans[i];
        if (!(reader->kinds & span->kind) || (reader->launches != NULL && !reader->launches[span->launch])) continue;
        iket_scan_seek(&doc->scan, span->offset);
        IKET_TRY(read_rows(doc, reader, span->launch, span->kind, err));
    }
    return 0;
}

int iket_trace_json_rows(iket_trace_json *doc, iket_json_reader *reader, iket_error *err) {
    reader->spooling = reader->stopped = reader->launch_known = 0;
    reader->missing = 0;
    if (doc->source.mapped) return read_spans(doc, reader, err);
    iket_spool_start(&reader->spool, reader->memory);
    doc->reader = reader;
    int result = read_document(doc, err);
    if (result == 0 && !reader->stopped) result = drain(doc, reader, err);
    doc->reader = NULL;
    iket_spool_stop(&reader->spool);
    return result;
}

void iket_trace_json_close(iket_trace_json *doc) {
    iket_scan_stop(&doc->scan);
    iket_byte_source_close(&doc->source);
    iket_json_free_tables(&doc->names, &doc->places);
    free(doc->launches);
    free(doc->spans);
    *doc = (iket_trace_json){0};
}
