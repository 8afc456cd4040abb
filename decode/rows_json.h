// SPDX-License-Identifier: Apache-2.0
#ifndef IKET_DECODE_ROWS_JSON_H
#define IKET_DECODE_ROWS_JSON_H

#include "decode/include/iket/rows.h"

// iket_rows_read for a trace.json that starts with `head` (of which standard input has given these bytes already).
int iket_rows_read_json(const char *path, const iket_rows_options *options, const char *head, size_t size, iket_row_fn row, void *context, iket_error *err);

#endif
