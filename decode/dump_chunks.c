// SPDX-License-Identifier: Apache-2.0
// dump_chunks.c: finds the chunks of a WARP section (format rule 4.5): valid ones one after another, never-claimed ones
// passed over by the file's chunk size, a damaged stretch searched through for the next valid header.
#include <zlib.h>

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
    return crc32(0, at + CHUNK_HEADER, iket_u32(at + CHUNK_USED)) == wanted ? CRC_HOLDS : CRC_FAILS;
}

static int note_corrupt(iket_dump *dump, const uint8_t *at, const char *why, iket_error *err) {
    dump->trace->diagnostics.corruptChunks++;
    return iket_model_note(dump->trace, err, "%s: byte 0x%zx: corrupt chunk: %s (left out)", dump->trace->path, (size_t)(at - dump->data), why);
}

static int take_chunk(iket_dump *dump, const uint8_t *at, uint32_t size, int section_damaged, iket_error *err) {
    enum crc_state state = check_crc(at);
    if (state == CRC_FAILS) return note_corrupt(dump, at, "its CRC does not match its records", err);
    if (section_damaged && state == CRC_NONE) return note_corrupt(dump, at, "it has no CRC of its own and its section's does not match", err);
    IKET_TRY(IKET_RESERVE(dump->chunks, dump->chunk_count, dump->chunk_capacity, 1, err));
    dump->chunks[dump->chunk_count++] = (iket_chunk){.at = at, .size = size};
    return 0;
}

int iket_dump_chunks(iket_dump *dump, const uint8_t *payload, size_t available, uint64_t size, int section_damaged, iket_error *err) {
    size_t at = 0, hole = SIZE_MAX;
    while (at < available) {
        size_t left = available - at;
        if (left < CHUNK_HEADER && available < size) break; // the file is cut off in this header
        uint32_t chunk = left >= CHUNK_HEADER ? valid_chunk(dump, payload + at, size - at) : 0;
        if (chunk != 0) {
            if (hole != SIZE_MAX) IKET_TRY(note_corrupt(dump, payload + hole, "its header cannot be", err));
            hole = SIZE_MAX;
            if (chunk > left) break; // the file is cut off in this chunk
            IKET_TRY(take_chunk(dump, payload + at, chunk, section_damaged, err));
            at += chunk;
        } else if (hole == SIZE_MAX && left >= 4 && iket_u32(payload + at) == 0 && dump->chunk_bytes != 0) {
            at += dump->chunk_bytes < left ? dump->chunk_bytes : left;
        } else {
            if (hole == SIZE_MAX) hole = at;
            at += 8;
        }
    }
    if (hole != SIZE_MAX) return note_corrupt(dump, payload + hole, "its header cannot be", err);
    return 0;
}
