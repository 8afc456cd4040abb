iket-query ranges --range mma --range load_tile --hist "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
