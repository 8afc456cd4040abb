cat > gemm.dag.json <<'END'
{"name": "gemm", "edges": [{"source": "load_issue", "target": "mma_wait", "label": "smem[s]", "via": "mbarrier"},
 {"source": "mma_wait", "target": "mma"}, {"source": "mma", "target": "load_acquire", "label": "free", "via": "mbarrier"}]}
END
iket-query path --dag gemm.dag.json --limit 6 "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
