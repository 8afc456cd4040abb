// SPDX-License-Identifier: Apache-2.0
// The replay of a stream: times (rule 4.2), pairs and ends (4.3), what cannot be decoded (4.4), and the time window.
//
// Records are built in memory and hung into a model by hand, so that each case states its bytes and its events.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decode/model.h"
#include "decode/window.h"
#include "tests/unit/check.h"

enum { MARK = 1, OUTER, INNER, TOKEN, WIDE_MARK, POP = 31 };

static const uint64_t base = UINT64_C(1796096489335662304) & ~UINT64_C(31);

typedef struct bench { // one trace with one stream
    iket_trace *trace;
    uint8_t bytes[4096];
    size_t used;
} bench;

static void add_decl(iket_module *m, uint32_t id, uint8_t pos, uint8_t payload) {
    m->decls[m->decl_count++] = (iket_decl){.event_id = id, .end_event_id = pos == IKET_POS_TOKEN ? id : POP, .pos = pos, .payload_type = payload, .color = IKET_UNKNOWN};
}

static void start(bench *b, int extended) {
    memset(b, 0, sizeof *b);
    b->trace = iket_model_new("test", IKET_SOURCE_DUMP, NULL);
    (void)iket_model_string(b->trace, "name", 4, NULL);
    iket_module *m = iket_model_module(b->trace, NULL);
    m->extended = (uint8_t)extended;
    m->decls = calloc(8, sizeof *m->decls);
    uint32_t shift = extended ? 63 : 0;
    add_decl(m, MARK + shift, IKET_POS_MARKER, IKET_PAYLOAD_NONE);
    add_decl(m, OUTER + shift, IKET_POS_PUSH, IKET_PAYLOAD_NONE);
    add_decl(m, INNER + shift, IKET_POS_PUSH, IKET_PAYLOAD_U8);
    add_decl(m, TOKEN + shift, IKET_POS_TOKEN, IKET_PAYLOAD_NONE);
    add_decl(m, WIDE_MARK + shift, IKET_POS_MARKER, IKET_PAYLOAD_U64);
    CHECK(iket_module_index(m, NULL) == 0, "index");
    iket_launch *launch = iket_model_launch(b->trace, NULL);
    launch->graph_key = IKET_UNKNOWN;
    launch->location_count = 1;
    iket_location *location = iket_model_location(b->trace, NULL);
    location->stream_count = 1;
    location->start = base;
    iket_stream *stream = iket_model_stream(b->trace, NULL);
    stream->source_count = 0;
}

static void word(bench *b, uint64_t time, uint32_t id) { // a NativeDump record's first word
    uint32_t w = ((uint32_t)time & ~31u) | id;
    memcpy(b->bytes + b->used, &w, sizeof w);
    b->used += sizeof w;
}

static void raw(bench *b, uint32_t value) {
    memcpy(b->bytes + b->used, &value, sizeof value);
    b->used += sizeof value;
}

// Ends the chunk that holds the bytes since `from`.
static void chunk(bench *b, size_t from, uint32_t flags, uint64_t begin, uint64_t end, size_t size) {
    iket_segment *g = iket_model_segment(b->trace, NULL);
    *g = (iket_segment){.records = b->bytes + from, .size = (uint32_t)size, .flags = flags, .start = begin, .end = end};
    b->trace->streams[0].source_count++;
}

static void one_chunk(bench *b, uint32_t flags, uint64_t begin, uint64_t end) {
    chunk(b, 0, flags, begin, end, b->used);
    CHECK(iket_model_finish(b->trace, NULL) == 0, "finish");
}

