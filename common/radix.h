// SPDX-License-Identifier: Apache-2.0
// radix.h: sorts by 64-bit keys in time linear in their number: digits of 11 bits from the lowest that differ, each pass
// keeping the order of the one before. What has equal keys keeps its order.
#ifndef IKET_COMMON_RADIX_H
#define IKET_COMMON_RADIX_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

typedef struct iket_keyed {
    uint64_t key;
    uint32_t index; // what the key is of
} iket_keyed;

// Takes as much memory again for the call, none where the keys are sorted already.
IKET_MUST_CHECK int iket_radix_sort(iket_keyed *items, size_t count, iket_error *err);

#endif
