// SPDX-License-Identifier: Apache-2.0
#include "analyze/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 1000, LEAST_ROUNDS = 200, MOST_DRAWS = 20000000 };

// xorshift64*: small, good enough for resampling, the same everywhere.
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

// In (0, 1).
static double uniform(uint64_t *state) { return ((double)(next_random(state) >> 11) + 0.5) * (1.0 / 9007199254740992.0); }

static uint64_t poisson(uint64_t *state, uint64_t mean) {
    if (mean < 30) {
        double limit = exp(-(double)mean), product = uniform(state);
        uint64_t n = 0;
        for (; product > limit; n++) product *= uniform(state);
        return n;
    }
    // From here on the normal distribution is close enough.
    double z = sqrt(-2.0 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
    double drawn = floor((double)mean + sqrt((double)mean) * z + 0.5);
    return drawn > 0 ? (uint64_t)drawn : 0;
}

typedef struct resample {
    double median, total;
} resample;

static double safe(double value) { return value > 0 ? value : 1; }

// `counts` has t->used elements.
static resample draw(const iket_tally *t, uint64_t *counts, uint64_t *state) {
    uint64_t n = 0;
    double total = 0;
    for (size_t i = 0; i < t->used; i++) {
        counts[i] = poisson(state, t->entries[i].count);
        n += counts[i];
        total += (double)t->entries[i].value * (double)counts[i];
    }
    uint64_t rank = (n + 1) / 2, passed = 0;
    size_t at = 0;
    if (n == 0) return (resample){(double)iket_tally_percentile(t, 50), (double)t->total}; // one value, drawn no time: as it is
    for (passed = counts[0]; passed < rank; passed += counts[at]) at++;
    return (resample){(double)t->entries[at].value, total};
}

static int by_value(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static int64_t thousandths(double percent) {
    double scaled = floor(percent * 1000 + 0.5);
    return scaled > 9e17 ? (int64_t)900000000000000000 : scaled < -9e17 ? -(int64_t)900000000000000000 : (int64_t)scaled;
}

static double change(double from, double to) { return (to - from) / safe(from) * 100; }

static void interval(double *changes, size_t rounds, iket_change *out) {
    qsort(changes, rounds, sizeof *changes, by_value);
    out->low = thousandths(changes[rounds * 25 / 1000]);
    out->high = thousandths(changes[rounds - 1 - rounds * 25 / 1000]);
}

int iket_bootstrap(const iket_tally *a, const iket_tally *b, iket_change *median, iket_change *total, iket_error *err) {
    size_t draws = a->used + b->used, rounds = MOST_DRAWS / draws;
    rounds = rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds;
    uint64_t state = 0x9E3779B97F4A7C15u, *counts = malloc((a->used > b->used ? a->used : b->used) * sizeof *counts);
    double *medians = malloc(rounds * sizeof *medians), *totals = malloc(rounds * sizeof *totals);
    int result = counts != NULL && medians != NULL && totals != NULL ? 0 : iket_fail(err, "out of memory (%zu values)", draws);
    for (size_t i = 0; i < rounds && result == 0; i++) {
        resample x = draw(a, counts, &state), y = draw(b, counts, &state);
        medians[i] = change(x.median, y.median);
        totals[i] = change(x.total, y.total);
    }
    if (result == 0) {
        median->point = thousandths(change((double)iket_tally_percentile(a, 50), (double)iket_tally_percentile(b, 50)));
        total->point = thousandths(change((double)a->total, (double)b->total));
        interval(medians, rounds, median);
        interval(totals, rounds, total);
    }
    free(counts);
    free(medians);
    free(totals);
    return result;
}
