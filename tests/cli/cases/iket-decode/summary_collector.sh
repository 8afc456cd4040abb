iket-decode -o out --emit json $FIXTURES/collector/hopper_gemm/iket.data.bin --meta $FIXTURES/collector/hopper_gemm/iket.data.json 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
