// SPDX-License-Identifier: Apache-2.0
// keep_last_even.cu: keeping the last events, records of 16 bytes, because payloads take 64 bits.
#define KEEP_NAME(name) keep_last_even_##name
#define KEEP_TICK "keep_last_even_tick"
#define KEEP_SPAN "keep_last_even_span"
#define KEEP_PAYLOAD std::uint64_t
#define KEEP_TEXT "keep_last_even"
#define KEEP_CASES keep_last_even_cases
#include "keep_last_template.h"
