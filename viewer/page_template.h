// SPDX-License-Identifier: Apache-2.0
// page_template.h: the joined page as embed.cmake compiles it in, with holes %IKET_TITLE%, %IKET_FACTS%, %IKET_SUMMARY%.
#ifndef IKET_VIEWER_PAGE_TEMPLATE_H
#define IKET_VIEWER_PAGE_TEMPLATE_H

#include <stddef.h>

extern const unsigned char iket_page_template[];
extern const size_t iket_page_template_size;
extern const char iket_page_policy[];

#endif
