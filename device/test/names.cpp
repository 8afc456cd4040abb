// SPDX-License-Identifier: Apache-2.0
// names.cpp: the cases with 1, 30, 32 and 33 names, each a unit of its own.
#include "harness.h"

void run_names_1(const std::string &directory);
void run_names_30(const std::string &directory);
void run_names_32(const std::string &directory);
void run_names_33(const std::string &directory);

std::vector<test_case> name_cases() {
    return {{"names_1", run_names_1}, {"names_30", run_names_30}, {"names_32_extended", run_names_32}, {"names_33_extended", run_names_33}};
}
