// SPDX-License-Identifier: Apache-2.0
#include "analyze/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cells.h"
#include "common/array.h"
#include "common/options.h"
#include "common/text.h"

enum { REPORT_ROWS = 4096, LINE_WIDTH = 80, LEAST_TEXT = 12, COLUMNS_MAX = 64 };

// A row that waits. Texts of all waiting rows lie in one arena.
typedef struct held_cell {
    iket_cell cell;
    size_t text; // offset in the arena, of a TEXT
} held_cell;

struct iket_report {
    iket_report_options options;
    iket_sink *sink;
    const char *verb;
    int sections, open, facts; // sections begun; one is open; facts written
    iket_column columns[COLUMNS_MAX];
    size_t column_count;
    size_t shown[COLUMNS_MAX];
    size_t shown_count;
    size_t sort_column;
    int sorts, ascending;
    uint64_t limit, rows, beyond; // of the section: rows shown at most, rows met, rows met past the limit
    held_cell *held;              // [held_rows][column_count]
    size_t held_rows, held_capacity;
    char *arena;
    size_t arena_used, arena_capacity;
    size_t widths[COLUMNS_MAX];
    int widths_known, head_written;
    char *lines;                  // of iket_report_line
    size_t lines_used, lines_capacity;
};

// ---- csv and json -----------------------------------------------------------------------------------------------------

static void csv_text(iket_sink *sink, const char *text) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        iket_sink_text(sink, text);
        return;
    }
    iket_sink_text(sink, "\"");
    for (const char *p = text; *p != 0;) {
        size_t plain = strcspn(p, "\"");
        iket_sink_write(sink, p, plain);
        p += plain;
        if (*p == '"') {
            iket_sink_text(sink, "\"\"");
            p++;
        }
    }
    iket_sink_text(sink, "\"");
}

// A payload such as "NaN" without the quotes that JSON needs.
static const char *unquoted(char *text) {
    size_t size = strlen(text);
    if (size < 2 || text[0] != '"') return text;
    text[size - 1] = 0;
    return text + 1;
}

static void write_csv_row(iket_report *r, const iket_cell *cells) {
    iket_sink *sink = r->sink;
    for (size_t i = 0; i < r->shown_count; i++) {
        const iket_cell *cell = &cells[r->shown[i]];
        uint8_t *at = iket_sink_reserve(sink, IKET_CELL_NUMBER + 1);
        if (i > 0) *at++ = ',';
        if (cell->kind == IKET_CELL_TEXT) {
            iket_sink_commit(sink, at);
            csv_text(sink, cell->text);
        } else if (cell->kind == IKET_CELL_PAYLOAD) {
            char text[IKET_CELL_NUMBER];
            iket_cell_write(cell, text);
            iket_sink_commit(sink, at);
            iket_sink_text(sink, unquoted(text));
        } else {
            iket_sink_commit(sink, (uint8_t *)iket_cell_write(cell, (char *)at));
        }
    }
    iket_sink_write(sink, "\r\n", 2);
}

static void json_cell(iket_sink *sink, const iket_cell *cell) {
    char text[IKET_CELL_NUMBER];
    if (cell->kind == IKET_CELL_TEXT) {
        iket_json_string(sink, cell->text);
    } else if (cell->kind == IKET_CELL_NONE) {
        iket_sink_text(sink, "null");
    } else {
        iket_cell_write(cell, text);
        iket_sink_text(sink, text);
    }
}

static void write_json_row(iket_report *r, const iket_cell *cells) {
    iket_sink_text(r->sink, "{");
    for (size_t i = 0; i < r->shown_count; i++) {
        if (i > 0) iket_sink_text(r->sink, ",");
        iket_json_string(r->sink, r->columns[r->shown[i]].name);
        iket_sink_text(r->sink, ":");
        json_cell(r->sink, &cells[r->shown[i]]);
    }
    iket_sink_text(r->sink, "}");
}

// ---- tables -----------------------------------------------------------------------------------------------------------

// Columns that a text takes: characters, not bytes.
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text != 0; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

