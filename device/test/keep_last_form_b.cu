// SPDX-License-Identifier: Apache-2.0
// keep_last_form_b.cu: keeping the last events, form B.
#define IKET_FORM_B
#define KEEP_NAME(name) keep_last_form_b_##name
#define KEEP_TICK "keep_last_form_b_tick"
#define KEEP_SPAN "keep_last_form_b_span"
#define KEEP_PAYLOAD unsigned
#define KEEP_TEXT "keep_last_b"
#define KEEP_CASES keep_last_form_b_cases
#include "keep_last_template.h"
