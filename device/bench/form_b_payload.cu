// SPDX-License-Identifier: Apache-2.0
// form_b_payload.cu: the loop in form B, events with a 32-bit payload (wide records).
#define IKET_FORM_B
#define BENCH_PAYLOAD 1
#define BENCH_NAME(name) form_b_payload_##name
#define BENCH_FUNCTION form_b_payload
#define BENCH_TEXT "form B, payload"
#include "form_template.h"
