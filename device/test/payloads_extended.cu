// SPDX-License-Identifier: Apache-2.0
// payloads_extended.cu: every payload type at its extremes, ExtendedNativeDump.
#define IKET_EXTENDED
#define PAYLOAD_NAME(name) extended_##name
#define PAYLOAD_TEXT "payloads_extended"
#define PAYLOAD_CASES extended_payload_cases
#include "payload_template.h"
