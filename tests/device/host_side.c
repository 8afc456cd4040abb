// SPDX-License-Identifier: Apache-2.0
// host_side.c: what the recorder's host makes of parts in the pool, without a GPU: host_side DIRECTORY. Rings that went
// round, filled exactly, or did not fill; open ones, also written to while they were copied; records of 4, 8 and 16 bytes;
// damage; more chunks than a batch holds. Each dump is read back here, from the format's text alone.
#include "crc32.h"
#include "parts.h"
#include "ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { REGION = 1024, WORDS = REGION / 4 };

static int failures;

static void equal(long long got, long long want, const char *what) {
    if (got == want) return;
    if (failures++ < 20) printf("%s: got %lld, want %lld\n", what, got, want);
}
#define EQUAL(got, want, what) equal((long long)(got), (long long)(want), what)

static uint32_t get32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}
static uint64_t get64(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

static void check_crc(void) {
    static unsigned char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * i * 7 + i / 3);
    for (size_t length = 0; length < 2000; length++)
        for (size_t from = 0; from < 3; from++)
            if (rec_crc32(0, bytes + from, length) != crc32(0, bytes + from, (uInt)length)) EQUAL(length, -1, "length of bytes with a wrong CRC");
    for (size_t split = 0; split < 2000; split += 13)
        EQUAL(rec_crc32(rec_crc32(0, bytes, split), bytes + split, 4000 - split), crc32(0, bytes, 4000), "CRC in two parts");
}

// A session of one module of the kind, with its events 1 (no payload) and 2 (32 or 64 bits) and an empty file.
static struct attached_module module;
static struct launch_entry launches[256];

static void make_session(struct iket_session *session, const char *path, int wide, int mixed) {
    struct iket_recorder_error error;
    memset(session, 0, sizeof *session);
    module.module_id = 7, module.wide = (uint32_t)wide, module.mixed = (uint32_t)mixed;
    memset(module.payload_of_id, 255, sizeof module.payload_of_id);
    module.payload_of_id[1] = module.payload_of_id[31] = 0;
    module.payload_of_id[2] = mixed ? 16 : 6;
    memset(launches, 0, sizeof launches);
    session->modules.items = &module, session->modules.count = 1;
    session->launches.entries = launches, session->launches.capacity = 256;
    if (writer_init(&session->writer, &session->dump, &error) != 0 || dump_open(&session->dump, path, 1, 1, &error) != 0) {
        fprintf(stderr, "host_side: %s\n", error.message);
        exit(2);
    }
}

// What a warp leaves of which event k has the time 32 k, in a ring of REGION bytes, led events long.
static size_t make_ring(unsigned char *part, uint32_t size, uint32_t led, uint32_t flags) {
    uint32_t room = REGION / size, used = led < room ? led : room, words[32] = {0};
    memset(part, 0, 128 + REGION);
    words[0] = IKET_CHUNK_MAGIC, words[1] = 128 | flags << 16;
    words[2] = 7;
    words[8] = 31, words[10] = 32 * led + 63;
    words[25] = used * size, words[26] = led, words[29] = led % room * size;
    if (led < room) words[29] = led * size;
    words[28] = 128 + (used * size + 15) / 16 * 16;
    words[31] = REGION;
    memcpy(part, words, sizeof words);
    for (uint32_t k = 0; k < led; k++) {
        uint32_t record = (32 * k) | 1;
        memcpy(part + 128 + k % room * size, &record, 4);
    }
    return words[28];
}

// The chunks of a dump in one buffer; their number is returned.
static unsigned read_chunks(const char *path, unsigned char *to, size_t most, size_t *bytes) {
    unsigned char header[64];
    unsigned items = 0;
    FILE *file = fopen(path, "rb");
    *bytes = 0;
    if (file == NULL || fread(header, 1, 64, file) != 64) exit(2);
    while (fread(header, 1, 24, file) == 24) {
        size_t length = get64(header + 8);
        if (memcmp(header, "WARP", 4) != 0 || *bytes + length > most || fread(to + *bytes, 1, length, file) != length) break;
        *bytes += length;
        items += get32(header + 16);
    }
    fclose(file);
    return items;
}

// Is this chunk the end of so many events, kept of them there?
static void check_ring(const unsigned char *chunk, uint32_t size, uint32_t led, uint32_t kept, int closed, uint32_t overwritten) {
    const unsigned char *records = chunk + 128;
    EQUAL(get32(chunk), IKET_CHUNK_MAGIC, "magic");
    EQUAL(chunk[6] & 3, closed ? 3 : 0, "closed and last");
    EQUAL(chunk[6] & 32, 32, "flag of kept last");
    EQUAL(chunk[6] & 4, 0, "flag of dropped");
    EQUAL(get32(chunk + 104), overwritten, "overwritten");
    EQUAL(get32(chunk + 100), closed ? kept * size : 0, "used bytes");
    EQUAL(get32(chunk + 112), 128 + (kept * size + 15) / 16 * 16, "chunk bytes");
    if (closed) EQUAL(get32(chunk + 116), crc32(0, records, kept * size), "CRC");
    if (closed) EQUAL(get64(chunk + 120), get64(chunk + 40), "reference");
    for (uint32_t i = 0; i < kept; i++) EQUAL(get32(records + i * size), (32 * (led - kept + i)) | 1, "record");
}

