// SPDX-License-Identifier: Apache-2.0
#include "analyze/database.h"

#include <stdio.h>
#include <string.h>

#include "common/version.h"

const char *const iket_database_tables[] = {"launches", "locations", "lifetimes", "ranges", "markers", NULL};

static const char schema[] =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value);"
    "CREATE TABLE launches(launch_id INTEGER PRIMARY KEY, input TEXT, launch INTEGER, graph TEXT, kernel TEXT, grid_id INTEGER, context_id INTEGER,"
    " grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER, warps INTEGER, start_ns INTEGER, end_ns INTEGER);"
    "CREATE TABLE locations(location_id INTEGER PRIMARY KEY, launch_id INTEGER REFERENCES launches, sm INTEGER, tpc INTEGER, gpc INTEGER,"
    " cta_x INTEGER, cta_y INTEGER, cta_z INTEGER, warp INTEGER);"
    "CREATE TABLE lifetimes(location_id INTEGER PRIMARY KEY REFERENCES locations, start_ns INTEGER, end_ns INTEGER, dur_ns INTEGER);"
    "CREATE TABLE ranges(range_id INTEGER PRIMARY KEY, location_id INTEGER REFERENCES locations, kind TEXT, name TEXT, start_ns INTEGER, end_ns INTEGER,"
    " dur_ns INTEGER, exclusive_ns INTEGER, depth INTEGER, parent_id INTEGER, payload_type TEXT, payload, end_payload_type TEXT, end_payload, unclosed INTEGER);"
    "CREATE TABLE markers(marker_id INTEGER PRIMARY KEY, location_id INTEGER REFERENCES locations, name TEXT, ts_ns INTEGER, payload_type TEXT, payload);"
    "BEGIN;";

static const char rest[] =
    "CREATE INDEX ranges_by_name ON ranges(name, start_ns);"
    "CREATE INDEX ranges_by_location ON ranges(location_id, start_ns);"
    "CREATE INDEX markers_by_name ON markers(name, ts_ns);"
    "CREATE INDEX markers_by_location ON markers(location_id, ts_ns);"
    "CREATE INDEX locations_by_launch ON locations(launch_id);"
    "CREATE VIEW range_events AS SELECT l.input, l.kernel, l.launch, l.graph, p.sm, p.cta_x, p.cta_y, p.cta_z, p.warp, r.* FROM ranges r"
    " JOIN locations p USING(location_id) JOIN launches l USING(launch_id);"
    "CREATE VIEW marker_events AS SELECT l.input, l.kernel, l.launch, l.graph, p.sm, p.cta_x, p.cta_y, p.cta_z, p.warp, m.* FROM markers m"
    " JOIN locations p USING(location_id) JOIN launches l USING(launch_id);"
    "CREATE VIEW range_summary AS SELECT input, kernel, kind, name, count(*) AS count, sum(dur_ns) AS total_ns, sum(exclusive_ns) AS exclusive_total_ns,"
    " min(dur_ns) AS min_ns, max(dur_ns) AS max_ns FROM range_events GROUP BY input, kernel, kind, name;"
    "CREATE VIEW marker_summary AS SELECT input, kernel, name, count(*) AS count FROM marker_events GROUP BY input, kernel, name;"
    "CREATE VIEW warp_summary AS SELECT l.input, l.kernel, l.launch, l.graph, p.sm, p.cta_x, p.cta_y, p.cta_z, p.warp, t.start_ns, t.end_ns, t.dur_ns,"
    " t.start_ns - l.start_ns AS start_skew_ns, l.end_ns - t.end_ns AS end_skew_ns FROM lifetimes t JOIN locations p USING(location_id) JOIN launches l USING(launch_id);"
    "COMMIT;";

static int fail(sqlite3 *database, iket_error *err) { return iket_fail(err, "SQLite: %s", sqlite3_errmsg(database)); }

static int execute(sqlite3 *database, const char *sql, iket_error *err) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(database, err);
}

// ---- values -------------------------------------------------------------------------------------------------------------

static void bind_u64(sqlite3_stmt *s, int at, uint64_t value) {
    char text[24];
    if (value <= INT64_MAX) {
        sqlite3_bind_int64(s, at, (int64_t)value);
    } else {
        snprintf(text, sizeof text, "%llu", (unsigned long long)value);
        sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
    }
}

