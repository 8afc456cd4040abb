// SPDX-License-Identifier: Apache-2.0
// gemm_a.cu: the matrix product, form A, payloads of 32 bits.
#define GEMM_PAYLOAD int
#define GEMM_NAME(name) gemm_a_##name
#define GEMM_FUNCTION gemm_a
#include "gemm_template.h"
