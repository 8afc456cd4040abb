gzip -dc "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz" | iket-query --range mma_wait --sm 0-3 --count -