static void bind_u32(sqlite3_stmt *s, int at, uint32_t value) {
    if (value == IKET_UNKNOWN) {
        sqlite3_bind_null(s, at);
    } else {
        sqlite3_bind_int64(s, at, value);
    }
}

// The model's strings live as long as the statements.
static void bind_text(sqlite3_stmt *s, int at, const char *text) {
    if (text == NULL) {
        sqlite3_bind_null(s, at);
    } else {
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    }
}

// Two columns: type and value.
static void bind_payload(sqlite3_stmt *s, int at, iket_payload payload) {
    if (payload.type == IKET_PAYLOAD_NONE) {
        sqlite3_bind_null(s, at);
        sqlite3_bind_null(s, at + 1);
        return;
    }
    bind_text(s, at, iket_payload_type_name(payload.type));
    switch (payload.type) {
    case IKET_PAYLOAD_F32:
    case IKET_PAYLOAD_F64: {
        double value = iket_payload_double(payload);
        if (value - value == 0) {
            sqlite3_bind_double(s, at + 1, value);
        } else {
            sqlite3_bind_text(s, at + 1, value != value ? "NaN" : value > 0 ? "Infinity" : "-Infinity", -1, SQLITE_STATIC);
        }
        break;
    }
    case IKET_PAYLOAD_I8:
    case IKET_PAYLOAD_I16:
    case IKET_PAYLOAD_I32:
    case IKET_PAYLOAD_I64: sqlite3_bind_int64(s, at + 1, iket_payload_signed(payload)); break;
    default: bind_u64(s, at + 1, payload.bits); break;
    }
}

static int insert(sqlite3 *database, sqlite3_stmt *s, iket_error *err) {
    int status = sqlite3_step(s);
    sqlite3_reset(s);
    return status == SQLITE_DONE ? 0 : fail(database, err);
}

// ---- tables -------------------------------------------------------------------------------------------------------------

// Ids go on from input to input.
typedef struct filler {
    sqlite3 *database;
    sqlite3_stmt *launch, *location, *lifetime, *range, *marker;
    int64_t launches, locations, ranges, markers; // ids given so far
} filler;

