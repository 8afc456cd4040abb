// SPDX-License-Identifier: Apache-2.0
// names_32.cu: a unit with 32 events, which need the extended method.
#define IKET_EXTENDED
#define NAMES_COUNT 32
#define NAMES_TAG of_32_
#define NAMES_RUN run_names_32
#define NAMES_LIST(F) \
    F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)
#include "names_template.h"
