// SPDX-License-Identifier: Apache-2.0
// open.c: tells an input apart by its content and hands it to its reader.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decode/model.h"

#define STANDARD_INPUT "standard input"

typedef enum kind { KIND_DUMP, KIND_COLLECTOR_JSON, KIND_SCHEMA, KIND_JSON, KIND_PERFETTO, KIND_UNKNOWN } kind;

// Whether `text` holds "KEY" followed by a colon.
static int has_key(const char *text, size_t size, const char *key) {
    size_t length = strlen(key);
    for (const char *p = text; size - (size_t)(p - text) > length;) {
        p = memmem(p, size - (size_t)(p - text), key, length);
        if (p == NULL) return 0;
        p += length;
        const char *q = p;
        while (q < text + size && isspace((unsigned char)*q)) q++;
        if (q < text + size && *q == ':') return 1;
    }
    return 0;
}

// Whether a file begins as a Perfetto trace: several packets (field 1, a length, so many bytes), one behind the other up to its
// end or that of the head. The collector's raw buffers have no magic and may begin with such a byte, but not with four in their places.
static int is_perfetto(const char *head, size_t size) {
    size_t packets = 0, at = 0;
    while (at < size && head[at] == 0x0A) {
        size_t length = 0;
        unsigned shift = 0, byte = 128;
        for (at++; at < size && byte >= 128 && shift < 28; shift += 7) {
            byte = (unsigned char)head[at++];
            length |= (size_t)(byte & 127) << shift;
        }
        if (byte >= 128 || length > size - at) return packets >= 4 && size == IKET_HEAD_BYTES;
        packets++;
        at += length;
    }
    return at == size && packets >= 2;
}

static kind kind_of(const char *head, size_t size) {
    if (size >= 8 && memcmp(head, "IKETDUMP", 8) == 0) return KIND_DUMP;
    size_t at = size >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < size && isspace((unsigned char)head[at])) at++;
    if (at == size || head[at] != '{') return is_perfetto(head, size) ? KIND_PERFETTO : KIND_UNKNOWN;
    if (has_key(head, size, "\"decodeContexts\"")) return KIND_COLLECTOR_JSON;
    if (has_key(head, size, "\"__iket_meta_info\"")) return KIND_SCHEMA;
    return KIND_JSON;
}

// The number behind "pid_0x" in the last part of a path that has one: iket_pid_0x1092.trace.json, run/pid_0x1092/iket.data.bin.
static uint64_t pid_of_path(const char *path) {
    uint64_t pid = 0;
    for (const char *p = strstr(path, "pid_0x"); p != NULL; p = strstr(p + 1, "pid_0x")) pid = strtoull(p + 6, NULL, 16);
    return pid;
}

// The file `name` in the folder of `path`, when it is there. The caller frees it.
static char *beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *other = malloc(folder + strlen(name) + 1);
    if (other == NULL) return NULL;
    memcpy(other, path, folder);
    memcpy(other + folder, name, strlen(name) + 1);
    if (access(other, F_OK) == 0) return other;
    free(other);
    return NULL;
}

static int open_dump(iket_trace **trace, const char *path, const iket_open_options *o, const void *head, size_t size, iket_error *err) {
    *trace = iket_model_new(path, IKET_SOURCE_DUMP, err);
    if (*trace == NULL) return -1;
    (*trace)->backing->pool = o->pool;
    iket_input *input = &(*trace)->backing->input;
    if (head != NULL) {
        IKET_TRY(iket_input_read_rest(input, head, size, STDIN_FILENO, path, err));
    } else {
        IKET_TRY(iket_input_open(input, path, err));
    }
    return iket_read_dump(*trace, o->meta, err);
}

static int open_collector(iket_trace **trace, const char *path, const iket_open_options *o, const char *json_path, const char *bin_path, iket_error *err) {
    *trace = iket_model_new(path, IKET_SOURCE_COLLECTOR, err);
    if (*trace == NULL) return -1;
    (*trace)->backing->pool = o->pool;
    return iket_read_collector(*trace, json_path, bin_path, err);
}

static int open_json(iket_trace **trace, const char *path, const iket_open_options *o, const void *head, size_t size, iket_error *err) {
    *trace = iket_model_new(path, IKET_SOURCE_JSON, err);
    if (*trace == NULL) return -1;
    (*trace)->backing->pool = o->pool;
    return iket_read_json(*trace, head, size, head != NULL ? STDIN_FILENO : -1, err);
}

