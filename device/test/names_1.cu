// SPDX-License-Identifier: Apache-2.0
// names_1.cu: a unit with 1 event.
#define NAMES_COUNT 1
#define NAMES_TAG of_1_
#define NAMES_RUN run_names_1
#define NAMES_LIST(F) \
    F(0)
#include "names_template.h"