static void check_closed_rings(const char *path, uint32_t size, uint32_t flags) {
    static unsigned char part[128 + REGION], chunks[65536];
    const uint32_t room = REGION / size, counts[] = {0, 1, room - 1, room, room + 1, 2 * room, 5 * room + 3};
    for (int owned = 0; owned < 2; owned++) {
        struct iket_session session;
        struct iket_recorder_error error = {""};
        size_t bytes, at = 0;
        make_session(&session, path, size == 8, size == 16);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            size_t length = make_ring(part, size, counts[i], flags | 3);
            EQUAL(parts_add_closed(&session, part, length, owned, &error), 0, error.message);
            EQUAL(writer_hand_over(&session.writer, &error), 0, error.message);
        }
        EQUAL(read_chunks(session.dump.path_partial, chunks, sizeof chunks, &bytes), sizeof counts / sizeof counts[0], "chunks");
        for (size_t i = 0; i < sizeof counts / sizeof counts[0] && at < bytes; i++) {
            uint32_t kept = counts[i] < room ? counts[i] : room;
            check_ring(chunks + at, size, counts[i], kept, 1, counts[i] - kept);
            at += get32(chunks + at + 112);
        }
        dump_discard(&session.dump);
        writer_free(&session.writer);
    }
}

static void check_open_rings(const char *path, uint32_t size, uint32_t flags) {
    static unsigned char part[128 + REGION], chunk[65536];
    const uint32_t room = REGION / size, counts[] = {0, 1, room - 1, room, room + 1, 5 * room + 3};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct iket_session session;
        struct iket_recorder_error error = {""};
        size_t bytes;
        make_session(&session, path, size == 8, size == 16);
        make_ring(part, size, counts[i], flags);
        uint32_t whole = 128 + REGION + 2 * IKET_SPARE_BYTES;
        memcpy(part + 112, &whole, 4);
        struct open_part open = {part, part + 128, REGION, part, 0, 32 * (uint64_t)counts[i] + 500};
        EQUAL(parts_add_open(&session, &open, &error), 0, error.message);
        EQUAL(writer_hand_over(&session.writer, &error), 0, error.message);
        EQUAL(read_chunks(session.dump.path_partial, chunk, sizeof chunk, &bytes), 1, "open chunks");
        check_ring(chunk, size, counts[i], counts[i] < room ? counts[i] : room, 0, counts[i] >= room);
        EQUAL(get64(chunk + 120), open.time, "reference of an open ring");
        dump_discard(&session.dump);
        writer_free(&session.writer);
    }
}

static void check_run(const uint32_t *times, size_t count, uint32_t now, size_t oldest, size_t length, const char *what) {
    struct ring_run run = ring_find((const unsigned char *)times, count * 4, 4, now);
    EQUAL(run.oldest / 4, oldest, what);
    EQUAL(run.bytes / 4, length, what);
}

static void check_ring_find(void) {
    const uint32_t plain[] = {1000, 1100, 500, 600, 700}, ordered[] = {500, 600, 700}, over[] = {100, 200, 0xFFFFFF00u, 0},
                   torn[] = {1000, 1100, 500, 1200, 600, 700, 800, 900}, pause[] = {64, 96, 3000000000u, 32}, same[] = {64, 64, 64, 32, 32};
    check_run(plain, 5, 1200, 2, 5, "a ring");
    check_run(plain, 5, 650, 2, 5, "a ring whose warp hung so long that older times look newer");
    check_run(ordered, 3, 800, 0, 3, "a ring that begins with its oldest");
    check_run(over, 4, 300, 2, 4, "a ring in which 32 bits run over");
    check_run(torn, 8, 1300, 4, 6, "a ring that was written to while it was copied");
    check_run(pause, 4, 3000001000u, 3, 4, "a ring with a pause of 3 s");
    check_run(same, 5, 1000, 3, 5, "a ring with equal times");
}

