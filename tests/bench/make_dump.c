// SPDX-License-Identifier: Apache-2.0
// make_dump.c: writes a dump.bin of any size, or the same records as the collector would leave them, for benchmarks.
//
//     make_dump OUT.bin  --bytes N | --warps W --records R            a dump of 4096-byte chunks
//     make_dump OUT_DIR --collector --bytes N | --warps W --records R  iket.data.bin and iket.data.json
//
// A regular GEMM-like pattern: per tile a range with the tile's number, a wait, a product and two markers, one with a
// payload: 8 records, 40 bytes. 8 warps a CTA, 4 launches one after another, 132 SMs; times in steps of 32 ns.
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { CHUNK = 4096, HEADER = 128, ROOM = CHUNK - HEADER, WARPS_PER_CTA = 8, LAUNCHES = 4, SMS = 132, RECORDS_PER_TILE = 8, TILE_BYTES = 40 };
enum { TILE = 1, WAIT, PRODUCT, LOADED, STORED, POP = 31 };

static const uint64_t epoch = UINT64_C(1796096489335662304) & ~UINT64_C(31);

typedef struct options {
    const char *out;
    int collector;
    uint64_t warps, records; // in all; records of one warp
} options;

typedef struct warp {
    uint64_t now;
    uint32_t left, step, tile;
} warp;

static FILE *out;
static uint64_t written;

static void fail(const char *what) {
    fprintf(stderr, "make_dump: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void put(const void *data, size_t size) {
    if (fwrite(data, 1, size, out) != size) fail("write");
    written += size;
}

static void put_u32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }
static void put_u64(uint8_t *at, uint64_t value) { memcpy(at, &value, sizeof value); }

// The next record of a warp at `at`; returns its size. Gaps differ by warp and tile but are the same in every run.
static size_t next_record(warp *w, uint8_t *at) {
    static const uint8_t ids[RECORDS_PER_TILE] = {TILE, WAIT, POP, PRODUCT, LOADED, POP, STORED, POP};
    uint32_t step = w->step++ % RECORDS_PER_TILE, id = ids[step];
    w->now += 32 + 32 * ((w->tile * 7 + step * 3) % 5);
    put_u32(at, (uint32_t)w->now | id);
    size_t size = 4;
    if (id == TILE || id == STORED) {
        put_u32(at + 4, w->tile);
        size = 8;
    }
    if (step == RECORDS_PER_TILE - 1) w->tile++;
    w->left--;
    return size;
}

static size_t size_of_next(const warp *w) {
    uint32_t step = w->step % RECORDS_PER_TILE;
    return step == 0 || step == 6 ? 8 : 4;
}

// Where the n-th warp of all stands: its launch, CTA, place in it, SM, and when it starts.
typedef struct place {
    uint32_t launch, cta, warp, sm;
    uint64_t start;
} place;

static place place_of(const options *o, uint64_t n) {
    uint64_t per_launch = (o->warps + LAUNCHES - 1) / LAUNCHES;
    place p = {.launch = (uint32_t)(n / per_launch), .cta = (uint32_t)(n % per_launch / WARPS_PER_CTA), .warp = (uint32_t)(n % WARPS_PER_CTA)};
    p.sm = p.cta % SMS;
    uint64_t wave = p.cta / SMS, length = o->records * 100; // CTAs of one SM run one after another
    p.start = (epoch + p.launch * ((per_launch / WARPS_PER_CTA / SMS + 1) * length + 100000) + wave * length + p.warp * 64 + p.cta % SMS * 32) & ~UINT64_C(31);
    return p;
}

static uint32_t ctas_of_launch(const options *o, uint32_t launch) {
    uint64_t per_launch = (o->warps + LAUNCHES - 1) / LAUNCHES, first = launch * per_launch;
    uint64_t warps = first >= o->warps ? 0 : o->warps - first < per_launch ? o->warps - first : per_launch;
    return (uint32_t)((warps + WARPS_PER_CTA - 1) / WARPS_PER_CTA);
}

// ---- dump.bin -------------------------------------------------------------------------------------------------------

static size_t add_symbol(uint8_t *at, const char *name, const uint8_t *data, uint32_t size) {
    uint32_t name_size = (uint32_t)strlen(name), whole = 8 + name_size + size;
    put_u32(at, name_size);
    put_u32(at + 4, size);
    memcpy(at + 8, name, name_size);
    memcpy(at + 8 + name_size, data, size);
    return (whole + 3) / 4 * 4;
}

