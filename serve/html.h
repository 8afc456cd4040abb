// SPDX-License-Identifier: Apache-2.0
// html.h: what the server's pages write again and again.
#ifndef IKET_SERVE_HTML_H
#define IKET_SERVE_HTML_H

#include <stdint.h>

#include "common/sink.h"
#include "serve/urlpath.h"

void iket_html_count(iket_sink *sink, uint64_t count); // 41 216
void iket_html_span(iket_sink *sink, uint64_t ns);     // 13.8 µs
void iket_html_size(iket_sink *sink, uint64_t bytes);  // 1.2 MB
void iket_html_time(iket_sink *sink, int64_t seconds); // of Unix time, in the server's time zone

#endif
