// SPDX-License-Identifier: Apache-2.0
// page.h: writes the page that shows a trace: one self-contained .html beside the trace's files.
//
//     BASE.html --fetches, relative to itself--> BASE.pftrace, else BASE.pftrace.gz, else BASE.trace.json
//
// The page makes no other request. Its scripts and style are inline and bound by a content security policy that names
// their hashes.
#ifndef IKET_VIEWER_PAGE_H
#define IKET_VIEWER_PAGE_H

#include <stdint.h>

#include "common/error.h"
#include "common/sink.h"

enum {
    IKET_PAGE_PFTRACE = 1,
    IKET_PAGE_PFTRACE_GZ = 2,
    IKET_PAGE_JSON = 4,
};

// All strings are borrowed during the call, valid UTF-8.
typedef struct iket_page_facts {
    const char *title;
    const char *base;         // base name of the adjacent files, without a directory: "iket_pid_0x2a"
    unsigned files;           // IKET_PAGE_*: which of them stand beside the page
    uint64_t pftrace_size;    // bytes; 0: not known
    uint64_t pftrace_gz_size;
    uint64_t json_size;
    const char *summary_json; // a JSON text, embedded as it is for other readers of the page; NULL: none
} iket_page_facts;

// Writes the whole page. Fails when the sink's consumer did.
IKET_MUST_CHECK int iket_page_write(iket_sink *sink, const iket_page_facts *facts, iket_error *err);

// The content security policy of every page that this build writes, for a server that wants to send the same as a
// header. A page of another build has other hashes and would not run under it.
const char *iket_page_security_policy(void);

#endif
