iket-query sumary "$FIXTURES/collector/wrap/expected.trace.json.gz"
