// SPDX-License-Identifier: Apache-2.0
// rdc_events.h: the declarations that both files of a module share.
#ifndef IKET_TEST_RDC_EVENTS_H
#define IKET_TEST_RDC_EVENTS_H

#include <iket/iket.cuh>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(outer, range)
IKET_EVENT(inner_value, marker, int)
IKET_EVENTS_END

__global__ void other_file_kernel();

#endif
