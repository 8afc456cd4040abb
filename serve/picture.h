// SPDX-License-Identifier: Apache-2.0
// picture.h: the small picture of a trace in the index.
#ifndef IKET_SERVE_PICTURE_H
#define IKET_SERVE_PICTURE_H

#include "common/sink.h"
#include "serve/facts.h"

// Writes facts->picture as a "data:image/png;base64,…" address. Nothing when it has no rows or memory is short.
void iket_picture_write(iket_sink *sink, const iket_facts *facts);

#endif
