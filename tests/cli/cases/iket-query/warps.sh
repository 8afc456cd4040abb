iket-query warps --roles "0-3=load,4-7=mma" --limit 4 "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