// The text of a cell in a table. `scratch` has IKET_CELL_NUMBER bytes.
static const char *table_text(const iket_column *column, const iket_cell *cell, char *scratch) {
    if (cell->kind == IKET_CELL_TEXT) return cell->text;
    if (cell->kind == IKET_CELL_NONE) return "-";
    if (column->flags & IKET_COLUMN_DURATION) {
        iket_wide ns = cell->kind == IKET_CELL_FIXED ? (cell->number + 500) / 1000 : cell->number;
        iket_human_ns(ns, cell->negative, scratch);
        return scratch;
    }
    if (cell->kind == IKET_CELL_FIXED) { // two decimals are enough to look at
        iket_wide hundredths = (cell->number + 5) / 10;
        char *at = scratch;
        if (cell->negative && hundredths != 0) *at++ = '-';
        at = iket_put_wide(at, hundredths / 100);
        snprintf(at, 4, ".%02u", (unsigned)(hundredths % 100));
        return scratch;
    }
    iket_cell_write(cell, scratch);
    return unquoted(scratch);
}

static int is_left(const iket_column *column, const iket_cell *cell) {
    return cell->kind == IKET_CELL_TEXT || cell->kind == IKET_CELL_BOOL || (column->flags & IKET_COLUMN_LEFT);
}

// Writes a text clipped and padded to the column's width; `last` needs no padding on the right.
static void write_padded(iket_sink *sink, const char *text, size_t width, int left, int last) {
    size_t have = width_of(text), clipped = have > width ? width : have;
    if (!left) {
        for (size_t i = clipped; i < width; i++) iket_sink_text(sink, " ");
    }
    if (have <= width) {
        iket_sink_text(sink, text);
    } else {
        const char *p = text;
        for (size_t i = 0; i + 1 < width; i++) {
            const char *next = p + 1;
            while (((unsigned char)*next & 0xC0) == 0x80) next++;
            iket_sink_write(sink, p, (size_t)(next - p));
            p = next;
        }
        iket_sink_text(sink, "~");
    }
    for (size_t i = clipped; left && !last && i < width; i++) iket_sink_text(sink, " ");
}

static const char *title_of(const iket_column *column) { return column->title != NULL ? column->title : column->name; }

static iket_cell held_cell_at(const iket_report *r, size_t row, size_t column) {
    const held_cell *held = &r->held[row * r->column_count + column];
    iket_cell cell = held->cell;
    if (cell.kind == IKET_CELL_TEXT) cell.text = r->arena + held->text;
    return cell;
}

// Texts give way until the line fits.
static void fit_line(iket_report *r, const uint8_t *is_text) {
    size_t total = 2 * (r->shown_count > 0 ? r->shown_count - 1 : 0);
    // What is never clipped at the line's end may stand out.
    size_t count = r->shown_count;
    if (count > 0 && (r->columns[r->shown[count - 1]].flags & IKET_COLUMN_LEFT)) count--;
    for (size_t i = 0; i < count; i++) total += r->widths[i];
    while (total > LINE_WIDTH) {
        size_t widest = r->shown_count;
        for (size_t i = 0; i < r->shown_count; i++) {
            if (is_text[i] && r->widths[i] > LEAST_TEXT && (widest == r->shown_count || r->widths[i] > r->widths[widest])) widest = i;
        }
        if (widest == r->shown_count) return;
        r->widths[widest]--;
        total--;
    }
}

static void find_widths(iket_report *r) {
    char scratch[IKET_CELL_NUMBER];
    uint8_t is_text[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < r->shown_count; i++) {
        const iket_column *column = &r->columns[r->shown[i]];
        r->widths[i] = width_of(title_of(column));
        for (size_t row = 0; row < r->held_rows; row++) {
            iket_cell cell = held_cell_at(r, row, r->shown[i]);
            size_t width = width_of(table_text(column, &cell, scratch));
            if (cell.kind == IKET_CELL_TEXT && !(column->flags & IKET_COLUMN_LEFT)) is_text[i] = 1;
            if (width > r->widths[i]) r->widths[i] = width;
        }
    }
    fit_line(r, is_text);
    r->widths_known = 1;
}

static void write_table_head(iket_report *r) {
    for (size_t i = 0; i < r->shown_count; i++) {
        const iket_column *column = &r->columns[r->shown[i]];
        // A head stands as its cells do; the first row tells.
        iket_cell first = r->held_rows > 0 ? held_cell_at(r, 0, r->shown[i]) : iket_cell_text("");
        for (size_t row = 1; first.kind == IKET_CELL_NONE && row < r->held_rows; row++) first = held_cell_at(r, row, r->shown[i]);
        if (i > 0) iket_sink_text(r->sink, "  ");
        write_padded(r->sink, title_of(column), r->widths[i], is_left(column, &first), i + 1 == r->shown_count);
    }
    iket_sink_text(r->sink, "\n");
}

