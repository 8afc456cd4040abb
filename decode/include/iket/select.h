// SPDX-License-Identifier: Apache-2.0
// select.h: the selectors that all commands share, and what they select of a trace.
//
//     --launch 0-3,7 | KEY | KEY#2     --kernel NAME     --cta X,Y,Z     --warp 0-3,12     --sm 5     --time A..B
//     --marker NAME                    --range NAME
//
// Options of one kind widen each other (`--sm 1 --sm 2`: either), options of different kinds narrow each other.
// --marker and --range say which events are wanted: with only one of them given, events of the other kind are not.
// Names are exact or `regex:` and a POSIX extended expression; a kernel may also be named by a part of its name that no
// other kernel has.
#ifndef IKET_SELECT_H
#define IKET_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/options.h"
#include "decode/include/iket/trace.h"

// Ids of the option rows; a tool's own ids stay below.
enum {
    IKET_SELECT_LAUNCH = 1001,
    IKET_SELECT_KERNEL,
    IKET_SELECT_CTA,
    IKET_SELECT_WARP,
    IKET_SELECT_SM,
    IKET_SELECT_TIME,
    IKET_SELECT_MARKER,
    IKET_SELECT_RANGE,
};

// Rows for a tool's option table: what narrows to launches, places and times ...
#define IKET_SELECT_PLACE_OPTIONS                                                                                      \
    {IKET_SELECT_LAUNCH, 0, "launch", NULL, "SET", "only these launches: `0-3,7`, a graph's KEY, or KEY#INDEX", "Selection"}, \
    {IKET_SELECT_KERNEL, 0, "kernel", NULL, "NAME", "only launches of this kernel: its name, a part of it that is\nunique, or regex:EXPR", NULL}, \
    {IKET_SELECT_CTA, 0, "cta", NULL, "X,Y,Z", "only these CTAs; each number may be `*`", NULL},                      \
    {IKET_SELECT_WARP, 0, "warp", NULL, "SET", "only these warps of a CTA: `0-3,12`", NULL},                          \
    {IKET_SELECT_SM, 0, "sm", NULL, "SET", "only warps on these SMs", NULL},                                          \
    {IKET_SELECT_TIME, 0, "time", NULL, "A..B", "only what overlaps this time (ns, or with us, ms, s): from the\ntrace's start, or absolute; either end may be left out", NULL}
// ... and what picks events by name.
#define IKET_SELECT_NAME_OPTIONS                                                                                       \
    {IKET_SELECT_MARKER, 'm', "marker", NULL, "NAME", "markers of this name, or regex:EXPR", NULL},                   \
    {IKET_SELECT_RANGE, 'r', "range", NULL, "NAME", "ranges of this name, or regex:EXPR", NULL}

// What was asked for. Zero-initialise; iket_selector_clear frees it.
typedef struct iket_selector {
    struct iket_condition *conditions;
    size_t count, capacity;
} iket_selector;

static inline int iket_is_select_option(int id) { return id >= IKET_SELECT_LAUNCH && id <= IKET_SELECT_RANGE; }

// Takes one option. Fails when the text is not what the option wants.
IKET_MUST_CHECK int iket_selector_set(iket_selector *selector, int id, const char *text, iket_error *err);

// Whether an option of that id was given (id 0: any option at all).
int iket_selector_has(const iket_selector *selector, int id);

void iket_selector_clear(iket_selector *selector);

// ---- without a trace: for what knows launches and places by other means ----

// Whether the conditions of a kind hold: one of them does, or none was given.
int iket_selector_launch(const iket_selector *selector, const char *graph_key, uint32_t ordinal);

// The place conditions together.
int iket_selector_place(const iket_selector *selector, const iket_location *place);

// The least and greatest time that is selected, both inclusive.
void iket_selector_time(const iket_selector *selector, uint64_t start, uint64_t *from, uint64_t *to);

// Sets wanted[i] for each kernel name that --kernel selects (all without it). Returns 0, 1 (a name that is none of them)
// or -1 (a part of several names), with the line in err. `names` are distinct.
int iket_selector_kernels(const iket_selector *selector, const char *const *names, size_t count, uint8_t *wanted, iket_error *err);

// What a selector means in one trace. All masks are owned; iket_selection_clear frees them.
typedef struct iket_selection {
    uint8_t *launches;  // [launch_count]   1: selected
    uint8_t *locations; // [location_count] 1: selected, its launch too
    uint8_t *markers;   // [string_count]   1: markers of this name are selected
    uint8_t *ranges;    // [string_count]   1: ranges of this name are selected
    uint64_t from, to;  // absolute, both inclusive: what overlaps it is selected
} iket_selection;

// 0: resolved; 1: some option matches nothing in this trace, and err says so and names what is there (the answer is no:
// exit status 1); -1: an error (a kernel name with several candidates, which err lists; memory). Only after 0 does
// *selection own anything.
IKET_MUST_CHECK int iket_selection_resolve(iket_selection *selection, const iket_selector *selector, const iket_trace *trace, iket_error *err);

void iket_selection_clear(iket_selection *selection);

// Whether [start, end] overlaps the selected time.
static inline int iket_selection_overlaps(const iket_selection *s, uint64_t start, uint64_t end) {
    return start <= s->to && end >= s->from;
}

#endif
