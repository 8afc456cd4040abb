// SPDX-License-Identifier: Apache-2.0
// The thread pool: every task once, nested runs, the error of the least index.
#include "common/pool.h"

#include <stdatomic.h>
#include <string.h>

#include "tests/unit/check.h"

enum { OUTER = 50, INNER = 20 };

typedef struct counts {
    iket_pool *pool;
    atomic_int calls[OUTER];
    atomic_int inner;
} counts;

static int count_inner(void *context, size_t index, iket_error *err) {
    (void)index, (void)err;
    atomic_fetch_add(&((counts *)context)->inner, 1);
    return 0;
}

static int count_call(void *context, size_t index, iket_error *err) {
    counts *c = context;
    atomic_fetch_add(&c->calls[index], 1);
    return index % 10 == 0 ? iket_pool_run(c->pool, INNER, count_inner, c, err) : 0;
}

static int fail_some(void *context, size_t index, iket_error *err) {
    atomic_fetch_add(&((counts *)context)->calls[index], 1);
    return index == 7 || index == 8 || index == 30 ? iket_fail(err, "task %zu", index) : 0;
}

int main(void) {
    for (unsigned threads = 0; threads <= 8; threads++) {
        counts c = {.pool = NULL};
        if (threads > 0) CHECK(iket_pool_open(&c.pool, threads, NULL) == 0, "open");
        CHECK(iket_pool_threads(c.pool) == (threads > 0 ? threads : 1), "%u threads", threads);
        for (int round = 0; round < 20; round++) CHECK(iket_pool_run(c.pool, OUTER, count_call, &c, NULL) == 0, "run");
        for (int i = 0; i < OUTER; i++) CHECK(c.calls[i] == 20, "task %d: %d times with %u threads", i, c.calls[i], threads);
        CHECK(c.inner == 20 * INNER * OUTER / 10, "inner tasks: %d", c.inner);
        CHECK(iket_pool_run(c.pool, 0, count_call, &c, NULL) == 0, "nothing to do");

        counts f = {.pool = c.pool};
        iket_error err = {"untouched"};
        CHECK(iket_pool_run(c.pool, OUTER, fail_some, &f, &err) == -1, "fails");
        CHECK(strcmp(err.message, "task 7") == 0, "%s", err.message);
        for (int i = 0; i <= 7; i++) CHECK(f.calls[i] == 1, "task %d: %d times", i, f.calls[i]);
        iket_pool_close(&c.pool);
        CHECK(c.pool == NULL, "closed");
    }
    return check_failures();
}