// Describes the stream's events as text: kind, id, time from base, "+begin" of an end, "!" where unclosed.
static const char *events_of(const bench *b, uint64_t from, uint64_t to) {
    static char text[4096];
    size_t used = 0;
    iket_window window = {.from = 0};
    iket_event e;
    text[0] = 0;
    iket_window_start(&window, b->trace, 0, from, to);
    while (iket_window_next(&window, &e, NULL) > 0) {
        static const char kinds[] = "MBE";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c%u@%" PRId64, used > 0 ? " " : "", kinds[e.kind], e.decl->event_id, (int64_t)(e.time - base));
        if (e.kind == IKET_EVENT_END) used += (size_t)snprintf(text + used, sizeof text - used, "<%" PRId64 "%s", (int64_t)(e.begin.time - base), e.unclosed ? "!" : "");
        if (e.payload.type != IKET_PAYLOAD_NONE) used += (size_t)snprintf(text + used, sizeof text - used, "=%" PRIu64, e.payload.bits);
    }
    iket_window_free(&window);
    return text;
}

static void expect(bench *b, const char *wanted) {
    const char *got = events_of(b, 0, UINT64_MAX);
    CHECK(strcmp(got, wanted) == 0, "\n  got    %s\n  wanted %s", got, wanted);
}

static void done(bench *b) { iket_trace_free(b->trace); }

static void test_times(void) {
    bench b;
    start(&b, 0);
    word(&b, base + 64, MARK);
    word(&b, base + 64, MARK);                        // the same time stays
    word(&b, base + 32, MARK);                        // before the one before it, by less than 2^20
    word(&b, base + 32 + (UINT64_C(1) << 31), MARK);  // a gap of 2.1 s
    word(&b, base + 32 + (UINT64_C(1) << 32), MARK);  // past the turn of the 32 bits
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 64 + (UINT64_C(1) << 32));
    expect(&b, "M1@64 M1@64 M1@32 M1@2147483680 M1@4294967328");
    CHECK(b.trace->diagnostics.timeAmbiguousChunks == 0, "not ambiguous");
    CHECK(b.trace->streams[0].flags & IKET_STREAM_BACKWARDS, "backwards");
    done(&b);

    start(&b, 0); // the border of "before": 2^20 before is before, 32 ns more is 4.29 s later
    word(&b, base - (1u << 20), MARK);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base);
    expect(&b, "M1@-1048576");
    done(&b);
    start(&b, 0);
    word(&b, base - (1u << 20) - 32, MARK);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base);
    expect(&b, "M1@4293918688"); // 2^32 - 2^20 - 32
    CHECK(b.trace->diagnostics.timeAmbiguousChunks == 1, "past its chunk's end");
    done(&b);

    start(&b, 0); // 2^32 ns or more before the end
    word(&b, base + 32, MARK);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 32 + (UINT64_C(1) << 32));
    CHECK(b.trace->diagnostics.timeAmbiguousChunks == 1, "ambiguous");
    done(&b);

    start(&b, 0); // a startTs between two steps of 32 ns
    word(&b, base, MARK);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base + 17, base + 64);
    expect(&b, "M1@0");
    done(&b);
}

static void test_extended(void) {
    bench b;
    start(&b, 1);
    raw(&b, (uint32_t)base + 7); // all 32 bits count
    raw(&b, 64);
    raw(&b, (uint32_t)base + 9);
    raw(&b, 66);
    raw(&b, 0xFFFFFF05); // u8: 5
    raw(&b, 0xDEADBEEF);
    raw(&b, (uint32_t)base + 9);
    raw(&b, 0); // reserved
    raw(&b, (uint32_t)base + 11);
    raw(&b, POP);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 32);
    expect(&b, "M64@7 B66@9=5 E66@11<9");
    CHECK(b.trace->diagnostics.reservedRecords == 1, "reserved");
    done(&b);
}

