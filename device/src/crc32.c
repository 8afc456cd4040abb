// SPDX-License-Identifier: Apache-2.0
// crc32.c: the bits of the bytes, lowest first, are the coefficients of a polynomial, highest power first; the CRC is its
// remainder modulo P. A drain computes it of every byte, so it has to be several times as fast as writing a file.
//
// With a carry-less multiplication: 16 bytes A that stand n bits before others B are A x^n + B, and modulo P the halves of
// A may be multiplied by the remainders of x^(n+32) and x^(n-32), 33 bits each, instead. So 64 bytes at a time are folded
// into the next 64, then those into 16, which the tables reduce:
//
//     | A0 A1 A2 A3 | B0 B1 B2 B3 | …        Bi ^= high(Ai) * k(512 - 32) ^ low(Ai) * k(512 + 32)
//
// Elsewhere: eight bytes a step, by eight tables: table[k][b] is the CRC of byte b followed by k zero bytes.
#include "crc32.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[8][256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
#include <immintrin.h>
enum { FOLD_LEAST = 64 };
static uint64_t fold_by_512[2], fold_by_128[2];  // for the low and the high half of 16 bytes
static int can_fold;

// x^power mod P as the multiplication wants it: bits reversed in 33.
static uint64_t remainder_of(unsigned power) {
    uint32_t value = 0x80000000u;  // x^0
    for (unsigned i = 0; i < power; i++) value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    return (uint64_t)value << 1;
}

static void make_folds(void) {
    fold_by_512[0] = remainder_of(512 + 32), fold_by_512[1] = remainder_of(512 - 32);
    fold_by_128[0] = remainder_of(128 + 32), fold_by_128[1] = remainder_of(128 - 32);
    __builtin_cpu_init();
    can_fold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

__attribute__((target("pclmul,sse4.1"))) static __m128i load(const unsigned char *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

__attribute__((target("pclmul,sse4.1"))) static __m128i fold(__m128i value, __m128i by, __m128i next) {
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00), _mm_clmulepi64_si128(value, by, 0x11)), next);
}

// Folds all whole 16 bytes of at least 64 into one; the register of the bytes before goes into the first four.
__attribute__((target("pclmul,sse4.1"))) static void fold_all(uint32_t crc, const unsigned char *at, size_t length, unsigned char rest[16]) {
    const __m128i far = _mm_set_epi64x((long long)fold_by_512[1], (long long)fold_by_512[0]);
    const __m128i near = _mm_set_epi64x((long long)fold_by_128[1], (long long)fold_by_128[0]);
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128((int)crc)), b = load(at + 16), c = load(at + 32), d = load(at + 48);
    for (at += 64, length -= 64; length >= 64; at += 64, length -= 64)
        a = fold(a, far, load(at)), b = fold(b, far, load(at + 16)), c = fold(c, far, load(at + 32)), d = fold(d, far, load(at + 48));
    a = fold(fold(fold(a, near, b), near, c), near, d);
    for (; length >= 16; at += 16, length -= 16) a = fold(a, near, load(at));
    _mm_storeu_si128((__m128i *)(void *)rest, a);
}
#endif

static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        table[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; zeros++)
        for (uint32_t byte = 0; byte < 256; byte++)
            table[zeros][byte] = table[zeros - 1][byte] >> 8 ^ table[0][table[zeros - 1][byte] & 255];
#if defined(__x86_64__)
    make_folds();
#endif
}

static uint32_t by_tables(uint32_t crc, const unsigned char *at, size_t length) {
    for (; length >= 8; length -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; length > 0; length--, at++) crc = crc >> 8 ^ table[0][(crc ^ *at) & 255];
    return crc;
}

uint32_t rec_crc32(uint32_t before, const void *bytes, size_t length) {
    pthread_once(&tables_made, make_tables);
    const unsigned char *at = bytes;
    uint32_t crc = ~before;
#if defined(__x86_64__)
    if (can_fold && length >= FOLD_LEAST) {
        unsigned char rest[16];
        size_t folded = length & ~(size_t)15;
        fold_all(crc, at, folded, rest);
        crc = by_tables(0, rest, sizeof rest);
        at += folded, length -= folded;
    }
#endif
    return ~by_tables(crc, at, length);
}
