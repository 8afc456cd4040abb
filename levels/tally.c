// SPDX-License-Identifier: Apache-2.0
// tally.c: percentiles by narrowing down. A first pass counts durations in buckets that are 1/64 of a power of two wide; the
// bucket that holds a percentile's rank is counted again, finer, until one value is left:
//
//     pass 1    0 1 2 … 127 │128 130 … 254│256 260 …│…          buckets, up to 2^64
//     pass 2                      └─ 2,048 parts of the bucket with the rank, or all its values where they are few
//
// Durations are often multiples of the timer's step, so that the first buckets hold one value each up to 128 steps and two
// passes are mostly enough. Classes with few events keep their values. Classes are done in groups that fit the memory.
#include "levels/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = 65536,
    EXACT = 128,       // durations below have a bucket each
    PARTS = 64,        // of a power of two
    BUCKETS = EXACT + 57 * PARTS,
    FINE_BITS = 11,
    FINE = 1 << FINE_BITS,
    FEW = 4096,        // events of a class whose values are kept
    MANY_WORDS = 2 * BUCKETS + IKET_TALLY_PERCENTILES * FINE,
    MOST_WORDS = 8 << 20, // 64 MiB
};

static const unsigned percents[IKET_TALLY_PERCENTILES] = {50, 90, 99};

// Where the value of one percentile lies: [lo, lo + 2^bits), the rank-th of the `count` values there.
typedef struct target {
    uint64_t lo, rank, count, filled;
    unsigned bits, shift; // parts are 2^shift wide
    int open;             // not found yet
    uint64_t *table;      // [FINE] counts of parts, or the values where `count` is at most FINE
} target;

typedef struct state {
    iket_tally_sum total;
    uint64_t count, least, greatest, filled, any_bits;
    uint64_t *values;     // few events: all durations
    uint64_t *buckets;    // many: [2 * BUCKETS], a bucket's part below and from its bound
    target targets[IKET_TALLY_PERCENTILES];
    uint32_t cls;
    int open;             // some target is
} state;

struct iket_tallies {
    const iket_levels *levels;
    const iket_levels_intervals *events;
    uint64_t *counts;     // [CLASSES] events of a class that counts, then room for count_classes
    uint32_t *slot;       // [CLASSES] state of a class in the present group + 1; 0: none
    state *states;
    uint64_t *words, *scratch;
    uint32_t states_of_group;
    uint64_t bound[BUCKETS];   // least duration of a bucket that belongs to the next quarter power; UINT64_MAX: none
    uint16_t quarter[BUCKETS]; // of a bucket's least duration
    iket_tally tally;
};

// ---- buckets --------------------------------------------------------------------------------------------------------

static inline unsigned bucket_of(uint64_t duration) {
    if (duration < EXACT) return (unsigned)duration;
    unsigned exponent = 63 - (unsigned)__builtin_clzll(duration);
    return EXACT + (exponent - 7) * PARTS + ((unsigned)(duration >> (exponent - 6)) & (PARTS - 1));
}

// The least duration of a bucket, and how many low bits its durations differ in.
static uint64_t bucket_start(unsigned bucket, unsigned *bits) {
    *bits = 0;
    if (bucket < EXACT) return bucket;
    *bits = 1 + (bucket - EXACT) / PARTS;
    return (uint64_t)(PARTS + (bucket - EXACT) % PARTS) << *bits;
}

// The page's bin of a duration.
static unsigned quarter_of(uint64_t duration) { return duration < 1 ? 0 : 1 + (unsigned)floor(log2((double)duration) * 4 + 1e-9); }

static uint64_t least_of_quarter(unsigned quarter) {
    double near = exp2((quarter - 1) / 4.0);
    uint64_t from = (uint64_t)(near * 0.999), to = near * 1.001 + 2 < 18446744073709549568.0 ? (uint64_t)(near * 1.001) + 2 : UINT64_MAX;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (quarter_of(middle) >= quarter) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
}

static void make_quarters(iket_tallies *t) {
    unsigned bits;
    for (unsigned b = 0; b < BUCKETS; b++) {
        t->bound[b] = UINT64_MAX;
        t->quarter[b] = (uint16_t)quarter_of(bucket_start(b, &bits));
    }
    for (unsigned q = 1; q < IKET_TALLY_QUARTERS; q++) {
        uint64_t least = least_of_quarter(q);
        unsigned b = bucket_of(least);
        if (least > bucket_start(b, &bits)) t->bound[b] = least;
    }
}

// ---- passes ---------------------------------------------------------------------------------------------------------

