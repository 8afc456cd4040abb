// SPDX-License-Identifier: Apache-2.0
#ifndef IKET_ANALYZE_VERB_SQL_H
#define IKET_ANALYZE_VERB_SQL_H

#include "analyze/database.h"
#include "analyze/query.h"

// Opens a database at `path` with the query's inputs in it. The caller closes *database whatever the result.
IKET_MUST_CHECK int iket_sql_open(iket_query *query, sqlite3 **database, const char *path, iket_error *err);

// The rows of one SELECT into the report.
IKET_MUST_CHECK int iket_sql_select(iket_query *query, iket_report *report, sqlite3 *database, const char *sql, iket_error *err);

#endif
