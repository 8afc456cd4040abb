// SPDX-License-Identifier: Apache-2.0
// payload.cuh: the C++ types that an event can carry, and the numbers that IKET has for them.
#ifndef IKET_PAYLOAD_CUH
#define IKET_PAYLOAD_CUH

#include <cstdint>
#include <type_traits>

namespace iket {
namespace detail {

// The payload types of IKET's metadata.
enum payload_type : unsigned {
    payload_none = 0, payload_i8 = 1, payload_u8 = 2, payload_i16 = 3, payload_u16 = 4, payload_i32 = 5, payload_u32 = 6,
    payload_i64 = 7, payload_f32 = 13, payload_f64 = 14, payload_pointer = 15, payload_u64 = 16, payload_unknown = 255
};

// What a C++ type is as a payload. Integers go by size and sign, so long and long long are one.
template <typename T>
__host__ __device__ constexpr unsigned payload_type_of() {
    using U = std::remove_cv_t<std::remove_reference_t<T>>;
    if constexpr (std::is_void_v<U>) return payload_none;
    else if constexpr (std::is_same_v<U, bool>) return payload_u8;
    else if constexpr (std::is_same_v<U, float>) return payload_f32;
    else if constexpr (std::is_same_v<U, double>) return payload_f64;
    else if constexpr (std::is_pointer_v<U>) return payload_pointer;
    else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>)
        return sizeof(U) == 1 ? payload_i8 : sizeof(U) == 2 ? payload_i16 : sizeof(U) == 4 ? payload_i32 : payload_i64;
    else if constexpr (std::is_integral_v<U>)
        return sizeof(U) == 1 ? payload_u8 : sizeof(U) == 2 ? payload_u16 : sizeof(U) == 4 ? payload_u32 : payload_u64;
    else return payload_unknown;
}

// The bits that stand in a record: narrow types zero-extended to 32 bits, 64-bit types whole.
template <typename T>
__device__ __forceinline__ auto payload_bits(T value) {
    if constexpr (std::is_same_v<T, float>) return __float_as_uint(value);
    else if constexpr (std::is_same_v<T, double>) return static_cast<std::uint64_t>(__double_as_longlong(value));
    else if constexpr (std::is_pointer_v<T>) return reinterpret_cast<std::uint64_t>(value);
    else if constexpr (std::is_same_v<T, bool>) return static_cast<std::uint32_t>(value);
    else if constexpr (sizeof(T) == 8) return static_cast<std::uint64_t>(value);
    else return static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<T>>(value));
}

}  // namespace detail
}  // namespace iket

#endif
