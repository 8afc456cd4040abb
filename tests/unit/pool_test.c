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

enum { ORDERED = 500, SLOTS_MAX = 64 };

typedef struct order {
    size_t in_slot[SLOTS_MAX], written;
    size_t make_fails, write_fails;
    int wrong;
} order;

static int make(void *context, size_t index, unsigned slot, iket_error *err) {
    order *o = context;
    if (index == o->make_fails) return iket_fail(err, "make %zu", index);
    o->in_slot[slot] = index;
    return 0;
}

static int write_next(void *context, size_t index, unsigned slot, iket_error *err) {
    order *o = context;
    if (index == o->write_fails) return iket_fail(err, "write %zu", index);
    o->wrong += o->written++ != index || o->in_slot[slot] != index;
    return 0;
}

static void check_order(iket_pool *pool, size_t make_fails, size_t write_fails, size_t wanted, const char *message) {
    order o = {.make_fails = make_fails, .write_fails = write_fails};
    iket_error err = {""};
    CHECK(iket_pool_slots(pool) <= SLOTS_MAX, "slots");
    CHECK((iket_pool_run_ordered(pool, ORDERED, make, write_next, &o, &err) == 0) == (message[0] == 0), "%s", message);
    CHECK(o.wrong == 0 && o.written == wanted && strcmp(err.message, message) == 0, "%d wrong, %zu written, '%s' instead of '%s'", o.wrong, o.written, err.message, message);
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
        check_order(c.pool, ORDERED, ORDERED, ORDERED, "");
        check_order(c.pool, ORDERED, 77, 77, "write 77");
        check_order(c.pool, 200, ORDERED, 200, "make 200");
        check_order(c.pool, 80, 77, 77, "write 77");
        iket_pool_close(&c.pool);
        CHECK(c.pool == NULL, "closed");
    }
    return check_failures();
}
