// SPDX-License-Identifier: Apache-2.0
// expect: must be 1 to 32 bytes of UTF-8
#include <iket/iket.cuh>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(point, marker)
IKET_EVENT(value, marker, int)
IKET_EVENT(span, range)
IKET_EVENT(pass, token, int)
IKET_EVENT(other, token, int)
IKET_EVENT(bad_name, marker, void, "\xff")
IKET_EVENTS_END

__global__ void kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::point);
}
