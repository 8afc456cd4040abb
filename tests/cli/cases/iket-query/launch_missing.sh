iket-query events --launch 7 "$FIXTURES/collector/graph/expected.trace.json.gz"
