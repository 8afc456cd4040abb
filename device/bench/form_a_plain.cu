// SPDX-License-Identifier: Apache-2.0
// form_a_plain.cu: the loop in form A, events without payload.
#define BENCH_PAYLOAD 0
#define BENCH_NAME(name) form_a_plain_##name
#define BENCH_FUNCTION form_a_plain
#define BENCH_TEXT "form A"
#include "form_template.h"
