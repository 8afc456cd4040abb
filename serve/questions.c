// SPDX-License-Identifier: Apache-2.0
#include "serve/questions.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/text.h"
#include "common/utf8.h"
#include "levels/answer.h"
#include "serve/answer_body.h"
#include "serve/jobs.h"
#include "serve/opened.h"
#include "serve/urlpath.h"
#include "serve/validators.h"
#include "serve/view.h"
#include "serve/work.h"
#include "serve/workers.h"

enum { ARGUMENTS_MAX = 64, PROGRESS_MOST = 4 << 20 };

struct iket_question {
    iket_worker_task task; // first: it is what the worker gets
    iket_site *site;
    struct MHD_Connection *connection; // suspended while the worker has the question; what is borrowed from it rests too
    int socket;
    const char *allowed_origin, *if_none_match; // borrowed from the connection
    int takes_gzip;
    char folder[IKET_PATH_MAX], base[IKET_PATH_MAX], what[64];
    iket_levels_argument arguments[ARGUMENTS_MAX];
    size_t argument_count;
    int is_malformed;

    // The answer, or `status` 0: the worker had no turn.
    unsigned status;
    const char *type;
    char tag[IKET_HASH_DIGITS + 1];   // of its ETag; "": none
    int is_packed;                    // of 304: what the client has
    iket_answer_body *body;           // or, of the tables:
    const iket_opened_file *file;
};

// ---- the worker's side -----------------------------------------------------------------------------------------------

