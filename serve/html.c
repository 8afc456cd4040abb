// SPDX-License-Identifier: Apache-2.0
#include "serve/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

void iket_html_size(iket_sink *sink, uint64_t size) {
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    if (size < 1000) {
        iket_sink_printf(sink, "%" PRIu64 " B", size);
        return;
    }
    double value = (double)size / 1000;
    size_t unit = 0;
    for (; value >= 999.5 && unit < 3; unit++) value /= 1000;
    iket_sink_printf(sink, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void iket_html_time(iket_sink *sink, int64_t when) {
    char machine[32], human[32];
    struct tm at;
    time_t seconds = (time_t)when;
    if (gmtime_r(&seconds, &at) == NULL || strftime(machine, sizeof machine, "%Y-%m-%dT%H:%M:%SZ", &at) == 0) return;
    if (localtime_r(&seconds, &at) == NULL || strftime(human, sizeof human, "%Y-%m-%d %H:%M", &at) == 0) return;
    iket_sink_printf(sink, "<time datetime=\"%s\">%s</time>", machine, human);
}

void iket_html_count(iket_sink *sink, uint64_t count) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    for (int i = 0; i < length; i++) iket_sink_printf(sink, i > 0 && (length - i) % 3 == 0 ? "\xE2\x80\xAF%c" : "%c", digits[i]); // a narrow space
}

void iket_html_span(iket_sink *sink, uint64_t ns) {
    static const char *const units[] = {"µs", "ms", "s"};
    if (ns < 1000) {
        iket_sink_printf(sink, "%" PRIu64 " ns", ns);
        return;
    }
    double value = (double)ns / 1000;
    size_t unit = 0;
    for (; value >= 999.5 && unit < 2; unit++) value /= 1000;
    iket_sink_printf(sink, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
