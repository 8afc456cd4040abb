// SPDX-License-Identifier: Apache-2.0
// cells.h: one cell as text, and the order of two; between report.c and cells.c.
#ifndef IKET_ANALYZE_CELLS_H
#define IKET_ANALYZE_CELLS_H

#include "analyze/report.h"

enum { IKET_CELL_NUMBER = 48 }; // room for any cell but a text

// A number, payload or bool as in JSON (empty for the rest), NUL-terminated; returns its end.
char *iket_cell_write(const iket_cell *cell, char text[IKET_CELL_NUMBER]);

// A number of up to 128 bits, without a NUL; returns its end.
char *iket_put_wide(char *at, iket_wide number);

// Empty cells come first; numbers by value, NaN before all; texts by bytes.
int iket_cell_compare(const iket_cell *a, const iket_cell *b);

#endif