// A client that went away, or the server that ends.
static int is_unwanted(void *context) {
    const iket_question *q = context;
    struct pollfd at = {.fd = q->socket, .events = POLLRDHUP};
    return iket_workers_are_ending(q->site->workers) || (poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

static int open_body(iket_question *q, iket_sink *sink, iket_error *err) {
    iket_answer_body_free(q->body);
    q->body = iket_answer_body_open(&q->site->answers, is_unwanted, q);
    if (q->body == NULL) return iket_fail(err, "out of memory");
    return iket_sink_open(sink, 0, iket_answer_body_flush, q->body, err);
}

// Ends the answer without one where there is no memory.
static void close_body(iket_question *q, iket_sink *sink, unsigned status) {
    q->status = iket_sink_close(sink, NULL) == 0 ? status : 0;
    q->type = "application/json";
}

static void write_string(iket_sink *sink, const char *text) {
    char *clean = iket_utf8_clean(text, strlen(text));
    iket_json_string(sink, clean != NULL ? clean : "");
    free(clean);
}

static void answer_error(iket_question *q, unsigned status, const char *message) {
    iket_sink sink;
    q->tag[0] = 0;
    if (open_body(q, &sink, NULL) != 0) return;
    iket_sink_text(&sink, "{\"version\":1,\"error\":");
    write_string(&sink, message);
    iket_sink_text(&sink, "}\n");
    close_body(q, &sink, status);
}

// What the process that makes the level file says of it, as it is. 0: nothing yet.
static int copy_progress(iket_sink *sink, const char *key) {
    char block[16384];
    int fd = iket_work_open_cached(key, IKET_PROGRESS_ENDING);
    size_t copied = 0;
    ssize_t n;
    if (fd < 0) return 0;
    while (copied < PROGRESS_MOST && (n = read(fd, block, sizeof block)) > 0) {
        iket_sink_write(sink, block, (size_t)n);
        copied += (size_t)n;
    }
    close(fd);
    return copied > 0;
}

// The state of a level file that is not there.
static void answer_state(iket_question *q, const char *key, iket_job_state state, const iket_levels_progress *progress, const char *error) {
    iket_sink sink;
    int is_facts = strcmp(q->what, "facts") == 0;
    if (open_body(q, &sink, NULL) != 0) return;
    if (state == IKET_JOB_PENDING && !progress->waiting && !progress->decoding && copy_progress(&sink, key)) {
        close_body(q, &sink, is_facts ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE);
        return;
    }
    static const char *const names[] = {[IKET_JOB_NONE] = "none", [IKET_JOB_PENDING] = "building", [IKET_JOB_DONE] = "waiting", [IKET_JOB_FAILED] = "failed"};
    iket_sink_printf(&sink, "{\"version\":1,\"state\":\"%s\"", state == IKET_JOB_PENDING && progress->waiting ? "waiting" : names[state]);
    if (state == IKET_JOB_PENDING && !progress->waiting) {
        iket_sink_printf(&sink, ",\"progress\":{\"phase\":\"%s\",\"bytes\":%" PRIu64 ",\"total\":0}", progress->decoding ? "decoding" : "reading", progress->written);
    }
    if (state == IKET_JOB_FAILED) {
        iket_sink_text(&sink, ",\"error\":");
        write_string(&sink, error);
    }
    iket_sink_text(&sink, "}\n");
    unsigned status = state == IKET_JOB_FAILED ? MHD_HTTP_UNPROCESSABLE_CONTENT : state == IKET_JOB_NONE ? MHD_HTTP_NOT_FOUND : MHD_HTTP_SERVICE_UNAVAILABLE;
    close_body(q, &sink, is_facts ? MHD_HTTP_OK : status);
}

static void answer_facts(iket_question *q, const iket_opened_file *file) {
    iket_sink sink;
    if (open_body(q, &sink, NULL) != 0) return;
    iket_sink_printf(&sink, "{\"version\":1,\"state\":\"ready\",\"events\":%" PRIu64 ",\"launches\":%" PRIu64 ",\"warps\":%" PRIu64 ",\"span_ns\":%" PRIu64 ",\"t0\":\"%" PRIu64 "\"}\n",
                     file->levels->event_count, file->launches, file->warps, file->levels->header->span, file->levels->header->t0);
    close_body(q, &sink, MHD_HTTP_OK);
}

static void answer_from_levels(iket_question *q, const iket_levels *levels) {
    static const unsigned statuses[] = {
        [IKET_LEVELS_OK] = MHD_HTTP_OK, [IKET_LEVELS_BAD_ARGUMENT] = MHD_HTTP_BAD_REQUEST, [IKET_LEVELS_NO_SUCH_QUESTION] = MHD_HTTP_NOT_FOUND,
        [IKET_LEVELS_TOO_MUCH] = MHD_HTTP_CONTENT_TOO_LARGE, [IKET_LEVELS_FAILED] = MHD_HTTP_INTERNAL_SERVER_ERROR,
    };
    iket_levels_question question = {.what = q->what, .arguments = q->arguments, .argument_count = q->argument_count};
    iket_sink sink;
    iket_error err = {""};
    if (open_body(q, &sink, NULL) != 0) return;
    iket_levels_status status = iket_levels_answer(levels, &question, &sink, &q->type, &err);
    if (status == IKET_LEVELS_OK && iket_sink_close(&sink, &err) == 0) {
        q->status = MHD_HTTP_OK;
        if (q->takes_gzip) iket_answer_body_pack(q->body);
        return;
    }
    if (status == IKET_LEVELS_OK) status = IKET_LEVELS_FAILED;
    iket_sink_drop(&sink);
    answer_error(q, statuses[status], err.message);
}

static void compose_tag(const iket_question *q, int is_packed, iket_validators *validators) {
    snprintf(validators->etag, sizeof validators->etag, "\"%s%s\"", q->tag, is_packed ? "-gzip" : "");
}

// The same answer comes of the same source, whichever level file it is read from. 1: the client has it already.
static int has_it_already(iket_question *q, const char *key) {
    iket_cache_hash(key, q->tag);
    for (q->is_packed = 0; q->is_packed <= q->takes_gzip; q->is_packed++) {
        iket_validators validators = {.modified_time = 0};
        iket_conditions conditions = {.if_none_match = q->if_none_match};
        compose_tag(q, q->is_packed, &validators);
        if (iket_conditions_judge(&conditions, &validators) == IKET_CONDITION_NOT_MODIFIED) return 1;
    }
    q->is_packed = 0;
    return 0;
}

static void answer_ready(iket_question *q, const char *key, const iket_opened_file *file) {
    if (strcmp(q->what, "facts") == 0) {
        answer_facts(q, file);
    } else if (has_it_already(q, key)) {
        q->status = MHD_HTTP_NOT_MODIFIED;
    } else if (strcmp(q->what, "tables") == 0) {
        q->file = file;
        q->type = "application/json";
        q->status = MHD_HTTP_OK;
        return;
    } else {
        answer_from_levels(q, file->levels);
    }
    iket_opened_return(q->site->opened, file);
}

// What `base` names: a .pftrace of the folder (*selection NULL), or what is decoded on demand, put into `scratch`. A trace with
// neither has no level file. 0: there is no such trace.
static int find_trace(const iket_question *q, iket_catalog_trace *trace, const char **selection, char scratch[IKET_PATH_MAX]) {
    char base[IKET_PATH_MAX];
    const iket_root *root = &q->site->root;
    *selection = NULL;
    if (iket_catalog_find(trace, root, q->folder, q->base)) return 1;
    if (!iket_view_split(q->base, strlen(q->base), base, scratch)) return 0;
    *selection = scratch;
    return iket_catalog_find(trace, root, q->folder, base);
}

static void answer(iket_worker_task *task) {
    iket_question *q = (iket_question *)task;
    char key[IKET_KEY_MAX], selected[IKET_PATH_MAX];
    const char *selection;
    iket_catalog_trace trace;
    iket_levels_progress progress = {0};
    iket_error err = {""};
    if (is_unwanted(q)) return;
    if (q->is_malformed) {
        answer_error(q, MHD_HTTP_BAD_REQUEST, "the arguments are malformed, or too many");
        return;
    }
    if (!find_trace(q, &trace, &selection, selected)) {
        answer_error(q, MHD_HTTP_NOT_FOUND, "there is no such trace");
        return;
    }
    const iket_opened_file *file = NULL;
    iket_job_state state = IKET_JOB_NONE;
    if (iket_jobs_levels_key(&trace, selection, key)) {
        file = iket_opened_borrow(q->site->opened, key);
        if (file == NULL) state = iket_jobs_levels(q->site->jobs, &trace, selection, &progress, &err);
        if (file == NULL && state == IKET_JOB_DONE) file = iket_opened_borrow(q->site->opened, key);
    }
    iket_catalog_free_trace(&trace);
    if (file != NULL) {
        answer_ready(q, key, file);
    } else {
        answer_state(q, key, state, &progress, err.message);
    }
}

static void finish(iket_worker_task *task) { MHD_resume_connection(((iket_question *)task)->connection); }

// ---- the connection's side -------------------------------------------------------------------------------------------

// Takes "FOLDER/api/v1/trace/BASE/QUESTION" apart.
static int read_address(const char *path, iket_question *q) {
    static const char mark[] = "api/v1/trace/";
    const char *what = strrchr(path, '/'), *base = what;
    if (what == NULL || what == path || strlen(what + 1) >= sizeof q->what) return 0;
    while (base > path && base[-1] != '/') base--;
    size_t before = (size_t)(base - path), length = sizeof mark - 1;
    if (before < length || memcmp(base - length, mark, length) != 0) return 0;
    if (before > length && base[-(ptrdiff_t)length - 1] != '/') return 0;
    snprintf(q->folder, sizeof q->folder, "%.*s", before > length ? (int)(before - length - 1) : 0, path);
    snprintf(q->base, sizeof q->base, "%.*s", (int)(what - base), base);
    snprintf(q->what, sizeof q->what, "%s", what + 1);
    return 1;
}

static enum MHD_Result add_argument(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    iket_question *q = context;
    (void)kind;
    if (strcmp(name, "token") == 0) return MHD_YES;
    char *own_name = strdup(name), *own_value = strdup(value != NULL ? value : "");
    int good = own_name != NULL && own_value != NULL && q->argument_count < ARGUMENTS_MAX && iket_argument_decode(own_name) && iket_argument_decode(own_value);
    if (good) {
        q->arguments[q->argument_count++] = (iket_levels_argument){own_name, own_value};
        return MHD_YES;
    }
    free(own_name);
    free(own_value);
    q->is_malformed = 1;
    return MHD_NO;
}

// Whether an Accept-Encoding lets gzip be sent.
static int accepts_gzip(const char *field) {
    while (field != NULL && *field != 0) {
        field += strspn(field, " \t,");
        size_t length = strcspn(field, ",");
        size_t name = strcspn(field, ",; \t");
        if ((name == 4 && strncasecmp(field, "gzip", 4) == 0) || (name == 1 && *field == '*')) {
            const char *weight = memmem(field, length, "q=", 2);
            return weight == NULL || strtod(weight + 2, NULL) > 0;
        }
        field += length;
    }
    return 0;
}

void iket_question_free(iket_question *q) {
    if (q == NULL) return;
    for (size_t i = 0; i < q->argument_count; i++) {
        free((char *)(uintptr_t)q->arguments[i].name);
        free((char *)(uintptr_t)q->arguments[i].value);
    }
    iket_answer_body_free(q->body);
    if (q->file != NULL) iket_opened_return(q->site->opened, q->file);
    free(q);
}

static int is_long(const char *what) {
    static const char *const names[] = {"statistics", "rows.csv", "longest", "points"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(what, names[i]) == 0) return 1;
    }
    return 0;
}

int iket_question_begin(iket_site *site, const iket_request *request, const char *path, iket_question **question, enum MHD_Result *result) {
    *question = NULL;
    *result = MHD_NO;
    iket_question *q = calloc(1, sizeof *q);
    if (q == NULL) return 1;
    if (!read_address(path, q)) {
        free(q);
        return 0;
    }
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    q->task = (iket_worker_task){.run = answer, .finish = finish, .is_long = is_long(q->what)};
    q->site = site;
    q->connection = request->connection;
    q->socket = socket != NULL ? socket->connect_fd : -1;
    q->allowed_origin = request->allowed_origin;
    q->if_none_match = iket_request_field(request, "If-None-Match");
    q->takes_gzip = accepts_gzip(iket_request_field(request, "Accept-Encoding"));
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, add_argument, q);
    iket_clients_hold(request->clients, request->client);
    MHD_suspend_connection(request->connection);
    *question = q;
    *result = MHD_YES;
    if (iket_workers_add(site->workers, &q->task) == 0) return 1;
    MHD_resume_connection(request->connection); // its status says that it had no turn
    return 1;
}

