iket-query events --csv "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz" | head -n 1
