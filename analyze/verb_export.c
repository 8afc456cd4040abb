// SPDX-License-Identifier: Apache-2.0
// export: everything that is selected, for other tools: a SQLite file, or one table as CSV, JSON or JSON lines.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/verb_sql.h"
#include "common/options.h"

enum { COPY_BYTES = 1 << 20 };

// SQLite writes into a file without a name in $TMPDIR; its bytes go out the way that every answer goes, so that nobody
// meets half of a database.
static int temporary_file(char *path, size_t size, int *fd, iket_error *err) {
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == 0) folder = "/tmp";
    int length = snprintf(path, size, "%s/iket-export-XXXXXX", folder);
    if (length < 0 || (size_t)length >= size) return iket_fail(err, "the name of the temporary folder is too long");
    *fd = mkstemp(path);
    return *fd >= 0 ? 0 : iket_fail(err, "%s: cannot make a temporary file: %s (set TMPDIR)", folder, strerror(errno));
}

static int copy_out(int fd, iket_sink *sink, iket_error *err) {
    char *buffer = malloc(COPY_BYTES);
    ssize_t got = -1;
    if (buffer == NULL || lseek(fd, 0, SEEK_SET) != 0) {
        free(buffer);
        return iket_fail(err, "the temporary file cannot be read");
    }
    while (!sink->failed && (got = read(fd, buffer, COPY_BYTES)) > 0) iket_sink_write(sink, buffer, (size_t)got);
    free(buffer);
    if (sink->failed) return iket_fail(err, "%s", sink->error.message);
    return got == 0 ? 0 : iket_fail(err, "the temporary file cannot be read: %s", strerror(errno));
}

static int export_database(iket_query *q, iket_error *err) {
    char path[4096];
    int fd = -1;
    sqlite3 *database = NULL;
    if (q->options->output == NULL) return iket_fail(err, "export needs -o FILE for a SQLite database (or --table with --format csv, json or jsonl)");
    IKET_TRY(temporary_file(path, sizeof path, &fd, err));
    int result = iket_sql_open(q, &database, path, err);
    // A failed close leaves pages unwritten.
    if (sqlite3_close(database) != SQLITE_OK && result == 0) result = iket_fail(err, "SQLite: the database cannot be closed");
    if (result == 0) result = copy_out(fd, q->sink, err);
    unlink(path);
    close(fd);
    return result;
}

static int export_table(iket_query *q, iket_error *err) {
    const char *table = q->options->table;
    size_t count = 0, found = 0;
    while (iket_database_tables[count] != NULL) count++;
    while (found < count && strcmp(iket_database_tables[found], table) != 0) found++;
    if (found == count) {
        const char *near = iket_nearest(table, iket_database_tables, count);
        return iket_fail(err, "--table: there is no %s%s%s (launches, locations, lifetimes, ranges, markers)", table, near != NULL ? "; did you mean " : "", near != NULL ? near : "");
    }
    char sql[80];
    sqlite3 *database = NULL;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
    int result = iket_sql_open(q, &database, ":memory:", err);
    if (result == 0) result = iket_sql_select(q, q->report, database, sql, err);
    sqlite3_close(database);
    return result;
}

int iket_verb_export(iket_query *q, iket_error *err) {
    if (q->options->table != NULL) return export_table(q, err);
    if (q->options->report.format != IKET_FORMAT_TABLE) return iket_fail(err, "export as csv, json or jsonl needs --table (launches, locations, lifetimes, ranges, markers)");
    return export_database(q, err);
}