static size_t add_event(uint8_t *at, uint32_t id, uint32_t pos, uint32_t payload, const char *name) {
    uint8_t data[60] = {0};
    char symbol[80];
    uint32_t fields[7] = {sizeof data, id, 3, payload, pos, pos == 1 ? 1000 + id : 0, (uint32_t)strlen(name)};
    memcpy(data, fields, sizeof fields);
    memcpy(data + sizeof fields, name, strlen(name));
    snprintf(symbol, sizeof symbol, "__iket_evt_decl_%s_%u_attrs", name, id);
    return add_symbol(at, symbol, data, sizeof data);
}

static void put_section(const char *type, const uint8_t *payload, uint64_t size, uint32_t items, int with_crc) {
    uint8_t head[24] = {0}, zero[8] = {0};
    memcpy(head, type, 4);
    put_u32(head + 4, with_crc ? (uint32_t)crc32(0, payload, (uInt)size) : 0);
    put_u64(head + 8, size);
    put_u32(head + 16, items);
    put(head, sizeof head);
    if (payload != NULL) {
        put(payload, size);
        put(zero, (8 - size % 8) % 8);
    }
}

static void put_meta(void) {
    uint8_t payload[1024] = {0}, info[48] = {0}, *at = payload + 16;
    uint32_t fields[9] = {sizeof info, 0, 5, 31, 32, 60, 0xBABEF19D, 0, 3};
    memcpy(info, fields, sizeof fields);
    at += add_symbol(at, "__iket_meta_info", info, sizeof info);
    at += add_event(at, TILE, 1, 5, "tile");
    at += add_event(at, WAIT, 1, 0, "wait");
    at += add_event(at, PRODUCT, 1, 0, "product");
    at += add_event(at, LOADED, 0, 0, "loaded");
    at += add_event(at, STORED, 0, 6, "stored");
    put_u32(payload + 8, (uint32_t)(at - payload - 16));
    put_u32(payload + 12, 6);
    put_section("META", payload, (uint64_t)(at - payload + 7) / 8 * 8, 1, 1);
}

static void put_chunk(const options *o, const place *p, warp *w, uint32_t seq) {
    uint8_t chunk[CHUNK] = {0};
    size_t used = 0;
    uint32_t dims[6] = {ctas_of_launch(o, p->launch), 1, 1, WARPS_PER_CTA * 32, 1, 1};
    put_u32(chunk, 0x42574B49);
    put_u64(chunk + 24, 100 + p->launch);
    put_u64(chunk + 16, 0x1000);
    put_u64(chunk + 32, w->now);
    while (w->left > 0 && used + size_of_next(w) <= ROOM) used += next_record(w, chunk + HEADER + used);
    put_u64(chunk + 40, w->now);
    put_u32(chunk + 48, p->cta);
    memcpy(chunk + 60, dims, sizeof dims);
    uint16_t halves[2] = {HEADER, (uint16_t)(w->left == 0 ? 3 : 1)}, place_in_cta[2] = {(uint16_t)p->warp, 0};
    memcpy(chunk + 4, halves, sizeof halves);
    memcpy(chunk + 88, place_in_cta, sizeof place_in_cta);
    put_u32(chunk + 92, p->sm);
    put_u32(chunk + 96, seq);
    put_u32(chunk + 100, (uint32_t)used);
    put_u32(chunk + 116, (uint32_t)crc32(0, chunk + HEADER, (uInt)used));
    put(chunk, sizeof chunk);
}

