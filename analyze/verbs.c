// SPDX-License-Identifier: Apache-2.0
// verbs.c: the table of verbs.
#include <string.h>

#include "analyze/query.h"

const iket_verb iket_verbs[] = {
    {"events", "the markers and ranges that are selected, one a row", iket_verb_events},
    {"summary", "per kernel and name: how often, how long, share of the warps' lifetime", iket_verb_summary},
    {"ranges", "the same by any of name, kernel, launch, sm, cta, warp, role, payload (--by)", iket_verb_ranges},
    {"warps", "lifetimes, start and end skew, busy share, by launch, role and SM", iket_verb_warps},
    {"gaps", "idle time before, between and behind ranges, and waits by name", iket_verb_gaps},
    {"cadence", "start-to-start time per name; lead of --producer over --consumer", iket_verb_cadence},
    {"payload", "values of the payloads, and durations by value", iket_verb_payload},
    {"path", "critical path of each launch over an iket.dag file (--dag)", iket_verb_path},
    {"diff", "what changed from A to B, with 95 % intervals; --fail-over P% exits 1", iket_verb_diff},
    {"check", "what a trustworthy trace must satisfy; exits 1 when it does not", iket_verb_check},
    {"export", "everything as a SQLite file (-o), or a --table as csv, json, jsonl", iket_verb_export},
    {"sql", "a SELECT over the same tables: iket-query sql \"SELECT ...\" TRACE", iket_verb_sql},
};

const size_t iket_verb_count = sizeof iket_verbs / sizeof iket_verbs[0];

const iket_verb *iket_verb_find(const char *name) {
    for (size_t i = 0; i < iket_verb_count; i++) {
        if (strcmp(iket_verbs[i].name, name) == 0) return &iket_verbs[i];
    }
    return NULL;
}
