// SPDX-License-Identifier: Apache-2.0
// questions.h: the part of the JSON API that is about one trace (doc/api.md), over HTTP:
//
//     FOLDER/api/v1/trace/BASE/QUESTION?argument=value&…
//
//     connection's thread                      worker (serve/workers.h)
//     takes the address apart, suspends  ───>  finds the trace and its level file, or has it made; answers
//     sends the answer                   <───  resumes
#ifndef IKET_SERVE_QUESTIONS_H
#define IKET_SERVE_QUESTIONS_H

#include "serve/reply.h"
#include "serve/site.h"

typedef struct iket_question iket_question;

// Begins to answer when `path` is such an address. 0: it is none. 1: *result is libmicrohttpd's; *question is to be answered by
// iket_question_reply when the request comes again, NULL when it was answered at once.
int iket_question_begin(iket_site *site, const iket_request *request, const char *path, iket_question **question, enum MHD_Result *result);

// Queues the answer. The question stays the caller's.
enum MHD_Result iket_question_reply(const iket_request *request, iket_question *question);

void iket_question_free(iket_question *question); // NULL is allowed

#endif