static void write_dump(const options *o) {
    uint8_t head[64] = "IKETDUMP", kernel[32] = {0}, done[16] = {0};
    uint32_t fields[2] = {1, sizeof head};
    memcpy(head + 8, fields, sizeof fields);
    put_u64(head + 16, epoch);
    put_u32(head + 24, 4242);
    put_u64(head + 32, 1);
    put_u32(head + 40, CHUNK);
    put(head, sizeof head);
    put_meta();
    put_u64(kernel, 0x1000);
    put_u32(kernel + 16, 4);
    memcpy(kernel + 24, "gemm", 4);
    put_section("KERN", kernel, sizeof kernel, 1, 1);
    uint64_t chunks = 0, first = written;
    put_section("WARP", NULL, 0, 0, 0);
    for (uint64_t n = 0; n < o->warps; n++) {
        place p = place_of(o, n);
        warp w = {.now = p.start, .left = (uint32_t)o->records};
        for (uint32_t seq = 0; w.left > 0; seq++, chunks++) put_chunk(o, &p, &w, seq);
    }
    uint64_t end = written;
    put_u64(done, chunks);
    put_section("DONE", done, sizeof done, 1, 1);
    put_u64(head, end - first - 24); // the size of the WARP section is known now
    if (fseek(out, (long)first + 8, SEEK_SET) != 0) fail("seek");
    put(head, 8);
}

// ---- the collector's files ------------------------------------------------------------------------------------------

static uint64_t record_room(const options *o) { return (o->records + 7) / 8 * 8; } // maxTsCntPerWarp

static void write_collector_json(const options *o, FILE *json) {
    static const char *const names[] = {"tile", "wait", "product", "loaded", "stored"};
    static const int positions[] = {1, 1, 1, 0, 0}, payloads[] = {5, 0, 0, 0, 6};
    fputs("{\"decodeContexts\":{\"gemm\":{\"architecture\":90,\"metaInfo\":{\"versionMajor\":0,\"versionMinor\":5,\"maxEventId\":31,\"maxEventNameSize\":32,\"eventAttributeSize\":60,"
          "\"magicNumber\":3133075869,\"legacyIketCubin\":0,\"supportedFeatures\":3},\"events\":[", json);
    for (int i = 0; i < 5; i++) {
        fprintf(json, "{\"eventId\":%d,\"eventName\":\"%s\",\"eventPosition\":%d,\"instrumentMethod\":3,\"payloadType\":%d,\"rangeId\":%d},", i + 1, names[i], positions[i], payloads[i],
                positions[i] == 1 ? 1001 + i : 0);
    }
    fputs("{\"eventId\":0,\"eventName\":\"reserved_event_id_0\",\"eventPosition\":0,\"instrumentMethod\":3,\"payloadType\":0,\"rangeId\":0},"
          "{\"eventId\":31,\"eventName\":\"pop_range\",\"eventPosition\":2,\"instrumentMethod\":3,\"payloadType\":0,\"rangeId\":0}],\"ranges\":[", json);
    for (int i = 0; i < 3; i++) {
        fprintf(json, "%s{\"rangeId\":%d,\"rangeName\":\"%s\",\"rangeType\":2,\"rangeScope\":0,\"eventPairMode\":0,\"color\":4294967295,\"markerCount\":0}", i > 0 ? "," : "", 1001 + i, names[i]);
    }
    fputs("],\"kernels\":[{\"kernelName\":\"gemm\",\"maxPayloadSize\":4,\"instrumentPoints\":[]}]}},\"graphLaunches\":{},\"launches\":[", json);
    uint64_t bytes = 16 + record_room(o) * 8, offset = 0;
    for (uint32_t l = 0; l < LAUNCHES; l++) {
        uint64_t size = (uint64_t)ctas_of_launch(o, l) * WARPS_PER_CTA * bytes;
        if (size == 0) continue;
        fprintf(json, "%s{\"blockDimX\":%d,\"blockDimY\":1,\"blockDimZ\":1,\"bufferOffset\":%" PRIu64 ",\"bufferSize\":%" PRIu64 ",\"canDecode\":true,\"clusterDim\":{\"x\":0,\"y\":0,\"z\":0},"
                "\"contextId\":1,\"dataRef\":{\"filename\":\"iket.data.bin\",\"offset\":%" PRIu64 ",\"size\":%" PRIu64 "},\"decodeContextId\":\"gemm\",\"enabledCluster\":{\"x\":1,\"y\":1,\"z\":1},"
                "\"gridDimX\":%u,\"gridDimY\":1,\"gridDimZ\":1,\"gridId\":%u,\"hasPreferredCluster\":0,\"kernelName\":\"gemm\",\"maxTsCntPerWarp\":%" PRIu64 ","
                "\"patchOptions\":{\"enabledCluster\":{\"x\":0,\"y\":0,\"z\":0},\"entryExitTrampoline\":0,\"maxTsCntPerWarp\":%" PRIu64 ",\"patchMode\":0,\"timerSource\":0},"
                "\"preferredClusterDim\":{\"x\":0,\"y\":0,\"z\":0},\"singleClusterActive\":0,\"warpBufferSize\":%" PRIu64 "}",
                offset > 0 ? "," : "", WARPS_PER_CTA * 32, offset, size, offset, size, ctas_of_launch(o, l), l + 1, record_room(o), record_room(o), bytes);
        offset += size;
    }
    fputs("],\"meta\":{\"version\":1},\"topology\":[{\"contextId\":1,\"sms\":[", json);
    for (int sm = 0; sm < SMS; sm++) fprintf(json, "%s{\"gpcId\":%d,\"smId\":%d,\"tpcId\":%d}", sm > 0 ? "," : "", sm / 18, sm, sm / 2 % 9);
    fputs("]}]}\n", json);
}

