// SPDX-License-Identifier: Apache-2.0
#include "common/gzip.h"

#include <stdlib.h>
#include <zlib.h>

struct iket_gzip {
    z_stream z;
    iket_sink_flush_fn flush;
    void *context;
    uint8_t out[65536];
};

int iket_gzip_open(iket_gzip **gzip, int level, iket_sink_flush_fn flush, void *context, iket_error *err) {
    *gzip = calloc(1, sizeof **gzip);
    if (*gzip == NULL || deflateInit2(&(*gzip)->z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(*gzip);
        *gzip = NULL;
        return iket_fail(err, "out of memory (gzip)");
    }
    (*gzip)->flush = flush;
    (*gzip)->context = context;
    return 0;
}

static int run(iket_gzip *g, int mode, iket_error *err) {
    int status;
    do {
        g->z.next_out = g->out;
        g->z.avail_out = sizeof g->out;
        status = deflate(&g->z, mode);
        if (status == Z_STREAM_ERROR) return iket_fail(err, "gzip: inconsistent state");
        IKET_TRY(g->flush(g->context, g->out, sizeof g->out - g->z.avail_out, err));
    } while (g->z.avail_out == 0);
    return 0;
}

int iket_gzip_flush(void *context, const void *data, size_t size, iket_error *err) {
    iket_gzip *g = context;
    const uint8_t *from = data;
    while (size > 0) {
        size_t part = size < 1u << 30 ? size : 1u << 30;
        g->z.next_in = (Bytef *)(uintptr_t)from;
        g->z.avail_in = (uInt)part;
        IKET_TRY(run(g, Z_NO_FLUSH, err));
        from += part;
        size -= part;
    }
    return 0;
}

void iket_gzip_drop(iket_gzip **gzip) {
    if (*gzip == NULL) return;
    deflateEnd(&(*gzip)->z);
    free(*gzip);
    *gzip = NULL;
}

int iket_gzip_close(iket_gzip **gzip, iket_error *err) {
    (*gzip)->z.avail_in = 0;
    int result = run(*gzip, Z_FINISH, err);
    iket_gzip_drop(gzip);
    return result;
}
