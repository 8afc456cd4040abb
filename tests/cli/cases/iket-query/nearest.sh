iket-query --marker tile_don "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