static void count_all(iket_tallies *t) {
    const uint16_t *cls = t->levels->cls;
    const uint64_t *start = t->levels->start, *end = t->levels->end;
    for (size_t k = 0; k < t->events->count; k++) {
        for (uint64_t i = t->events->list[k].from; i < t->events->list[k].to; i++) {
            uint32_t slot = t->slot[cls[i]];
            if (slot == 0) continue;
            state *s = &t->states[slot - 1];
            uint64_t duration = end[i] - start[i];
            s->total += duration;
            s->any_bits |= duration;
            if (duration < s->least) s->least = duration;
            if (duration > s->greatest) s->greatest = duration;
            if (s->buckets != NULL) {
                unsigned b = bucket_of(duration);
                s->buckets[2 * b + (duration >= t->bound[b])]++;
            } else {
                s->values[s->filled++] = duration;
            }
        }
    }
}

static void count_targets(iket_tallies *t) {
    const uint16_t *cls = t->levels->cls;
    const uint64_t *start = t->levels->start, *end = t->levels->end;
    for (size_t k = 0; k < t->events->count; k++) {
        for (uint64_t i = t->events->list[k].from; i < t->events->list[k].to; i++) {
            uint32_t slot = t->slot[cls[i]];
            if (slot == 0 || !t->states[slot - 1].open) continue;
            uint64_t duration = end[i] - start[i];
            for (target *g = t->states[slot - 1].targets, *last = g + IKET_TALLY_PERCENTILES; g < last; g++) {
                uint64_t inside = duration - g->lo;
                if (!g->open || inside >> g->bits != 0) continue;
                if (g->count <= FINE) {
                    g->table[g->filled++] = duration;
                } else {
                    g->table[inside >> g->shift]++;
                }
            }
        }
    }
}

// A range that was narrowed down: is it one value, or how is it to be looked at next?
static void aim(const state *s, target *g) {
    unsigned step = s->any_bits == 0 ? 0 : (unsigned)__builtin_ctzll(s->any_bits); // all durations are multiples of 2^step
    uint64_t mask = ((uint64_t)1 << step) - 1, last = g->lo + (((uint64_t)1 << g->bits) - 1);
    uint64_t least = g->lo > s->least ? (g->lo + mask) & ~mask : s->least, greatest = last < s->greatest ? last & ~mask : s->greatest;
    g->open = least < greatest;
    if (!g->open) {
        g->lo = least;
        return;
    }
    g->shift = g->bits - step > FINE_BITS ? g->bits - FINE_BITS : step;
    g->filled = 0;
    memset(g->table, 0, FINE * sizeof *g->table);
}

static int aim_state(state *s) {
    for (unsigned p = 0; p < IKET_TALLY_PERCENTILES; p++) {
        target *g = &s->targets[p];
        uint64_t before = 0, rank = (s->count * percents[p] + 99) / 100 - 1;
        for (unsigned b = 0; b < BUCKETS; b++) {
            uint64_t here = s->buckets[2 * b] + s->buckets[2 * b + 1];
            if (rank >= before + here) {
                before += here;
                continue;
            }
            g->lo = bucket_start(b, &g->bits);
            g->rank = rank - before;
            g->count = here;
            aim(s, g);
            break;
        }
        s->open |= g->open;
    }
    return s->open;
}

