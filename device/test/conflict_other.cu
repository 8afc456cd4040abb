// SPDX-License-Identifier: Apache-2.0
// conflict_other.cu: declares an event of another file with another payload type.
#include <iket/iket.cuh>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(contested, marker, float)
IKET_EVENTS_END
