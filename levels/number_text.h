// SPDX-License-Identifier: Apache-2.0
// number_text.h: payloads as the page writes them.
#ifndef IKET_LEVELS_NUMBER_TEXT_H
#define IKET_LEVELS_NUMBER_TEXT_H

#include <stdint.h>

enum { IKET_LEVELS_NUMBER_TEXT = 48 };

// A payload in its own type, exact; returns the end. Room for IKET_LEVELS_NUMBER_TEXT bytes, no NUL.
char *iket_levels_payload_text(char *at, unsigned type, uint64_t bits);

#endif
