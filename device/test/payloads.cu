// SPDX-License-Identifier: Apache-2.0
// payloads.cu: every payload type at its extremes, NativeDump.
#define PAYLOAD_NAME(name) native_##name
#define PAYLOAD_TEXT "payloads_native"
#define PAYLOAD_CASES payload_cases
#include "payload_template.h"
