// SPDX-License-Identifier: Apache-2.0
// pool_backend.cuh: the recorder's own backend, records in a session's pool.
//
// A module knows its session through a device variable that the runtime sets; while it is null, or the session does not
// record, or the filter leaves the warp out, a warp records nothing and calls nothing.
#ifndef IKET_POOL_BACKEND_CUH
#define IKET_POOL_BACKEND_CUH

#include "call_sites.cuh"
#include "warp_end.cuh"

#include <cuda_runtime_api.h>

namespace iket {
namespace detail {

// What the runtime writes when it attaches the module to a session.
struct module_control {
    iket_control *control;
    std::uint64_t module_id;
};

static __device__ module_control this_module;

template <typename Module>
class pool_backend {
public:
    __device__ __forceinline__ explicit pool_backend(const char *kernel_name)
        : lane_{0, 0, 0, 0, 0, 0, 0xFFFFFFFFu, 0xFFFFFFFFu, 8, 0} {
        constexpr std::uint32_t flags = (Module::wide ? IKET_CHUNK_WIDE : 0) | (Module::mixed ? IKET_CHUNK_EVEN : 0);
        iket_control *control = this_module.control;
        if (control != nullptr) start_warp(control, kernel_name, this_module.module_id, flags, lane_);
    }
    __device__ __forceinline__ ~pool_backend() {
        end_warp<Module::mixed ? 16 : record_bytes(record_without<Module>())>(this_module.control, lane_);
    }
    pool_backend(const pool_backend &) = delete;
    pool_backend &operator=(const pool_backend &) = delete;

    template <unsigned Id>
    __device__ __forceinline__ void emit(bool live) {
        record_event<record_without<Module>(), Id, Module::mixed>(lane_, live, std::uint32_t(0));
    }
    template <unsigned Id, typename Bits>
    __device__ __forceinline__ void emit(bool live, Bits bits) {
        record_event<record_with<Module, Bits>(), Id, Module::mixed>(lane_, live, bits);
    }

private:
    lane_state lane_;
};

template <typename Module>
using pool_recorder = basic_recorder<pool_backend<Module>>;

inline int symbol_address(void **address, const void *symbol) {
    return static_cast<int>(cudaGetSymbolAddress(address, symbol));
}

// Registers a unit's module before main and takes it off when its library is unloaded.
class registration {
public:
    explicit registration(iket_module *module) : module_(module) { iket_register_module(module_); }
    ~registration() { iket_unregister_module(module_); }
    registration(const registration &) = delete;
    registration &operator=(const registration &) = delete;

private:
    iket_module *module_;
};

}  // namespace detail
}  // namespace iket

#ifdef __CUDA_ARCH__
#define IKET_DETAIL_REGISTER
#else
#define IKET_DETAIL_REGISTER                                                                                            \
    namespace iket_events {                                                                                             \
    static ::iket_module iket_this_module = {IKET_MODULE_VERSION, iket_module_traits::extended, iket_module_traits::wide, \
                                             iket_event_count, iket_table.events, &::__iket_meta_info,                  \
                                             &::iket::detail::this_module, ::iket::detail::symbol_address, nullptr, 0}; \
    static ::iket::detail::registration iket_this_registration(&iket_this_module);                                      \
    }
#endif
#define IKET_DETAIL_RECORDER ::iket::detail::pool_recorder

#endif
