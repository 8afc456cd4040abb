// SPDX-License-Identifier: Apache-2.0
// document.h: a small JSON document (meta.json, iket.data.json) as a cJSON tree with exact integers.
//
// cJSON keeps numbers as doubles, which cannot hold a 64-bit address. So an integer of 16 digits and more is made a
// string before the parse, and iket_document_u64 reads numbers and strings alike. Never for a trace: that is streamed.
#ifndef IKET_DECODE_DOCUMENT_H
#define IKET_DECODE_DOCUMENT_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

// Parses `size` bytes; `name` stands in the message. The caller frees *document with cJSON_Delete.
IKET_MUST_CHECK int iket_document_parse(cJSON **document, const char *text, size_t size, const char *name, iket_error *err);

// Reads a file as such.
IKET_MUST_CHECK int iket_document_load(cJSON **document, const char *path, iket_error *err);

// The text of an object without white space, its numbers as they are written, to be written into another document: valid for
// every reader, which is more than cJSON asks for. The caller frees; NULL: it is no such object, or memory is short.
char *iket_document_object_text(const char *text, size_t size);

// Member `key` of an object as an unsigned integer: a JSON integer, or a string with 0x and hexadecimal digits.
// A missing member leaves *value as it is. Fails on another type, a fraction, a negative number (-1 is 0xFFFFFFFF where
// max is that) or a value past max; `where` names the place in the message.
IKET_MUST_CHECK int iket_document_u64(const cJSON *object, const char *key, uint64_t max, uint64_t *value, const char *where, iket_error *err);
IKET_MUST_CHECK int iket_document_u32(const cJSON *object, const char *key, uint32_t *value, const char *where, iket_error *err);

// The text of a string member; NULL where it is missing or not a string.
const char *iket_document_string(const cJSON *object, const char *key);

#endif
