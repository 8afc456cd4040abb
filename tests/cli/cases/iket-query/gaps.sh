iket-query gaps "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
