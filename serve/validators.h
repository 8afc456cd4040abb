// SPDX-License-Identifier: Apache-2.0
// validators.h: ETag and Last-Modified of a file, and what the conditions of a request make of them (RFC 9110, 13).
#ifndef IKET_SERVE_VALIDATORS_H
#define IKET_SERVE_VALIDATORS_H

#include <sys/stat.h>
#include <time.h>

typedef struct iket_validators {
    char etag[72];     // strong, with its quotes
    char modified[32]; // an HTTP date
    time_t modified_time;
} iket_validators;

// The tag is made of inode, size and time of change (which, unlike that of modification, nobody can set back).
void iket_validators_of(const struct stat *info, iket_validators *validators);

// An HTTP date of `when`, for `text` of at least 32 bytes.
void iket_http_date(time_t when, char *text, size_t room);

// The conditions as they stand in the request; NULL where a field is missing.
typedef struct iket_conditions {
    const char *if_match, *if_none_match, *if_modified_since, *if_unmodified_since, *if_range;
} iket_conditions;

typedef enum iket_condition_verdict {
    IKET_CONDITION_SEND,
    IKET_CONDITION_NOT_MODIFIED, // 304
    IKET_CONDITION_FAILED,       // 412
} iket_condition_verdict;

iket_condition_verdict iket_conditions_judge(const iket_conditions *conditions, const iket_validators *validators);

// 1 when a Range field counts: there is no If-Range, or it names this very file.
int iket_conditions_allow_range(const iket_conditions *conditions, const iket_validators *validators);

#endif
