// SPDX-License-Identifier: Apache-2.0
// gemm_a_64.cu: the matrix product, form A, payloads of 64 bits.
#define GEMM_PAYLOAD std::int64_t
#define GEMM_NAME(name) gemm_a_64_##name
#define GEMM_FUNCTION gemm_a_64
#include "gemm_template.h"
