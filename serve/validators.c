// SPDX-License-Identifier: Apache-2.0
#include "serve/validators.h"

#include <stdio.h>
#include <string.h>

void iket_http_date(time_t when, char *text, size_t room) {
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm utc;
    text[0] = 0;
    if (gmtime_r(&when, &utc) == NULL) return;
    snprintf(text, room, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday], utc.tm_mday, months[utc.tm_mon],
             utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// Reads one of the three forms that HTTP knows. 0: it is none.
static int read_date(const char *text, time_t *when) {
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm utc = {0};
        const char *end = strptime(text, forms[i], &utc);
        if (end == NULL || *end != 0) continue;
        *when = timegm(&utc);
        return 1;
    }
    return 0;
}

void iket_validators_of(const struct stat *info, iket_validators *validators) {
    snprintf(validators->etag, sizeof validators->etag, "\"%llx-%llx-%llx.%lx\"", (unsigned long long)info->st_ino,
             (unsigned long long)info->st_size, (unsigned long long)info->st_ctim.tv_sec, (unsigned long)info->st_ctim.tv_nsec);
    validators->modified_time = info->st_mtim.tv_sec;
    iket_http_date(info->st_mtim.tv_sec, validators->modified, sizeof validators->modified);
}

// Whether a list of tags names `etag`. A weak tag (W/"…") of the list counts only in a weak comparison.
static int list_names(const char *list, const char *etag, int weak_counts) {
    for (;;) {
        list += strspn(list, " \t,");
        if (*list == 0) return 0;
        int weak = strncmp(list, "W/", 2) == 0;
        if (weak) list += 2;
        if (*list == '*') return 1;
        if (*list != '"') return 0;
        const char *end = strchr(list + 1, '"');
        if (end == NULL) return 0;
        size_t length = (size_t)(end + 1 - list);
        if ((!weak || weak_counts) && length == strlen(etag) && memcmp(list, etag, length) == 0) return 1;
        list = end + 1;
    }
}

iket_condition_verdict iket_conditions_judge(const iket_conditions *conditions, const iket_validators *validators) {
    time_t date;
    if (conditions->if_match != NULL) {
        if (!list_names(conditions->if_match, validators->etag, 0)) return IKET_CONDITION_FAILED;
    } else if (conditions->if_unmodified_since != NULL && read_date(conditions->if_unmodified_since, &date)) {
        if (validators->modified_time > date) return IKET_CONDITION_FAILED;
    }
    if (conditions->if_none_match != NULL) {
        return list_names(conditions->if_none_match, validators->etag, 1) ? IKET_CONDITION_NOT_MODIFIED : IKET_CONDITION_SEND;
    }
    if (conditions->if_modified_since != NULL && read_date(conditions->if_modified_since, &date)) {
        if (validators->modified_time <= date) return IKET_CONDITION_NOT_MODIFIED;
    }
    return IKET_CONDITION_SEND;
}

int iket_conditions_allow_range(const iket_conditions *conditions, const iket_validators *validators) {
    const char *given = conditions->if_range;
    if (given == NULL) return 1;
    if (given[0] == '"') return strcmp(given, validators->etag) == 0;
    time_t date;
    // A date is a strong validator only once the file cannot change any more within that second.
    return read_date(given, &date) && date == validators->modified_time && time(NULL) - validators->modified_time > 1;
}