static void test_pairs(void) {
    bench b;
    start(&b, 0);
    word(&b, base, POP); // nothing to close
    word(&b, base + 32, OUTER);
    word(&b, base + 32, INNER);
    raw(&b, 0xABCDEF07);
    word(&b, base + 32, POP);
    word(&b, base + 64, TOKEN);
    word(&b, base + 96, POP);
    word(&b, base + 128, TOKEN); // crosses the end of OUTER
    word(&b, base + 160, OUTER);
    word(&b, base + 192, TOKEN);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 256);
    expect(&b, "B2@32 B3@32=7 E3@32<32 B4@64 E2@96<32 E4@128<64 B2@160 B4@192 E2@256<160! E4@256<192!");
    CHECK(b.trace->diagnostics.unmatchedPops == 1 && b.trace->diagnostics.unclosedRanges == 2, "counted");
    CHECK(b.trace->marker_count == 0 && b.trace->range_count == 5, "%" PRIu64 " ranges", b.trace->range_count);
    done(&b);

    start(&b, 0); // a range never ends before it starts
    word(&b, base + 64, OUTER);
    word(&b, base + 32, POP);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 64);
    expect(&b, "B2@64 E2@64<64");
    done(&b);
}

static void test_ends(void) {
    static const struct {
        uint32_t flags;
        uint64_t end;
        int records;
        const char *wanted;
    } cases[] = {
        {IKET_SEGMENT_CLOSED, 320, 1, "B2@64 E2@320<64!"}, {IKET_SEGMENT_CLOSED, 0, 1, "B2@64 E2@64<64!"},
        {0, 0, 1, "B2@64 E2@64<64!"},                      {0, 96, 1, "B2@64 E2@96<64!"},
        {0, 32, 1, "B2@64 E2@64<64!"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        start(&b, 0);
        word(&b, base + 64, OUTER);
        one_chunk(&b, cases[i].flags, base, cases[i].end == 0 ? 0 : base + cases[i].end);
        expect(&b, cases[i].wanted);
        done(&b);
    }
    bench b; // the last chunk has no record and no end: the range ends at its start
    start(&b, 0);
    word(&b, base + 64, OUTER);
    chunk(&b, 0, IKET_SEGMENT_CLOSED, base, base + 96, 4);
    chunk(&b, b.used, 0, base + 128, 0, 8);
    CHECK(iket_model_finish(b.trace, NULL) == 0, "finish");
    expect(&b, "B2@64 E2@128<64!");
    CHECK(b.trace->locations[0].end == base + 128, "lifetime");
    done(&b);
}

static void test_undecoded(void) {
    bench b;
    start(&b, 0); // an id that nobody declared ends a closed chunk
    word(&b, base + 32, MARK);
    word(&b, base + 64, 20);
    word(&b, base + 96, MARK);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 96);
    expect(&b, "M1@32");
    CHECK(b.trace->diagnostics.undecodedBytes == 8, "%" PRIu64, b.trace->diagnostics.undecodedBytes);
    done(&b);

    start(&b, 0); // in an open chunk only up to the last word that is not zero
    word(&b, base + 32, MARK);
    word(&b, base + 64, 20);
    raw(&b, 0);
    raw(&b, 1);
    raw(&b, 0);
    raw(&b, 0);
    one_chunk(&b, 0, base, 0);
    CHECK(b.trace->diagnostics.undecodedBytes == 12, "%" PRIu64, b.trace->diagnostics.undecodedBytes);
    done(&b);

    start(&b, 0); // an open chunk ends at a zero, whatever stands behind it
    word(&b, base + 32, MARK);
    raw(&b, 0);
    word(&b, base + 64, MARK);
    one_chunk(&b, 0, base, 0);
    expect(&b, "M1@32");
    CHECK(b.trace->diagnostics.undecodedBytes == 0, "%" PRIu64, b.trace->diagnostics.undecodedBytes);
    done(&b);

    start(&b, 0); // a record cut off by the used bytes; a zero inside them is reserved
    raw(&b, 0);
    word(&b, base + 32, MARK);
    word(&b, base + 64, WIDE_MARK);
    raw(&b, 7);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 64);
    expect(&b, "M1@32");
    CHECK(b.trace->diagnostics.undecodedBytes == 8 && b.trace->diagnostics.reservedRecords == 1, "%" PRIu64, b.trace->diagnostics.undecodedBytes);
    done(&b);
}

