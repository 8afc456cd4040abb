iket-query --limit 3 --range mma --cta 0,0,5 --warp 4 $FIXTURES/collector/hopper_gemm/expected.trace.json.gz