// A level file while its tables are sent from where they are.
typedef struct {
    iket_opened *opened;
    const iket_opened_file *file;
} lent;

static void return_lent(void *context) {
    lent *l = context;
    iket_opened_return(l->opened, l->file);
    free(l);
}

static struct MHD_Response *of_tables(iket_question *q, int *is_packed) {
    const iket_opened_file *file = q->file;
    const iket_levels *levels = file->levels;
    lent *l = malloc(sizeof *l);
    if (l == NULL) return NULL;
    *l = (lent){q->site->opened, file};
    *is_packed = q->takes_gzip && file->packed != NULL;
    const void *data = *is_packed ? (const void *)file->packed : levels->tables_json;
    size_t size = *is_packed ? file->packed_size : levels->header->tables_json.count;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(size, (void *)(uintptr_t)data, return_lent, l);
    if (response != NULL) {
        q->file = NULL;
    } else {
        free(l);
    }
    return response;
}

// What the worker left, the response's from then on.
static struct MHD_Response *of_body(iket_question *q, int *is_packed) {
    iket_answer_body *body = q->body;
    if (body == NULL) return MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    *is_packed = body->is_packed;
    struct MHD_Response *response = body->fd >= 0 ? MHD_create_response_from_fd64(body->size, body->fd)
        : MHD_create_response_from_buffer_with_free_callback_cls(body->memory.used, body->memory.data, iket_answer_body_free, body);
    if (response == NULL) return NULL;
    if (body->fd >= 0) {
        body->fd = -1;
    } else {
        q->body = NULL;
    }
    return response;
}

