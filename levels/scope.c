// SPDX-License-Identifier: Apache-2.0
#include "levels/scope.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "decode/include/iket/select.h"

enum {
    CLASSES = 65536, // every number that an event's class may have
    MOST_CTA_TEXT = 80,
};

static const struct {
    const char *name;
    int id;
} row_selectors[] = {
    {"launch", IKET_SELECT_LAUNCH}, {"kernel", IKET_SELECT_KERNEL}, {"sm", IKET_SELECT_SM}, {"cta", IKET_SELECT_CTA}, {"warp", IKET_SELECT_WARP},
};
enum { ROW_SELECTORS = sizeof row_selectors / sizeof row_selectors[0] };

// What chooses rows, parsed; and what the walk over the nodes knows of the launch it is in.
typedef struct row_choice {
    iket_selector selector;       // by name, as the commands take them
    iket_levels_intervals under;  // of nodes
    uint8_t *roles;               // [role_count] 1: chosen; NULL: all are
    const char **kernels;         // [kernel_count] distinct kernel names
    uint8_t *kernel_wanted;
    size_t kernel_count;
} row_choice;

static void clear_choice(row_choice *choice) {
    iket_selector_clear(&choice->selector);
    free(choice->under.list);
    free(choice->roles);
    free(choice->kernels);
    free(choice->kernel_wanted);
}

// ---- launches -------------------------------------------------------------------------------------------------------

// The event of a launch's own slice, -1: it has none. The page takes such a launch for none, too.
static int64_t launch_event(const iket_levels *levels, uint32_t node) {
    uint32_t lane = levels->node_lane[node];
    if (lane == levels->node_lane[node + 1] || levels->lane_first[lane] >= levels->event_count) return -1;
    return (int64_t)levels->lane_first[lane];
}

static const char *kernel_of(const iket_levels *levels, int64_t event) {
    uint16_t cls = levels->cls[event];
    return cls < levels->class_count ? iket_levels_string(levels, levels->class_name[cls]) : "";
}

static int compare_names(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static iket_levels_status choose_kernels(row_choice *choice, const iket_levels *levels, iket_error *err) {
    size_t capacity = 0, count = 0;
    for (uint32_t node = 0; node < levels->node_count; node++) {
        if (levels->node_kind[node] != IKET_LEVELS_NODE_LAUNCH) continue;
        int64_t event = launch_event(levels, node);
        if (event < 0) continue;
        const char *name = kernel_of(levels, event);
        if (count > 0 && strcmp(choice->kernels[count - 1], name) == 0) continue; // launches of a kernel lie together
        if (IKET_RESERVE(choice->kernels, count, capacity, 1, err) != 0) return IKET_LEVELS_FAILED;
        choice->kernels[count++] = name;
    }
    if (count > 0) qsort(choice->kernels, count, sizeof *choice->kernels, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(choice->kernels[i], choice->kernels[choice->kernel_count - 1]) != 0) choice->kernels[choice->kernel_count++] = choice->kernels[i];
    }
    choice->kernel_wanted = calloc(choice->kernel_count + 1, 1);
    if (choice->kernel_wanted == NULL) {
        iket_fail(err, "out of memory (%zu kernels)", choice->kernel_count);
        return IKET_LEVELS_FAILED;
    }
    int result = iket_selector_kernels(&choice->selector, choice->kernels, choice->kernel_count, choice->kernel_wanted, err);
    if (result < 0) iket_fail(err, "kernel: this is a part of several kernels' names (give a whole name)");
    if (result > 0 && err != NULL && strncmp(err->message, "--", 2) == 0) memmove(err->message, err->message + 2, strlen(err->message) - 1); // here it is no option
    return result == 0 ? IKET_LEVELS_OK : IKET_LEVELS_BAD_ARGUMENT;
}

static int kernel_fits(const row_choice *choice, const char *name) {
    const char **found = bsearch(&name, choice->kernels, choice->kernel_count, sizeof *choice->kernels, compare_names);
    return found != NULL && choice->kernel_wanted[found - choice->kernels];
}