// A first lane that dropped, in form B with what other lanes led, and the same with a ring.
static void check_form_b(const char *path) {
    static unsigned char part[128 + REGION], chunk[65536];
    const uint32_t others = 9, led = 300;
    for (uint32_t ring = 0; ring < 2; ring++) {
        struct iket_session session;
        struct iket_recorder_error error = {""};
        size_t bytes;
        make_session(&session, path, 0, 0);
        size_t length = make_ring(part, 4, led, 3 | IKET_PART_FORM_B | ring * IKET_CHUNK_KEEPS_LAST);
        memcpy(part + 120, &others, 4);
        EQUAL(parts_add_closed(&session, part, length, 1, &error), 0, error.message);
        EQUAL(writer_hand_over(&session.writer, &error), 0, error.message);
        read_chunks(session.dump.path_partial, chunk, sizeof chunk, &bytes);
        EQUAL(get32(chunk + 104), ring ? led - WORDS : led - WORDS + others, "dropped or overwritten in form B");
        EQUAL(session.report.dropped_events, ring ? others : led - WORDS + others, "the report's dropped events");
        EQUAL(session.report.overwritten_events, ring ? led - WORDS : 0, "the report's overwritten events");
        dump_discard(&session.dump);
        writer_free(&session.writer);
    }
}

static void check_damage(const char *path) {
    static unsigned char part[128 + REGION];
    const size_t places[] = {0, 4, 100, 112, 116}; // 4: a ring of records of one size, of a module where they differ
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct iket_session session;
        struct iket_recorder_error error = {""};
        make_session(&session, path, 0, places[i] == 4);
        size_t length = make_ring(part, 4, 300, 3 | IKET_CHUNK_KEEPS_LAST);
        const uint32_t wrong = places[i] == 4 ? 128 | (3 | IKET_CHUNK_KEEPS_LAST) << 16 : REGION + 16 * 128;
        memcpy(part + places[i], &wrong, 4);
        EQUAL(parts_add_closed(&session, part, length, 1, &error), -1, "damage is not refused");
        EQUAL(strstr(error.message, "damaged") != NULL, 1, error.message);
        dump_discard(&session.dump);
        writer_free(&session.writer);
    }
}

// Parts that cannot be changed need a header each, more than a batch has.
static void check_many(const char *path, int threaded) {
    static unsigned char part[128 + REGION], chunks[20000 * 144];
    struct iket_session session;
    struct iket_recorder_error error = {""};
    size_t bytes;
    make_session(&session, path, 0, 0);
    if (threaded) writer_begin(&session.writer);
    size_t length = make_ring(part, 4, 3, 3);
    for (int i = 0; i < 20000; i++) EQUAL(parts_add_closed(&session, part, length, 0, &error), 0, error.message);
    EQUAL(writer_hand_over(&session.writer, &error), 0, error.message);
    EQUAL(writer_end(&session.writer, &error), 0, error.message);
    EQUAL(read_chunks(session.dump.path_partial, chunks, sizeof chunks, &bytes), 20000, "chunks of several batches");
    EQUAL(bytes, 20000 * 144, "bytes of several batches");
    dump_discard(&session.dump);
    writer_free(&session.writer);
}

// What the thread failed to write is said by a later call or by the end, and the dump cannot be completed.
static void check_full_disk(const char *path) {
    static unsigned char part[128 + REGION];
    struct iket_session session;
    struct iket_recorder_error error = {""};
    size_t length = make_ring(part, 4, 3, 3);
    for (int threaded = 0; threaded < 2; threaded++) {
        make_session(&session, path, 0, 0);
        close(session.dump.file);
        session.dump.file = open("/dev/full", O_WRONLY);
        if (threaded) writer_begin(&session.writer);
        int status = 0;
        for (int i = 0; i < 20000 && status == 0; i++) status = parts_add_closed(&session, part, length, 0, &error);
        if (status == 0) status = writer_hand_over(&session.writer, &error);
        if (writer_end(&session.writer, &error) != 0) status = -1;
        EQUAL(status, -1, "a full disk is not noticed");
        EQUAL(strstr(error.message, "cannot write") != NULL || strstr(error.message, "earlier write") != NULL, 1, error.message);
        EQUAL(dump_commit(&session.dump, &error), -1, "an incomplete dump is completed");
        writer_free(&session.writer);
    }
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 2) return 2;
    snprintf(path, sizeof path, "%s/dump.bin", argv[1]);
    check_crc();
    check_ring_find();
    check_closed_rings(path, 4, IKET_CHUNK_KEEPS_LAST);
    check_closed_rings(path, 8, IKET_CHUNK_KEEPS_LAST | IKET_CHUNK_WIDE);
    check_closed_rings(path, 16, IKET_CHUNK_KEEPS_LAST | IKET_CHUNK_WIDE | IKET_CHUNK_EVEN);
    check_open_rings(path, 4, IKET_CHUNK_KEEPS_LAST);
    check_open_rings(path, 8, IKET_CHUNK_KEEPS_LAST | IKET_CHUNK_WIDE);
    check_open_rings(path, 16, IKET_CHUNK_KEEPS_LAST | IKET_CHUNK_WIDE | IKET_CHUNK_EVEN);
    check_form_b(path);
    check_damage(path);
    check_many(path, 0);
    check_many(path, 1);
    check_full_disk(path);
    printf("%d failures\n", failures);
    return failures != 0;
}
