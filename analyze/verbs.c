// SPDX-License-Identifier: Apache-2.0
// verbs.c: the table of verbs.
#include <string.h>

#include "analyze/query.h"

const iket_verb iket_verbs[] = {
    {"events", "the markers and ranges that are selected, one a row", iket_verb_events},
    {"summary", "per kernel and name: how often, how long, share of the warps' lifetime", iket_verb_summary},
};

const size_t iket_verb_count = sizeof iket_verbs / sizeof iket_verbs[0];

const iket_verb *iket_verb_find(const char *name) {
    for (size_t i = 0; i < iket_verb_count; i++) {
        if (strcmp(iket_verbs[i].name, name) == 0) return &iket_verbs[i];
    }
    return NULL;
}
