// SPDX-License-Identifier: Apache-2.0
// urlpath.h: between the path of a request and a name beneath the served folder.
#ifndef IKET_SERVE_URLPATH_H
#define IKET_SERVE_URLPATH_H

#include <stddef.h>

#include "common/sink.h"

enum { IKET_PATH_MAX = 2048 };

typedef enum iket_path_verdict {
    IKET_PATH_OK,
    IKET_PATH_MALFORMED, // does not start with '/', a '%' without two hex digits, a NUL, a control character
    IKET_PATH_LONG,      // does not fit
    IKET_PATH_HIDDEN,    // has a component that is empty or starts with a dot: "." and ".." among them
} iket_path_verdict;

// Decodes the percent signs of `raw` ("/run%201/a.html"), once, into `path` ("run 1/a.html"; "" for "/"). A slash at the
// end stays there. "+" is a plus.
iket_path_verdict iket_path_decode(const char *raw, char path[IKET_PATH_MAX]);

// Decodes the percent signs of an argument in place. 0: it has a '%' without two hex digits, or a NUL.
int iket_argument_decode(char *text);

// Writes `text` as a part of a path in a URL: everything but letters, digits, "-._~/" is percent-encoded.
void iket_path_encode(iket_sink *sink, const char *text);

// Writes `text` for use between HTML tags or in a quoted attribute. Bad UTF-8 becomes U+FFFD.
void iket_html_text(iket_sink *sink, const char *text);

#endif
