// SPDX-License-Identifier: Apache-2.0
// check.h: a check that tells where and what, and goes on. A test program ends with check_failures().
#ifndef IKET_TESTS_CHECK_H
#define IKET_TESTS_CHECK_H

#include <stdio.h>

static int check_failed;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                     \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            check_failed++;                                                                                            \
        }                                                                                                              \
    } while (0)

static inline int check_failures(void) {
    if (check_failed > 0) printf("%d failures\n", check_failed);
    return check_failed > 0;
}

#endif