// Bytes that are no dump and no JSON: the collector's raw buffers, when there is a schema of the collector for them.
static int open_raw(iket_trace **trace, const char *path, const iket_open_options *o, iket_error *err) {
    char head[IKET_HEAD_BYTES];
    char *found = o->meta == NULL ? beside(path, "iket.data.json") : NULL;
    const char *json = o->meta != NULL ? o->meta : found;
    if (json == NULL) return iket_fail(err, "%s: byte 0x0: is not an IKET dump, nor a trace.json (raw buffers of NVIDIA's collector need --meta iket.data.json)", path);
    int got = iket_input_peek(json, head, sizeof head, err), result = -1;
    if (got >= 0 && kind_of(head, (size_t)got) == KIND_COLLECTOR_JSON) {
        result = open_collector(trace, path, o, json, path, err);
    } else if (got >= 0) {
        result = iket_fail(err, "%s: byte 0x0: is not an IKET dump (and %s is not an iket.data.json, which the raw buffers of NVIDIA's collector need)", path, json);
    }
    free(found);
    return result;
}

static int read_head(const char *name, char *head, size_t size, iket_error *err) {
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(STDIN_FILENO, head + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return iket_fail(err, "%s: cannot be read: %s", name, strerror(errno));
        if (got == 0) break;
        used += (size_t)got;
    }
    return (int)used;
}

int iket_open_peek(const char *path, char head[IKET_HEAD_BYTES], iket_error *err) {
    int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? STANDARD_INPUT : path;
    int got = is_stdin ? read_head(name, head, IKET_HEAD_BYTES, err) : iket_input_peek(path, head, IKET_HEAD_BYTES, err);
    if (got == 0) return iket_fail(err, "%s: is empty", name);
    return got;
}

// The head of a file is of what gzip holds already, that of standard input is not.
static kind kind_of_input(int is_stdin, const char *head, int got) {
    char unpacked[IKET_HEAD_BYTES];
    if (!is_stdin || !iket_input_is_gzip(head, (size_t)got)) return kind_of(head, (size_t)got);
    size_t size = iket_input_peek_gzip(head, (size_t)got, unpacked, sizeof unpacked);
    kind k = kind_of(unpacked, size);
    return k == KIND_DUMP || k == KIND_PERFETTO ? k : KIND_JSON; // damaged gzip is left to the reader of a trace.json to tell of
}

int iket_open_is_json(const char *path, const char *head, int got) { return kind_of_input(strcmp(path, "-") == 0, head, got) == KIND_JSON; }

static int open_kind(iket_trace **trace, const char *path, const iket_open_options *o, const char *head, int got, iket_error *err) {
    int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? STANDARD_INPUT : path;
    const void *begun = is_stdin ? head : NULL;
    switch (kind_of_input(is_stdin, head, got)) {
    case KIND_DUMP: return open_dump(trace, name, o, begun, (size_t)got, err);
    case KIND_COLLECTOR_JSON:
        if (is_stdin) return iket_fail(err, "%s: an iket.data.json is read from its folder, where its data lies", name);
        return open_collector(trace, name, o, name, NULL, err);
    case KIND_SCHEMA: return iket_fail(err, "%s: is a schema (meta.json), not a trace (give the dump, and this as --meta)", name);
    case KIND_JSON: return open_json(trace, name, o, begun, (size_t)got, err);
    case KIND_PERFETTO:
        if (o->meta != NULL) break;
        return iket_fail(err, "%s: is a Perfetto trace, which is never read (give what it was made from: the dump, the collector's data or the trace.json)", name);
    default: break;
    }
    if (is_stdin) return iket_fail(err, "%s: byte 0x0: is not an IKET dump, nor a trace.json", name);
    return open_raw(trace, name, o, err);
}

int iket_open_begun(iket_trace **trace, const char *path, const iket_open_options *options, const char *head, int got, iket_error *err) {
    static const iket_open_options by_default = {.meta = NULL};
    *trace = NULL;
    if (options == NULL) options = &by_default;
    if (open_kind(trace, path, options, head, got, err) != 0) {
        iket_trace_free(*trace);
        *trace = NULL;
        return -1;
    }
    (*trace)->backing->pool = NULL; // borrowed until here
    if ((*trace)->pid == 0) (*trace)->pid = pid_of_path(path);
    if ((*trace)->pid == 0) (*trace)->pid = options->pid;
    return 0;
}

int iket_trace_open(iket_trace **trace, const char *path, const iket_open_options *options, iket_error *err) {
    *trace = NULL;
    char *head = malloc(IKET_HEAD_BYTES);
    if (head == NULL) return iket_fail(err, "%s: out of memory", path);
    int got = iket_open_peek(path, head, err);
    int result = got < 0 ? -1 : iket_open_begun(trace, path, options, head, got, err);
    free(head);
    return result;
}
