// SPDX-License-Identifier: Apache-2.0
// report.c: what iket-decode tells: the summary of a run on stderr, --info on stdout.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decode/tool/tool.h"

enum { LAUNCHES_SHOWN = 40, NAMES_SHOWN = 12, SLICES_OF_A_BROWSER = 5000000 };

// ---- values ---------------------------------------------------------------------------------------------------------

static const char *human_time(uint64_t ns, char text[32]) {
    if (ns < 1000) {
        snprintf(text, 32, "%" PRIu64 " ns", ns);
    } else if (ns < 1000000) {
        snprintf(text, 32, "%" PRIu64 ".%02" PRIu64 " us", ns / 1000, ns % 1000 / 10);
    } else if (ns < 1000000000) {
        snprintf(text, 32, "%" PRIu64 ".%02" PRIu64 " ms", ns / 1000000, ns % 1000000 / 10000);
    } else {
        snprintf(text, 32, "%" PRIu64 ".%02" PRIu64 " s", ns / 1000000000, ns % 1000000000 / 10000000);
    }
    return text;
}

static const char *human_size(uint64_t bytes, char text[32]) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

static const char *calendar(uint64_t unix_ns, char text[48]) {
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm parts;
    size_t used = gmtime_r(&seconds, &parts) != NULL ? strftime(text, 48, "%Y-%m-%d %H:%M:%S", &parts) : 0;
    snprintf(text + used, 48 - used, ".%09" PRIu64 " UTC", unix_ns % 1000000000);
    return text;
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

// The selector of a launch: its number, or its graph key and number.
static void print_launch_name(FILE *out, const iket_trace *trace, const iket_launch *l) {
    if (l->graph_key == IKET_UNKNOWN) {
        fprintf(out, "%u", l->ordinal);
    } else {
        fprintf(out, "%s#%u", trace->strings[l->graph_key], l->ordinal);
    }
}

static int has_any(const iket_diagnostics *d) {
    uint64_t sum = 0;
#define ADD(name) sum |= d->name;
    IKET_DIAGNOSTICS(ADD)
#undef ADD
    return sum != 0;
}

// What a recorder that keeps the last events wrote over was not to be kept: no damage.
int decode_has_damage(const iket_trace *trace) {
    iket_diagnostics d = trace->diagnostics;
    d.overwrittenEvents = d.overwrittenBegins = 0;
    return has_any(&d);
}

static void print_diagnostics(FILE *out, const iket_trace *trace, const char *indent) {
    char text[512];
#define PRINT(name)                                                                                                    \
    if (trace->diagnostics.name > 0) {                                                                                 \
        iket_diagnostic_text(#name, trace->diagnostics.name, text, sizeof text);                                       \
        fprintf(out, "%s%s\n", indent, text);                                                                          \
    }
    IKET_DIAGNOSTICS(PRINT)
#undef PRINT
}

static size_t count_kernels(const iket_trace *trace) {
    size_t count = 0;
    uint8_t *seen = calloc(trace->string_count + 1, 1);
    for (size_t i = 0; seen != NULL && i < trace->launch_count; i++) {
        if (!seen[trace->launches[i].kernel]++) count++;
        seen[trace->launches[i].kernel] = 1;
    }
    free(seen);
    return count;
}

static size_t count_sms(const iket_trace *trace) {
    size_t count = 0;
    uint8_t seen[4096] = {0};
    for (size_t i = 0; i < trace->location_count; i++) {
        uint32_t sm = trace->locations[i].sm;
        if (sm < sizeof seen && !seen[sm]) {
            seen[sm] = 1;
            count++;
        }
    }
    return count;
}

// Names that were declared, as "a, b, c and 4 more"; only those without an event when `unseen`. Returns how many.
static size_t list_names(const iket_trace *trace, int unseen, char *text, size_t size) {
    size_t count = 0, used = 0;
    text[0] = 0;
    for (size_t m = 0; m < trace->module_count; m++) {
        for (size_t d = 0; d < trace->modules[m].decl_count; d++) {
            const iket_decl *decl = &trace->modules[m].decls[d];
            if (unseen && decl->count > 0) continue;
            if (count++ >= NAMES_SHOWN || used >= size) continue;
            used += (size_t)snprintf(text + used, size - used, "%s%.64s", count > 1 ? ", " : "", trace->strings[decl->name]);
        }
    }
    if (count > NAMES_SHOWN && used < size) snprintf(text + used, size - used, " and %zu more", count - NAMES_SHOWN);
    return count;
}

// The first diagnostics counter that is not 0, in words. 0: all are.
static int first_diagnostic(const iket_trace *trace, char *text, size_t size) {
#define FIND(name)                                                                                                     \
    if (trace->diagnostics.name > 0) return iket_diagnostic_text(#name, trace->diagnostics.name, text, size);
    IKET_DIAGNOSTICS(FIND)
#undef FIND
    return 0;
}

int decode_report_no_event(const iket_trace *trace, iket_error *err) {
    char names[900], kernels[600] = "none";
    size_t declared = list_names(trace, 0, names, sizeof names), used = 0;
    if (trace->source != IKET_SOURCE_DUMP && trace->location_count > 0) { // a collector's warp trace
        fprintf(stderr, "iket-decode: warning: %s: has no event, only the lifetimes of its warps (recorded with --warp-trace, or the annotated code was not reached)\n", trace->path);
        return 0;
    }
    for (size_t i = 0; i < trace->launch_count + trace->empty_kernel_count && i <= NAMES_SHOWN && used < sizeof kernels; i++) {
        uint32_t kernel = i < trace->launch_count ? trace->launches[i].kernel : trace->empty_kernels[i - trace->launch_count];
        used += (size_t)snprintf(kernels + used, sizeof kernels - used, "%s%.64s", i == 0 ? "" : ", ", i == NAMES_SHOWN ? "…" : trace->strings[kernel]);
    }
    char reason[512];
    return iket_fail(err, "%s: has no event: launches seen: %s; names declared: %s; %s", trace->path, kernels, declared > 0 ? names : "none",
                     first_diagnostic(trace, reason, sizeof reason) ? reason : "nothing was lost or damaged (was the annotated code reached, and is the schema of this run?)");
}

// ---- the summary ----------------------------------------------------------------------------------------------------

// What was lost while recording. The summary has it among the diagnostics; without one it is a warning.
void decode_report_losses(const iket_trace *trace) {
    static const char format[] = "iket-decode: warning: %s: %s\n";
    char text[512];
    if (trace->diagnostics.droppedEvents > 0) {
        iket_diagnostic_text("droppedEvents", trace->diagnostics.droppedEvents, text, sizeof text);
        fprintf(stderr, format, trace->path, text);
    }
    if (trace->diagnostics.warpsWithoutChunk > 0) {
        iket_diagnostic_text("warpsWithoutChunk", trace->diagnostics.warpsWithoutChunk, text, sizeof text);
        fprintf(stderr, format, trace->path, text);
    }
}

void decode_report_warnings(const iket_trace *trace, const decode_outputs *outputs) {
    for (size_t i = 0; i < trace->note_count; i++) {
        fprintf(stderr, "iket-decode: warning: %s", trace->notes[i].text);
        if (trace->notes[i].count > 1) fprintf(stderr, " (and %" PRIu64 " more like it)", trace->notes[i].count - 1);
        fputc('\n', stderr);
    }
    if (outputs->facts.too_deep > 0) {
        fprintf(stderr, "iket-decode: warning: %" PRIu64 " range%s deeper than 500 levels %s left out of the Perfetto trace (the .trace.json has all)\n", outputs->facts.too_deep,
                plural(outputs->facts.too_deep), outputs->facts.too_deep == 1 ? "was" : "were");
    }
    if (outputs->facts.slices > SLICES_OF_A_BROWSER) {
        fprintf(stderr,
                "iket-decode: warning: %" PRIu64 " slices are more than the Perfetto UI holds in a browser: run `trace_processor_shell server http FILE` beside it, or narrow the export "
                "(--launch, --cta, --sm, --time)\n",
                outputs->facts.slices);
    }
}

void decode_report_summary(const iket_trace *trace, const decode_outputs *outputs, const iket_selection *selection) {
    char a[48], b[48], names[900];
    size_t kernels = count_kernels(trace);
    fprintf(stderr, "iket-decode: %s\n", trace->path);
    fprintf(stderr, "  launches     %zu of %zu kernel%s", trace->launch_count, kernels, plural(kernels));
    if (kernels == 1) fprintf(stderr, " (%.100s)", trace->strings[trace->launches[0].kernel]);
    fprintf(stderr, "\n  warps        %zu on %zu SM%s\n", trace->location_count, count_sms(trace), plural(count_sms(trace)));
    fprintf(stderr, "  events       %" PRIu64 " (%" PRIu64 " marker%s, %" PRIu64 " range%s)\n", trace->marker_count + trace->range_count, trace->marker_count, plural(trace->marker_count),
            trace->range_count, plural(trace->range_count));
    if (trace->launch_count > 0) fprintf(stderr, "  time         %s from %s\n", human_time(trace->end - trace->start, a), calendar(trace->start, b));
    if (selection != NULL) fputs("  exported     the selection only; the figures above are of the whole trace\n", stderr);
    if (list_names(trace, 1, names, sizeof names) > 0) fprintf(stderr, "  never seen   %s\n", names);
    for (size_t i = 0; i < trace->empty_kernel_count && i < NAMES_SHOWN; i++) fprintf(stderr, "  left nothing %.100s\n", trace->strings[trace->empty_kernels[i]]);
    if (trace->empty_kernel_count > NAMES_SHOWN) fprintf(stderr, "  left nothing %zu more launches\n", trace->empty_kernel_count - NAMES_SHOWN);
    if (has_any(&trace->diagnostics)) {
        print_diagnostics(stderr, trace, "  diagnostics  ");
    } else {
        fputs("  diagnostics  none\n", stderr);
    }
    for (size_t i = 0; i < outputs->count; i++) {
        fprintf(stderr, "  %s        %s (%s)\n", i == 0 ? "files" : "     ", strcmp(outputs->paths[i], "-") == 0 ? "standard output" : outputs->paths[i], human_size(outputs->sizes[i], a));
    }
    if (outputs->kept_input) fputs("               the .trace.json is the input and was left as it is\n", stderr);
}

// ---- --info ---------------------------------------------------------------------------------------------------------

static void info_header(const iket_trace *trace) {
    static const char *const sources[] = {[IKET_SOURCE_DUMP] = "dump of the recorder", [IKET_SOURCE_COLLECTOR] = "buffers of NVIDIA's collector", [IKET_SOURCE_JSON] = "trace.json"};
    char text[48];
    printf("input         %s\n", trace->path);
    printf("kind          %s", sources[trace->source]);
    if (trace->source == IKET_SOURCE_DUMP) printf(", format version %u, chunks of %u bytes", trace->format_version, trace->chunk_bytes);
    printf("\n");
    if (trace->pid != 0) printf("pid           %" PRIu64 " (0x%" PRIx64 ")\n", trace->pid, trace->pid);
    if (trace->source == IKET_SOURCE_DUMP) printf("context       %" PRIu64 "\n", trace->context_id);
    if (trace->created != 0) printf("created       %s\n", calendar(trace->created, text));
    if (trace->device_json != NULL) printf("device        %s\n", trace->device_json);
    for (size_t i = 0; i < trace->section_count; i++) {
        const iket_section_info *s = &trace->sections[i];
        printf("%-13s byte 0x%-8" PRIx64 " %s  %10" PRIu64 " bytes  %u item%s%s\n", i == 0 ? "sections" : "", s->offset, s->type, s->size, s->items, plural(s->items), s->corrupt ? "  corrupt" : "");
    }
}

static void info_schema(const iket_trace *trace) {
    static const char *const positions[] = {[IKET_POS_MARKER] = "marker", [IKET_POS_PUSH] = "push", [IKET_POS_POP] = "pop", [IKET_POS_TOKEN] = "token"};
    for (size_t m = 0; m < trace->module_count; m++) {
        const iket_module *module = &trace->modules[m];
        printf("schema        module 0x%" PRIx64 ", %s, %zu event%s\n", module->id, trace->source == IKET_SOURCE_JSON ? "names only" : module->extended ? "ExtendedNativeDump" : "NativeDump",
               module->decl_count, plural(module->decl_count));
        printf("              %6s  %-7s %-8s %-12s %12s  %s\n", "id", "kind", "payload", "range id", "count", "name");
        for (size_t d = 0; d < module->decl_count; d++) {
            const iket_decl *e = &module->decls[d];
            char id[16] = "-", range_id[16] = "";
            if (e->event_id != IKET_UNKNOWN) snprintf(id, sizeof id, "%u", e->event_id);
            if (e->pos != IKET_POS_MARKER) snprintf(range_id, sizeof range_id, "%u", e->range_id);
            printf("              %6s  %-7s %-8s %-12s %12" PRIu64 "  %s\n", id, positions[e->pos], iket_payload_type_name(e->payload_type), range_id, e->count, trace->strings[e->name]);
        }
    }
}

static void info_launches(const iket_trace *trace, int verbose) {
    char a[32], b[32];
    printf("launches      %zu, %" PRIu64 " markers, %" PRIu64 " ranges, %zu warps, %zu streams, %" PRIu64 " chunks\n", trace->launch_count, trace->marker_count, trace->range_count,
           trace->location_count, trace->stream_count, trace->chunk_count);
    for (size_t i = 0; i < trace->launch_count; i++) {
        const iket_launch *l = &trace->launches[i];
        if (i == LAUNCHES_SHOWN && !verbose) {
            printf("              … %zu more (--verbose lists all)\n", trace->launch_count - i);
            break;
        }
        printf("              ");
        print_launch_name(stdout, trace, l);
        printf(": grid %" PRIu64 ", %u x %u x %u CTAs of %u x %u x %u threads, %u warp%s, %" PRIu64 " marker%s, %" PRIu64 " range%s, at +%s for %s: %s\n", l->grid_id, l->grid_dim[0], l->grid_dim[1],
               l->grid_dim[2], l->block_dim[0], l->block_dim[1], l->block_dim[2], l->location_count, plural(l->location_count), l->marker_count, plural(l->marker_count), l->range_count, plural(l->range_count), human_time(l->start - trace->start, a),
               human_time(l->end - l->start, b), trace->strings[l->kernel]);
    }
    for (size_t i = 0; i < trace->empty_kernel_count; i++) printf("left nothing  %s\n", trace->strings[trace->empty_kernels[i]]);
}

void decode_report_info(const iket_trace *trace, int verbose) {
    info_header(trace);
    info_schema(trace);
    info_launches(trace, verbose);
    if (!has_any(&trace->diagnostics)) printf("diagnostics   none\n");
    print_diagnostics(stdout, trace, "diagnostics   ");
    for (size_t i = 0; i < trace->note_count; i++) {
        printf("note          %s", trace->notes[i].text);
        if (trace->notes[i].count > 1) printf(" (and %" PRIu64 " more like it)", trace->notes[i].count - 1);
        printf("\n");
    }
}
