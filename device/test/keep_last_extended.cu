// SPDX-License-Identifier: Apache-2.0
// keep_last_extended.cu: keeping the last events, extended records.
#define IKET_EXTENDED
#define KEEP_NAME(name) keep_last_extended_##name
#define KEEP_TICK "keep_last_extended_tick"
#define KEEP_SPAN "keep_last_extended_span"
#define KEEP_PAYLOAD unsigned
#define KEEP_TEXT "keep_last_extended"
#define KEEP_CASES keep_last_extended_cases
#include "keep_last_template.h"