static void test_wide(void) {
    bench b;
    start(&b, 0);
    word(&b, base + 32, OUTER);
    raw(&b, 0xFFFFFFFF); // undefined
    word(&b, base + 64, WIDE_MARK);
    raw(&b, 0xFFFFFFFF);
    raw(&b, 9);
    raw(&b, 1);
    word(&b, base + 64, 0);
    raw(&b, 0xFFFFFFFF);
    word(&b, base + 96, POP);
    raw(&b, 0xFFFFFFFF);
    one_chunk(&b, IKET_SEGMENT_CLOSED | IKET_SEGMENT_WIDE, base, base + 96);
    expect(&b, "B2@32 M5@64=4294967305 E2@96<32");
    CHECK(b.trace->diagnostics.reservedRecords == 1 && b.trace->diagnostics.undecodedBytes == 0, "wide");
    done(&b);
}

static void test_window(void) {
    bench b;
    start(&b, 0);
    word(&b, base + 32, OUTER);
    word(&b, base + 64, TOKEN);
    word(&b, base + 96, INNER);
    raw(&b, 1);
    word(&b, base + 128, POP);
    word(&b, base + 160, MARK);
    word(&b, base + 192, MARK);
    word(&b, base + 224, TOKEN);
    word(&b, base + 256, INNER);
    raw(&b, 2);
    word(&b, base + 288, MARK);
    word(&b, base + 320, POP);
    word(&b, base + 352, POP);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 352);
    static const struct {
        uint64_t from, to;
        const char *wanted;
    } cases[] = {
        {160, 256, "B2@32 B4@64 M1@160 M1@192 E4@224<64 B3@256=2 E3@320<256 E2@352<32"},
        {192, 192, "B2@32 B4@64 M1@192 E4@224<64 E2@352<32"},
        {129, 130, "B2@32 B4@64 E4@224<64 E2@352<32"},
        {353, 400, ""},
        {0, 31, ""},
        {0, 32, "B2@32 E2@352<32"},
        {352, 400, "B2@32 E2@352<32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = events_of(&b, cases[i].from == 0 ? 0 : base + cases[i].from, base + cases[i].to);
        CHECK(strcmp(got, cases[i].wanted) == 0, "case %zu:\n  got    %s\n  wanted %s", i, got, cases[i].wanted);
    }
    done(&b);
}

static void test_many_tokens(void) { // more open ones than are searched one by one
    bench b;
    start(&b, 0);
    iket_module *m = &b.trace->modules[0];
    free(m->decls);
    m->decls = calloc(31, sizeof *m->decls);
    m->decl_count = 0;
    for (uint32_t id = 1; id <= 30; id++) add_decl(m, id, IKET_POS_TOKEN, IKET_PAYLOAD_NONE);
    CHECK(iket_module_index(m, NULL) == 0, "index");
    for (uint32_t id = 1; id <= 30; id++) word(&b, base + 32 * id, id);
    for (uint32_t id = 1; id <= 30; id += 2) word(&b, base + 32 * (30 + id), id);
    for (uint32_t id = 2; id <= 30; id += 2) word(&b, base + 32 * (60 + id), id);
    one_chunk(&b, IKET_SEGMENT_CLOSED, base, base + 32 * 100);
    CHECK(b.trace->range_count == 30 && b.trace->diagnostics.unclosedRanges == 0, "%" PRIu64 " ranges, %" PRIu64 " unclosed", b.trace->range_count, b.trace->diagnostics.unclosedRanges);
    const char *text = events_of(&b, 0, UINT64_MAX);
    CHECK(strstr(text, "E1@992<32 ") != NULL && strstr(text, "E30@2880<960") != NULL, "%s", text);
    done(&b);
}

int main(void) {
    test_times();
    test_extended();
    test_pairs();
    test_ends();
    test_undecoded();
    test_wide();
    test_window();
    test_many_tokens();
    return check_failures();
}
