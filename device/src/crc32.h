// SPDX-License-Identifier: Apache-2.0
// crc32.h: the CRC-32 of zlib, so that the runtime needs no library but CUDA's.
#ifndef IKET_DEVICE_CRC32_H
#define IKET_DEVICE_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t rec_crc32(const void *bytes, size_t length);

#endif
