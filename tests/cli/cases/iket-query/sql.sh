iket-query sql "SELECT name, count(*) AS n, sum(dur_ns) AS total FROM ranges GROUP BY name ORDER BY total DESC LIMIT 3" "$FIXTURES/collector/hopper_gemm/expected.trace.json.gz"
