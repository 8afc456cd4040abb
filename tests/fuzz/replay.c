// SPDX-License-Identifier: Apache-2.0
// replay.c: runs a fuzz target under plain ctest: over every file given, then over mutations of them. Deterministic: the
// same files, count and seed give the same inputs, so that a failure can be shown again.
//
//     TARGET COUNT FILE...      COUNT mutations of each file; 0: the files alone, to look at a finding
//
// IKET_FUZZ_KEEP=FILE writes every input there before it is run: after a crash, the one that did it.
// With clang the same targets make libFuzzer programs: see CMakeLists.txt (IKET_FUZZ).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static uint64_t state = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t next_random(void) { // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(0x2545F4914F6CDD1D);
}

static size_t below(size_t limit) { return limit == 0 ? 0 : (size_t)(next_random() >> 11) % limit; }

static bytes read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    bytes b = {NULL, 0};
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    b.size = (size_t)ftell(f);
    rewind(f);
    b.data = malloc(b.size + 1);
    if (b.data == NULL || fread(b.data, 1, b.size, f) != b.size) {
        perror(path);
        exit(2);
    }
    fclose(f);
    return b;
}

// Numbers that sit at the edges of what a reader checks.
static uint64_t edge(void) {
    static const uint64_t edges[] = {0, 1, 4, 7, 8, 20, 31, 32, 64, 127, 128, 255, 256, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF, UINT64_C(1) << 32,
                                     INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 7, UINT64_MAX};
    return edges[below(sizeof edges / sizeof *edges)];
}

static void mutate_once(bytes *b) {
    size_t at = below(b->size);
    uint64_t value = edge();
    static const size_t widths[] = {1, 2, 4, 8};
    size_t width = widths[below(4)];
    if (b->size < 16) return;
    switch (below(7)) {
    case 0: b->data[at] ^= (uint8_t)(1u << below(8)); break;
    case 1: b->data[at] = (uint8_t)next_random(); break;
    case 2: // a field
    case 3:
        at &= ~(width - 1);
        if (at + width <= b->size) memcpy(b->data + at, &value, width);
        break;
    case 4: b->size = at; break; // cut off
    case 5: { // bytes go
        size_t count = 1 + below(64);
        if (at + count < b->size) {
            memmove(b->data + at, b->data + at + count, b->size - at - count);
            b->size -= count;
        }
        break;
    }
    default: { // a stretch stands there twice
        size_t count = 1 + below(256), to = below(b->size);
        if (at + count < b->size && to + count < b->size) memmove(b->data + to, b->data + at, count);
        break;
    }
    }
}

static void run(bytes b) {
    uint8_t *exact = malloc(b.size > 0 ? b.size : 1); // so that a sanitizer sees a read past the end
    if (exact == NULL) exit(2);
    memcpy(exact, b.data, b.size);
    const char *keep = getenv("IKET_FUZZ_KEEP");
    FILE *kept = keep != NULL ? fopen(keep, "wb") : NULL;
    if (kept != NULL) {
        fwrite(exact, 1, b.size, kept);
        fclose(kept);
    }
    LLVMFuzzerTestOneInput(exact, b.size);
    free(exact);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s COUNT FILE...\n", argv[0]);
        return 2;
    }
    unsigned long count = strtoul(argv[1], NULL, 10);
    for (int i = 2; i < argc; i++) {
        bytes file = read_file(argv[i]), copy = {malloc(file.size + 1), 0};
        if (copy.data == NULL) return 2;
        run(file);
        for (unsigned long n = 0; n < count; n++) {
            memcpy(copy.data, file.data, file.size);
            copy.size = file.size;
            for (size_t changes = 1 + below(6); changes > 0; changes--) mutate_once(&copy);
            run(copy);
        }
        free(copy.data);
        free(file.data);
    }
    printf("%d files, %lu mutations of each\n", argc - 2, count);
    return 0;
}
