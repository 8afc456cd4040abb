// SPDX-License-Identifier: Apache-2.0
// disabled.cuh: the backend of IKET_DISABLE. Call sites are still checked; a kernel's code is as if they were not there.
#ifndef IKET_DISABLED_CUH
#define IKET_DISABLED_CUH

#include "call_sites.cuh"

namespace iket {
namespace detail {

template <typename Module>
class disabled_backend {
public:
    __device__ __forceinline__ explicit disabled_backend(const char *) {}
    template <unsigned Id>
    __device__ __forceinline__ void emit(bool) {}
    template <unsigned Id, typename Bits>
    __device__ __forceinline__ void emit(bool, Bits) {}
};

template <typename Module>
using disabled_recorder = basic_recorder<disabled_backend<Module>>;

}  // namespace detail
}  // namespace iket

#define IKET_DETAIL_REGISTER
#define IKET_DETAIL_RECORDER ::iket::detail::disabled_recorder

#endif
