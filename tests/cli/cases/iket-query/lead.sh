iket-query cadence --producer load_issue --consumer mma "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
