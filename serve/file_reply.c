// SPDX-License-Identifier: Apache-2.0
#include "serve/file_reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "serve/clients.h"
#include "serve/ranges.h"
#include "serve/validators.h"

// A small file is copied into the answer, which then leaves with its header in one system call.
enum { COPIED_BYTES = 16 * 1024, PART_HEADER_BYTES = 256, BLOCK_BYTES = 64 * 1024 };

const char *iket_content_type(const char *name) {
    static const struct {
        const char *end, *type;
    } types[] = {
        {".gz", "application/gzip"}, // by its own name it is the compressed file that is asked for: no Content-Encoding
        {".pftrace", "application/x-protobuf"},
        {".perfetto-trace", "application/x-protobuf"},
        {".json", "application/json"},
        {".jsonl", "application/jsonl"},
        {".html", "text/html; charset=utf-8"},
        {".csv", "text/csv; charset=utf-8"},
        {".txt", "text/plain; charset=utf-8"},
        {".log", "text/plain; charset=utf-8"},
        {".md", "text/plain; charset=utf-8"},
        {".png", "image/png"},
        {".svg", "image/svg+xml"},
        // For a copy of the Perfetto UI; on the traces' own origin the policy lets no file run.
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".wasm", "application/wasm"},
        {".woff2", "font/woff2"},
        {".ico", "image/x-icon"},
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t end = strlen(types[i].end);
        if (length >= end && strcmp(name + length - end, types[i].end) == 0) return types[i].type;
    }
    return "application/octet-stream";
}

// Only what a browser shows as a document of its own can run anything.
static const char *policy_of(const char *type) {
    return strncmp(type, "text/html", 9) == 0 || strncmp(type, "image/svg", 9) == 0 ? IKET_POLICY_INERT : NULL;
}

static iket_conditions read_conditions(const iket_request *request) {
    return (iket_conditions){
        .if_match = iket_request_field(request, "If-Match"),
        .if_none_match = iket_request_field(request, "If-None-Match"),
        .if_modified_since = iket_request_field(request, "If-Modified-Since"),
        .if_unmodified_since = iket_request_field(request, "If-Unmodified-Since"),
        .if_range = iket_request_field(request, "If-Range"),
    };
}

static void add_validators(struct MHD_Response *response, const iket_validators *validators) {
    MHD_add_response_header(response, "ETag", validators->etag);
    MHD_add_response_header(response, "Last-Modified", validators->modified);
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "Accept-Ranges", "bytes");
}

// Bytes first..first+size of the file; takes fd.
static struct MHD_Response *of_span(int fd, uint64_t first, uint64_t size) {
    if (size > COPIED_BYTES) {
        struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(size, fd, first);
        if (response == NULL) close(fd);
        return response;
    }
    char *copy = malloc(size > 0 ? size : 1);
    size_t have = 0;
    while (copy != NULL && have < size) {
        ssize_t n = pread(fd, copy + have, size - have, (off_t)(first + have));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) { // it was cut meanwhile
            free(copy);
            copy = NULL;
            break;
        }
        have += (size_t)n;
    }
    close(fd);
    if (copy == NULL) return NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)size, copy, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) free(copy);
    return response;
}

// ---- several ranges --------------------------------------------------------------------------------------------------
//
//     header 0 | bytes of span 0 | header 1 | bytes of span 1 | … | closing boundary
//
// Every piece is a part; its bytes are read when they are due.

typedef struct {
    char header[PART_HEADER_BYTES];
    uint64_t header_size;
    uint64_t first, size; // in the file; nothing for the closing boundary
} part;

typedef struct {
    int fd;
    size_t count;
    part parts[IKET_RANGES_MAX + 1];
} multipart;

static void free_multipart(void *context) {
    multipart *m = context;
    close(m->fd);
    free(m);
}

static ssize_t read_multipart(void *context, uint64_t position, char *buffer, size_t room) {
    const multipart *m = context;
    for (size_t i = 0; i < m->count; i++) {
        const part *p = &m->parts[i];
        if (position < p->header_size) {
            uint64_t left = p->header_size - position, n = left < room ? left : room;
            memcpy(buffer, p->header + position, n);
            return (ssize_t)n;
        }
        position -= p->header_size;
        if (position < p->size) {
            uint64_t left = p->size - position;
            ssize_t n = pread(m->fd, buffer, left < room ? left : room, (off_t)(p->first + position));
            return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
        }
        position -= p->size;
    }
    return MHD_CONTENT_READER_END_OF_STREAM;
}

// Takes fd.
static struct MHD_Response *of_ranges(int fd, const iket_ranges *ranges, uint64_t size, const char *type) {
    multipart *m = calloc(1, sizeof *m);
    uint64_t mark[2] = {0};
    if (m == NULL || getrandom(mark, sizeof mark, 0) != (ssize_t)sizeof mark) {
        free(m);
        close(fd);
        return NULL;
    }
    m->fd = fd;
    uint64_t total = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        part *p = &m->parts[m->count++];
        p->first = ranges->spans[i].first;
        p->size = ranges->spans[i].last - p->first + 1;
        p->header_size = (uint64_t)snprintf(p->header, sizeof p->header,
            "%s--%016" PRIx64 "%016" PRIx64 "\r\nContent-Type: %s\r\nContent-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
            i > 0 ? "\r\n" : "", mark[0], mark[1], type, p->first, ranges->spans[i].last, size);
        total += p->header_size + p->size;
    }
    part *end = &m->parts[m->count++];
    end->header_size = (uint64_t)snprintf(end->header, sizeof end->header, "\r\n--%016" PRIx64 "%016" PRIx64 "--\r\n", mark[0], mark[1]);
    total += end->header_size;
    struct MHD_Response *response = MHD_create_response_from_callback(total, BLOCK_BYTES, read_multipart, m, free_multipart);
    if (response == NULL) {
        free_multipart(m);
        return NULL;
    }
    char content_type[96];
    snprintf(content_type, sizeof content_type, "multipart/byteranges; boundary=%016" PRIx64 "%016" PRIx64, mark[0], mark[1]);
    MHD_add_response_header(response, "Content-Type", content_type);
    return response;
}