static void write_table_row(iket_report *r, size_t row) {
    char scratch[IKET_CELL_NUMBER];
    for (size_t i = 0; i < r->shown_count; i++) {
        const iket_column *column = &r->columns[r->shown[i]];
        iket_cell cell = held_cell_at(r, row, r->shown[i]);
        if (i > 0) iket_sink_text(r->sink, "  ");
        write_padded(r->sink, table_text(column, &cell, scratch), r->widths[i], is_left(column, &cell), i + 1 == r->shown_count);
    }
    iket_sink_text(r->sink, "\n");
}

// ---- rows that wait ---------------------------------------------------------------------------------------------------

static int hold(iket_report *r, const iket_cell *cells, iket_error *err) {
    size_t at = r->held_rows * r->column_count;
    IKET_TRY(IKET_RESERVE(r->held, at, r->held_capacity, r->column_count, err));
    for (size_t i = 0; i < r->column_count; i++) {
        held_cell *held = &r->held[at + i];
        *held = (held_cell){.cell = cells[i]};
        if (cells[i].kind != IKET_CELL_TEXT) continue;
        size_t size = strlen(cells[i].text) + 1;
        IKET_TRY(IKET_RESERVE(r->arena, r->arena_used, r->arena_capacity, size, err));
        held->text = r->arena_used;
        memcpy(r->arena + r->arena_used, cells[i].text, size);
        r->arena_used += size;
    }
    r->held_rows++;
    return 0;
}

// Sorts the indices of the waiting rows; stable.
static int sort_held(const iket_report *r, size_t *order, iket_error *err) {
    size_t count = r->held_rows;
    size_t *other = malloc((count + 1) * sizeof *other);
    if (other == NULL) return iket_fail(err, "out of memory (%zu rows)", count);
    for (size_t i = 0; i < count; i++) order[i] = i;
    size_t *from = order, *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t middle = at + width < count ? at + width : count, end = at + 2 * width < count ? at + 2 * width : count;
            size_t a = at, b = middle;
            for (size_t k = at; k < end; k++) {
                int take_a = b >= end;
                if (!take_a && a < middle) {
                    iket_cell x = held_cell_at(r, from[a], r->sort_column), y = held_cell_at(r, from[b], r->sort_column);
                    int difference = iket_cell_compare(&x, &y);
                    take_a = (r->ascending ? difference : -difference) <= 0;
                }
                to[k] = take_a ? from[a++] : from[b++];
            }
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, count * sizeof *order);
    free(other);
    return 0;
}

static void write_cells(iket_report *r, const iket_cell *cells) {
    switch (r->options.format) {
    case IKET_FORMAT_CSV: write_csv_row(r, cells); break;
    case IKET_FORMAT_JSONL:
        write_json_row(r, cells);
        iket_sink_text(r->sink, "\n");
        break;
    default:
        iket_sink_text(r->sink, r->rows > 0 ? ",\n" : "\n");
        write_json_row(r, cells);
        break;
    }
    r->rows++;
}

static void write_held(iket_report *r, size_t row) {
    if (r->options.format == IKET_FORMAT_TABLE) {
        write_table_row(r, row);
        r->rows++;
        return;
    }
    iket_cell cells[COLUMNS_MAX];
    for (size_t i = 0; i < r->column_count; i++) cells[i] = held_cell_at(r, row, i);
    write_cells(r, cells);
}

// Writes all that waits, sorted where asked for.
static int release(iket_report *r, iket_error *err) {
    if (r->options.format == IKET_FORMAT_TABLE && !r->widths_known && r->sorts == 0) find_widths(r);
    size_t *order = NULL;
    if (r->sorts) {
        order = malloc((r->held_rows + 1) * sizeof *order);
        if (order == NULL) return iket_fail(err, "out of memory (%zu rows)", r->held_rows);
        if (sort_held(r, order, err) != 0) {
            free(order);
            return -1;
        }
        if (r->options.format == IKET_FORMAT_TABLE) find_widths(r);
    }
    if (r->options.format == IKET_FORMAT_TABLE && !r->head_written && r->held_rows > 0) {
        write_table_head(r);
        r->head_written = 1;
    }
    for (size_t i = 0; i < r->held_rows; i++) {
        if (r->limit != 0 && r->rows >= r->limit) {
            r->beyond += r->held_rows - i;
            break;
        }
        write_held(r, order != NULL ? order[i] : i);
    }
    free(order);
    r->held_rows = r->arena_used = 0;
    return 0;
}

