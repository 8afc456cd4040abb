// SPDX-License-Identifier: Apache-2.0
// api.h: what the server tells programs, as JSON. Each address is found within any folder ("runs/api/v1/server"), so that
// a page can ask by a relative one.
#ifndef IKET_SERVE_API_H
#define IKET_SERVE_API_H

#include "serve/reply.h"
#include "serve/site.h"

// {"version": 1, "server": "iket-serve 0.1.0", "uiUrl": "http://localhost:8081" or null}
enum MHD_Result iket_api_reply_server(const iket_site *site, const iket_request *request);

// {"version": 1, "cut": false, "traces": [{"folder", "base", "page", "modified", "files": [{"name", "size", "modified"}],
//   "facts": {"launches", "warps", "markers", "ranges", "span_ns", "diagnostics", "kernel_names", "kernels": [{"name", "launches"}]}
//   or "pending": true or "error": "…", or none of them}]}
enum MHD_Result iket_api_reply_traces(const iket_site *site, const iket_request *request);

#endif
