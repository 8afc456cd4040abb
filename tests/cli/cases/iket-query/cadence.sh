iket-query cadence "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