// The queue is full, the server ends, there is no memory, or the client has gone.
static struct MHD_Response *refuse(iket_question *q) {
    static const char text[] = "{\"version\":1,\"error\":\"too many questions wait for their answers (ask again in a moment)\"}\n";
    q->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    q->type = "application/json";
    q->tag[0] = 0;
    return MHD_create_response_from_buffer(sizeof text - 1, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result iket_question_reply(const iket_request *request, iket_question *q) {
    int is_packed = q->is_packed;
    iket_validators validators = {.modified_time = 0};
    iket_request asked = *request;
    asked.allowed_origin = q->allowed_origin;
    iket_clients_go_on(request->clients, request->client);
    struct MHD_Response *response = q->status == 0 ? refuse(q) : q->file != NULL ? of_tables(q, &is_packed) : of_body(q, &is_packed);
    if (response == NULL) return MHD_NO;
    compose_tag(q, is_packed, &validators);
    if (q->type != NULL) MHD_add_response_header(response, "Content-Type", q->type);
    MHD_add_response_header(response, "Cache-Control", q->tag[0] != 0 ? "no-cache" : "no-store");
    MHD_add_response_header(response, "Vary", "Accept-Encoding");
    if (q->tag[0] != 0) MHD_add_response_header(response, "ETag", validators.etag);
    if (is_packed && q->status == MHD_HTTP_OK) MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (q->status == MHD_HTTP_SERVICE_UNAVAILABLE) MHD_add_response_header(response, "Retry-After", "1");
    return iket_reply(&asked, q->status, response, q->status != MHD_HTTP_NOT_MODIFIED ? IKET_POLICY_INERT : NULL);
}
