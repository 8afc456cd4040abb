// SPDX-License-Identifier: Apache-2.0
// Exact percentiles against their definition, sums past 64 bits, buckets that hold everything, times in words.
#include <stdlib.h>
#include <string.h>

#include "analyze/bootstrap.h"
#include "analyze/chart.h"
#include "tests/unit/check.h"

static uint32_t state = 7;
static uint32_t random_below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

// The least value that at least percent % of all do not exceed, by counting.
static uint64_t by_definition(const uint64_t *values, size_t count, unsigned percent) {
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t below = 0;
        for (size_t k = 0; k < count; k++) below += values[k] <= values[i];
        if (below * 100 >= count * percent && values[i] < best) best = values[i];
    }
    return best;
}

static void test_percentiles(void) {
    uint64_t values[230];
    for (size_t count = 1; count <= 230; count++) {
        iket_tally tally = {0};
        for (size_t i = 0; i < count; i++) {
            values[i] = count % 3 == 0 ? random_below(5) * 32 : count % 3 == 1 ? random_below(1000) : UINT64_MAX - random_below(3);
            CHECK(iket_tally_add(&tally, values[i], 1, NULL) == 0, "memory");
        }
        iket_stats s = iket_tally_stats(&tally);
        const unsigned percents[] = {50, 90, 99};
        const uint64_t got[] = {s.p50, s.p90, s.p99};
        for (int i = 0; i < 3; i++) CHECK(got[i] == by_definition(values, count, percents[i]), "p%u of %zu values", percents[i], count);
        CHECK(s.count == count && s.min == by_definition(values, count, 0) && s.max == by_definition(values, count, 100), "of %zu values", count);
        iket_tally_free(&tally);
    }
}

static void test_totals(void) {
    iket_tally tally = {0};
    CHECK(iket_tally_add(&tally, UINT64_MAX, 1000000, NULL) == 0, "memory");
    iket_stats s = iket_tally_stats(&tally);
    CHECK(s.total == (iket_wide)UINT64_MAX * 1000000 && s.p50 == UINT64_MAX, "a sum past 64 bits");
    iket_tally_free(&tally);
    s = iket_tally_stats(&tally);
    CHECK(s.count == 0 && s.total == 0 && s.max == 0, "nothing");
}

static void test_buckets(void) {
    for (int round = 0; round < 200; round++) {
        iket_tally tally = {0};
        uint32_t limit = round % 2 == 0 ? 50 : 1000000;
        for (int i = 0; i <= round; i++) CHECK(iket_tally_add(&tally, round % 5 == 4 ? UINT64_MAX - random_below(9) : random_below(limit) + (uint32_t)(round % 3) * 100, 1, NULL) == 0, "memory");
        iket_tally_sort(&tally);
        iket_bucket buckets[IKET_BUCKETS_MAX];
        size_t count = iket_buckets(&tally, buckets);
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += buckets[i].count;
            CHECK(buckets[i].from <= buckets[i].to && (i == 0 || buckets[i].from == buckets[i - 1].to + 1), "round %d: bucket %zu does not follow the one before", round, i);
        }
        CHECK(sum == tally.count && buckets[0].from <= tally.entries[0].value && buckets[count - 1].to >= tally.entries[tally.used - 1].value, "round %d: something is in no bucket", round);
        iket_tally_free(&tally);
    }
}

static void test_words(void) {
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {{0, "0 ns"}, {999, "999 ns"}, {1000, "1.00 us"}, {1250, "1.25 us"}, {9994, "9.99 us"}, {9996, "10.0 us"}, {99940, "99.9 us"}, {99960, "100 us"},
                 {999499, "999 us"}, {999500, "1.00 ms"}, {1500000, "1.50 ms"}, {17000000000, "17.0 s"}, {999999999, "1.00 s"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[40];
        iket_human_ns(cases[i].ns, 0, text);
        CHECK(strcmp(text, cases[i].text) == 0, "%llu ns: '%s', not '%s'", (unsigned long long)cases[i].ns, text, cases[i].text);
    }
    char text[40];
    iket_human_ns(2500, 1, text);
    CHECK(strcmp(text, "-2.50 us") == 0, "'%s'", text);
}

// Of the same tallies the interval holds 0 and is the same twice; of doubled values it is 100 %.
static void test_bootstrap(void) {
    iket_tally a = {0}, b = {0};
    for (int i = 0; i < 500; i++) {
        uint64_t value = 1000 + random_below(100);
        CHECK(iket_tally_add(&a, value, 1, NULL) == 0 && iket_tally_add(&b, 2 * value, 1, NULL) == 0, "memory");
    }
    iket_tally_sort(&a);
    iket_tally_sort(&b);
    iket_change median, total, again, again_total;
    CHECK(iket_bootstrap(&a, &a, &median, &total, NULL) == 0 && iket_bootstrap(&a, &a, &again, &again_total, NULL) == 0, "memory");
    CHECK(median.point == 0 && median.low <= 0 && median.high >= 0 && total.low <= 0 && total.high >= 0, "the same: %lld..%lld", (long long)median.low, (long long)median.high);
    CHECK(memcmp(&median, &again, sizeof median) == 0 && memcmp(&total, &again_total, sizeof total) == 0, "not the same twice");
    CHECK(iket_bootstrap(&a, &b, &median, &total, NULL) == 0, "memory");
    CHECK(median.point == 100000 && median.low > 90000 && median.high < 110000, "doubled: %lld in %lld..%lld", (long long)median.point, (long long)median.low, (long long)median.high);
    CHECK(total.point == 100000 && total.low > 60000 && total.high < 140000, "doubled: total %lld..%lld", (long long)total.low, (long long)total.high);
    iket_tally_free(&a);
    iket_tally_free(&b);
}

int main(void) {
    test_percentiles();
    test_totals();
    test_buckets();
    test_words();
    test_bootstrap();
    return check_failures();
}
