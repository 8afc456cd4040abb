// SPDX-License-Identifier: Apache-2.0
// view.h: the viewer's page for every trace of the catalog, whether such a page lies in the folder or not.
//
//     BASE.html        is ours of this build          -> the file itself, under the policy that names its own scripts
//                      is ours of another build       -> this build's page for the same files: it needs scripts that the
//                                                        policy does not name
//                      is anybody else's              -> the file, under a policy that lets nothing run
//     BASE.iket.html   when BASE has no page of ours  -> this build's page, for
//     BASE.iket.pftrace                                  what is decoded on demand from BASE (a dump, the collector's raw
//                                                        buffers, a .trace.json of ours or NVIDIA's), else BASE.pftrace
//     BASE.iket;launch=0-3;sm=5.html, … .pftrace, … .trace.json
//                      the same for what the commands' selectors leave of BASE: the way into a trace that is too large
//
// While a trace is decoded, its page says so and asks again. An argument of the page's address says how to open it:
//
//     ?levels   by questions (serve/questions.h): the page comes at once. The way of a trace that is known to be large.
//     ?parts    what is in it, with links to parts (serve/parts.h)
//     ?all      when it is decoded, however large
#ifndef IKET_SERVE_VIEW_H
#define IKET_SERVE_VIEW_H

#include <sys/stat.h>

#include "serve/catalog.h"
#include "serve/reply.h"
#include "serve/site.h"
#include "serve/urlpath.h"

#define IKET_VIEW_PAGE ".iket.html"

// Answers for an .html file of the folder; takes fd.
enum MHD_Result iket_view_reply_html(const iket_site *site, const iket_request *request, const char *path, int fd, const struct stat *info);

// Answers for a path that names no file. 0: it is none of the above; nothing was queued. 1: *result is what was.
int iket_view_reply(const iket_site *site, const iket_request *request, const char *path, enum MHD_Result *result);

// Takes "BASE.iket" or "BASE.iket;SELECTION", the first `length` bytes of `name`, apart. 0: it is neither.
int iket_view_split(const char *name, size_t length, char base[IKET_PATH_MAX], char selection[IKET_PATH_MAX]);

// What is appended to a trace's base to reach its page: ".html" or IKET_VIEW_PAGE.
const char *iket_view_page_ending(const iket_catalog_trace *trace);

#endif
