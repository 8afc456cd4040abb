// SPDX-License-Identifier: Apache-2.0
// crc32.h: the CRC-32 of sections and chunks, zlib's. The recorder links nothing but CUDA.
#ifndef IKET_DEVICE_CRC32_H
#define IKET_DEVICE_CRC32_H

#include <stddef.h>
#include <stdint.h>

// The CRC of bytes that follow others whose CRC is given; 0 where there are none.
uint32_t rec_crc32(uint32_t before, const void *bytes, size_t length);

#endif
