// SPDX-License-Identifier: Apache-2.0
// dump.h: the parts of the dump.bin reader; private to read_dump.c and its neighbours.
//
//     read_dump.c       header and sections        -> iket_dump (chunks, kernels, launches the host knows, losses)
//     dump_meta.c       META symbols               -> modules
//     dump_chunks.c     a WARP section             -> iket_dump.chunks, the corrupt ones counted
//     dump_streams.c    chunks                     -> which of them are one stream, and one launch
//     dump_model.c      those                      -> launches, locations, streams, segments
#ifndef IKET_DECODE_DUMP_H
#define IKET_DECODE_DUMP_H

#include <string.h>

#include "decode/model.h"

static inline uint16_t iket_u16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t iket_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t iket_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

enum { // offsets and values of a chunk header, doc/FORMAT.md section 3
    CHUNK_MAGIC_VALUE = 0x42574B49, CHUNK_HEADER = 128,
    CHUNK_MAGIC = 0, CHUNK_HEADER_BYTES = 4, CHUNK_FLAGS = 6, CHUNK_MODULE = 8, CHUNK_KERNEL = 16, CHUNK_GRID = 24,
    CHUNK_START = 32, CHUNK_END = 40, CHUNK_CTA = 48, CHUNK_GRID_DIM = 60, CHUNK_BLOCK_DIM = 72, CHUNK_WARP = 88, CHUNK_LANE = 90,
    CHUNK_SM = 92, CHUNK_SEQ = 96, CHUNK_USED = 100, CHUNK_DROPPED = 104, CHUNK_SIZE = 112, CHUNK_CRC = 116, CHUNK_REFERENCE = 120,
    CHUNK_CLOSED = 1, CHUNK_WIDE = 8, CHUNK_EVEN = 16, CHUNK_KEPT_LAST = 32,
};

typedef struct iket_chunk {
    const uint8_t *at; // its header, in the mapped input
    uint32_t size;     // header included
    uint32_t stream;   // filled by dump_streams.c
} iket_chunk;

typedef struct iket_kernel_name {
    uint64_t id;
    uint32_t name;     // index into strings
    uint32_t number;   // in the order of reading
} iket_kernel_name;

typedef struct iket_known_launch { // of LNCH
    uint64_t grid_id, kernel_id, host_start, host_end;
    uint32_t grid_dim[3], block_dim[3];
    uint32_t graph_key; // index into strings, IKET_UNKNOWN: none
    uint32_t number;    // in the file
    uint8_t used;
} iket_known_launch;

typedef struct iket_dump {
    iket_trace *trace;
    const uint8_t *data;
    size_t size;
    uint32_t chunk_bytes; // 0: the file header's is not usable
    iket_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    iket_kernel_name *kernels; // those of meta.json first; sorted by id before iket_dump_streams, the first of an id stands
    size_t kernel_count, kernel_capacity;
    iket_known_launch *known;  // sorted by grid before iket_dump_streams, in the order of the file within one
    size_t known_count, known_capacity;
    uint64_t lost_events;      // of LOSS
    uint64_t done_dropped;     // of DONE
    int have_meta;             // a meta.json replaces the META sections
} iket_dump;

// One module of a META section; returns 1 when an inner length leads outside (what was read stands), -1 on an error.
int iket_dump_meta(iket_dump *dump, const uint8_t *payload, size_t size, iket_error *err);

// The chunks of a WARP section's `available` bytes (less than `size` where the file is cut off there).
int iket_dump_chunks(iket_dump *dump, const uint8_t *payload, size_t available, uint64_t size, int section_damaged, iket_error *err);

// Fills launches, locations, streams and segments from the chunks, which are freed.
int iket_dump_streams(iket_dump *dump, iket_error *err);

// The name of a kernel, `kernel_0x…` where it has none. IKET_UNKNOWN: out of memory.
uint32_t iket_dump_kernel_name(iket_dump *dump, uint64_t kernel_id, iket_error *err);

#endif
