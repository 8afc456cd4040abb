// SPDX-License-Identifier: Apache-2.0
// sql: one SELECT over the tables of database.h, in memory; and the rows of a table for `export`.
#include "analyze/verb_sql.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64 };

static iket_cell cell_of(sqlite3_stmt *s, int column) {
    switch (sqlite3_column_type(s, column)) {
    case SQLITE_INTEGER: return iket_cell_int(sqlite3_column_int64(s, column));
    case SQLITE_FLOAT: {
        double value = sqlite3_column_double(s, column);
        iket_payload number = {0, IKET_PAYLOAD_F64};
        memcpy(&number.bits, &value, sizeof number.bits);
        return iket_cell_payload(number);
    }
    case SQLITE_TEXT: return iket_cell_text((const char *)sqlite3_column_text(s, column));
    case SQLITE_BLOB: return iket_cell_text("(blob)");
    default: return iket_cell_none();
    }
}

// A copy that lives as long as the query: the report needs the columns' names to its end.
static const char *keep(iket_query *q, const char *text) {
    char **kept = realloc(q->kept, (q->kept_count + 1) * sizeof *kept);
    if (kept == NULL) return NULL;
    q->kept = kept;
    char *copy = strdup(text != NULL ? text : "");
    if (copy != NULL) q->kept[q->kept_count++] = copy;
    return copy;
}

static int give_rows(iket_query *q, iket_report *report, sqlite3 *database, sqlite3_stmt *s, iket_error *err) {
    iket_column columns[MOST_COLUMNS];
    iket_cell cells[MOST_COLUMNS];
    int count = sqlite3_column_count(s), status;
    if (count > MOST_COLUMNS) return iket_fail(err, "more than %d columns", MOST_COLUMNS);
    for (int i = 0; i < count; i++) {
        columns[i] = (iket_column){keep(q, sqlite3_column_name(s, i)), NULL, IKET_COLUMN_TABLE};
        if (columns[i].name == NULL) return iket_fail(err, "out of memory");
    }
    IKET_TRY(iket_report_section(report, "rows", columns, (size_t)count, 0, err));
    while ((status = sqlite3_step(s)) == SQLITE_ROW) {
        for (int i = 0; i < count; i++) cells[i] = cell_of(s, i);
        int result = iket_report_row(report, cells, err);
        if (result < 0) return -1;
        if (result > 0) return 0;
    }
    return status == SQLITE_DONE ? 0 : iket_fail(err, "SQL: %s", sqlite3_errmsg(database));
}

int iket_sql_select(iket_query *q, iket_report *report, sqlite3 *database, const char *sql, iket_error *err) {
    sqlite3_stmt *s = NULL;
    const char *tail = NULL;
    int result = sqlite3_prepare_v2(database, sql, -1, &s, &tail) == SQLITE_OK ? 0 : iket_fail(err, "SQL: %s", sqlite3_errmsg(database));
    if (result == 0 && (s == NULL || !sqlite3_stmt_readonly(s) || sqlite3_column_count(s) == 0)) result = iket_fail(err, "SQL: only a SELECT can be asked");
    if (result == 0 && tail[strspn(tail, " \t\n;")] != 0) result = iket_fail(err, "SQL: one statement at a time");
    if (result == 0) result = give_rows(q, report, database, s, err);
    sqlite3_finalize(s);
    return result;
}

int iket_sql_open(iket_query *q, sqlite3 **database, const char *path, iket_error *err) {
    iket_columns *sets = NULL;
    int result = iket_query_load(q, &sets, err);
    if (result == 0 && sqlite3_open(path, database) != SQLITE_OK) result = iket_fail(err, "SQLite: %s", sqlite3_errmsg(*database));
    if (result == 0) {
        sqlite3_limit(*database, SQLITE_LIMIT_ATTACHED, 0);
        result = iket_database_fill(*database, sets, q->input_count, err);
    }
    iket_query_unload(q, sets);
    return result;
}

int iket_verb_sql(iket_query *q, iket_error *err) {
    sqlite3 *database = NULL;
    if (q->statement == NULL) return iket_fail(err, "sql needs a statement before the inputs: iket-query sql \"SELECT ...\" TRACE");
    int result = iket_sql_open(q, &database, ":memory:", err);
    if (result == 0) result = iket_sql_select(q, q->report, database, q->statement, err);
    sqlite3_close(database);
    return result;
}
