// SPDX-License-Identifier: Apache-2.0
// collector.cuh: the backend of IKET_BACKEND_COLLECTOR. Events become the placeholders that NVIDIA's collector rewrites
// when it loads the module (FORMAT, section 7): a store to a fixed low address of shared memory and a pmevent.
//
// Not rewritten, a placeholder has no effect from sm_90 on, where the first 1 KiB of shared memory is reserved. Before
// that it would overwrite the kernel's own shared bytes 0x20 to 0x2F, so such a target is refused. Runtime, session and
// bounds are the collector's; a token's run-time state is a branch here, because an id must be an immediate.
#ifndef IKET_COLLECTOR_CUH
#define IKET_COLLECTOR_CUH

#include "call_sites.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "iket: IKET_BACKEND_COLLECTOR needs sm_90 or later: before it, placeholders overwrite the kernel's shared memory"
#endif

#define IKET_DETAIL_PLACE                                                                                               \
    ".reg .u32 r, t;\n mov.b32 r, %%cluster_ctarank;\n mov.u32 t, %%globaltimer_lo;\n"
#define IKET_DETAIL_AT " mad.lo.u32 r, r, 0x1000000, 0x20;\n"

namespace iket {
namespace detail {

template <typename Module>
class collector_backend {
public:
    __device__ __forceinline__ explicit collector_backend(const char *) {}

    template <unsigned Id>
    __device__ __forceinline__ void emit(bool live) {
        if (!live) return;
        if constexpr (Module::extended)
            asm volatile("{" IKET_DETAIL_PLACE IKET_DETAIL_AT " st.weak.shared.v2.u32 [r], {t, %0};\n pmevent.mask %0;\n}"
                         ::"n"(Id) : "memory");
        else
            asm volatile("{" IKET_DETAIL_PLACE " or.b32 t, t, %0;\n" IKET_DETAIL_AT
                         " st.weak.shared.u32 [r], t;\n pmevent.mask %0;\n}" ::"n"(Id) : "memory");
    }

    template <unsigned Id>
    __device__ __forceinline__ void emit(bool live, std::uint32_t bits) {
        if (!live) return;
        if constexpr (Module::extended)
            asm volatile("{" IKET_DETAIL_PLACE IKET_DETAIL_AT " st.weak.shared.v2.u32 [r], {t, %0};\n"
                         " st.volatile.shared.u32 [r+8], %1;\n pmevent.mask %0;\n}" ::"n"(Id), "r"(bits) : "memory");
        else
            asm volatile("{" IKET_DETAIL_PLACE " or.b32 t, t, %0;\n" IKET_DETAIL_AT " st.weak.shared.u32 [r], t;\n"
                         " st.volatile.shared.u32 [r+4], %1;\n pmevent.mask %0;\n}" ::"n"(Id), "r"(bits) : "memory");
    }

    template <unsigned Id>
    __device__ __forceinline__ void emit(bool live, std::uint64_t bits) {
        if (!live) return;
        if constexpr (Module::extended)
            asm volatile("{" IKET_DETAIL_PLACE IKET_DETAIL_AT " st.weak.shared.v2.u32 [r], {t, %0};\n"
                         " st.volatile.shared.u64 [r+8], %1;\n pmevent.mask %0;\n}" ::"n"(Id), "l"(bits) : "memory");
        else
            asm volatile("{" IKET_DETAIL_PLACE " or.b32 t, t, %0;\n" IKET_DETAIL_AT " st.weak.shared.u32 [r], t;\n"
                         " st.volatile.shared.u64 [r+8], %1;\n pmevent.mask %0;\n}" ::"n"(Id), "l"(bits) : "memory");
    }
};

template <typename Module>
using collector_recorder = basic_recorder<collector_backend<Module>>;

}  // namespace detail
}  // namespace iket

#undef IKET_DETAIL_PLACE
#undef IKET_DETAIL_AT
#define IKET_DETAIL_REGISTER
#define IKET_DETAIL_RECORDER ::iket::detail::collector_recorder

#endif
