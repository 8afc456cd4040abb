// SPDX-License-Identifier: Apache-2.0
// keep_last_wide.cu: keeping the last events, records of 8 bytes.
#define KEEP_NAME(name) keep_last_wide_##name
#define KEEP_TICK "keep_last_wide_tick"
#define KEEP_SPAN "keep_last_wide_span"
#define KEEP_PAYLOAD unsigned
#define KEEP_TEXT "keep_last_wide"
#define KEEP_CASES keep_last_wide_cases
#include "keep_last_template.h"
