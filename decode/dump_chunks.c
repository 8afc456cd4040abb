// SPDX-License-Identifier: Apache-2.0
// dump_chunks.c: finds the chunks of a WARP section (format rule 4.5): valid ones one after another, never-claimed ones
// passed over by the file's chunk size, a damaged stretch searched through for the next valid header.
//
//     headers    chunk | chunk | hole | chunk     one walk, into the list of chunks (a hole: size 0)
//     CRCs         ✓       ✓              ✗        in parallel
//     list       chunk | chunk                     what is corrupt leaves it, noted in the order of the file
#include <libdeflate.h>

#include "common/array.h"
#include "decode/dump.h"

// The size of the chunk whose header stands at `at`, 0 when the header is not valid. `left`: bytes to the section's end.
static uint32_t valid_chunk(const iket_dump *dump, const uint8_t *at, uint64_t left) {
    if (iket_u32(at + CHUNK_MAGIC) != CHUNK_MAGIC_VALUE || iket_u16(at + CHUNK_HEADER_BYTES) != CHUNK_HEADER) return 0;
    uint32_t size = iket_u32(at + CHUNK_SIZE);
    if (size == 0) size = dump->chunk_bytes;
    if (size < CHUNK_HEADER || size % 8 != 0 || size > left) return 0;
    if ((iket_u16(at + CHUNK_FLAGS) & CHUNK_CLOSED) && iket_u32(at + CHUNK_USED) > size - CHUNK_HEADER) return 0;
    return size;
}

enum crc_state { CRC_NONE, CRC_HOLDS, CRC_FAILS };

static enum crc_state check_crc(const uint8_t *at) {
    uint32_t wanted = iket_u32(at + CHUNK_CRC);
    if (wanted == 0 || !(iket_u16(at + CHUNK_FLAGS) & CHUNK_CLOSED)) return CRC_NONE;
    return libdeflate_crc32(0, at + CHUNK_HEADER, iket_u32(at + CHUNK_USED)) == wanted ? CRC_HOLDS : CRC_FAILS;
}

enum { FETCH_AHEAD = 8 }; // chunks are most often of one size, and a header is far from the one before

typedef struct found { // what one section added to the list
    iket_chunk *chunks;
    size_t count;
} found;

enum { CHUNKS_OF_A_TASK = 256 };

// Leaves the state of each chunk's CRC where its stream will stand.
static int check_crcs(void *context, size_t index, iket_error *err) {
    (void)err;
    const found *f = context;
    size_t end = (index + 1) * CHUNKS_OF_A_TASK;
    for (size_t i = index * CHUNKS_OF_A_TASK; i < f->count && i < end; i++) {
        if (i + FETCH_AHEAD < f->count) {
            __builtin_prefetch(f->chunks[i + FETCH_AHEAD].at);
            __builtin_prefetch(f->chunks[i + FETCH_AHEAD].at + CHUNK_CRC);
        }
        if (f->chunks[i].size > 0) f->chunks[i].stream = check_crc(f->chunks[i].at);
    }
    return 0;
}

static int note_corrupt(iket_dump *dump, const uint8_t *at, const char *why, iket_error *err) {
    dump->trace->diagnostics.corruptChunks++;
    return iket_model_note(dump->trace, err, "%s: byte 0x%zx: corrupt chunk: %s (left out)", dump->trace->path, (size_t)(at - dump->data), why);
}

static int drop_corrupt(iket_dump *dump, size_t first, int section_damaged, iket_error *err) {
    size_t kept = first;
    for (size_t i = first; i < dump->chunk_count; i++) {
        iket_chunk c = dump->chunks[i];
        if (c.size == 0) {
            IKET_TRY(note_corrupt(dump, c.at, "its header cannot be", err));
        } else if (c.stream == CRC_FAILS) {
            IKET_TRY(note_corrupt(dump, c.at, "its CRC does not match its records", err));
        } else if (section_damaged && c.stream == CRC_NONE) {
            IKET_TRY(note_corrupt(dump, c.at, "it has no CRC of its own and its section's does not match", err));
        } else {
            dump->chunks[kept++] = c;
        }
    }
    dump->chunk_count = kept;
    return 0;
}

static int add_found(iket_dump *dump, const uint8_t *at, uint32_t size, iket_error *err) {
    IKET_TRY(IKET_RESERVE(dump->chunks, dump->chunk_count, dump->chunk_capacity, 1, err));
    dump->chunks[dump->chunk_count++] = (iket_chunk){.at = at, .size = size};
    return 0;
}

static int find_chunks(iket_dump *dump, const uint8_t *payload, size_t available, uint64_t size, iket_error *err) {
    size_t at = 0, hole = SIZE_MAX;
    while (at < available) {
        size_t left = available - at;
        if (left < CHUNK_HEADER && available < size) break; // the file is cut off in this header
        uint32_t chunk = left >= CHUNK_HEADER ? valid_chunk(dump, payload + at, size - at) : 0;
        if (left / FETCH_AHEAD > chunk) __builtin_prefetch(payload + at + (size_t)chunk * FETCH_AHEAD);
        if (chunk != 0) {
            if (hole != SIZE_MAX) IKET_TRY(add_found(dump, payload + hole, 0, err));
            hole = SIZE_MAX;
            if (chunk > left) break; // the file is cut off in this chunk
            IKET_TRY(add_found(dump, payload + at, chunk, err));
            at += chunk;
        } else if (hole == SIZE_MAX && left >= 4 && iket_u32(payload + at) == 0 && dump->chunk_bytes != 0) {
            at += dump->chunk_bytes < left ? dump->chunk_bytes : left;
        } else {
            if (hole == SIZE_MAX) hole = at;
            at += 8;
        }
    }
    return hole != SIZE_MAX ? add_found(dump, payload + hole, 0, err) : 0;
}

int iket_dump_chunks(iket_dump *dump, const uint8_t *payload, size_t available, uint64_t size, int section_damaged, iket_error *err) {
    size_t first = dump->chunk_count;
    IKET_TRY(find_chunks(dump, payload, available, size, err));
    found f = {.chunks = dump->chunks + first, .count = dump->chunk_count - first};
    IKET_TRY(iket_pool_run(dump->trace->backing->pool, (f.count + CHUNKS_OF_A_TASK - 1) / CHUNKS_OF_A_TASK, check_crcs, &f, err));
    return drop_corrupt(dump, first, section_damaged, err);
}
