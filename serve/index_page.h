// SPDX-License-Identifier: Apache-2.0
// index_page.h: the page that lists the traces of a folder and below, with its style and script.
#ifndef IKET_SERVE_INDEX_PAGE_H
#define IKET_SERVE_INDEX_PAGE_H

#include "serve/reply.h"
#include "serve/site.h"

// A file of the page that is part of the program. Found within any folder, so that its address can be relative.
typedef struct iket_asset {
    const char *name; // "iket-serve/index.css"
    const char *type;
    const unsigned char *data; // NULL ends the list
    const size_t *size;
} iket_asset;

extern const iket_asset iket_index_assets[];

// `folder` is relative, "" for all.
enum MHD_Result iket_index_reply(const iket_site *site, const iket_request *request, const char *folder);

enum MHD_Result iket_index_reply_asset(const iket_request *request, const iket_asset *asset);

#endif
