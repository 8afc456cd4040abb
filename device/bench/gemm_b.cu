// SPDX-License-Identifier: Apache-2.0
// gemm_b.cu: the matrix product, form B, payloads of 32 bits.
#define IKET_FORM_B
#define GEMM_PAYLOAD int
#define GEMM_NAME(name) gemm_b_##name
#define GEMM_FUNCTION gemm_b
#include "gemm_template.h"
