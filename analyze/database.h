// SPDX-License-Identifier: Apache-2.0
// database.h: traces as SQLite tables, for `export` and `sql`.
//
//     meta       key, value: schema_version, tool
//     launches   launch_id, input, launch, graph, kernel, grid_id, context_id, grid_x.., block_x.., warps, start_ns, end_ns
//     locations  location_id, launch_id, sm, tpc, gpc, cta_x, cta_y, cta_z, warp
//     lifetimes  location_id, start_ns, end_ns, dur_ns
//     ranges     range_id, location_id, kind, name, start_ns, end_ns, dur_ns, exclusive_ns, depth, parent_id, payload_type, payload,
//                end_payload_type, end_payload, unclosed
//     markers    marker_id, location_id, name, ts_ns, payload_type, payload
//     views      range_events and marker_events (with launch and place), range_summary, marker_summary, warp_summary
//
// An integer that SQLite's 64 bits with a sign cannot hold is the text of its digits; so are NaN and the infinities.
#ifndef IKET_ANALYZE_DATABASE_H
#define IKET_ANALYZE_DATABASE_H

#include <sqlite3.h>

#include "analyze/columns.h"

enum { IKET_DATABASE_SCHEMA = 1 };

extern const char *const iket_database_tables[]; // that hold events and places; NULL at the end

// Creates the tables in an empty database, fills them with what is selected of the sets (those without a trace are left
// out), and adds indexes and views.
IKET_MUST_CHECK int iket_database_fill(sqlite3 *database, const iket_columns *sets, size_t set_count, iket_error *err);

#endif