static void write_collector(const options *o) {
    uint64_t bytes = 16 + record_room(o) * 8, n = 0;
    uint8_t *buffer = malloc(bytes);
    if (buffer == NULL) fail("memory");
    for (uint32_t l = 0; l < LAUNCHES; l++) {
        for (uint64_t i = 0; i < (uint64_t)ctas_of_launch(o, l) * WARPS_PER_CTA; i++, n++) {
            memset(buffer, 0, bytes);
            if (n < o->warps) {
                place p = place_of(o, n);
                warp w = {.now = p.start, .left = (uint32_t)o->records};
                size_t used = 16;
                while (w.left > 0) used += next_record(&w, buffer + used);
                put_u32(buffer + used, (uint32_t)(w.now + 64));
                put_u32(buffer, (uint32_t)used + 4);
                put_u32(buffer + 4, p.sm << 20);
                put_u64(buffer + 8, p.start);
            }
            put(buffer, bytes);
        }
    }
    free(buffer);
}

static uint64_t number(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*end == 'K') value <<= 10;
    if (*end == 'M') value <<= 20;
    if (*end == 'G') value <<= 30;
    return value;
}

int main(int argc, char **argv) {
    options o = {.warps = 0};
    uint64_t bytes = 64u << 20;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--collector") == 0) {
            o.collector = 1;
        } else if (strcmp(argv[i], "--bytes") == 0 && i + 1 < argc) {
            bytes = number(argv[++i]);
        } else if (strcmp(argv[i], "--warps") == 0 && i + 1 < argc) {
            o.warps = number(argv[++i]);
        } else if (strcmp(argv[i], "--records") == 0 && i + 1 < argc) {
            o.records = number(argv[++i]);
        } else {
            o.out = argv[i];
        }
    }
    if (o.out == NULL) {
        fputs("usage: make_dump OUT [--collector] [--bytes N[K|M|G] | --warps W --records R]\n", stderr);
        return 2;
    }
    if (o.warps == 0) { // 8 persistent warps an SM and launch
        o.warps = SMS * WARPS_PER_CTA * LAUNCHES;
        uint64_t per_warp = bytes / o.warps;
        if (per_warp < CHUNK) o.warps = bytes / CHUNK > 0 ? bytes / CHUNK : 1;
        o.records = per_warp / CHUNK > 0 ? per_warp * ROOM / CHUNK / TILE_BYTES * RECORDS_PER_TILE : ROOM / TILE_BYTES * RECORDS_PER_TILE;
    }
    char path[4096];
    snprintf(path, sizeof path, o.collector ? "%s/iket.data.bin" : "%s", o.out);
    if (o.collector && mkdir(o.out, 0777) != 0 && errno != EEXIST) fail(o.out);
    out = fopen(path, "wb");
    if (out == NULL) fail(path);
    if (o.collector) {
        write_collector(&o);
    } else {
        write_dump(&o);
    }
    if (fclose(out) != 0) fail(path);
    if (o.collector) {
        snprintf(path, sizeof path, "%s/iket.data.json", o.out);
        FILE *json = fopen(path, "w");
        if (json == NULL) fail(path);
        write_collector_json(&o, json);
        if (fclose(json) != 0) fail(path);
    }
    printf("%" PRIu64 " records of %" PRIu64 " warps\n", o.records * o.warps, o.warps);
    return 0;
}