static int is_plain(const iket_conditions *conditions, const char *range) {
    return conditions->if_match == NULL && conditions->if_none_match == NULL && conditions->if_modified_since == NULL && conditions->if_unmodified_since == NULL &&
           conditions->if_range == NULL && range == NULL;
}

// A whole small file, asked for without any condition: what most requests are. 1: *result is the answer; fd was taken.
static int reply_plainly(const iket_request *request, int fd, const struct stat *info, const char *type, iket_kept *kept, enum MHD_Result *result) {
    if (kept == NULL || info->st_size > COPIED_BYTES || request->allowed_origin != NULL || request->closing) return 0;
    if (iket_kept_queue(kept, request->connection, info, type, result)) {
        close(fd);
        return 1;
    }
    iket_validators validators;
    iket_validators_of(info, &validators);
    struct MHD_Response *response = of_span(fd, 0, (uint64_t)info->st_size);
    *result = MHD_NO;
    if (response == NULL) return 1;
    MHD_add_response_header(response, "Content-Type", type);
    add_validators(response, &validators);
    iket_reply_add_common(request, response, policy_of(type));
    *result = MHD_queue_response(request->connection, MHD_HTTP_OK, response);
    iket_kept_put(kept, info, type, response);
    return 1;
}

static enum MHD_Result reply_not_modified(const iket_request *request, const iket_validators *validators) {
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (response != NULL) add_validators(response, validators);
    return iket_reply(request, MHD_HTTP_NOT_MODIFIED, response, NULL);
}

static enum MHD_Result reply_unsatisfiable(const iket_request *request, uint64_t size) {
    char content_range[64];
    snprintf(content_range, sizeof content_range, "bytes */%" PRIu64, size);
    return iket_reply_error(request, MHD_HTTP_RANGE_NOT_SATISFIABLE, "Content-Range", content_range, "The file has %" PRIu64 " bytes: the range asked for lies past its end.", size);
}

// The file or its ranges (NULL: the whole); takes fd.
static struct MHD_Response *of_file(const iket_request *request, int fd, const struct stat *info, const iket_ranges *ranges, const char *type) {
    uint64_t size = (uint64_t)info->st_size;
    uint64_t first = ranges != NULL ? ranges->spans[0].first : 0, end = ranges != NULL ? ranges->spans[0].last + 1 : size;
    if (ranges != NULL && ranges->count > 1) return of_ranges(fd, ranges, size, type);
    if (end - first > COPIED_BYTES) iket_clients_watch_file(request->clients, request->client, fd, info, end);
    struct MHD_Response *response = of_span(fd, first, end - first);
    if (response == NULL) return NULL;
    MHD_add_response_header(response, "Content-Type", type);
    if (ranges == NULL) return response;
    char content_range[96];
    snprintf(content_range, sizeof content_range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first, end - 1, size);
    MHD_add_response_header(response, "Content-Range", content_range);
    return response;
}

enum MHD_Result iket_reply_file(const iket_request *request, int fd, const struct stat *info, const char *name, const char *policy, iket_kept *kept) {
    const char *type = iket_content_type(name), *range = iket_request_field(request, "Range");
    iket_conditions conditions = read_conditions(request);
    enum MHD_Result result;
    if (policy == NULL && is_plain(&conditions, range) && reply_plainly(request, fd, info, type, kept, &result)) return result;
    iket_validators validators;
    iket_validators_of(info, &validators);
    iket_condition_verdict verdict = iket_conditions_judge(&conditions, &validators);
    uint64_t size = (uint64_t)info->st_size;
    iket_ranges ranges;
    iket_ranges_verdict part_of = IKET_RANGES_NONE;
    if (iket_conditions_allow_range(&conditions, &validators)) part_of = iket_ranges_parse(range, size, &ranges);
    if (verdict != IKET_CONDITION_SEND || part_of == IKET_RANGES_UNSATISFIABLE) {
        close(fd);
        if (verdict == IKET_CONDITION_NOT_MODIFIED) return reply_not_modified(request, &validators);
        if (verdict == IKET_CONDITION_SEND) return reply_unsatisfiable(request, size);
        return iket_reply_error(request, MHD_HTTP_PRECONDITION_FAILED, NULL, NULL, "The file is not the one that the request has a part of any more: load it anew.");
    }
    struct MHD_Response *response = of_file(request, fd, info, part_of == IKET_RANGES_SOME ? &ranges : NULL, type);
    if (response == NULL) return MHD_NO;
    add_validators(response, &validators);
    return iket_reply(request, part_of == IKET_RANGES_SOME ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response, policy != NULL ? policy : policy_of(type));
}
