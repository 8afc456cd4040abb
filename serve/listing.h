// SPDX-License-Identifier: Apache-2.0
// listing.h: the catalog as requests share it. A walk that was quick is done anew for every request; one that took long
// (a large tree, a slow file system) stands for a while, in proportion to what it cost.
#ifndef IKET_SERVE_LISTING_H
#define IKET_SERVE_LISTING_H

#include "serve/catalog.h"

typedef struct iket_listing iket_listing;

iket_listing *iket_listing_open(void); // NULL: out of memory

// After the last iket_listing_return. NULL is allowed.
void iket_listing_close(iket_listing *listing);

// The traces of `folder`; read-only, until it is handed back by iket_listing_return. NULL: err says why.
const iket_catalog *iket_listing_borrow(iket_listing *listing, const iket_root *root, const char *folder, iket_error *err);
void iket_listing_return(iket_listing *listing, const iket_catalog *catalog);

#endif
