iket-query --count --range load_tile $FIXTURES/collector/hopper_gemm/expected.trace.json.gz
iket-query --count --range 'regex:^mma' $FIXTURES/collector/hopper_gemm/iket.data.bin
