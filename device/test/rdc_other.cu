// SPDX-License-Identifier: Apache-2.0
// rdc_other.cu: the second file of a module.
#include "rdc_events.h"

__global__ void other_file_kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::inner_value, 2);
}
