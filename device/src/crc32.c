// SPDX-License-Identifier: Apache-2.0
// crc32.c: eight bytes a step, by eight tables: table[k][b] is the CRC of byte b followed by k zero bytes.
#include "crc32.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[8][256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        table[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; zeros++)
        for (uint32_t byte = 0; byte < 256; byte++)
            table[zeros][byte] = table[zeros - 1][byte] >> 8 ^ table[0][table[zeros - 1][byte] & 255];
}

uint32_t rec_crc32(const void *bytes, size_t length) {
    pthread_once(&table_made, make_table);
    const unsigned char *at = bytes;
    uint32_t crc = 0xFFFFFFFFu;
    for (; length >= 8; length -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; length > 0; length--, at++) crc = crc >> 8 ^ table[0][(crc ^ *at) & 255];
    return ~crc;
}
