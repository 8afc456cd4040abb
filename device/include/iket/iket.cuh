// SPDX-License-Identifier: Apache-2.0
// iket.cuh: in-kernel event tracing for CUDA C++ kernels. Include it in any .cu file; C++17, nvcc, sm_75 and later.
//
//   #include <iket/iket.cuh>
//   IKET_EVENTS_BEGIN(ev)
//   IKET_EVENT(hello, marker)
//   IKET_EVENT(tile, range, int)
//   IKET_EVENTS_END
//
//   __global__ void work(float *data, int n) {
//       IKET_KERNEL(trace);
//       trace.mark(ev::hello);
//       auto scope = trace.range(ev::tile, n);
//       …
//   }
//
// Declarations are in declare.cuh, the call sites in call_sites.cuh. Choose, the same for all units of a program:
//   (nothing)               the events go into the pool of a session (recorder.h), form A: any lane may lead
//   IKET_FORM_B             the same, but only events of groups with the warp's first lane are kept; the rest is counted
//   IKET_EXTENDED           up to 4032 events instead of 30, at 8 bytes a record instead of 4
//   IKET_BACKEND_COLLECTOR  the placeholders that NVIDIA's collector rewrites; sm_90 and later
//   IKET_DISABLE            nothing: the code is that of a kernel without annotations
#ifndef IKET_IKET_CUH
#define IKET_IKET_CUH

#if __cplusplus < 201703L
#error "iket: iket.cuh needs C++17 (nvcc -std=c++17)"
#endif

#if defined(IKET_DISABLE)
#include "disabled.cuh"
#elif defined(IKET_BACKEND_COLLECTOR)
#include "collector.cuh"
#else
#include "pool_backend.cuh"
#endif

#endif
