iket-query "$FIXTURES/collector/hopper_gemm/iket.data.json"
