// SPDX-License-Identifier: Apache-2.0
// form_b_plain.cu: the loop in form B, events without payload.
#define IKET_FORM_B
#define BENCH_PAYLOAD 0
#define BENCH_NAME(name) form_b_plain_##name
#define BENCH_FUNCTION form_b_plain
#define BENCH_TEXT "form B"
#include "form_template.h"