static void narrow(iket_tallies *t, const state *s, target *g) {
    if (g->count <= FINE) {
        iket_levels_sort(g->table, t->scratch, g->filled);
        g->lo = g->table[g->rank];
        g->open = 0;
        return;
    }
    unsigned part = 0;
    while (g->rank >= g->table[part]) g->rank -= g->table[part++];
    g->lo += (uint64_t)part << g->shift;
    g->count = g->table[part];
    g->bits = g->shift;
    aim(s, g);
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static uint64_t words_of(uint64_t count) { return count <= FEW ? count : MANY_WORDS; }

// The class behind a group that begins at `cls`, and what the group takes.
static uint32_t group_end(const iket_tallies *t, uint32_t cls, uint64_t *words, uint32_t *states) {
    *words = 0;
    *states = 0;
    for (; cls < CLASSES && *words + words_of(t->counts[cls]) <= MOST_WORDS; cls++) {
        *words += words_of(t->counts[cls]);
        *states += t->counts[cls] > 0;
    }
    return cls;
}

static void begin_group(iket_tallies *t, uint32_t from, uint32_t to) {
    uint64_t *words = t->words;
    memset(t->slot, 0, CLASSES * sizeof *t->slot);
    t->states_of_group = 0;
    for (uint32_t cls = from; cls < to; cls++) {
        uint64_t size = words_of(t->counts[cls]);
        if (size == 0) continue;
        state *s = &t->states[t->states_of_group++];
        *s = (state){.cls = cls, .count = t->counts[cls], .least = UINT64_MAX};
        memset(words, 0, size * sizeof *words);
        if (s->count <= FEW) {
            s->values = words;
        } else {
            s->buckets = words;
            for (unsigned p = 0; p < IKET_TALLY_PERCENTILES; p++) s->targets[p].table = words + 2 * BUCKETS + p * FINE;
        }
        words += size;
        t->slot[cls] = t->states_of_group;
    }
}

static void finish_few(iket_tallies *t, state *s, iket_tally *out) {
    iket_levels_sort(s->values, t->scratch, s->count);
    for (unsigned p = 0; p < IKET_TALLY_PERCENTILES; p++) out->percentile[p] = s->values[(s->count * percents[p] + 99) / 100 - 1];
    for (uint64_t i = 0; i < s->count; i++) out->histogram[quarter_of(s->values[i])]++;
}

static void finish_many(const iket_tallies *t, const state *s, iket_tally *out) {
    for (unsigned p = 0; p < IKET_TALLY_PERCENTILES; p++) out->percentile[p] = s->targets[p].lo;
    for (unsigned b = 0; b < BUCKETS; b++) {
        out->histogram[t->quarter[b]] += s->buckets[2 * b];
        if (s->buckets[2 * b + 1] > 0) out->histogram[t->quarter[b] + 1] += s->buckets[2 * b + 1];
    }
}

static void finish(iket_tallies *t, state *s) {
    iket_tally *out = &t->tally;
    *out = (iket_tally){.cls = s->cls, .count = s->count, .least = s->least, .greatest = s->greatest, .total = s->total};
    if (s->values != NULL) {
        finish_few(t, s, out);
    } else {
        finish_many(t, s, out);
    }
}

static void tally_group(iket_tallies *t) {
    int open = 0;
    count_all(t);
    for (uint32_t i = 0; i < t->states_of_group; i++) {
        if (t->states[i].buckets != NULL) open |= aim_state(&t->states[i]);
    }
    while (open) {
        open = 0;
        count_targets(t);
        for (uint32_t i = 0; i < t->states_of_group; i++) {
            state *s = &t->states[i];
            s->open = 0;
            for (unsigned p = 0; p < IKET_TALLY_PERCENTILES; p++) {
                if (s->targets[p].open) narrow(t, s, &s->targets[p]);
                s->open |= s->targets[p].open;
            }
            open |= s->open;
        }
    }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

// Four tables in turn: events of one class often follow one another, and a counter takes some cycles to be there again.
static void count_classes(iket_tallies *t, const uint8_t *classes) {
    const uint16_t *cls = t->levels->cls;
    uint64_t *const counts[] = {t->counts, t->counts + CLASSES, t->counts + 2 * CLASSES, t->counts + 3 * CLASSES};
    for (size_t k = 0; k < t->events->count; k++) {
        uint64_t i = t->events->list[k].from, to = t->events->list[k].to;
        for (; i + 4 <= to; i += 4) {
            for (unsigned n = 0; n < 4; n++) counts[n][cls[i + n]]++;
        }
        for (; i < to; i++) t->counts[cls[i]]++;
    }
    for (uint32_t c = 0; c < CLASSES; c++) {
        for (unsigned n = 1; n < 4; n++) t->counts[c] += counts[n][c];
        if (classes != NULL && !classes[c]) t->counts[c] = 0;
    }
}

int iket_tallies_make(iket_tallies **tallies, const iket_levels *levels, const iket_levels_intervals *events, const uint8_t *classes, iket_error *err) {
    iket_tallies *t = calloc(1, sizeof *t);
    *tallies = t;
    if (t == NULL) return iket_fail(err, "out of memory");
    t->levels = levels;
    t->events = events;
    t->counts = calloc(4 * (size_t)CLASSES, sizeof *t->counts);
    t->slot = calloc(CLASSES, sizeof *t->slot);
    if (t->counts == NULL || t->slot == NULL) return iket_fail(err, "out of memory (%d classes)", CLASSES);
    count_classes(t, classes);
    uint64_t most_words = 1;
    uint32_t most_states = 1;
    for (uint32_t cls = 0; cls < CLASSES;) {
        uint64_t words;
        uint32_t states;
        cls = group_end(t, cls, &words, &states);
        if (words > most_words) most_words = words;
        if (states > most_states) most_states = states;
    }
    t->words = malloc(most_words * sizeof *t->words);
    t->states = malloc(most_states * sizeof *t->states);
    t->scratch = malloc(FEW * sizeof *t->scratch);
    if (t->words == NULL || t->states == NULL || t->scratch == NULL) return iket_fail(err, "out of memory (%llu numbers)", (unsigned long long)most_words);
    make_quarters(t);
    return 0;
}

void iket_tallies_each(iket_tallies *t, void (*f)(void *context, const iket_tally *tally), void *context) {
    for (uint32_t cls = 0; cls < CLASSES;) {
        uint64_t words;
        uint32_t states, end = group_end(t, cls, &words, &states);
        begin_group(t, cls, end);
        cls = end;
        if (states == 0) continue;
        tally_group(t);
        for (uint32_t i = 0; i < t->states_of_group; i++) {
            finish(t, &t->states[i]);
            f(context, &t->tally);
        }
    }
}

void iket_tallies_free(iket_tallies *tallies) {
    if (tallies == NULL) return;
    free(tallies->counts);
    free(tallies->slot);
    free(tallies->states);
    free(tallies->words);
    free(tallies->scratch);
    free(tallies);
}