int iket_report_row(iket_report *r, const iket_cell *cells, iket_error *err) {
    int is_main = r->sections == 1;
    if (!is_main && r->options.format != IKET_FORMAT_TABLE && r->options.format != IKET_FORMAT_JSON) return 0;
    int holds = r->sorts || r->options.format == IKET_FORMAT_TABLE;
    if (!r->sorts && r->limit != 0 && r->rows + r->held_rows >= r->limit) {
        r->beyond++;
        return 1;
    }
    if (!holds) {
        write_cells(r, cells);
    } else {
        IKET_TRY(hold(r, cells, err));
        if (!r->sorts && r->held_rows == REPORT_ROWS) IKET_TRY(release(r, err));
    }
    if (r->sink->failed) return iket_fail(err, "%s", r->sink->error.message);
    return 0;
}

// ---- sections ---------------------------------------------------------------------------------------------------------

static int no_such_column(const iket_report *r, const char *option, const char *word, iket_error *err) {
    const char *names[COLUMNS_MAX];
    char list[700] = "";
    size_t used = 0;
    for (size_t i = 0; i < r->column_count; i++) {
        names[i] = r->columns[i].name;
        int n = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    const char *near = iket_nearest(word, names, r->column_count);
    if (near != NULL) return iket_fail(err, "--%s: there is no column %s; did you mean %s? (%s has: %s)", option, word, near, r->verb, list);
    return iket_fail(err, "--%s: there is no column %s (%s has: %s)", option, word, r->verb, list);
}

// The column of this name or table title, column_count when there is none.
static size_t find_column(const iket_report *r, const char *word, size_t size) {
    for (size_t i = 0; i < r->column_count; i++) {
        const char *names[] = {r->columns[i].name, title_of(&r->columns[i])};
        for (int k = 0; k < 2; k++) {
            if (strlen(names[k]) == size && memcmp(names[k], word, size) == 0) return i;
        }
    }
    return r->column_count;
}

static int choose_columns(iket_report *r, int is_main, iket_error *err) {
    r->shown_count = 0;
    int table = r->options.format == IKET_FORMAT_TABLE;
    if (r->options.columns == NULL || !is_main) {
        for (size_t i = 0; i < r->column_count; i++) {
            unsigned flags = r->columns[i].flags;
            if (!table && (flags & IKET_COLUMN_SHORT)) continue;
            if (table && (flags & IKET_COLUMN_INPUT ? !r->options.many_inputs : !(flags & IKET_COLUMN_TABLE))) continue;
            r->shown[r->shown_count++] = i;
        }
        return 0;
    }
    for (const char *word = r->options.columns; *word != 0;) {
        size_t size = strcspn(word, ",");
        size_t found = find_column(r, word, size);
        if (found == r->column_count || r->shown_count == COLUMNS_MAX) {
            char text[80];
            snprintf(text, sizeof text, "%.*s", (int)(size < 70 ? size : 70), word);
            return no_such_column(r, "columns", text, err);
        }
        r->shown[r->shown_count++] = found;
        word += size;
        if (*word == ',') word++;
    }
    return 0;
}

static int choose_sort(iket_report *r, int is_main, iket_error *err) {
    r->sorts = 0;
    if (r->options.sort == NULL || !is_main) return 0;
    const char *colon = strchr(r->options.sort, ':');
    size_t size = colon != NULL ? (size_t)(colon - r->options.sort) : strlen(r->options.sort);
    r->sort_column = find_column(r, r->options.sort, size);
    if (r->sort_column == r->column_count) {
        char text[80];
        snprintf(text, sizeof text, "%.*s", (int)(size < 70 ? size : 70), r->options.sort);
        return no_such_column(r, "sort", text, err);
    }
    if (colon != NULL && strcmp(colon, ":asc") != 0 && strcmp(colon, ":desc") != 0) return iket_fail(err, "--sort: after a column's name only :asc or :desc");
    r->sorts = 1;
    r->ascending = colon != NULL && strcmp(colon, ":asc") == 0;
    return 0;
}

static void json_start(iket_report *r) {
    iket_sink_printf(r->sink, "{\"schema_version\":%d,\"verb\":", IKET_REPORT_SCHEMA);
    iket_json_string(r->sink, r->verb);
}

static int end_section(iket_report *r, iket_error *err) {
    if (!r->open) return 0;
    IKET_TRY(release(r, err));
    r->open = 0;
    if (r->options.format == IKET_FORMAT_JSON) iket_sink_text(r->sink, r->rows > 0 ? "\n]" : "]");
    if (r->options.format != IKET_FORMAT_TABLE) return 0;
    if (r->rows == 0) iket_sink_text(r->sink, "(none)\n");
    if (r->beyond > 0 && !r->options.has_limit) iket_sink_printf(r->sink, "(%llu more: --limit 0)\n", (unsigned long long)r->beyond);
    if (r->lines_used > 0) iket_sink_write(r->sink, r->lines, r->lines_used);
    r->lines_used = 0;
    return 0;
}

int iket_report_section(iket_report *r, const char *name, const iket_column *columns, size_t count, uint64_t few, iket_error *err) {
    IKET_TRY(end_section(r, err));
    int is_main = r->sections == 0;
    if (count > COLUMNS_MAX) return iket_fail(err, "a table of %zu columns", count);
    memcpy(r->columns, columns, count * sizeof *columns);
    r->column_count = count;
    r->rows = r->beyond = 0;
    r->widths_known = r->head_written = 0;
    r->limit = r->options.has_limit ? (is_main ? r->options.limit : 0) : r->options.format == IKET_FORMAT_TABLE ? few : 0;
    IKET_TRY(choose_columns(r, is_main, err));
    IKET_TRY(choose_sort(r, is_main, err));
    if (r->options.format == IKET_FORMAT_JSON) {
        if (is_main) {
            if (r->facts == 0) json_start(r);
            iket_sink_text(r->sink, ",\"rows\":[");
        } else {
            iket_sink_text(r->sink, ",\n");
            iket_json_string(r->sink, name);
            iket_sink_text(r->sink, ":[");
        }
    } else if (r->options.format == IKET_FORMAT_TABLE && !is_main) {
        iket_sink_printf(r->sink, "\n%s\n", name);
    } else if (r->options.format == IKET_FORMAT_CSV && is_main) {
        for (size_t i = 0; i < r->shown_count; i++) iket_sink_printf(r->sink, "%s%s", i > 0 ? "," : "", columns[r->shown[i]].name);
        iket_sink_text(r->sink, "\r\n");
    }
    r->sections++;
    r->open = 1;
    return 0;
}

// ---- the rest ---------------------------------------------------------------------------------------------------------

int iket_report_open(iket_report **report, const iket_report_options *options, const char *verb, iket_sink *sink, iket_error *err) {
    *report = calloc(1, sizeof **report);
    if (*report == NULL) return iket_fail(err, "out of memory");
    (*report)->options = *options;
    (*report)->verb = verb;
    (*report)->sink = sink;
    return 0;
}

void iket_report_fact(iket_report *r, const char *name, iket_cell value) {
    char scratch[IKET_CELL_NUMBER];
    if (r->options.format == IKET_FORMAT_JSON) {
        if (r->facts++ == 0) json_start(r);
        iket_sink_text(r->sink, ",");
        iket_json_string(r->sink, name);
        iket_sink_text(r->sink, ":");
        json_cell(r->sink, &value);
    } else if (r->options.format == IKET_FORMAT_TABLE) {
        iket_column column = {name, NULL, 0};
        iket_sink_printf(r->sink, "%s: %s\n", name, table_text(&column, &value, scratch));
    }
}

void iket_report_line(iket_report *r, const char *format, ...) {
    if (r->options.format != IKET_FORMAT_TABLE) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    if (length < 0) return;
    if ((size_t)length > sizeof text - 2) length = (int)sizeof text - 2;
    text[length] = '\n';
    if (IKET_RESERVE(r->lines, r->lines_used, r->lines_capacity, (size_t)length + 1, NULL) != 0) return;
    memcpy(r->lines + r->lines_used, text, (size_t)length + 1);
    r->lines_used += (size_t)length + 1;
}

int iket_report_wants(const iket_report *r, size_t column) {
    for (size_t i = 0; i < r->shown_count; i++) {
        if (r->shown[i] == column) return 1;
    }
    return r->sorts && r->sort_column == column;
}

int iket_report_close(iket_report *r, iket_error *err) {
    int result = end_section(r, err);
    if (result == 0 && r->options.format == IKET_FORMAT_JSON && (r->sections > 0 || r->facts > 0)) iket_sink_text(r->sink, "}\n");
    if (result == 0 && r->sink->failed) result = iket_fail(err, "%s", r->sink->error.message);
    free(r->held);
    free(r->arena);
    free(r->lines);
    free(r);
    return result;
}
