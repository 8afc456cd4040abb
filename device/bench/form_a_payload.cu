// SPDX-License-Identifier: Apache-2.0
// form_a_payload.cu: the loop in form A, events with a 32-bit payload (wide records).
#define BENCH_PAYLOAD 1
#define BENCH_NAME(name) form_a_payload_##name
#define BENCH_FUNCTION form_a_payload
#define BENCH_TEXT "form A, payload"
#include "form_template.h"
