// SPDX-License-Identifier: Apache-2.0
// catalog.h: the traces beneath the served folder.
//
//     runs/rank0/iket_pid_0x1f.html          ┐
//     runs/rank0/iket_pid_0x1f.pftrace       ├ one trace: folder "runs/rank0", base "iket_pid_0x1f"
//     runs/rank0/iket_pid_0x1f.trace.json.gz ┘
//     runs/rank1/dump.bin                      one raw input, to be decoded
//
// The tree is walked anew when it is asked for, so that new traces appear; symbolic links and names with a dot in front
// are passed over, and depth and number are bounded.
#ifndef IKET_SERVE_CATALOG_H
#define IKET_SERVE_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "serve/root.h"

typedef enum iket_file_kind {
    IKET_FILE_PAGE,       // .html
    IKET_FILE_PFTRACE,    // .pftrace
    IKET_FILE_PFTRACE_GZ, // .pftrace.gz
    IKET_FILE_JSON,       // .trace.json
    IKET_FILE_JSON_GZ,    // .trace.json.gz
    IKET_FILE_DUMP,       // our dump.bin
    IKET_FILE_COLLECTOR,  // the iket.data.bin of NVIDIA's collector
    IKET_FILE_KINDS
} iket_file_kind;

typedef struct iket_catalog_file {
    int there;
    uint64_t size;
    int64_t modified;                     // Unix seconds
    uint64_t device, inode, changed;      // tell this very content apart; changed in ns
} iket_catalog_file;

typedef enum iket_html_state {
    IKET_HTML_NONE,
    IKET_HTML_FOREIGN,   // an .html that our generator did not write
    IKET_HTML_OTHER_BUILD, // our generator's, of another build
    IKET_HTML_OURS,      // of this build
} iket_html_state;

typedef struct iket_catalog_trace {
    char *folder; // relative, "" for the served folder itself
    char *base;   // without the kind's ending; of raw input its file's name
    iket_catalog_file files[IKET_FILE_KINDS];
    iket_html_state page;
    iket_catalog_file meta; // of raw input: the meta.json (iket.data.json) beside it
    int64_t modified; // the newest of its files
} iket_catalog_trace;

typedef struct iket_catalog {
    iket_catalog_trace *traces; // by folder, then by base, numbers within names by their value
    size_t count, capacity;
    int cut; // there is more than the bounds allow
} iket_catalog;

enum { IKET_CATALOG_TRACES = 5000, IKET_CATALOG_ENTRIES = 200000, IKET_CATALOG_DEPTH = 12 };

// What is appended to a base to name the file of a kind; "" for raw input.
const char *iket_file_ending(iket_file_kind kind);

struct stat;
iket_catalog_file iket_catalog_describe(const struct stat *info);

// Tells a page by its first bytes.
iket_html_state iket_html_state_of(int fd);

// Walks `folder` (relative, "" for all). On failure the catalog is empty.
IKET_MUST_CHECK int iket_catalog_scan(iket_catalog *catalog, const iket_root *root, const char *folder, iket_error *err);

// Finds the one trace `base` of `folder`. Returns 1 with *trace to be freed by iket_catalog_free_trace, 0 when there is none
// or no memory.
int iket_catalog_find(iket_catalog_trace *trace, const iket_root *root, const char *folder, const char *base);
void iket_catalog_free_trace(iket_catalog_trace *trace);

void iket_catalog_free(iket_catalog *catalog);

#endif