static int prepare(filler *f, iket_error *err) {
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {{&f->launch, "INSERT INTO launches VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
               {&f->location, "INSERT INTO locations VALUES(?,?,?,?,?,?,?,?,?)"},
               {&f->lifetime, "INSERT INTO lifetimes VALUES(?,?,?,?)"},
               {&f->range, "INSERT INTO ranges VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
               {&f->marker, "INSERT INTO markers VALUES(?,?,?,?,?,?)"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (sqlite3_prepare_v2(f->database, all[i].sql, -1, all[i].statement, NULL) != SQLITE_OK) return fail(f->database, err);
    }
    return 0;
}

static int add_launch(filler *f, const iket_columns *c, size_t index, iket_error *err) {
    const iket_launch *l = &c->trace->launches[index];
    sqlite3_stmt *s = f->launch;
    sqlite3_bind_int64(s, 1, f->launches + (int64_t)index);
    bind_text(s, 2, c->input);
    bind_u32(s, 3, l->ordinal);
    bind_text(s, 4, iket_launch_graph(c, l));
    bind_text(s, 5, iket_launch_kernel(c, l));
    bind_u64(s, 6, l->grid_id);
    bind_u64(s, 7, l->context_id);
    for (int axis = 0; axis < 3; axis++) {
        sqlite3_bind_int64(s, 8 + axis, l->grid_dim[axis]);
        sqlite3_bind_int64(s, 11 + axis, l->block_dim[axis]);
    }
    sqlite3_bind_int64(s, 14, l->location_count);
    if (l->location_count > 0) {
        bind_u64(s, 15, l->start);
        bind_u64(s, 16, l->end);
    } else {
        sqlite3_bind_null(s, 15);
        sqlite3_bind_null(s, 16);
    }
    return insert(f->database, s, err);
}

static int add_range(filler *f, const iket_columns *c, size_t i, iket_error *err) {
    sqlite3_stmt *s = f->range;
    sqlite3_bind_int64(s, 1, f->ranges + (int64_t)i);
    sqlite3_bind_int64(s, 2, f->locations + c->location[i]);
    bind_text(s, 3, c->flags[i] & IKET_RANGE_IS_TOKEN ? "token" : "range");
    bind_text(s, 4, iket_range_name(c, i));
    bind_u64(s, 5, c->start[i]);
    bind_u64(s, 6, c->end[i]);
    bind_u64(s, 7, iket_range_duration(c, i));
    bind_u64(s, 8, iket_range_exclusive(c, i));
    sqlite3_bind_int64(s, 9, c->depth[i]);
    if (c->parent[i] == IKET_UNKNOWN || !(c->flags[c->parent[i]] & IKET_RANGE_SELECTED)) {
        sqlite3_bind_null(s, 10);
    } else {
        sqlite3_bind_int64(s, 10, f->ranges + c->parent[i]);
    }
    bind_payload(s, 11, iket_range_payload(c, i));
    bind_payload(s, 13, (iket_payload){c->end_bits[i], c->end_payload_type[i]});
    sqlite3_bind_int(s, 15, c->flags[i] & IKET_RANGE_UNCLOSED ? 1 : 0);
    return insert(f->database, s, err);
}

static int add_marker(filler *f, const iket_columns *c, size_t i, iket_error *err) {
    sqlite3_stmt *s = f->marker;
    sqlite3_bind_int64(s, 1, f->markers + (int64_t)i);
    sqlite3_bind_int64(s, 2, f->locations + c->marker_location[i]);
    bind_text(s, 3, c->trace->strings[c->marker_name[i]]);
    bind_u64(s, 4, c->marker_time[i]);
    bind_payload(s, 5, (iket_payload){c->marker_bits[i], c->marker_type[i]});
    return insert(f->database, s, err);
}

static int add_location(filler *f, const iket_columns *c, size_t index, iket_error *err) {
    const iket_location *l = &c->trace->locations[index];
    sqlite3_stmt *s = f->location;
    sqlite3_bind_int64(s, 1, f->locations + (int64_t)index);
    sqlite3_bind_int64(s, 2, f->launches + l->launch);
    bind_u32(s, 3, l->sm);
    bind_u32(s, 4, l->tpc);
    bind_u32(s, 5, l->gpc);
    for (int axis = 0; axis < 3; axis++) sqlite3_bind_int64(s, 6 + axis, l->cta[axis]);
    sqlite3_bind_int64(s, 9, l->warp);
    IKET_TRY(insert(f->database, s, err));
    sqlite3_bind_int64(f->lifetime, 1, f->locations + (int64_t)index);
    bind_u64(f->lifetime, 2, l->start);
    bind_u64(f->lifetime, 3, l->end);
    bind_u64(f->lifetime, 4, l->end - l->start);
    return insert(f->database, f->lifetime, err);
}

static int add_set(filler *f, const iket_columns *c, iket_error *err) {
    for (size_t i = 0; i < c->trace->launch_count; i++) {
        if (c->selection.launches[i]) IKET_TRY(add_launch(f, c, i, err));
    }
    for (size_t i = 0; i < c->trace->location_count; i++) {
        if (c->selection.locations[i]) IKET_TRY(add_location(f, c, i, err));
    }
    for (size_t i = 0; i < c->range_count; i++) {
        if (c->flags[i] & IKET_RANGE_SELECTED) IKET_TRY(add_range(f, c, i, err));
    }
    for (size_t i = 0; i < c->marker_count; i++) {
        if (c->marker_selected[i]) IKET_TRY(add_marker(f, c, i, err));
    }
    f->launches += (int64_t)c->trace->launch_count;
    f->locations += (int64_t)c->trace->location_count;
    f->ranges += (int64_t)c->range_count;
    f->markers += (int64_t)c->marker_count;
    return 0;
}

static int add_meta(sqlite3 *database, iket_error *err) {
    char sql[200];
    snprintf(sql, sizeof sql, "INSERT INTO meta VALUES('schema_version', %d), ('tool', 'iket-query %s')", IKET_DATABASE_SCHEMA, IKET_VERSION);
    return execute(database, sql, err);
}

int iket_database_fill(sqlite3 *database, const iket_columns *sets, size_t set_count, iket_error *err) {
    filler f = {.database = database};
    int result = execute(database, schema, err);
    if (result == 0) result = add_meta(database, err);
    if (result == 0) result = prepare(&f, err);
    for (size_t i = 0; i < set_count && result == 0; i++) {
        if (sets[i].trace != NULL) result = add_set(&f, &sets[i], err);
    }
    sqlite3_finalize(f.launch);
    sqlite3_finalize(f.location);
    sqlite3_finalize(f.lifetime);
    sqlite3_finalize(f.range);
    sqlite3_finalize(f.marker);
    return result == 0 ? execute(database, rest, err) : result;
}
