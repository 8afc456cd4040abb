// SPDX-License-Identifier: Apache-2.0
// parts.h: the page that stands before a trace which is too large for a browser: what is in it, and links to parts of it.
#ifndef IKET_SERVE_PARTS_H
#define IKET_SERVE_PARTS_H

#include "serve/catalog.h"
#include "serve/facts.h"
#include "serve/reply.h"

// `most_events`: what a browser is trusted to hold.
enum MHD_Result iket_parts_reply(const iket_request *request, const iket_catalog_trace *trace, const iket_facts *facts, uint64_t most_events);

#endif
