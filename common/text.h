// SPDX-License-Identifier: Apache-2.0
// text.h: numbers and strings as the bytes of a JSON document or a table. Every writer returns the end of what it wrote
// and adds no NUL.
#ifndef IKET_COMMON_TEXT_H
#define IKET_COMMON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "common/sink.h"

enum { IKET_TEXT_NUMBER = 40 }; // enough room for any number below

char *iket_text_u64(char *at, uint64_t value);
char *iket_text_i64(char *at, int64_t value);
char *iket_text_8_digits(char *at, uint32_t value); // with leading zeros; value below 10^8

// The fewest digits that read back to the same value; "NaN", "Infinity" and "-Infinity" with their quotes.
char *iket_text_f32(char *at, float value);
char *iket_text_f64(char *at, double value);

// A quoted JSON string. `text` is valid UTF-8 (common/utf8.h).
void iket_json_string(iket_sink *sink, const char *text);

#endif
