// SPDX-License-Identifier: Apache-2.0
// diagnostics.c: the counters of the format in words that a user can act on.
#include <stdio.h>
#include <string.h>

#include "decode/include/iket/encode.h"

static const struct {
    const char *counter, *one, *many; // the count goes before `many`
} texts[] = {
    {"droppedEvents", "1 event was dropped for lack of space (give the recorder a larger pool or region)",
     "events were dropped for lack of space (give the recorder a larger pool or region)"},
    {"unmatchedPops", "1 pop had no push and was left out (push and pop on the same lane, also under divergence)",
     "pops had no push and were left out (push and pop on the same lane, also under divergence)"},
    {"unclosedRanges", "1 range was still open at its warp's end and was closed there (pop before every return)",
     "ranges were still open at their warps' end and were closed there (pop before every return)"},
    {"undecodedBytes", "1 byte of records could not be decoded (an event that the schema lacks: is the meta.json of this run?)",
     "bytes of records could not be decoded (an event that the schema lacks: is the meta.json of this run?)"},
    {"reservedRecords", "1 record with the reserved id 0 was skipped (written by another recorder or overwritten)",
     "records with the reserved id 0 were skipped (written by another recorder or overwritten)"},
    {"timeAmbiguousChunks", "1 chunk holds a gap of 4.29 s or more: its times may be too early by multiples of that",
     "chunks hold a gap of 4.29 s or more: their times may be too early by multiples of that"},
    {"missingChunks", "1 chunk of a stream is missing: what it recorded is lost", "chunks of streams are missing: what they recorded is lost"},
    {"corruptChunks", "1 chunk or warp buffer is corrupt and was left out", "chunks or warp buffers are corrupt and were left out"},
    {"corruptSections", "1 section of the file is corrupt (copy it again, or give --meta where it is the schema)",
     "sections of the file are corrupt (copy it again, or give --meta where it is the schema)"},
    {"overflowedWarps", "1 warp wrote past its buffer, and over its neighbour's (the collector's dry run saw fewer events)",
     "warps wrote past their buffers, and over their neighbours' (the collector's dry run saw fewer events)"},
    {"warpsWithoutChunk", "1 warp found no room for any event (give the recorder a larger pool)", "warps found no room for any event (give the recorder a larger pool)"},
    {"overwrittenEvents", "1 earlier event was overwritten: the recorder kept the last ones", "earlier events were overwritten: the recorder kept the last ones"},
    {"overwrittenBegins", "1 range began before the events that were kept and was left out", "ranges began before the events that were kept and were left out"},
    {"truncated", "the file is cut off: what was whole in it is decoded (did the program end early, or the copy?)", "cuts in the file"},
};

int iket_diagnostic_text(const char *counter, uint64_t count, char *text, size_t size) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(texts[i].counter, counter) != 0) continue;
        if (count == 1) return snprintf(text, size, "%s", texts[i].one);
        return snprintf(text, size, "%llu %s", (unsigned long long)count, texts[i].many);
    }
    return snprintf(text, size, "%s: %llu", counter, (unsigned long long)count);
}
