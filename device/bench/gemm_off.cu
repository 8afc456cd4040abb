// SPDX-License-Identifier: Apache-2.0
// gemm_off.cu: the matrix product, not annotated.
#define IKET_DISABLE
#define GEMM_PAYLOAD int
#define GEMM_NAME(name) gemm_off_##name
#define GEMM_FUNCTION gemm_off
#include "gemm_template.h"