// A launch's number and graph stand with its slice: {"launch":2,"graph_key":"graph_exec_1:0",…}.
static int launch_fits(const row_choice *choice, const iket_levels *levels, int64_t event) {
    if (iket_selector_has(&choice->selector, IKET_SELECT_KERNEL) && !kernel_fits(choice, kernel_of(levels, event))) return 0;
    if (!iket_selector_has(&choice->selector, IKET_SELECT_LAUNCH)) return 1;
    const char *text = iket_levels_extra(levels, (uint64_t)event);
    cJSON *extra = text != NULL ? cJSON_Parse(text) : NULL;
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(extra, "launch"), *key = cJSON_GetObjectItemCaseSensitive(extra, "graph_key");
    uint32_t ordinal = cJSON_IsNumber(number) && number->valuedouble >= 0 && number->valuedouble < 4294967295.0 ? (uint32_t)number->valuedouble : 0;
    int fits = iket_selector_launch(&choice->selector, cJSON_IsString(key) ? key->valuestring : NULL, ordinal);
    cJSON_Delete(extra);
    return fits;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static int role_fits(const row_choice *choice, const iket_levels *levels, uint32_t node) {
    int32_t role = levels->node_role[node];
    return choice->roles == NULL || (role >= 0 && (uint32_t)role < levels->role_count && choice->roles[role]);
}

// The lanes under the warps that fit.
static int collect_lanes(iket_levels_scope *scope, const row_choice *choice, const iket_levels *levels, iket_error *err) {
    iket_location place = {.cta = {0, 0, 0}};
    int fits = 0;
    size_t under = 0;
    for (uint32_t node = 0; node < levels->node_count; node++) {
        switch (levels->node_kind[node]) {
        case IKET_LEVELS_NODE_LAUNCH: {
            int64_t event = launch_event(levels, node);
            fits = event >= 0 && launch_fits(choice, levels, event);
            break;
        }
        case IKET_LEVELS_SM: place.sm = (uint32_t)levels->node_a[node]; break;
        case IKET_LEVELS_CTA:
            place.cta[0] = (uint32_t)levels->node_a[node];
            place.cta[1] = (uint32_t)levels->node_b[node];
            place.cta[2] = (uint32_t)levels->node_c[node];
            break;
        case IKET_LEVELS_WARP:
            if (!fits) break;
            while (under < choice->under.count && choice->under.list[under].to <= node) under++;
            if (choice->under.count > 0 && (under == choice->under.count || choice->under.list[under].from > node)) break;
            place.warp = (uint32_t)levels->node_a[node];
            if (!role_fits(choice, levels, node) || !iket_selector_place(&choice->selector, &place)) break;
            IKET_TRY(iket_levels_intervals_add(&scope->lanes, levels->node_lane[node], levels->node_lane[levels->node_last[node]], err));
            break;
        default: break;
        }
    }
    return 0;
}

// 0-2,5
static iket_levels_status choose_roles(row_choice *choice, const iket_levels *levels, const char *text, iket_error *err) {
    choice->roles = calloc((size_t)levels->role_count + 1, 1);
    if (choice->roles == NULL || levels->role_count == 0) {
        iket_fail(err, choice->roles == NULL ? "out of memory" : "role: the trace has no warps");
        return choice->roles == NULL ? IKET_LEVELS_FAILED : IKET_LEVELS_BAD_ARGUMENT;
    }
    for (uint64_t past = 0;; text++) {
        iket_levels_interval span;
        IKET_LEVELS_TRY(iket_levels_span(&text, "role", past, levels->role_count - 1, &span, err));
        memset(choice->roles + span.from, 1, span.to - span.from);
        past = span.to;
        if (*text == 0) return IKET_LEVELS_OK;
        if (*text == ',') continue;
        iket_fail(err, "role: '%.64s' is no list of roles (write 0-2,5)", text);
        return IKET_LEVELS_BAD_ARGUMENT;
    }
}

// X,Y,Z where a number that is left out means any, as in the page's search line: `*` for it.
static int set_cta(row_choice *choice, const char *text, iket_error *err) {
    char full[MOST_CTA_TEXT], *at = full;
    for (const char *from = text; at < full + sizeof full - 2; from++) {
        if ((*from == ',' || *from == 0) && *text != 0 && (from == text || from[-1] == ',')) *at++ = '*';
        *at++ = *from;
        if (*from == 0) return iket_selector_set(&choice->selector, IKET_SELECT_CTA, full, err);
    }
    return iket_fail(err, "'%.64s...' is too long", text);
}

static iket_levels_status no_regex(const char *name, const char *text, iket_error *err) {
    if (strncmp(text, "regex:", 6) != 0) return IKET_LEVELS_OK;
    iket_fail(err, "%s: regular expressions are not answered here (give a whole name)", name);
    return IKET_LEVELS_BAD_ARGUMENT;
}

// *given: whether anything chooses rows.
static iket_levels_status read_choice(row_choice *choice, const iket_levels *levels, const iket_levels_question *question, int *given, iket_error *err) {
    for (size_t i = 0; i < ROW_SELECTORS; i++) {
        const char *text = iket_levels_text(question, row_selectors[i].name);
        if (text == NULL) continue;
        *given = 1;
        IKET_LEVELS_TRY(no_regex(row_selectors[i].name, text, err));
        int cta = row_selectors[i].id == IKET_SELECT_CTA;
        if ((cta ? set_cta(choice, text, err) : iket_selector_set(&choice->selector, row_selectors[i].id, text, err)) != 0) {
            iket_fail_context(err, "%s", row_selectors[i].name);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
    }
    const char *under = iket_levels_text(question, "under"), *role = iket_levels_text(question, "role");
    *given |= under != NULL || role != NULL;
    if (under != NULL) IKET_LEVELS_TRY(iket_levels_pairs(under, "under", levels->node_count, &choice->under, err));
    if (role != NULL) IKET_LEVELS_TRY(choose_roles(choice, levels, role, err));
    if (iket_selector_has(&choice->selector, IKET_SELECT_KERNEL)) IKET_LEVELS_TRY(choose_kernels(choice, levels, err));
    return IKET_LEVELS_OK;
}

static iket_levels_status choose_rows(iket_levels_scope *scope, const iket_levels *levels, const iket_levels_question *question, iket_error *err) {
    row_choice choice = {.kernel_count = 0};
    const char *lanes = iket_levels_text(question, "lanes");
    int given = 0;
    iket_levels_status status = read_choice(&choice, levels, question, &given, err);
    if (status == IKET_LEVELS_OK && given && lanes != NULL) {
        iket_fail(err, "lanes cannot be given together with what chooses rows");
        status = IKET_LEVELS_BAD_ARGUMENT;
    } else if (status == IKET_LEVELS_OK && lanes != NULL) {
        status = iket_levels_pairs(lanes, "lanes", levels->lane_count, &scope->lanes, err);
    } else if (status == IKET_LEVELS_OK) {
        int result = given ? collect_lanes(scope, &choice, levels, err) : iket_levels_intervals_add(&scope->lanes, 0, levels->lane_count, err);
        if (result != 0) status = IKET_LEVELS_FAILED;
    }
    scope->all_lanes = !given && lanes == NULL;
    clear_choice(&choice);
    return status;
}

// ---- time and names -------------------------------------------------------------------------------------------------

static int64_t since_t0(const iket_levels *levels, uint64_t time) {
    uint64_t t0 = levels->header->t0, away = time >= t0 ? time - t0 : t0 - time;
    int64_t since = away > INT64_MAX ? INT64_MAX : (int64_t)away;
    return time >= t0 ? since : -since;
}

static iket_levels_status choose_time(iket_levels_scope *scope, const iket_levels *levels, const iket_levels_question *question, iket_error *err) {
    const char *text = iket_levels_text(question, "time");
    scope->from = (iket_levels_moment){-9e18, INT64_MIN, INT64_MIN};
    scope->to = (iket_levels_moment){9e18, INT64_MAX, INT64_MAX};
    scope->has_from = iket_levels_text(question, "from") != NULL;
    scope->has_to = iket_levels_text(question, "to") != NULL;
    if (text != NULL && (scope->has_from || scope->has_to)) {
        iket_fail(err, "time cannot be given together with from or to");
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    if (text != NULL) {
        iket_selector selector = {.count = 0};
        uint64_t from, to;
        if (iket_selector_set(&selector, IKET_SELECT_TIME, text, err) != 0) {
            iket_fail_context(err, "time");
            iket_selector_clear(&selector);
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        iket_selector_time(&selector, levels->header->t0, &from, &to);
        iket_selector_clear(&selector);
        int64_t first = since_t0(levels, from), last = since_t0(levels, to);
        scope->has_from = from > 0; // an end that is left out is 0 or the greatest time
        scope->has_to = to < UINT64_MAX;
        if (scope->has_from) scope->from = (iket_levels_moment){(double)first, first, first};
        if (scope->has_to) scope->to = (iket_levels_moment){(double)last, last, last};
    }
    IKET_LEVELS_TRY(iket_levels_time(question, "from", &scope->from, err));
    return iket_levels_time(question, "to", &scope->to, err);
}

static iket_levels_status choose_classes(iket_levels_scope *scope, const iket_levels *levels, const iket_levels_question *question, iket_error *err) {
    const char *name = iket_levels_text(question, "name");
    uint64_t cls = 0;
    scope->cls = -1;
    if (name == NULL && iket_levels_text(question, "class") == NULL) return IKET_LEVELS_OK;
    scope->classes = calloc(CLASSES, 1);
    if (scope->classes == NULL) {
        iket_fail(err, "out of memory (%d classes)", CLASSES);
        return IKET_LEVELS_FAILED;
    }
    if (iket_levels_text(question, "class") != NULL) {
        if (levels->class_count == 0) {
            iket_fail(err, "class: the trace has no names");
            return IKET_LEVELS_BAD_ARGUMENT;
        }
        IKET_LEVELS_TRY(iket_levels_whole(question, "class", 0, levels->class_count - 1, &cls, err));
        scope->classes[cls] = 1;
        scope->cls = (int32_t)cls;
    }
    if (name == NULL) return IKET_LEVELS_OK;
    IKET_LEVELS_TRY(no_regex("name", name, err));
    uint32_t named = 0;
    for (uint32_t c = 0; c < levels->class_count; c++) {
        int fits = strcmp(iket_levels_string(levels, levels->class_name[c]), name) == 0;
        named += (uint32_t)fits;
        if (scope->cls < 0 || (uint32_t)scope->cls == c) scope->classes[c] = (uint8_t)fits;
        cls = fits ? c : cls;
    }
    if (named == 0) {
        iket_fail(err, "name: no event of the trace is named '%.200s'", name);
        return IKET_LEVELS_BAD_ARGUMENT;
    }
    if (scope->cls < 0 && named == 1) scope->cls = (int32_t)cls;
    return IKET_LEVELS_OK;
}

iket_levels_status iket_levels_scope_open(iket_levels_scope *scope, const iket_levels *levels, const iket_levels_question *question, iket_error *err) {
    *scope = (iket_levels_scope){.cls = -1};
    IKET_LEVELS_TRY(choose_time(scope, levels, question, err));
    IKET_LEVELS_TRY(choose_classes(scope, levels, question, err));
    return choose_rows(scope, levels, question, err);
}

void iket_levels_scope_clear(iket_levels_scope *scope) {
    free(scope->lanes.list);
    free(scope->classes);
    *scope = (iket_levels_scope){.cls = -1};
}

// ---- events ---------------------------------------------------------------------------------------------------------

int iket_levels_scope_events(const iket_levels_scope *scope, const iket_levels *levels, enum iket_levels_edge edge, iket_levels_intervals *events, iket_error *err) {
    const uint64_t *first = levels->lane_first;
    for (size_t k = 0; k < scope->lanes.count; k++) {
        const iket_levels_interval *lanes = &scope->lanes.list[k];
        if (!scope->has_from && !scope->has_to) {
            IKET_TRY(iket_levels_intervals_add(events, first[lanes->from], first[lanes->to], err));
            continue;
        }
        for (uint64_t lane = lanes->from; lane < lanes->to; lane++) {
            uint64_t a = first[lane], b = first[lane + 1], begins;
            if (scope->has_from && edge == IKET_LEVELS_TOUCHES) {
                a = iket_levels_search(levels->end, a, b, iket_levels_at(&scope->from));
            } else if (scope->has_from) {
                begins = iket_levels_search(levels->start, a, b, iket_levels_at(&scope->from)); // an instant at `from` counts
                a = iket_levels_search(levels->end, a, b, iket_levels_after(&scope->from));
                if (begins < a) a = begins;
            }
            if (scope->has_to) b = iket_levels_search(levels->start, a, b, iket_levels_after(&scope->to));
            IKET_TRY(iket_levels_intervals_add(events, a, b, err));
        }
    }
    return 0;
}

uint64_t iket_levels_scope_count(const iket_levels_scope *scope, const iket_levels *levels, const iket_levels_intervals *events, uint64_t most) {
    uint64_t count = 0;
    for (size_t k = 0; k < events->count && count <= most; k++) {
        const iket_levels_interval *part = &events->list[k];
        if (scope->classes == NULL) {
            count += part->to - part->from;
            continue;
        }
        for (uint64_t i = part->from; i < part->to; i++) count += scope->classes[levels->cls[i]];
    }
    return count <= most ? count : most + 1;
}
