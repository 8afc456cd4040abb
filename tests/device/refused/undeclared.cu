// SPDX-License-Identifier: Apache-2.0
// expect: has no member
#include <iket/iket.cuh>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(point, marker)
IKET_EVENT(value, marker, int)
IKET_EVENT(span, range)
IKET_EVENT(pass, token, int)
IKET_EVENT(other, token, int)
IKET_EVENTS_END

__global__ void kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::point);
    trace.mark(ev::nothing);
}
