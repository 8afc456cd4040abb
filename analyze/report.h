// SPDX-License-Identifier: Apache-2.0
// report.h: what a verb answers, in the form that was asked for.
//
//     verb --facts, sections, rows of cells--> report --> table | csv | json | jsonl --> sink
//
// A verb knows columns and cells, never a format. The first section is the answer (`rows`); further ones go into table
// and json only. Integers are exact in every format. In a table durations are humanised (1.25 us), and long names clipped so that a line has 80 columns;
// rows are held back until their widths are known, at most REPORT_ROWS of them where nothing has to be sorted.
#ifndef IKET_ANALYZE_REPORT_H
#define IKET_ANALYZE_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/sink.h"
#include "decode/include/iket/trace.h"

__extension__ typedef unsigned __int128 iket_wide; // sums of 64-bit durations

typedef enum iket_format { IKET_FORMAT_TABLE, IKET_FORMAT_CSV, IKET_FORMAT_JSON, IKET_FORMAT_JSONL } iket_format;

enum { IKET_REPORT_SCHEMA = 1 };

typedef enum iket_cell_kind {
    IKET_CELL_NONE,     // null in JSON, empty in CSV, '-' in a table
    IKET_CELL_TEXT,     // borrowed during the call
    IKET_CELL_UINT,
    IKET_CELL_INT,
    IKET_CELL_FIXED,    // a number of thousandths
    IKET_CELL_PAYLOAD,
    IKET_CELL_BOOL,
} iket_cell_kind;

typedef struct iket_cell {
    union {
        const char *text;     // TEXT
        iket_wide number;     // UINT, BOOL; of INT and FIXED the magnitude
        iket_payload payload; // PAYLOAD
    };
    iket_cell_kind kind;
    int negative;             // of INT and FIXED
} iket_cell;

static inline iket_cell iket_cell_none(void) { return (iket_cell){.kind = IKET_CELL_NONE}; }
static inline iket_cell iket_cell_text(const char *text) { return (iket_cell){.kind = text != NULL ? IKET_CELL_TEXT : IKET_CELL_NONE, .text = text}; }
static inline iket_cell iket_cell_uint(iket_wide number) { return (iket_cell){.kind = IKET_CELL_UINT, .number = number}; }
static inline iket_cell iket_cell_bool(int value) { return (iket_cell){.kind = IKET_CELL_BOOL, .number = value != 0}; }
// IKET_UNKNOWN becomes an empty cell.
static inline iket_cell iket_cell_u32(uint32_t number) { return number == IKET_UNKNOWN ? iket_cell_none() : iket_cell_uint(number); }
// later - earlier, which may be negative.
static inline iket_cell iket_cell_difference(uint64_t later, uint64_t earlier) {
    int negative = later < earlier;
    return (iket_cell){.kind = IKET_CELL_INT, .number = negative ? earlier - later : later - earlier, .negative = negative};
}
static inline iket_cell iket_cell_int(int64_t value) {
    return (iket_cell){.kind = IKET_CELL_INT, .number = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, .negative = value < 0};
}
// numerator / denominator * scale, rounded to thousandths; an empty cell for a denominator of 0.
iket_cell iket_cell_ratio(iket_wide numerator, iket_wide denominator, unsigned scale);
static inline iket_cell iket_cell_payload(iket_payload payload) { return (iket_cell){.kind = payload.type == IKET_PAYLOAD_NONE ? IKET_CELL_NONE : IKET_CELL_PAYLOAD, .payload = payload}; }

enum {
    IKET_COLUMN_TABLE = 1,    // shown in a table unless --columns says otherwise
    IKET_COLUMN_DURATION = 2, // nanoseconds, humanised in a table
    IKET_COLUMN_INPUT = 4,    // the input's name: in a table only with several inputs
    IKET_COLUMN_LEFT = 8,     // set to the left, and never clipped
    IKET_COLUMN_SHORT = 16,   // only in tables: what other columns say with more digits
};

typedef struct iket_column {
    const char *name;  // key in JSON and head in CSV, with its unit: dur_ns
    const char *title; // head in a table; NULL: name
    unsigned flags;
} iket_column;

typedef struct iket_report_options {
    iket_format format;
    const char *columns; // --columns: names with commas; NULL: the section's own choice
    const char *sort;    // --sort: NAME, NAME:asc or NAME:desc; NULL: the verb's order
    uint64_t limit;      // rows of the answer, 0: all
    int has_limit;       // --limit was given; else a section's own default holds in a table
    int many_inputs;
} iket_report_options;

typedef struct iket_report iket_report;

// Starts "verb". The sink is borrowed until iket_report_close.
IKET_MUST_CHECK int iket_report_open(iket_report **report, const iket_report_options *options, const char *verb, iket_sink *sink, iket_error *err);

// A fact about the whole answer, before the first section: a key in JSON, a line in a table.
void iket_report_fact(iket_report *report, const char *name, iket_cell value);

// Starts a section; the columns' names live until the report is closed. `few` is the number of rows in a table without --limit (0: all).
// Fails for a column that --columns or --sort names and that is not there.
IKET_MUST_CHECK int iket_report_section(iket_report *report, const char *name, const iket_column *columns, size_t count, uint64_t few, iket_error *err);

// One row: as many cells as columns. 1: the limit is reached, further rows are not shown.
int iket_report_row(iket_report *report, const iket_cell *cells, iket_error *err);

// A line in a table, after the rows of the section that is open; nothing in other formats.
__attribute__((format(printf, 2, 3))) void iket_report_line(iket_report *report, const char *format, ...);

// Ends the last section and the document; one without facts and sections is nothing. Frees the report whatever the result.
IKET_MUST_CHECK int iket_report_close(iket_report *report, iket_error *err);

// Whether the open section shows this column or sorts by it: its cells may be left empty otherwise.
int iket_report_wants(const iket_report *report, size_t column);

// Nanoseconds with three significant digits and a unit: "1.25 us". `text` has at least 24 bytes.
void iket_human_ns(iket_wide ns, int negative, char *text);

// Whether the user's terminal takes UTF-8, by LC_ALL, LC_CTYPE, LANG.
int iket_utf8_terminal(void);

#endif
