// SPDX-License-Identifier: Apache-2.0
// ring.c: see ring.h. Times are the low 32 bits of nanoseconds, so a step back by n is one of 2^32 - n. Round the ring the
// steps add up to a multiple of 2^32, so that with less than 2.1 s between oldest and newest exactly the step back is
// 2^31 or more. A pause between two records can look like it, too; so where the newest by its age is less than a second
// old and a long step follows it, that is the place. Failing all this, the longest step is taken.
#include "ring.h"

#include <string.h>

static uint32_t time_at(const unsigned char *records, size_t index, size_t size) {
    uint32_t time;
    memcpy(&time, records + index * size, sizeof time);
    return time & ~31u;
}

enum { SECOND_OR_SO = 1 << 30 };

struct ring_run ring_find(const unsigned char *records, size_t bytes, size_t size, uint32_t now) {
    size_t count = bytes / size, backs = 0, first = 0, last = 0;  // where runs begin: the first and the last that was found
    size_t longest = 0, youngest = 0, best = 0, best_run = 0;
    uint32_t longest_step = 0, least_age = UINT32_MAX, step_after_youngest = 0, before = time_at(records, 0, size);
    for (size_t begin = 1; begin <= count; begin++) {
        uint32_t next = time_at(records, begin % count, size), step = next - before, age = now - before;
        before = next;
        if (age <= least_age) youngest = begin % count, least_age = age, step_after_youngest = step;
        if (step >= longest_step) longest = begin % count, longest_step = step;
        if (step < 0x80000000u) continue;
        if (backs++ == 0) first = begin;
        else if (begin - last > best_run) best = last, best_run = begin - last;
        last = begin;
    }
    if (backs <= 1 && least_age < SECOND_OR_SO && step_after_youngest >= SECOND_OR_SO) return (struct ring_run){youngest * size, bytes};
    if (backs == 0) return (struct ring_run){longest * size, bytes};
    if (count - last + first > best_run) best = last % count, best_run = count - last + first;
    return (struct ring_run){best * size, best_run * size};
}
