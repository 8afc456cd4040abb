// SPDX-License-Identifier: Apache-2.0
// expect: iket: more events than the record method can tell apart
#include <iket/iket.cuh>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(point, marker)
IKET_EVENT(value, marker, int)
IKET_EVENT(span, range)
IKET_EVENT(pass, token, int)
IKET_EVENT(other, token, int)
IKET_EVENT(e0, marker)
IKET_EVENT(e1, marker)
IKET_EVENT(e2, marker)
IKET_EVENT(e3, marker)
IKET_EVENT(e4, marker)
IKET_EVENT(e5, marker)
IKET_EVENT(e6, marker)
IKET_EVENT(e7, marker)
IKET_EVENT(e8, marker)
IKET_EVENT(e9, marker)
IKET_EVENT(e10, marker)
IKET_EVENT(e11, marker)
IKET_EVENT(e12, marker)
IKET_EVENT(e13, marker)
IKET_EVENT(e14, marker)
IKET_EVENT(e15, marker)
IKET_EVENT(e16, marker)
IKET_EVENT(e17, marker)
IKET_EVENT(e18, marker)
IKET_EVENT(e19, marker)
IKET_EVENT(e20, marker)
IKET_EVENT(e21, marker)
IKET_EVENT(e22, marker)
IKET_EVENT(e23, marker)
IKET_EVENT(e24, marker)
IKET_EVENT(e25, marker)

IKET_EVENTS_END

__global__ void kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::point);
}
