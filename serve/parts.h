// SPDX-License-Identifier: Apache-2.0
// parts.h: what is in a trace, with links to parts of it that a browser can hold.
#ifndef IKET_SERVE_PARTS_H
#define IKET_SERVE_PARTS_H

#include "serve/catalog.h"
#include "serve/facts.h"
#include "serve/reply.h"

// `most_events`: what a browser is trusted to hold.
enum MHD_Result iket_parts_reply(const iket_request *request, const iket_catalog_trace *trace, const iket_facts *facts, uint64_t most_events);

#endif
