// SPDX-License-Identifier: Apache-2.0
// options_table.h: what the parser and the printers of a table share: the rows of a command, then --help and --version.
#ifndef IKET_COMMON_OPTIONS_TABLE_H
#define IKET_COMMON_OPTIONS_TABLE_H

#include "common/options.h"

enum { IKET_OPTION_HELP = -1, IKET_OPTION_VERSION = -2 };

size_t iket_option_count(const iket_command *command);
const iket_option *iket_option_at(const iket_command *command, size_t i); // below iket_option_count

#endif
